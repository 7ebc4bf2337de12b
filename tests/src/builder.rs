//! Builders of the objects of a cluster: short to write, with everything that a test does not name at its
//! usual value.

use std::sync::Arc;

use domain::Text;
use domain::budget::Budget;
use domain::label::{self, Labels};
use domain::node::Node;
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::{Disruption, NeverOr, NodeClaimTemplate, NodeClassRef, NodePool};
use domain::pod::{
    HostPort, NodeSelectorTerm, ObjectKey, Owner, OwnerKind, Pod, PodAffinityTerm, PodPhase,
    PodSpec, TopologySpreadConstraint,
};
use domain::requirement::Requirement;
use domain::resource::{CPU, MEMORY, NODES, PODS, Resources};
use domain::selector::LabelSelector;
use domain::taint::{Taint, TaintEffect, Toleration};
use domain::workload::{DaemonSet, PodTemplate};

/// Bytes of a mebibyte.
const MEBIBYTE: i64 = 1 << 20;

/// What a pod takes: CPU in millicores, memory in MiB, and one pod slot.
pub fn pod_requests(cpu_millis: i64, memory_mib: i64) -> Resources {
    let memory = memory_mib * MEBIBYTE;
    Resources::new().with(CPU, cpu_millis).with(MEMORY, memory).with(PODS, 1).without_zeros()
}

/// A `NoSchedule` taint.
pub fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoSchedule }
}

/// A toleration of every taint of a key.
pub fn toleration(key: &str) -> Toleration {
    Toleration { key: Some(key.into()), exists: true, value: "".into(), effect: None }
}

/// A pod under construction: pending, in namespace `default`.
#[derive(Clone, Debug)]
pub struct PodBuilder {
    name: String,
    labels: Labels,
    spec: PodSpec,
}

/// A pending pod that asks for 100m and 128Mi.
pub fn pod(name: impl Into<String>) -> PodBuilder {
    let spec = PodSpec { requests: pod_requests(100, 128), ..PodSpec::default() };
    PodBuilder { name: name.into(), labels: Labels::new(), spec }
}

impl PodBuilder {
    /// Asks for CPU in millicores and memory in MiB.
    pub fn requests(mut self, cpu_millis: i64, memory_mib: i64) -> Self {
        self.spec.requests = pod_requests(cpu_millis, memory_mib);
        self
    }

    /// Has a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Selects nodes by a label.
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        self.spec.node_selector.push((key.into(), value.into()));
        self.spec.node_selector.sort();
        self.spec.node_selector.dedup_by(|later, earlier| later.0 == earlier.0);
        self
    }

    /// Requires one more alternative of node labels.
    pub fn node_term(mut self, expressions: Vec<Requirement>) -> Self {
        let term = NodeSelectorTerm { expressions, fields: Vec::new() };
        self.spec.required_node_terms.get_or_insert_default().push(term);
        self
    }

    /// Tolerates every taint of a key.
    pub fn tolerates(mut self, key: &str) -> Self {
        self.spec.tolerations.push(toleration(key));
        self
    }

    /// Spreads with the pods of one label over the domains of a key.
    pub fn spread(mut self, constraint: TopologySpreadConstraint) -> Self {
        self.spec.topology_spread.push(constraint);
        self
    }

    /// Shares no domain of a key with pods of a label.
    pub fn apart_from(mut self, label: (&str, &str), topology_key: &str) -> Self {
        self.spec.pod_anti_affinity.push(PodAffinityTerm {
            topology_key: topology_key.into(),
            selector: Some(LabelSelector::of_labels([label])),
            namespaces: vec!["default".into()],
            namespace_selector: None,
        });
        self
    }

    /// Opens a port on its host.
    pub fn host_port(mut self, port: u16) -> Self {
        let (ip, protocol) = ("0.0.0.0".into(), "TCP".into());
        self.spec.host_ports.push(HostPort { ip, protocol, port });
        self
    }

    /// Has a priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.spec.priority = priority;
        self
    }

    /// Changes whatever else it asks for.
    pub fn with(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// The pod, waiting.
    pub fn pending(self) -> Pod {
        Pod {
            key: ObjectKey::new("default", self.name),
            uid: "".into(),
            created: None,
            deleted: None,
            labels: Arc::new(self.labels),
            owner: Some(Owner { kind: OwnerKind::ReplicaSet, name: "web".into(), uid: "".into() }),
            spec: Arc::new(self.spec),
            node_name: None,
            nominated_node_name: None,
            phase: PodPhase::Pending,
            started: None,
            ready: None,
            marked_unschedulable: true,
            do_not_disrupt: None,
            deletion_cost: None,
            is_mirror: false,
            virtual_of: None,
        }
    }

    /// The pod, running on a node.
    pub fn on(self, node: &str) -> Pod {
        bound(&self.pending(), node)
    }
}

/// A pod as it is once it runs on a node.
pub fn bound(pod: &Pod, node: &str) -> Pod {
    Pod {
        node_name: Some(node.into()),
        phase: PodPhase::Running,
        ready: Some(true),
        marked_unschedulable: false,
        ..pod.clone()
    }
}

/// A DaemonSet whose pods tolerate everything.
pub fn daemon_set(name: &str, cpu_millis: i64, memory_mib: i64) -> DaemonSet {
    let everything = Toleration { key: None, exists: true, value: "".into(), effect: None };
    let spec = PodSpec {
        requests: pod_requests(cpu_millis, memory_mib),
        tolerations: vec![everything],
        ..PodSpec::default()
    };
    DaemonSet {
        key: ObjectKey::new("kube-system", name),
        template: PodTemplate { labels: Arc::default(), spec: Arc::new(spec) },
    }
}

/// The pod of a DaemonSet that runs on a node.
pub fn daemon_pod(daemon_set: &DaemonSet, node: &str) -> Pod {
    let key = &daemon_set.key;
    let pod = Pod {
        key: ObjectKey::new(key.namespace.clone(), format!("{}-{node}", key.name)),
        labels: daemon_set.template.labels.clone(),
        owner: Some(Owner { kind: OwnerKind::DaemonSet, name: key.name.clone(), uid: "".into() }),
        spec: daemon_set.template.spec.clone(),
        ..pod("").pending()
    };
    bound(&pod, node)
}

/// A NodePool under construction.
#[derive(Clone, Debug)]
pub struct NodePoolBuilder(NodePool);

/// A NodePool of node class `default` whose nodes never expire and that may disrupt any number at once.
pub fn node_pool(name: &str) -> NodePoolBuilder {
    let template = NodeClaimTemplate {
        node_class_ref: node_class_ref(),
        expire_after: NeverOr::Never,
        ..NodeClaimTemplate::default()
    };
    NodePoolBuilder(NodePool {
        name: name.into(),
        uid: "".into(),
        annotations: Labels::new(),
        is_deleting: false,
        ready: None,
        template: Arc::new(template),
        disruption: Disruption { budgets: Vec::<Budget>::new(), ..Disruption::default() },
        limits: Resources::new(),
        weight: 0,
        replicas: None,
    })
}

fn node_class_ref() -> NodeClassRef {
    NodeClassRef {
        group: "karpenter.k8s.aws".into(),
        kind: "EC2NodeClass".into(),
        name: "default".into(),
    }
}

impl NodePoolBuilder {
    /// Requires something of its nodes.
    pub fn require(mut self, requirement: Requirement) -> Self {
        Arc::make_mut(&mut self.0.template).requirements.push(requirement);
        self
    }

    /// Labels its nodes.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.0.template).labels.insert(key.into(), value.into());
        self
    }

    /// Taints its nodes.
    pub fn taint(mut self, key: &str) -> Self {
        Arc::make_mut(&mut self.0.template).taints.push(taint(key));
        self
    }

    /// All its nodes together have at most so much CPU, in millicores.
    pub fn cpu_limit(mut self, millis: i64) -> Self {
        self.0.limits.set(&CPU.into(), millis);
        self
    }

    /// It has at most so many nodes.
    pub fn node_limit(mut self, nodes: i64) -> Self {
        self.0.limits.set(&NODES.into(), nodes);
        self
    }

    /// Heavier pools are tried first.
    pub fn weight(mut self, weight: u32) -> Self {
        self.0.weight = weight;
        self
    }

    /// The NodePool.
    pub fn build(self) -> NodePool {
        self.0
    }
}

/// How far a NodeClaim and its Node have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Launched; its Node has not joined.
    InFlight,
    /// Its Node is ready for pods.
    Ready,
}

/// What a node is made of.
#[derive(Clone, Debug)]
pub struct NodeParts {
    /// The name of Node and NodeClaim.
    pub name: Text,
    /// Labels, those of its life aside.
    pub labels: Labels,
    /// Taints.
    pub taints: Vec<Taint>,
    /// What the instance has.
    pub capacity: Resources,
    /// What pods may use.
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
            name: self.name.clone(),
            uid: "".into(),
            created: None,
            deleted: None,
            labels: self.labels.clone(),
            annotations: Labels::new(),
            requirements: Vec::new().into(),
            requests: Resources::new(),
            taints: self.taints.clone(),
            startup_taints: Vec::new(),
            node_class_ref: node_class_ref(),
            termination_grace_period: None,
            expire_after: NeverOr::Never,
            status: NodeClaimStatus {
                node_name: is_ready.then(|| self.name.clone()),
                provider_id: Some(provider_id.clone()),
                capacity: self.capacity.clone(),
                allocatable: self.allocatable.clone(),
                conditions: reached.into_iter().map(condition).collect(),
                ..NodeClaimStatus::default()
            },
        };
        let node = is_ready.then(|| self.node(provider_id));
        (claim, node)
    }

    fn node(self, provider_id: Text) -> Node {
        let mut labels = self.labels;
        labels.insert(label::HOSTNAME.into(), self.name.clone());
        labels.insert(label::REGISTERED.into(), "true".into());
        labels.insert(label::INITIALIZED.into(), "true".into());
        Node {
            name: self.name,
            uid: "".into(),
            created: None,
            deleted: None,
            labels,
            annotations: Labels::new(),
            taints: self.taints,
            provider_id: Some(provider_id),
            capacity: self.capacity,
            allocatable: self.allocatable,
            conditions: Vec::new(),
        }
    }
}

fn condition(kind: ConditionType) -> Condition {
    Condition {
        kind,
        status: ConditionStatus::True,
        reason: "".into(),
        message: "".into(),
        changed: None,
    }
}
