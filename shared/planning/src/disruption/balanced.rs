//! The `Balanced` consolidation policy: a move must save a share of the pool's cost that is worth the
//! share of its disruption.
//!
//! Source: Karpenter `pkg/controllers/disruption/balanced.go`, with k = 2.

use domain::label;
use domain::node_pool::ConsolidationPolicy;

use super::candidate::{eviction_cost, lifetime_left};
use crate::model::Model;

/// A move is approved when its score is at least one half.
const SCORE_MIN: f64 = 0.5;

/// Whether every `Balanced` pool among the nodes' approves a move that saves so much, in nano-USD an
/// hour.
#[expect(clippy::cast_precision_loss, reason = "a score that only ranks")]
pub(super) fn approves(model: &Model, nodes: &[usize], savings: i64) -> bool {
    let price = |node: usize| model.nodes[node].price().map_or(0.0, |price| price.nanos() as f64);
    let total: f64 = nodes.iter().map(|node| price(*node)).sum();
    let mut pools: Vec<&domain::Text> =
        nodes.iter().filter_map(|node| model.nodes[*node].labels.get(label::NODE_POOL)).collect();
    pools.sort();
    pools.dedup();
    pools.into_iter().all(|pool| {
        let policy = model
            .snapshot
            .node_pools
            .iter()
            .find(|own| own.name == *pool)
            .map(|own| own.disruption.consolidation_policy);
        if policy != Some(ConsolidationPolicy::Balanced) {
            return true;
        }
        let is_own = |node: usize| model.nodes[node].labels.get(label::NODE_POOL) == Some(pool);
        let own: Vec<usize> = nodes.iter().copied().filter(|node| is_own(*node)).collect();
        let all: Vec<usize> = (0..model.nodes.len())
            .filter(|node| is_own(*node) && model.nodes[*node].node.is_some())
            .collect();
        let own_cost: f64 = own.iter().map(|node| price(*node)).sum();
        let pool_cost: f64 = all.iter().map(|node| price(*node)).sum();
        let disruption = |nodes: &[usize]| -> f64 {
            nodes.iter().map(|node| disruption_cost(model, *node)).sum()
        };
        let (moved, pool_disruption) = (disruption(&own), disruption(&all));
        if pool_cost <= 0.0 || pool_disruption <= 0.0 || total <= 0.0 {
            return false;
        }
        let share = savings as f64 * own_cost / total / pool_cost;
        let disrupted = moved / pool_disruption;
        share > 0.0 && (disrupted <= 0.0 || share / disrupted >= SCORE_MIN)
    })
}

/// What disrupting a node costs: its own and its pods' eviction costs, by the share of its life left.
fn disruption_cost(model: &Model, node: usize) -> f64 {
    let view = &model.nodes[node];
    let pods: f64 = view
        .bound
        .iter()
        .map(|pod| model.pod(*pod))
        .filter(|pod| pod.is_reschedulable())
        .map(|pod| eviction_cost(pod).max(0.0))
        .sum();
    (1.0 + pods) * lifetime_left(view.claim, model.snapshot.now)
}
