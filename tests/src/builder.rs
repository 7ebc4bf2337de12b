//! The objects of clusters in these tests: testkit's builders with the usual values of a cluster,
//! and pairs of NodeClaim and Node.

use std::sync::Arc;

use domain::Text;
use domain::label::{self, Labels};
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::NeverOr;
use domain::pod::{ObjectKey, OwnerKind, Pod, PodSpec};
use domain::resource::Resources;
use domain::taint::Taint;
use domain::workload::{DaemonSet, PodTemplate};

pub use testkit::{NodePoolBuilder, PodBuilder, pod_requests, running, taint, toleration};

/// An unschedulable pod of a ReplicaSet that requests 100m and 128Mi.
pub fn pod(name: impl Into<Text>) -> PodBuilder {
    testkit::pod(name).requests(100, 128).owned_by(OwnerKind::ReplicaSet, "web").unschedulable()
}

/// A NodePool whose nodes never expire, without disruption budgets.
pub fn node_pool(name: &str) -> NodePoolBuilder {
    let pool = testkit::node_pool(name).without_budgets();
    pool.template(|template| template.expire_after = NeverOr::Never)
}

/// A DaemonSet whose pods tolerate everything.
pub fn daemon_set(name: &str, cpu_millis: i64, memory_mib: i64) -> DaemonSet {
    let spec = PodSpec {
        requests: pod_requests(cpu_millis, memory_mib),
        tolerations: vec![toleration(None)],
        ..PodSpec::default()
    };
    DaemonSet {
        key: ObjectKey::new("kube-system", name),
        template: PodTemplate { labels: Arc::default(), spec: Arc::new(spec) },
        is_on_host_network: false,
    }
}

/// The pod of a DaemonSet that runs on a node.
pub fn daemon_pod(daemon_set: &DaemonSet, node: &str) -> Pod {
    let key = &daemon_set.key;
    let pod = Pod {
        key: ObjectKey::new(key.namespace.clone(), format!("{}-{node}", key.name)),
        labels: daemon_set.template.labels.clone(),
        spec: daemon_set.template.spec.clone(),
        ..testkit::pod("").owned_by(OwnerKind::DaemonSet, &key.name).build()
    };
    running(&pod, node)
}

/// How far a NodeClaim and its Node have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Launched; its Node has not joined.
    InFlight,
    /// Its Node is initialized.
    Ready,
}

/// The fields that a NodeClaim and its Node have in common.
#[derive(Clone, Debug)]
pub struct NodeParts {
    /// The name of Node and NodeClaim.
    pub name: Text,
    /// Labels, without those that registration adds.
    pub labels: Labels,
    /// Taints.
    pub taints: Vec<Taint>,
    /// The capacity of the instance.
    pub capacity: Resources,
    /// The allocatable resources.
    pub allocatable: Resources,
}

impl NodeParts {
    /// The NodeClaim, and the Node of one that is ready.
    pub fn build(self, stage: Stage) -> (NodeClaim, Option<Node>) {
        let is_ready = stage == Stage::Ready;
        let provider_id = Text::from(format!("aws:///test/{}", self.name));
        let mut reached = vec![ConditionType::Launched];
        if is_ready {
            reached.extend([ConditionType::Registered, ConditionType::Initialized]);
        }
        let claim = NodeClaim {
            labels: self.labels.clone(),
            taints: self.taints.clone(),
            status: NodeClaimStatus {
                node_name: is_ready.then(|| self.name.clone()),
                provider_id: Some(provider_id.clone()),
                capacity: self.capacity.clone(),
                allocatable: self.allocatable.clone(),
                conditions: reached.into_iter().map(testkit::condition).collect(),
                ..NodeClaimStatus::default()
            },
            ..testkit::node_claim(self.name.clone()).build()
        };
        (claim, is_ready.then(|| self.node(provider_id)))
    }

    fn node(self, provider_id: Text) -> Node {
        let mut labels = self.labels;
        labels.insert(label::HOSTNAME.into(), self.name.clone());
        labels.insert(label::REGISTERED.into(), "true".into());
        labels.insert(label::INITIALIZED.into(), "true".into());
        Node {
            labels,
            taints: self.taints,
            provider_id: Some(provider_id),
            capacity: self.capacity,
            allocatable: self.allocatable,
            ..testkit::node(self.name).build()
        }
    }
}
