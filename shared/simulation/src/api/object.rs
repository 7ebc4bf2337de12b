//! The kinds that the API server knows, and how each is keyed.

use std::fmt;
use std::sync::Arc;

use domain::buffer::{CapacityBuffer, PrewarmSchedule, ScaledObject};
use domain::cluster_limit::ClusterLimit;
use domain::commitment::Commitment;
use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassStatus};
use domain::node_pool::NodePool;
use domain::overlay::NodeOverlay;
use domain::pdb::PodDisruptionBudget;
use domain::pod::{ObjectKey, Pod};
use domain::scheduler::SchedulerConfig;
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{Namespace, PodTemplateObject, Service};
use domain::{Text, Timestamp};
use manifests::{DaemonSetObject, WorkloadObject};

use super::table::{Rows, Tables};
use super::workload_id::WorkloadId;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the words of the API")]
pub enum Kind {
    Pod,
    Node,
    NodePool,
    EC2NodeClass,
    NodeClaim,
    NodeOverlay,
    Workload,
    DaemonSet,
    PodTemplate,
    PodDisruptionBudget,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CSINode,
    Namespace,
    CapacityBuffer,
    ScaledObject,
    PrewarmSchedule,
    ClusterLimit,
    Commitment,
    Service,
    ConfigMap,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A kind of object that the API server stores.
pub trait Object: Clone + PartialEq + 'static {
    /// The key of objects of the kind.
    type Key: Ord + Clone + 'static;
    /// The kind.
    const KIND: Kind;
    /// This object's key.
    fn key(&self) -> Self::Key;
    /// A key in words.
    fn shown(key: &Self::Key) -> Text;
    /// Where objects of the kind are kept.
    #[doc(hidden)]
    fn rows(tables: &Tables) -> &Rows<Self::Key, Self>;
    #[doc(hidden)]
    fn rows_mut(tables: &mut Tables) -> &mut Rows<Self::Key, Self>;
    /// Brings indexes up to date: what an object was before a write, and what it is after.
    #[doc(hidden)]
    fn note_write(
        _tables: &mut Tables,
        _before: Option<&Arc<Self>>,
        _after: Option<&Arc<Self>>,
        _version: u64,
    ) {
    }
    /// Gives a new object its uid and creation time, where its kind keeps them.
    fn identify(&mut self, _uid: Text, _now: Timestamp) {}
    /// Takes over from a stored object what an apply does not change.
    fn keep_identity(&mut self, _old: &Self) {}
}

macro_rules! object {
    ($type:ty, $kind:ident, $key:ty, $table:ident, |$own:ident| $get:expr $(, $more:item)*) => {
        impl Object for $type {
            type Key = $key;
            const KIND: Kind = Kind::$kind;
            fn key(&self) -> $key {
                let $own = self;
                $get
            }
            fn shown(key: &$key) -> Text {
                key.to_string().into()
            }
            fn rows(tables: &Tables) -> &Rows<$key, Self> {
                &tables.$table
            }
            fn rows_mut(tables: &mut Tables) -> &mut Rows<$key, Self> {
                &mut tables.$table
            }
            $($more)*
        }
    };
}

/// The identity of a kind that keeps its uid.
macro_rules! keeps_uid {
    () => {
        fn identify(&mut self, uid: Text, _now: Timestamp) {
            fill(&mut self.uid, uid);
        }
        fn keep_identity(&mut self, old: &Self) {
            self.uid = old.uid.clone();
        }
    };
}

/// The identity of a kind that keeps its uid and when it was made.
macro_rules! keeps_uid_and_age {
    () => {
        fn identify(&mut self, uid: Text, now: Timestamp) {
            fill(&mut self.uid, uid);
            self.created.get_or_insert(now);
        }
        fn keep_identity(&mut self, old: &Self) {
            self.uid = old.uid.clone();
            self.created = old.created;
        }
    };
}

/// Annotations that controllers have written stay where an apply does not name them.
fn keep_annotations(own: &mut Labels, old: &Labels) {
    for (key, value) in old {
        own.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

fn fill(own: &mut Text, uid: Text) {
    if own.is_empty() {
        *own = uid;
    }
}

object!(
    Pod,
    Pod,
    ObjectKey,
    pods,
    |pod| pod.key.clone(),
    fn identify(&mut self, uid: Text, now: Timestamp) {
        fill(&mut self.uid, uid);
        self.created.get_or_insert(now);
    },
    fn keep_identity(&mut self, old: &Self) {
        self.uid = old.uid.clone();
        self.created = old.created;
        self.node_name.clone_from(&old.node_name);
        self.phase = old.phase;
        self.started = old.started;
        self.ready = old.ready;
        self.marked_unschedulable = old.marked_unschedulable;
    },
    fn note_write(
        tables: &mut Tables,
        before: Option<&Arc<Self>>,
        after: Option<&Arc<Self>>,
        version: u64,
    ) {
        tables.pod_index.note_write(before, after, version);
        if let Some(pod) = before.or(after) {
            tables.pod_list.get_mut().note_write(pod.key());
        }
    }
);
object!(
    Node,
    Node,
    Text,
    nodes,
    |node| node.name.clone(),
    keeps_uid_and_age!();,
    fn note_write(
        tables: &mut Tables,
        before: Option<&Arc<Self>>,
        after: Option<&Arc<Self>>,
        _version: u64,
    ) {
        if let Some(node) = before.or(after) {
            tables.node_list.get_mut().note_write(node.key());
        }
    }
);
object!(
    NodeClaim,
    NodeClaim,
    Text,
    node_claims,
    |claim| claim.name.clone(),
    keeps_uid_and_age!();
);
object!(
    NodePool,
    NodePool,
    Text,
    node_pools,
    |pool| pool.name.clone(),
    fn identify(&mut self, uid: Text, _now: Timestamp) {
        fill(&mut self.uid, uid);
    },
    fn keep_identity(&mut self, old: &Self) {
        self.uid = old.uid.clone();
        keep_annotations(&mut self.annotations, &old.annotations);
    }
);
object!(
    Ec2NodeClass,
    EC2NodeClass,
    Text,
    node_classes,
    |class| class.name.clone(),
    fn identify(&mut self, uid: Text, _now: Timestamp) {
        fill(&mut self.uid, uid);
    },
    fn keep_identity(&mut self, old: &Self) {
        self.uid = old.uid.clone();
        keep_annotations(&mut self.annotations, &old.annotations);
        // What was found by other selectors is found anew.
        if self.status == Ec2NodeClassStatus::default() && self.spec == old.spec {
            self.status.clone_from(&old.status);
        }
    }
);
object!(
    WorkloadObject,
    Workload,
    WorkloadId,
    workloads,
    |object| WorkloadId { kind: object.workload.kind, key: object.workload.key.clone() },
    fn identify(&mut self, uid: Text, _now: Timestamp) {
        fill(&mut self.uid, uid);
    },
    fn keep_identity(&mut self, old: &Self) {
        self.uid = old.uid.clone();
        // Annotations that somebody else wrote stay.
        if let (Some(own), Some(old)) = (&mut self.rollout, &old.rollout) {
            own.restarted_at = own.restarted_at.take().or_else(|| old.restarted_at.clone());
            own.asked_at = own.asked_at.take().or_else(|| old.asked_at.clone());
        }
    }
);
object!(
    DaemonSetObject,
    DaemonSet,
    ObjectKey,
    daemon_sets,
    |object| object.daemon_set.key.clone(),
    keeps_uid!();
);
object!(PodTemplateObject, PodTemplate, ObjectKey, pod_templates, |template| template.key.clone());
object!(PodDisruptionBudget, PodDisruptionBudget, ObjectKey, pod_disruption_budgets, |budget| {
    budget.key.clone()
});
object!(
    PersistentVolumeClaim,
    PersistentVolumeClaim,
    ObjectKey,
    persistent_volume_claims,
    |claim| claim.key.clone(),
    fn keep_identity(&mut self, old: &Self) {
        // A claim stays bound to its volume.
        if self.spec.volume_name.is_none() {
            self.spec.volume_name.clone_from(&old.spec.volume_name);
        }
    }
);
object!(PersistentVolume, PersistentVolume, Text, persistent_volumes, |volume| volume.name.clone());
object!(StorageClass, StorageClass, Text, storage_classes, |class| class.name.clone());
object!(CsiNode, CSINode, Text, csi_nodes, |node| node.name.clone());
object!(NodeOverlay, NodeOverlay, Text, node_overlays, |overlay| overlay.name.clone());
object!(Namespace, Namespace, Text, namespaces, |namespace| namespace.name.clone());
object!(Service, Service, ObjectKey, services, |service| service.key.clone());
object!(SchedulerConfig, ConfigMap, Text, scheduler_configs, |_config| "outrigger".into());
object!(CapacityBuffer, CapacityBuffer, ObjectKey, capacity_buffers, |buffer| buffer.key.clone());
object!(ScaledObject, ScaledObject, ObjectKey, scaled_objects, |scaled| scaled.key.clone());
object!(ClusterLimit, ClusterLimit, Text, cluster_limits, |limit| limit.name.clone());
object!(Commitment, Commitment, Text, commitments, |commitment| commitment.name.clone());
object!(PrewarmSchedule, PrewarmSchedule, ObjectKey, prewarm_schedules, |schedule| schedule
    .key
    .clone());
