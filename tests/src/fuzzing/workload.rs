//! Workloads drawn from bytes: everything that pods may ask for, in any combination.

use domain::Text;
use domain::label::{ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, ZONE};
use domain::pod::{
    NodeInclusionPolicy, NodeSelectorTerm, PodAffinityTerm, PodSpec, PreferredNodeTerm,
    PreferredPodTerm, TopologySpreadConstraint, VolumeUse, WhenUnsatisfiable,
};
use domain::requirement::{Operator, Requirement};
use domain::selector::LabelSelector;
use domain::taint::{TaintEffect, Toleration};

use super::draw::Draw;
use crate::builder::{self, PodBuilder};

/// The label that tells workloads apart.
pub(super) const APP: &str = "app";
/// A label that NodePools may give to nodes.
pub(super) const TEAM: &str = "team";
/// Taints that NodePools may wear.
pub(super) const TAINTS: [&str; 2] = ["dedicated", "gpu"];
/// Zones of the catalogues.
pub(super) const ZONES: [&str; 3] = ["test-zone-1", "test-zone-2", "test-zone-3"];
/// Claims that [`super::cluster()`] knows; the last does not exist.
pub(super) const CLAIMS: [&str; 5] = ["in-zone-1", "in-zone-2", "anywhere", "one-pod", "missing"];
const APPS: [&str; 3] = ["app-0", "app-1", "app-2"];
const KEYS: [&str; 5] = [ZONE, HOSTNAME, CAPACITY_TYPE, TEAM, ARCH];

/// The pod that the replicas of a workload are made from, and how many there are.
pub(super) fn workload(draw: &mut Draw, index: usize) -> (PodBuilder, usize) {
    let replicas = 1 + draw.below(5);
    let app = APPS[index % APPS.len()];
    let cpu = draw.pick(&[100, 0, 50, 250, 900, 1_500, 2_600, 64_000]);
    let memory = draw.pick(&[128, 0, 64, 1_000, 2_500, 900_000]);
    let pod = builder::pod(app).requests(cpu, memory).label(APP, app);
    let pod = pod.priority(draw.pick(&[0, 0, 0, 1_000, -10]));
    (pod.with_spec(|spec| fill(draw, spec)), replicas)
}

fn fill(draw: &mut Draw, spec: &mut PodSpec) {
    if let Some(value) = draw.maybe(4, |draw| selector_entry(draw)) {
        spec.node_selector.push(value);
    }
    if draw.one_in(4) {
        let terms = (0..=draw.below(2)).map(|_| node_term(draw)).collect();
        spec.required_node_terms = Some(terms);
    }
    for _ in 0..draw.below(3) {
        if draw.one_in(3) {
            let weight = draw.pick(&[1, 50, 100]);
            spec.preferred_node_terms.push(PreferredNodeTerm { weight, term: node_term(draw) });
        }
    }
    if draw.one_in(3) {
        spec.tolerations.push(toleration(draw));
    }
    for _ in 0..draw.below(3) {
        if draw.one_in(2) {
            spec.topology_spread.push(spread(draw));
        }
    }
    affinities(draw, spec);
    if let Some(port) = draw.maybe(8, |draw| draw.pick(&[80, 443])) {
        let (ip, protocol) = (draw.pick(&["0.0.0.0", "10.0.0.1"]).into(), "TCP".into());
        spec.host_ports.push(domain::pod::HostPort { ip, protocol, port });
    }
    if draw.one_in(5) {
        let name = draw.pick(&CLAIMS).into();
        spec.volumes.push(VolumeUse::Pvc { name, template: None });
    }
}

fn selector_entry(draw: &mut Draw) -> (Text, Text) {
    let (key, value) = draw.pick(&[
        (ZONE, "test-zone-1"),
        (ZONE, "test-zone-2"),
        (CAPACITY_TYPE, "spot"),
        (CAPACITY_TYPE, "on-demand"),
        (ARCH, "arm64"),
        (TEAM, "blue"),
        (INSTANCE_TYPE, "fake-it-2"),
    ]);
    (key.into(), value.into())
}

/// A requirement on a label that the catalogue, a pool or nobody knows.
pub(super) fn requirement(draw: &mut Draw) -> Requirement {
    let key = draw.pick(&[ZONE, TEAM, INSTANCE_TYPE, "size", "special", "integer", CAPACITY_TYPE]);
    let of = |operator, values: &[&str]| Requirement {
        key: key.into(),
        operator,
        values: values.iter().map(|value| Text::from(*value)).collect(),
        min_values: None,
    };
    if key == "integer" {
        let operator = draw.pick(&[Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte]);
        return of(operator, &[draw.pick(&["1", "2", "4", "16"])]);
    }
    let operator =
        draw.pick(&[Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist]);
    if matches!(operator, Operator::Exists | Operator::DoesNotExist) {
        return of(operator, &[]);
    }
    let known: &[&str] = match key {
        ZONE => &ZONES,
        TEAM => &["blue", "red", "green"],
        INSTANCE_TYPE => &["fake-it-0", "fake-it-2", "default-instance-type"],
        "size" => &["small", "large"],
        CAPACITY_TYPE => &["spot", "on-demand"],
        _ => &["optional"],
    };
    let mut values = draw.some_of(known);
    if values.is_empty() {
        values.push(known[0]);
    }
    of(operator, &values)
}

fn node_term(draw: &mut Draw) -> NodeSelectorTerm {
    let expressions = (0..=draw.below(2)).map(|_| requirement(draw)).collect();
    NodeSelectorTerm { expressions, fields: Vec::new() }
}

fn toleration(draw: &mut Draw) -> Toleration {
    let effect = draw.pick(&[
        None,
        Some(TaintEffect::NoSchedule),
        Some(TaintEffect::NoExecute),
        Some(TaintEffect::PreferNoSchedule),
    ]);
    let key = draw.pick(&[Some(TAINTS[0]), Some(TAINTS[1]), None]).map(Text::from);
    Toleration { key, exists: true, value: "".into(), effect }
}

fn some_app(draw: &mut Draw) -> Option<LabelSelector> {
    let app = draw.pick(&[Some(APPS[0]), Some(APPS[1]), Some(APPS[2]), None]);
    app.map(|app| LabelSelector::of_labels([(APP, app)]))
}

fn spread(draw: &mut Draw) -> TopologySpreadConstraint {
    let policy = [NodeInclusionPolicy::Honor, NodeInclusionPolicy::Ignore];
    TopologySpreadConstraint {
        max_skew: draw.pick(&[1, 2, 3]),
        topology_key: draw.pick(&KEYS).into(),
        when_unsatisfiable: draw
            .pick(&[WhenUnsatisfiable::DoNotSchedule, WhenUnsatisfiable::ScheduleAnyway]),
        selector: some_app(draw),
        min_domains: draw.pick(&[None, None, Some(2), Some(5)]),
        node_affinity_policy: draw.pick(&policy),
        node_taints_policy: draw.pick(&policy),
    }
}

fn term(draw: &mut Draw) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: draw.pick(&KEYS).into(),
        selector: some_app(draw),
        namespaces: vec!["default".into()],
        namespace_selector: None,
    }
}

fn affinities(draw: &mut Draw, spec: &mut PodSpec) {
    if draw.one_in(5) {
        spec.pod_affinity.push(term(draw));
    }
    if draw.one_in(4) {
        spec.pod_anti_affinity.push(term(draw));
    }
    if draw.one_in(6) {
        let weight = draw.pick(&[1, 100]);
        spec.preferred_pod_affinity.push(PreferredPodTerm { weight, term: term(draw) });
    }
    if draw.one_in(6) {
        let weight = draw.pick(&[1, 100]);
        spec.preferred_pod_anti_affinity.push(PreferredPodTerm { weight, term: term(draw) });
    }
}
