//! Pods.

use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::pod::{
    HostPort, NodeSelectorTerm, ObjectKey, Owner, OwnerKind, Pod, PodPhase, PodSpec,
    TopologySpreadConstraint,
};
use domain::requirement::Requirement;
use domain::resource::CPU;

use crate::scheduling::{affinity_term, pod_requests, toleration};

/// A pod under construction.
#[derive(Clone, Debug)]
pub struct PodBuilder {
    pod: Pod,
    labels: Labels,
    spec: PodSpec,
}

/// A pending pod in namespace `default`, without requests, labels, owner and uid.
pub fn pod(name: impl Into<Text>) -> PodBuilder {
    let pod = Pod::pending(ObjectKey::new("default", name));
    PodBuilder { pod, labels: Labels::new(), spec: PodSpec::default() }
}

impl PodBuilder {
    /// Sets requests: CPU in millicores, memory in MiB, and one pod slot.
    pub fn requests(mut self, cpu_millis: i64, memory_mib: i64) -> Self {
        self.spec.requests = pod_requests(cpu_millis, memory_mib);
        self
    }

    /// Sets the CPU request, in millicores.
    pub fn cpu(self, millis: i64) -> Self {
        self.request(CPU, millis)
    }

    /// Sets the request of one resource.
    pub fn request(mut self, resource: &str, amount: i64) -> Self {
        self.spec.requests.set(&resource.into(), amount);
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Adds a label to `nodeSelector`, which is kept sorted; the first value of a key counts.
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        let selector = &mut self.spec.node_selector;
        selector.push((key.into(), value.into()));
        selector.sort();
        selector.dedup_by(|later, earlier| later.0 == earlier.0);
        self
    }

    /// Adds a term to the required node affinity.
    pub fn node_term(mut self, expressions: Vec<Requirement>) -> Self {
        let term = NodeSelectorTerm { expressions, fields: Vec::new() };
        self.spec.required_node_terms.get_or_insert_default().push(term);
        self
    }

    /// Tolerates every taint of a key.
    pub fn tolerates(mut self, key: &str) -> Self {
        self.spec.tolerations.push(toleration(Some(key)));
        self
    }

    /// Tolerates every taint.
    pub fn tolerates_everything(mut self) -> Self {
        self.spec.tolerations.push(toleration(None));
        self
    }

    /// Adds a topology spread constraint.
    pub fn spread(mut self, constraint: TopologySpreadConstraint) -> Self {
        self.spec.topology_spread.push(constraint);
        self
    }

    /// Adds a required affinity to pods with a label, by the domains of a key.
    pub fn near(mut self, label: (&str, &str), topology_key: &str) -> Self {
        self.spec.pod_affinity.push(affinity_term(topology_key, label));
        self
    }

    /// Adds a required anti-affinity to pods with a label, by the domains of a key.
    pub fn apart_from(mut self, label: (&str, &str), topology_key: &str) -> Self {
        self.spec.pod_anti_affinity.push(affinity_term(topology_key, label));
        self
    }

    /// Opens a TCP port on all addresses of its host.
    pub fn host_port(mut self, port: u16) -> Self {
        let (ip, protocol) = ("0.0.0.0".into(), "TCP".into());
        self.spec.host_ports.push(HostPort { ip, protocol, port });
        self
    }

    /// Sets the priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.spec.priority = priority;
        self
    }

    /// Sets the owner, a workload without a uid.
    pub fn owned_by(mut self, kind: OwnerKind, name: &str) -> Self {
        self.pod.owner = Some(Owner { kind, name: name.into(), uid: "".into() });
        self
    }

    /// Marks it as unschedulable, as kube-scheduler does.
    pub fn unschedulable(mut self) -> Self {
        self.pod.marked_unschedulable = true;
        self
    }

    /// Binds it to a node, where it runs and is ready.
    pub fn on(mut self, node: &str) -> Self {
        self.pod = running(&self.pod, node);
        self
    }

    /// Changes the specification.
    pub fn with_spec(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// Changes anything but the specification and the labels.
    pub fn with(mut self, change: impl FnOnce(&mut Pod)) -> Self {
        change(&mut self.pod);
        self
    }

    /// The pod.
    pub fn build(self) -> Pod {
        Pod { labels: Arc::new(self.labels), spec: Arc::new(self.spec), ..self.pod }
    }
}

/// The pod once it is bound to a node, runs and is ready.
pub fn running(pod: &Pod, node: &str) -> Pod {
    Pod {
        node_name: Some(node.into()),
        phase: PodPhase::Running,
        ready: Some(true),
        marked_unschedulable: false,
        ..pod.clone()
    }
}
