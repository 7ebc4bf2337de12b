//! Strategies for pods: sizes, node labels, taints, and rules about other pods.

use domain::Text;
use domain::label::{ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, ZONE};
use domain::pod::{NodeInclusionPolicy, Pod, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::requirement::{Operator, Requirement};
use domain::selector::LabelSelector;
use proptest::prelude::*;
use proptest::sample::select;

use crate::builder::{self, PodBuilder};

/// The label that tells the workloads of a generated cluster apart.
const APP: &str = "app";
/// A label that NodePools may give to nodes.
pub(super) const TEAM: &str = "team";
/// Taints that NodePools may wear.
pub(super) const TAINTS: [&str; 2] = ["dedicated", "gpu"];
/// Zones of the catalogues.
pub(super) const ZONES: [&str; 3] = ["test-zone-1", "test-zone-2", "test-zone-3"];

/// Which rules about other pods a generated workload may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyRules {
    /// None.
    None,
    /// Spreads and anti-affinity that must hold.
    Hard,
    /// Also spreads that give way.
    HardAndSoft,
}

/// Some pods of one workload: as many as drawn, all alike.
pub(super) fn workload(
    index: usize,
    rules: TopologyRules,
) -> impl Strategy<Value = Vec<PodBuilder>> {
    let rules = match rules {
        TopologyRules::None => Just(Vec::new()).boxed(),
        TopologyRules::Hard => topology(vec![WhenUnsatisfiable::DoNotSchedule]).boxed(),
        TopologyRules::HardAndSoft => {
            topology(vec![WhenUnsatisfiable::DoNotSchedule, WhenUnsatisfiable::ScheduleAnyway])
                .boxed()
        }
    };
    (1..=4_usize, size(), placement(), rules, select(vec![0, 0, 0, 1000])).prop_map(
        move |(replicas, (cpu, memory), placement, topology, priority)| {
            let app = format!("app-{index}");
            let replica = |number: usize| {
                let pod = builder::pod(format!("{app}-{number}"))
                    .requests(cpu, memory)
                    .label(APP, &app)
                    .priority(priority);
                let pod = placement.iter().fold(pod, Placement::apply);
                topology.iter().fold(pod, |pod, rule| rule.apply(pod, &app))
            };
            (0..replicas).map(replica).collect()
        },
    )
}

/// CPU in millicores and memory in MiB: mostly what fits, sometimes what nothing can host.
fn size() -> impl Strategy<Value = (i64, i64)> {
    let cpu = prop_oneof![8 => select(vec![0, 50, 250, 500, 900, 1_500, 2_600]), 1 => Just(64_000)];
    let memory = prop_oneof![8 => select(vec![0, 64, 256, 1_000, 2_500]), 1 => Just(900_000)];
    (cpu, memory)
}

/// A rule about the node that hosts a pod.
#[derive(Clone, Debug)]
enum Placement {
    Selector(&'static str, &'static str),
    Term(Vec<Requirement>),
    Tolerates(&'static str),
    HostPort(u16),
}

impl Placement {
    fn apply(pod: PodBuilder, rule: &Self) -> PodBuilder {
        match rule {
            Self::Selector(key, value) => pod.node_selector(key, value),
            Self::Term(expressions) => pod.node_term(expressions.clone()),
            Self::Tolerates(key) => pod.tolerates(key),
            Self::HostPort(port) => pod.host_port(*port),
        }
    }
}

fn placement() -> impl Strategy<Value = Vec<Placement>> {
    let selector = prop_oneof![
        select(ZONES.to_vec()).prop_map(|zone| Placement::Selector(ZONE, zone)),
        select(vec!["spot", "on-demand"]).prop_map(|way| Placement::Selector(CAPACITY_TYPE, way)),
        select(vec!["amd64", "arm64"]).prop_map(|arch| Placement::Selector(ARCH, arch)),
        select(vec!["blue", "red"]).prop_map(|team| Placement::Selector(TEAM, team)),
    ];
    let term = prop::collection::vec(expression(), 1..=2).prop_map(Placement::Term);
    let tolerates = select(TAINTS.to_vec()).prop_map(Placement::Tolerates);
    let port = select(vec![80, 443]).prop_map(Placement::HostPort);
    let rule = prop_oneof![3 => selector, 3 => term, 3 => tolerates, 1 => port];
    prop::collection::vec(rule, 0..=2)
}

fn expression() -> impl Strategy<Value = Requirement> {
    let of = |key: &'static str, values: &'static [&'static str]| {
        let listed = prop::sample::subsequence(values.to_vec(), 1..=values.len());
        let operator =
            select(vec![Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist]);
        (operator, listed).prop_map(move |(operator, listed)| requirement(key, operator, &listed))
    };
    let bound = (select(vec![Operator::Gt, Operator::Lt]), select(vec!["1", "2", "4", "16"]))
        .prop_map(|(operator, value)| requirement("integer", operator, &[value]));
    prop_oneof![
        of(ZONE, &ZONES),
        of(TEAM, &["blue", "red", "green"]),
        of(INSTANCE_TYPE, &["fake-it-0", "fake-it-2", "default-instance-type"]),
        of("size", &["small", "large"]),
        of("special", &["optional"]),
        bound,
    ]
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    let takes_values = !matches!(operator, Operator::Exists | Operator::DoesNotExist);
    let values = values.iter().filter(|_| takes_values).map(|value| Text::from(*value)).collect();
    Requirement { key: key.into(), operator, values, min_values: None }
}

/// A rule about the other pods of a workload.
#[derive(Clone, Debug)]
enum Topology {
    Spread(i32, &'static str, WhenUnsatisfiable),
    Apart(&'static str),
}

impl Topology {
    fn apply(&self, pod: PodBuilder, app: &str) -> PodBuilder {
        match *self {
            Self::Apart(key) => pod.apart_from((APP, app), key),
            Self::Spread(max_skew, key, when_unsatisfiable) => {
                pod.spread(TopologySpreadConstraint {
                    max_skew,
                    topology_key: key.into(),
                    when_unsatisfiable,
                    selector: Some(LabelSelector::of_labels([(APP, app)])),
                    min_domains: None,
                    node_affinity_policy: NodeInclusionPolicy::Honor,
                    node_taints_policy: NodeInclusionPolicy::Ignore,
                })
            }
        }
    }
}

fn topology(hardness: Vec<WhenUnsatisfiable>) -> impl Strategy<Value = Vec<Topology>> {
    let key = || select(vec![ZONE, HOSTNAME]);
    let spread = (1..=2, key(), select(hardness))
        .prop_map(|(skew, key, hardness)| Topology::Spread(skew, key, hardness));
    let rule = prop_oneof![spread, key().prop_map(Topology::Apart)];
    prop_oneof![2 => Just(Vec::new()), 1 => rule.prop_map(|rule| vec![rule])]
}

/// The pods of builders, waiting.
pub(super) fn pending(builders: Vec<PodBuilder>) -> Vec<Pod> {
    builders.into_iter().map(PodBuilder::build).collect()
}
