//! The scores: which of the nodes that could take a pod is best, with kube-scheduler's default
//! weights.

use std::collections::BTreeMap;

use domain::Text;
use domain::pod::{PodAffinityTerm, WhenUnsatisfiable};
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY};
use domain::scheduler::scoring::{ResourceUse, ResourceWeight, SCORE_MAX, ScoringStrategy};
use domain::taint::{self, TaintEffect};

use super::node_match::term_matches;
use super::spread;
use super::view::{ClusterView, NodeView, SchedulingPod};

/// Weights of kube-scheduler's default configuration.
const WEIGHT_RESOURCES: i64 = 1;
const WEIGHT_BALANCE: i64 = 1;
const WEIGHT_TAINTS: i64 = 3;
const WEIGHT_NODE_AFFINITY: i64 = 2;
const WEIGHT_SPREAD: i64 = 2;
const WEIGHT_POD_AFFINITY: i64 = 2;
/// What a required pod affinity of a running pod adds to nodes of its domain.
const HARD_POD_AFFINITY_WEIGHT: i64 = 1;

/// The best of several nodes (indices into the view); the first by name among equals.
pub(super) fn best(
    view: &ClusterView,
    pod: &SchedulingPod,
    feasible: &[usize],
    scoring: &ScoringStrategy,
) -> usize {
    let nodes: Vec<&NodeView> = feasible.iter().map(|index| &view.nodes()[*index]).collect();
    let mut totals = vec![0; nodes.len()];
    let mut add = |weight: i64, scores: Vec<i64>| {
        for (total, score) in totals.iter_mut().zip(scores) {
            *total += weight * score;
        }
    };
    add(WEIGHT_RESOURCES, nodes.iter().map(|own| resource_fit(own, pod, scoring)).collect());
    add(WEIGHT_BALANCE, nodes.iter().map(|own| balance(own, pod)).collect());
    add(WEIGHT_TAINTS, inverted(nodes.iter().map(|own| repelling_taints(own, pod)).collect()));
    add(WEIGHT_NODE_AFFINITY, scaled(nodes.iter().map(|own| preferred(own, pod)).collect()));
    add(WEIGHT_SPREAD, soft_spread(view, &nodes, pod));
    add(WEIGHT_POD_AFFINITY, stretched(pod_affinity(view, &nodes, pod)));
    let best = (0..nodes.len()).rev().max_by_key(|index| totals[*index]).unwrap_or(0);
    feasible[best]
}

/// How the strategy of NodeResourcesFit scores what would be in use of the resources that it
/// counts. Resources of devices count for pods that request them only.
fn resource_fit(own: &NodeView, pod: &SchedulingPod, scoring: &ScoringStrategy) -> i64 {
    let (cpu, memory) = pod.counted();
    let resource_use = |ResourceWeight { name, weight }: &ResourceWeight| {
        let request = pod.spec.requests.get(name);
        let requested = match &**name {
            CPU => own.load.counted.0 + cpu,
            MEMORY => own.load.counted.1 + memory,
            EPHEMERAL_STORAGE => own.load.used.get(name) + request,
            _ if request == 0 => return None,
            _ => own.load.used.get(name) + request,
        };
        let allocatable = own.node.allocatable.get(name);
        Some(ResourceUse { requested, allocatable, weight: *weight })
    };
    scoring.kind.score(scoring.resources.iter().filter_map(resource_use))
}

/// How evenly CPU and memory would be used: 100 less the standard deviation of the two shares,
/// which for two is half of their difference.
fn balance(own: &NodeView, pod: &SchedulingPod) -> i64 {
    let shares: Vec<i64> = used_with(own, pod)
        .into_iter()
        .map(|(used, allocatable)| used.min(allocatable) * SCORE_MAX * 1000 / allocatable)
        .collect();
    match shares.as_slice() {
        [cpu, memory] => (SCORE_MAX * 1000 - (cpu - memory).abs() / 2) / 1000,
        _ => SCORE_MAX,
    }
}

/// CPU and memory that would be in use with the pod, and what there is; a resource that the node
/// does not have is left out.
fn used_with(own: &NodeView, pod: &SchedulingPod) -> Vec<(i64, i64)> {
    let (cpu, memory) = pod.counted();
    [(CPU, own.load.counted.0 + cpu), (MEMORY, own.load.counted.1 + memory)]
        .into_iter()
        .map(|(name, used)| (used, own.node.allocatable.get(name)))
        .filter(|(_, allocatable)| *allocatable > 0)
        .collect()
}

/// PreferNoSchedule taints that the pod does not tolerate.
fn repelling_taints(own: &NodeView, pod: &SchedulingPod) -> i64 {
    let repels = |taint: &&taint::Taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            && !taint::tolerated(&pod.spec.tolerations, taint)
    };
    i64::try_from(own.node.taints.iter().filter(repels).count()).unwrap_or(i64::MAX)
}

/// Weights of preferred node affinity terms that the node meets.
fn preferred(own: &NodeView, pod: &SchedulingPod) -> i64 {
    pod.spec
        .preferred_node_terms
        .iter()
        .filter(|preference| term_matches(&preference.term, own.node))
        .map(|preference| i64::from(preference.weight))
        .sum()
}

/// ScheduleAnyway constraints: fewer matching pods in the node's domains is better.
fn soft_spread(view: &ClusterView, nodes: &[&NodeView], pod: &SchedulingPod) -> Vec<i64> {
    let constraints = spread::constraints(view, pod, WhenUnsatisfiable::ScheduleAnyway);
    if constraints.is_empty() {
        return vec![0; nodes.len()];
    }
    let has_keys = |own: &NodeView| {
        constraints.iter().all(|own_c| own.node.labels.contains_key(&own_c.topology_key))
    };
    let mut raw: Vec<Option<i64>> = nodes.iter().map(|own| has_keys(own).then_some(0)).collect();
    for constraint in &constraints {
        let mut by_domain: BTreeMap<&Text, i64> = BTreeMap::new();
        for own in nodes.iter().filter(|own| has_keys(own)) {
            by_domain.entry(&own.node.labels[&constraint.topology_key]).or_default();
        }
        let mut matching = spread::Matching::new(constraint, pod);
        for own in view.nodes() {
            let domain = own.node.labels.get(&constraint.topology_key);
            let Some(count) = domain.and_then(|domain| by_domain.get_mut(domain)) else { continue };
            if has_keys(own) && spread::counts_node(constraint, pod, own.node) {
                *count += i64::from(matching.on(own));
            }
        }
        let weight = domain_weight_milli(by_domain.len());
        for (own, score) in nodes.iter().zip(&mut raw) {
            if let Some(score) = score {
                let count = by_domain[&own.node.labels[&constraint.topology_key]];
                *score += count * weight + i64::from(constraint.max_skew - 1) * 1000;
            }
        }
    }
    let known: Vec<i64> = raw.iter().flatten().copied().collect();
    let (most, least) =
        (known.iter().max().copied().unwrap_or(0), known.iter().min().copied().unwrap_or(0));
    raw.into_iter()
        .map(|score| match score {
            None => 0,
            Some(_) if most == 0 => SCORE_MAX,
            Some(score) => SCORE_MAX * (most + least - score) / most,
        })
        .collect()
}

/// ln(domains + 2) in thousandths: many small domains weigh more than few large ones.
fn domain_weight_milli(domains: usize) -> i64 {
    let domains = f64::from(u32::try_from(domains).unwrap_or(u32::MAX));
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm of 32 bits is below 23")]
    let milli = ((domains + 2.0).ln() * 1000.0).round() as i64;
    milli
}

/// Preferences about other pods, the pod's own and those of pods that run.
fn pod_affinity(view: &ClusterView, nodes: &[&NodeView], pod: &SchedulingPod) -> Vec<i64> {
    let mut by_domain: BTreeMap<(&Text, &Text), i64> = BTreeMap::new();
    for own in view.nodes() {
        let mut add = |term: &'_ PodAffinityTerm, weight: i64| {
            if let Some((key, domain)) = own.node.labels.get_key_value(&term.topology_key) {
                *by_domain.entry((key, domain)).or_default() += weight;
            }
        };
        for other in own.load.pods.iter().map(|own| SchedulingPod::of(own)) {
            for preferred in &pod.spec.preferred_pod_affinity {
                if view.selects(&preferred.term, &other) {
                    add(&preferred.term, i64::from(preferred.weight));
                }
            }
            for preferred in &pod.spec.preferred_pod_anti_affinity {
                if view.selects(&preferred.term, &other) {
                    add(&preferred.term, -i64::from(preferred.weight));
                }
            }
        }
        for other in &own.load.with_pod_terms {
            for term in other.spec.pod_affinity.iter().filter(|term| view.selects(term, pod)) {
                add(term, HARD_POD_AFFINITY_WEIGHT);
            }
            for preferred in &other.spec.preferred_pod_affinity {
                if view.selects(&preferred.term, pod) {
                    add(&preferred.term, i64::from(preferred.weight));
                }
            }
            for preferred in &other.spec.preferred_pod_anti_affinity {
                if view.selects(&preferred.term, pod) {
                    add(&preferred.term, -i64::from(preferred.weight));
                }
            }
        }
    }
    let score_of = |own: &&NodeView| {
        by_domain
            .iter()
            .filter(|((key, domain), _)| own.node.labels.get(*key) == Some(*domain))
            .map(|(_, weight)| weight)
            .sum()
    };
    nodes.iter().map(score_of).collect()
}

/// The largest becomes 100.
fn scaled(scores: Vec<i64>) -> Vec<i64> {
    match scores.iter().max() {
        Some(&most) if most > 0 => scores.iter().map(|score| score * SCORE_MAX / most).collect(),
        _ => scores,
    }
}

/// The largest becomes 0 and none becomes 100.
fn inverted(scores: Vec<i64>) -> Vec<i64> {
    scaled(scores).into_iter().map(|score| SCORE_MAX - score).collect()
}

/// The smallest becomes 0 and the largest 100.
fn stretched(scores: Vec<i64>) -> Vec<i64> {
    let (least, most) =
        (scores.iter().min().copied().unwrap_or(0), scores.iter().max().copied().unwrap_or(0));
    if least == most {
        return vec![0; scores.len()];
    }
    scores.into_iter().map(|score| SCORE_MAX * (score - least) / (most - least)).collect()
}
