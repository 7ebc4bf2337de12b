//! Topology spread, the hard kind: PodTopologySpread's filter.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::node::Node;
use domain::pod::{NodeInclusionPolicy, Pod, TopologySpreadConstraint, WhenUnsatisfiable};
use rustc_hash::FxHashMap;

use super::node_match::{node_matches, untolerated};
use super::unfit::Unfit;
use super::view::{ClusterView, NodeView, SchedulingPod};

/// Matching pods by domain, for each of a pod's DoNotSchedule constraints.
pub(super) struct HardSpread<'a> {
    constraints: Vec<Counted<'a>>,
}

struct Counted<'a> {
    constraint: Cow<'a, TopologySpreadConstraint>,
    by_domain: BTreeMap<&'a Text, i32>,
    least: i32,
    counts_itself: bool,
}

/// The pod's constraints of one kind: its own, or else the defaults.
pub(super) fn constraints<'a>(
    view: &ClusterView,
    pod: &SchedulingPod<'a>,
    kind: WhenUnsatisfiable,
) -> Vec<Cow<'a, TopologySpreadConstraint>> {
    let own = pod.spec.topology_spread.iter().map(Cow::Borrowed);
    let defaults = view.default_constraints(pod).into_iter().map(Cow::Owned);
    own.chain(defaults).filter(|constraint| constraint.when_unsatisfiable == kind).collect()
}

/// Whether a constraint's domains include a node's.
pub(super) fn counts_node(
    constraint: &TopologySpreadConstraint,
    pod: &SchedulingPod,
    node: &Node,
) -> bool {
    let honors = |policy| policy == NodeInclusionPolicy::Honor;
    (!honors(constraint.node_affinity_policy) || node_matches(pod, node))
        && (!honors(constraint.node_taints_policy) || untolerated(pod, node).is_none())
}

/// The pods that a constraint counts: of its pod's namespace, selected, not being deleted.
pub(super) struct Matching<'c> {
    constraint: &'c TopologySpreadConstraint,
    namespace: &'c Text,
    /// Whether labels are selected, by where they are: pods of one workload share theirs.
    known: FxHashMap<*const Labels, bool>,
}

impl<'c> Matching<'c> {
    /// Of a pod's constraint.
    pub(super) fn new(constraint: &'c TopologySpreadConstraint, pod: &SchedulingPod<'c>) -> Self {
        Self { constraint, namespace: &pod.key.namespace, known: FxHashMap::default() }
    }

    /// How many of them are on a node.
    pub(super) fn on(&mut self, node: &NodeView) -> i32 {
        let Some(selector) = &self.constraint.selector else { return 0 };
        let known = &mut self.known;
        let is_counted = |other: &&Arc<Pod>| {
            let address = Arc::as_ptr(&other.labels);
            *known.entry(address).or_insert_with(|| selector.matches(&other.labels))
                && !other.is_terminating()
                && other.key.namespace == *self.namespace
        };
        i32::try_from(node.load.pods.iter().filter(is_counted).count()).unwrap_or(i32::MAX)
    }
}

impl<'a> HardSpread<'a> {
    pub(super) fn new(view: &'a ClusterView<'a>, pod: &'a SchedulingPod<'a>) -> Self {
        let hard = constraints(view, pod, WhenUnsatisfiable::DoNotSchedule);
        // A node takes part only if it has every topology key.
        let nodes: Vec<&NodeView> = view
            .nodes()
            .iter()
            .filter(|own| hard.iter().all(|c| own.node.labels.contains_key(&c.topology_key)))
            .collect();
        let constraints =
            hard.into_iter().map(|constraint| Counted::new(constraint, pod, &nodes)).collect();
        Self { constraints }
    }

    pub(super) fn fit(&self, node: &Node) -> Result<(), Unfit> {
        for counted in &self.constraints {
            let constraint = &counted.constraint;
            let Some(domain) = node.labels.get(&constraint.topology_key) else {
                return Err(Unfit::TopologySpreadLabel);
            };
            let here = counted.by_domain.get(domain).copied().unwrap_or(0);
            let skew = here + i32::from(counted.counts_itself) - counted.least;
            if skew > constraint.max_skew {
                return Err(Unfit::TopologySpread);
            }
        }
        Ok(())
    }
}

impl<'a> Counted<'a> {
    fn new(
        constraint: Cow<'a, TopologySpreadConstraint>,
        pod: &SchedulingPod,
        nodes: &[&'a NodeView<'a>],
    ) -> Self {
        let mut by_domain: BTreeMap<&Text, i32> = BTreeMap::new();
        let mut matching = Matching::new(&constraint, pod);
        for own in nodes.iter().filter(|own| counts_node(&constraint, pod, own.node)) {
            if let Some(domain) = own.node.labels.get(&constraint.topology_key) {
                *by_domain.entry(domain).or_default() += matching.on(own);
            }
        }
        let domains = i32::try_from(by_domain.len()).unwrap_or(i32::MAX);
        let too_few = constraint.min_domains.is_some_and(|least| domains < least);
        let least = if too_few { 0 } else { by_domain.values().copied().min().unwrap_or(0) };
        let counts_itself =
            constraint.selector.as_ref().is_some_and(|selector| selector.matches(pod.labels));
        Self { constraint, by_domain, least, counts_itself }
    }
}
