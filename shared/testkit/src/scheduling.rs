//! Resources, taints and constraints that objects are made of.

use domain::pod::{
    NodeInclusionPolicy, PodAffinityTerm, TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::selector::LabelSelector;
use domain::taint::{Taint, TaintEffect, Toleration};

/// Bytes of a mebibyte.
const MEBIBYTE: i64 = 1 << 20;

/// CPU in millicores, memory in MiB, and pod slots.
pub fn resources(cpu_millis: i64, memory_mib: i64, pods: i64) -> Resources {
    let memory = memory_mib * MEBIBYTE;
    Resources::new().with(CPU, cpu_millis).with(MEMORY, memory).with(PODS, pods).without_zeros()
}

/// The requests of one pod: CPU in millicores, memory in MiB, and one pod slot.
pub fn pod_requests(cpu_millis: i64, memory_mib: i64) -> Resources {
    resources(cpu_millis, memory_mib, 1)
}

/// A `NoSchedule` taint without a value.
pub fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoSchedule }
}

/// A toleration of every taint of a key; of every taint at all without one.
pub fn toleration(key: Option<&str>) -> Toleration {
    Toleration { key: key.map(Into::into), exists: true, value: "".into(), effect: None }
}

/// A spread constraint of `maxSkew` 1, `DoNotSchedule`, over the domains of a key, counting pods
/// with a label; node inclusion policies at the defaults of Kubernetes.
pub fn spread(topology_key: &str, label: (&str, &str)) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: topology_key.into(),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: Some(LabelSelector::of_labels([label])),
        min_domains: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

/// A pod affinity term: pods with a label in namespace `default`, by the domains of a key.
pub fn affinity_term(topology_key: &str, label: (&str, &str)) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: topology_key.into(),
        selector: Some(LabelSelector::of_labels([label])),
        namespaces: vec!["default".into()],
        namespace_selector: None,
    }
}
