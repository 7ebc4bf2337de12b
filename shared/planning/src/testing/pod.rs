//! Makers of pods, and of what selects or guards them.

use domain::label::Labels;
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{
    HostPort, NodeInclusionPolicy, Owner, OwnerKind, Pod, PodAffinityTerm, PodPhase, PodSpec,
    TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::requirement::Requirement;
use domain::resource::{CPU, PODS, Resources};
use domain::taint::Toleration;
use domain::workload::{DaemonSet, PodTemplate};
use std::sync::Arc;

use super::values::{minutes_ago, pod_key, selector, texts};

/// A pending pod of 100 millicores.
pub(crate) fn pod(name: &str) -> PodMaker {
    let spec =
        PodSpec { requests: Resources::new().with(CPU, 100).with(PODS, 1), ..PodSpec::default() };
    PodMaker {
        pod: testkit::pod(name).unschedulable().with(|pod| pod.uid = name.into()).build(),
        spec,
        labels: Labels::new(),
    }
}

#[derive(Clone)]
pub(crate) struct PodMaker {
    pub(super) pod: Pod,
    spec: PodSpec,
    labels: Labels,
}

impl PodMaker {
    /// Changes its specification.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) fn having(mut self, change: impl FnOnce(&mut Pod)) -> Self {
        change(&mut self.pod);
        self
    }

    pub(crate) fn priority(self, priority: i32) -> Self {
        self.with(|spec| spec.priority = priority)
    }

    pub(crate) fn cpu(self, millis: i64) -> Self {
        self.asking(CPU, millis)
    }

    pub(crate) fn asking(self, resource: &str, amount: i64) -> Self {
        self.with(|spec| spec.requests.set(&resource.into(), amount))
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// `nodeSelector`.
    pub(crate) fn on_nodes_with(self, key: &str, value: &str) -> Self {
        self.with(|spec| spec.node_selector.push((key.into(), value.into())))
    }

    /// Required node affinity of one term with one expression.
    pub(crate) fn requiring(self, requirement: Requirement) -> Self {
        self.with(|spec| {
            let terms = spec.required_node_terms.get_or_insert_default();
            match terms.first_mut() {
                Some(term) => term.expressions.push(requirement),
                None => terms.push(domain::pod::NodeSelectorTerm {
                    expressions: vec![requirement],
                    fields: Vec::new(),
                }),
            }
        })
    }

    pub(crate) fn preferring(self, weight: i32, requirement: Requirement) -> Self {
        self.with(|spec| {
            spec.preferred_node_terms.push(domain::pod::PreferredNodeTerm {
                weight,
                term: domain::pod::NodeSelectorTerm {
                    expressions: vec![requirement],
                    fields: Vec::new(),
                },
            });
        })
    }

    pub(crate) fn tolerating(self, key: &str) -> Self {
        self.with(|spec| {
            spec.tolerations.push(Toleration {
                key: Some(key.into()),
                exists: true,
                value: "".into(),
                effect: None,
            });
        })
    }

    pub(crate) fn host_port(self, port: u16) -> Self {
        self.with(|spec| {
            spec.host_ports.push(HostPort { ip: "0.0.0.0".into(), protocol: "TCP".into(), port });
        })
    }

    pub(crate) fn spread(self, constraint: TopologySpreadConstraint) -> Self {
        self.with(|spec| spec.topology_spread.push(constraint))
    }

    pub(crate) fn affinity(self, term: PodAffinityTerm) -> Self {
        self.with(|spec| spec.pod_affinity.push(term))
    }

    pub(crate) fn anti_affinity(self, term: PodAffinityTerm) -> Self {
        self.with(|spec| spec.pod_anti_affinity.push(term))
    }

    /// Runs on a node, as a pod of a ReplicaSet.
    pub(crate) fn on(self, node: &str) -> Self {
        self.having(|pod| {
            pod.node_name = Some(node.into());
            pod.phase = PodPhase::Running;
            pod.started = Some(minutes_ago(60));
            pod.ready = Some(true);
            pod.marked_unschedulable = false;
        })
        .owned_by(OwnerKind::ReplicaSet)
    }

    pub(crate) fn owned_by(self, kind: OwnerKind) -> Self {
        self.having(|pod| pod.owner = Some(Owner { kind, name: "owner".into(), uid: "".into() }))
    }

    pub(crate) fn make(self) -> Pod {
        Pod { spec: Arc::new(self.spec), labels: Arc::new(self.labels), ..self.pod }
    }
}

/// A required spread with a skew of at most one.
pub(crate) fn spread_over(key: &str, label: (&str, &str)) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: key.into(),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: Some(selector(label)),
        min_domains: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

/// An affinity term for pods with a label, by domains of a key.
pub(crate) fn near(key: &str, label: (&str, &str)) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: key.into(),
        selector: Some(selector(label)),
        namespaces: texts(&["default"]),
        namespace_selector: None,
    }
}

/// A DaemonSet whose pods request `millis` millicores.
pub(crate) fn daemon_set(name: &str, millis: i64) -> DaemonSet {
    daemon_set_of(name, pod(name).cpu(millis))
}

pub(crate) fn daemon_set_of(name: &str, pod: PodMaker) -> DaemonSet {
    let pod = pod.make();
    let template = PodTemplate { labels: pod.labels, spec: pod.spec };
    DaemonSet { key: pod_key(name), template, is_on_host_network: false }
}

/// A PodDisruptionBudget for pods with a label that allows `allowed` disruptions now.
pub(crate) fn pdb(name: &str, label: (&str, &str), allowed: u32) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: pod_key(name),
        selector: Some(selector(label)),
        max_unavailable: Some(CountOrPercent::Count(1)),
        min_available: None,
        always_allow_unhealthy: false,
        disruptions_allowed: Some(allowed),
        current_healthy: 1,
        desired_healthy: 1,
    }
}
