//! Pods, as far as scheduling, disruption and draining depend on them.

use std::fmt;
use std::sync::Arc;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::fargate::FargateSize;
use crate::label::Labels;
use crate::pvc_spec::PvcSpec;
use crate::requirement::Requirement;
use crate::resource::Resources;
use crate::selector::LabelSelector;
use crate::spot::{InterruptionCost, SpotOfferingShare};
use crate::taint::Toleration;
use crate::{SignedDuration, Text, Timestamp};

/// `namespace/name` of a namespaced object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl ObjectKey {
    /// From its two parts.
    pub fn new(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// `namespace/name` of a pod.
pub type PodKey = ObjectKey;

/// A pod.
///
/// What many pods have in common (spec and labels) is shared between them, so that a pod of a large
/// Deployment costs little more than its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub key: PodKey,
    /// `metadata.uid`; empty for pods of manifests that were never applied.
    pub uid: Text,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`: set while the pod is being deleted.
    pub deleted: Option<Timestamp>,
    /// Labels.
    pub labels: Arc<Labels>,
    /// The controlling owner.
    pub owner: Option<Owner>,
    /// `spec`, as far as it matters for scheduling.
    pub spec: Arc<PodSpec>,
    /// `spec.nodeName`: where it is bound.
    pub node_name: Option<Text>,
    /// `status.nominatedNodeName`: where others are making way for it.
    pub nominated_node_name: Option<Text>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// `status.startTime`.
    pub started: Option<Timestamp>,
    /// Condition Ready; `None` when not reported.
    pub ready: Option<bool>,
    /// Condition PodScheduled is False with reason Unschedulable.
    pub marked_unschedulable: bool,
    /// Annotation `karpenter.sh/do-not-disrupt`.
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// Annotation `controller.kubernetes.io/pod-deletion-cost`, as users set it.
    pub deletion_cost: Option<i32>,
    /// The same annotation, where Outrigger set it so that ReplicaSets that shrink lose pods of the
    /// same nodes; 0 where it did not. It says nothing of what an eviction costs.
    pub managed_deletion_cost: i32,
    /// Annotation `kubernetes.io/config.mirror`: a static pod of a kubelet.
    pub is_mirror: bool,
    /// Annotation `CapacityProvisioned`: what Fargate gave it. Boxed, since clusters have thousands
    /// of pods and few of them run there.
    pub capacity_provisioned: Option<Box<FargateSize>>,
    /// What made this pod up, where it exists in planning only.
    pub virtual_of: Option<VirtualPodSource>,
}

impl Pod {
    /// A pod that waits for a node and of which nothing but its name is known: it requests nothing,
    /// and has no uid, owner, labels or times.
    pub fn pending(key: PodKey) -> Self {
        Self {
            key,
            uid: Text::default(),
            created: None,
            deleted: None,
            labels: Arc::default(),
            owner: None,
            spec: Arc::default(),
            node_name: None,
            nominated_node_name: None,
            phase: PodPhase::Pending,
            started: None,
            ready: None,
            marked_unschedulable: false,
            do_not_disrupt: None,
            deletion_cost: None,
            managed_deletion_cost: 0,
            is_mirror: false,
            capacity_provisioned: None,
            virtual_of: None,
        }
    }

    /// Succeeded or Failed: it takes no room and never runs again.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Being deleted.
    pub fn is_terminating(&self) -> bool {
        self.deleted.is_some()
    }

    /// Neither terminal nor being deleted.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_terminating()
    }

    /// How dear the pod is when its ReplicaSet shrinks: the cheapest ones go first. 0 where nobody
    /// has said.
    ///
    /// Source: [Pod deletion cost].
    ///
    /// [Pod deletion cost]: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset
    pub fn scale_down_cost(&self) -> i32 {
        self.deletion_cost.unwrap_or(self.managed_deletion_cost)
    }

    /// Owned by a DaemonSet.
    pub fn is_daemon(&self) -> bool {
        self.owner_kind() == Some(OwnerKind::DaemonSet)
    }

    /// A static pod: owned by its Node, or a mirror of one.
    pub fn is_static(&self) -> bool {
        self.is_mirror || self.owner_kind() == Some(OwnerKind::Node)
    }

    /// The kind of its owner.
    pub fn owner_kind(&self) -> Option<OwnerKind> {
        self.owner.as_ref().map(|owner| owner.kind)
    }

    /// Whether a new pod has to run elsewhere once its node goes away: active, or a StatefulSet's
    /// pod that is being deleted (its successor starts only after it); never of a DaemonSet or
    /// static.
    ///
    /// Source: Karpenter's reschedulable pods.
    pub fn is_reschedulable(&self) -> bool {
        let successor_waits =
            self.is_terminating() && self.owner_kind() == Some(OwnerKind::StatefulSet);
        !self.is_terminal()
            && (!self.is_terminating() || successor_waits)
            && !self.is_daemon()
            && !self.is_static()
    }

    /// Whether `karpenter.sh/do-not-disrupt` protects it at a moment: `"true"`, or a duration that
    /// has not passed since the pod started (a pod that has not started is protected).
    pub fn refuses_disruption(&self, now: Timestamp) -> bool {
        match self.do_not_disrupt {
            None => false,
            Some(DoNotDisrupt::Always) => true,
            Some(DoNotDisrupt::For(duration)) => {
                self.started.is_none_or(|started| now.duration_since(started) < duration)
            }
        }
    }
}

/// The controlling owner of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// What kind of object.
    pub kind: OwnerKind,
    /// Its name.
    pub name: Text,
    /// Its uid; empty when not given.
    pub uid: Text,
}

/// Kinds of owner that make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnerKind {
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// batch/v1 Job.
    Job,
    /// A kubelet's Node: a static pod.
    Node,
    /// Anything else.
    Other,
    /// v1 ReplicationController.
    ReplicationController,
}

/// `status.phase` of a pod.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum PodPhase {
    /// Not all containers have started.
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// All containers exited with status 0.
    Succeeded,
    /// All containers exited, at least one with a status other than 0.
    Failed,
    /// The kubelet cannot be reached.
    Unknown,
}

/// A valid value of `karpenter.sh/do-not-disrupt` on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoNotDisrupt {
    /// `"true"`.
    Always,
    /// A duration, counted from the pod's start.
    For(SignedDuration),
}

/// Why a virtual pod takes part in planning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VirtualPodSource {
    /// A CapacityBuffer requests headroom.
    CapacityBuffer(ObjectKey),
    /// A cron trigger of KEDA requests capacity, from the lead time before its window to its end.
    ScaledObject(ObjectKey),
    /// A PrewarmSchedule requests capacity, in the same way.
    PrewarmSchedule(ObjectKey),
}

impl VirtualPodSource {
    /// The kind of the object that requests the capacity.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::CapacityBuffer(_) => "CapacityBuffer",
            Self::ScaledObject(_) => "ScaledObject",
            Self::PrewarmSchedule(_) => "PrewarmSchedule",
        }
    }

    /// Namespace and name of the object that requests the capacity.
    pub const fn key(&self) -> &ObjectKey {
        match self {
            Self::CapacityBuffer(key) | Self::ScaledObject(key) | Self::PrewarmSchedule(key) => key,
        }
    }
}

impl fmt::Display for VirtualPodSource {
    /// `ScaledObject shop/evening`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.key())
    }
}

/// What a pod requires of a node. Equal specs are equal values; lists whose order has no meaning
/// are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSpec {
    /// Effective requests, with one of `pods`: see [`PodRequests`].
    pub requests: Resources,
    /// `nodeSelector`, keys normalised, sorted by key.
    pub node_selector: Vec<(Text, Text)>,
    /// Required node affinity: one of the terms must hold. `None` when absent; an empty list
    /// matches no node. Terms without expressions, which match nothing, are left out.
    pub required_node_terms: Option<Vec<NodeSelectorTerm>>,
    /// Preferred node affinity, in the order written.
    pub preferred_node_terms: Vec<PreferredNodeTerm>,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Topology spread constraints.
    pub topology_spread: Vec<TopologySpreadConstraint>,
    /// Required pod affinity: every term must hold.
    pub pod_affinity: Vec<PodAffinityTerm>,
    /// Preferred pod affinity, in the order written.
    pub preferred_pod_affinity: Vec<PreferredPodTerm>,
    /// Required pod anti-affinity: no term may be broken.
    pub pod_anti_affinity: Vec<PodAffinityTerm>,
    /// Preferred pod anti-affinity, in the order written.
    pub preferred_pod_anti_affinity: Vec<PreferredPodTerm>,
    /// Ports opened on the host, sorted.
    pub host_ports: Vec<HostPort>,
    /// Volumes that PersistentVolumeClaims provide.
    pub volumes: Vec<VolumeUse>,
    /// Names of `schedulingGates`: the pod is not considered while there is one.
    pub scheduling_gates: Vec<Text>,
    /// Names of `resourceClaims` (dynamic resource allocation).
    pub resource_claims: Vec<Text>,
    /// The priority: `spec.priority`, or that of its PriorityClass.
    pub priority: i32,
    /// `system-cluster-critical` or `system-node-critical`: drained last.
    pub is_critical: bool,
    /// `terminationGracePeriodSeconds`.
    pub termination_grace: GracePeriodSeconds,
    /// What an interruption of the pod costs: its annotation
    /// `outrigger.dev/spot-interruption-cost`, which stands here since it decides what is launched.
    pub spot_interruption_cost: Option<InterruptionCost>,
    /// How much of its workload may be on one spot offering: its annotation
    /// `outrigger.dev/spot-offering-share`.
    pub spot_offering_share: Option<SpotOfferingShare>,
    /// `schedulerName`; `None` for [`crate::scheduler::DEFAULT_SCHEDULER`].
    pub scheduler_name: Option<Text>,
}

/// `terminationGracePeriodSeconds` of a pod, in seconds; 30 when unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GracePeriodSeconds(pub i64);

impl Default for GracePeriodSeconds {
    fn default() -> Self {
        Self(30)
    }
}

/// A node selector term: every expression and every field must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSelectorTerm {
    /// `matchExpressions`, keys normalised.
    pub expressions: Vec<Requirement>,
    /// `matchFields`; the only field is `metadata.name`.
    pub fields: Vec<Requirement>,
}

/// A preferred node selector term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PreferredNodeTerm {
    /// 1 to 100.
    pub weight: i32,
    /// The term.
    pub term: NodeSelectorTerm,
}

/// What to do when a spread constraint cannot be met.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum WhenUnsatisfiable {
    /// The pod stays pending.
    DoNotSchedule,
    /// The pod is scheduled all the same; nodes that reduce the skew score higher.
    ScheduleAnyway,
}

/// Whether a spread constraint looks only at nodes that the pod could use.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum NodeInclusionPolicy {
    /// Only nodes that the pod could use.
    Honor,
    /// All nodes.
    Ignore,
}

/// A topology spread constraint.
///
/// Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopologySpreadConstraint {
    /// The most by which the matching pods of a domain may exceed those of the emptiest domain.
    pub max_skew: i32,
    /// The node label whose values are the domains.
    pub topology_key: Text,
    /// Hard or soft.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// Which pods count, `matchLabelKeys` merged in; `None` counts no pod.
    pub selector: Option<LabelSelector>,
    /// With fewer eligible domains than this the emptiest counts as empty.
    pub min_domains: Option<i32>,
    /// Whether the pod's node selector and affinity narrow the domains.
    pub node_affinity_policy: NodeInclusionPolicy,
    /// Whether taints narrow the domains.
    pub node_taints_policy: NodeInclusionPolicy,
}

/// A pod (anti-)affinity term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodAffinityTerm {
    /// The node label whose values are the domains.
    pub topology_key: Text,
    /// Which pods it selects, `matchLabelKeys` and `mismatchLabelKeys` merged in; `None` selects
    /// none.
    pub selector: Option<LabelSelector>,
    /// Namespaces by name, sorted. The pod's own is filled in where neither names nor a selector
    /// are given.
    pub namespaces: Vec<Text>,
    /// Namespaces by label.
    pub namespace_selector: Option<LabelSelector>,
}

/// A preferred pod (anti-)affinity term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PreferredPodTerm {
    /// 1 to 100.
    pub weight: i32,
    /// The term.
    pub term: PodAffinityTerm,
}

/// A port opened on the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// The address; `0.0.0.0` when unset.
    pub ip: Text,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Text,
    /// The port's number.
    pub port: u16,
}

impl HostPort {
    /// Whether both cannot be open on one host: same protocol and number, and the same address or
    /// one that means every address.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let every = |ip: &str| ip == "0.0.0.0" || ip == "::";
        self.protocol == other.protocol
            && self.port == other.port
            && (self.ip == other.ip || every(&self.ip) || every(&other.ip))
    }
}

/// A volume of a pod that a PersistentVolumeClaim provides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VolumeUse {
    /// A PersistentVolumeClaim by name, in the pod's namespace.
    Pvc {
        /// The name of the PersistentVolumeClaim.
        name: Text,
        /// The StatefulSet's template that it will be created from, if it does not exist yet.
        template: Option<Arc<PvcSpec>>,
    },
    /// A generic ephemeral volume: a claim named `POD-VOLUME`, created with the pod.
    Ephemeral {
        /// The volume's name.
        volume: Text,
        /// What the claim will request.
        template: Arc<PvcSpec>,
    },
}

/// Requests of a pod before they are summed up.
///
/// Source: KEP-753 (sidecar containers) and KEP-2837 (pod-level resources).
#[derive(Clone, Debug, Default)]
pub struct PodRequests {
    /// One entry a container: requests, or limits where a request is missing.
    pub containers: Vec<Resources>,
    /// Init containers in order, and whether each is a sidecar (`restartPolicy: Always`).
    pub init_containers: Vec<(Resources, bool)>,
    /// `spec.resources.requests`.
    pub pod_level_requests: Resources,
    /// `spec.resources.limits`.
    pub pod_level_limits: Resources,
    /// `spec.overhead` of the RuntimeClass.
    pub overhead: Resources,
}

impl PodRequests {
    /// What the pod takes of a node: the larger of its containers with sidecars and its largest
    /// init step, pod-level figures in place of sums, plus overhead, plus one of `pods`.
    pub fn effective(&self) -> Resources {
        let mut total = Resources::new();
        for container in &self.containers {
            total.add(container);
        }
        let mut sidecars = Resources::new();
        let mut init_peak = Resources::new();
        for (requests, is_sidecar) in &self.init_containers {
            let mut step = sidecars.clone();
            step.add(requests);
            if *is_sidecar {
                total.add(requests);
                sidecars = step.clone();
            }
            init_peak.raise_to(&step);
        }
        total.raise_to(&init_peak);
        let supported = |name: &str| {
            name == crate::resource::CPU
                || name == crate::resource::MEMORY
                || name.starts_with("hugepages-")
        };
        for (name, amount) in self.pod_level_limits.iter().filter(|(name, _)| supported(name)) {
            if total.find(name).is_none() {
                total.set(name, amount);
            }
        }
        for (name, amount) in self.pod_level_requests.iter().filter(|(name, _)| supported(name)) {
            total.set(name, amount);
        }
        total.add(&self.overhead);
        total.with(crate::resource::PODS, 1).without_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{CPU, MEMORY};

    fn cpu(millis: i64) -> Resources {
        Resources::new().with(CPU, millis)
    }

    #[test]
    fn sidecars_count_with_containers_and_with_later_init_steps() {
        let requests = PodRequests {
            containers: vec![cpu(500)],
            init_containers: vec![(cpu(100), true), (cpu(700), false), (cpu(50), true)],
            ..PodRequests::default()
        };
        // containers 500 + sidecars 150 = 650; the init step 700 runs beside the first sidecar.
        assert_eq!(requests.effective().get(CPU), 800);
    }

    #[test]
    fn pod_level_requests_replace_the_sum() {
        let requests = PodRequests {
            containers: vec![cpu(500).with(MEMORY, 100)],
            pod_level_requests: cpu(200),
            overhead: cpu(10),
            ..PodRequests::default()
        };
        assert_eq!(requests.effective(), cpu(210).with(MEMORY, 100).with("pods", 1));
    }

    #[test]
    fn ports_conflict_on_the_same_address_or_every_address() {
        let port = |ip: &str, port| HostPort { ip: ip.into(), protocol: "TCP".into(), port };
        assert!(port("0.0.0.0", 80).conflicts_with(&port("10.0.0.1", 80)));
        assert!(!port("10.0.0.2", 80).conflicts_with(&port("10.0.0.1", 80)));
        assert!(!port("0.0.0.0", 81).conflicts_with(&port("0.0.0.0", 80)));
    }
}
