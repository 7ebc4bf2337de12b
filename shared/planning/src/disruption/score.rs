//! Scores of moves: what they save for what they disrupt, and what they cost once.
//!
//! The score is that of the `Balanced` policy: the fraction of the cost that a move saves, over the
//! fraction of all disruption that it causes. It decides under that policy, and ranks moves under
//! every policy.
//!
//! Source: Karpenter `pkg/controllers/disruption/balanced.go`, with k = 2.

use std::collections::BTreeMap;
use std::fmt;

use domain::Text;
use domain::Timestamp;
use domain::label;
use domain::money::UsdPerHour;
use domain::node_claim::NodeClaim;
use domain::node_pool::ConsolidationPolicy;
use domain::reason::Unconsolidatable;

use super::cost::{eviction_cost, lifetime_remaining};
use crate::ids::{IndexVec, NodeIx};
use crate::model::Model;

/// A `Balanced` pool approves a move when its score is at least one half.
const SCORE_MIN: f64 = 0.5;

/// Assumed cost of evicting an ordinary pod, in nano-USD: a hundredth of a cent, for work that is
/// lost and requests that fail or wait. Higher with a deletion cost or a priority.
const EVICTION_NANOS: f64 = 100_000.0;

/// Hours for which a new node is paid for beside the nodes that it replaces: five minutes.
const OVERLAP_HOURS: f64 = 5.0 / 60.0;

/// Hours within which a move must pay for itself at the latest.
const PAYBACK_HOURS: f64 = 24.0;

/// Hours within which a move to several new nodes must pay for itself at the latest: with enough
/// pods there is always one that saves a little.
const PAYBACK_OF_SEVERAL_HOURS: f64 = 2.0;

/// Hours without a change after which nodes are taken to stay as they are. Until then a move must
/// pay for itself within the time for which pods have neither come to nor left its nodes: what has
/// just changed is likely to change again soon.
const SETTLED_HOURS: f64 = 0.5;

/// Hours that every move has to pay for itself: two minutes. In a cluster that has just shrunk,
/// what saves much goes first, and small moves wait until it is known whether pods come back.
const PAYBACK_LEAST_HOURS: f64 = 2.0 / 60.0;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// Prices and disruption of all nodes, with their sums by pool.
pub(super) struct Scores<'a> {
    pools: BTreeMap<&'a Text, PoolTotal>,
    by_node: IndexVec<NodeIx, NodeShare>,
}

#[derive(Clone, Copy, Default)]
struct NodeShare {
    /// Nano-USD per hour; 0 where it is not known.
    price: f64,
    /// Sum of the eviction costs of its pods, 1 for an ordinary one.
    evictions: f64,
    /// (1 + evictions) × remaining lifetime fraction.
    disruption: f64,
    /// Hours since a pod came or went; infinite where that is not known.
    unchanged_hours: f64,
}

#[derive(Clone, Copy, Default)]
struct PoolTotal {
    price: f64,
    disruption: f64,
    is_balanced: bool,
}

/// What a `Balanced` pool thinks of a move.
pub(super) struct PoolScore {
    /// The share of the cost that it saves, over the share of all disruption that it is.
    score: f64,
    /// The share of the pool's cost that it saves.
    saved: f64,
    /// The share of the pool's disruption that it is.
    disrupted: f64,
}

impl PoolScore {
    /// Whether the pool does not approve.
    fn is_low(&self) -> bool {
        self.score < SCORE_MIN
    }
}

impl fmt::Display for PoolScore {
    /// In the words of Karpenter's event `ConsolidationApproved`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { score, saved, disrupted } = self;
        let (saved, disrupted) = (saved * 100.0, disrupted * 100.0);
        write!(
            f,
            "score {score:.2} >= threshold {SCORE_MIN:.2} (savings {saved:.1}%, disruption \
             {disrupted:.1}%)"
        )
    }
}

impl<'a> Scores<'a> {
    /// Of all nodes of a model.
    pub(super) fn of(model: &Model<'a>) -> Self {
        let mut pools: BTreeMap<&Text, PoolTotal> = BTreeMap::new();
        for pool in &model.snapshot.objects.node_pools {
            let policy = pool.disruption.consolidation_policy;
            let is_balanced = policy == ConsolidationPolicy::Balanced;
            pools.insert(&pool.name, PoolTotal { is_balanced, ..PoolTotal::default() });
        }
        let by_node: IndexVec<NodeIx, NodeShare> =
            model.nodes.indices().map(|node| NodeShare::of(model, node)).collect();
        for (node, share) in model.nodes.iter().zip(&by_node) {
            let pool = node.labels.get(label::NODE_POOL).and_then(|name| pools.get_mut(name));
            if let Some(total) = pool.filter(|_| node.node.is_some()) {
                total.price += share.price;
                total.disruption += share.disruption;
            }
        }
        Self { pools, by_node }
    }

    /// Savings per disruption: comparable between moves of one plan only.
    #[expect(clippy::cast_precision_loss, reason = "only ranks")]
    pub(super) fn rank(&self, nodes: &[NodeIx], savings: UsdPerHour) -> f64 {
        savings.nanos() as f64 / self.disruption(nodes).max(f64::MIN_POSITIVE)
    }

    /// What removing the nodes disrupts: a node counts as much as an ordinary pod, both × the
    /// node's remaining lifetime fraction.
    pub(super) fn disruption(&self, nodes: &[NodeIx]) -> f64 {
        nodes.iter().map(|node| self.by_node[*node].disruption).sum()
    }

    /// The least that a move must save per hour: what its evictions cost, and new nodes beside the
    /// old ones while they start, over the time within which it must pay for itself, which is
    /// longer for nodes on which nothing has changed for long. Always positive. `price` is that of
    /// the new nodes, `launches` their number.
    pub(super) fn required_savings(
        &self,
        nodes: &[NodeIx],
        launches: usize,
        price: UsdPerHour,
    ) -> UsdPerHour {
        let evictions: f64 = nodes.iter().map(|node| self.by_node[*node].evictions).sum();
        let overlap = price.to_f64() * 1e9 * OVERLAP_HOURS;
        let once = evictions.mul_add(EVICTION_NANOS, overlap);
        let most = if launches > 1 { PAYBACK_OF_SEVERAL_HOURS } else { PAYBACK_HOURS };
        let unchanged = nodes.iter().map(|node| self.by_node[*node].unchanged_hours);
        let unchanged = unchanged.fold(f64::INFINITY, f64::min);
        let is_settled = unchanged >= SETTLED_HOURS;
        let hours = if is_settled { most } else { unchanged.max(PAYBACK_LEAST_HOURS) };
        UsdPerHour::from_f64(once / hours / 1e9)
            .unwrap_or(UsdPerHour::MAX)
            .max(UsdPerHour::from_nanos(1))
    }

    /// Whether every `Balanced` pool of the nodes approves a move with such a saving.
    pub(super) fn approve(
        &self,
        model: &Model,
        nodes: &[NodeIx],
        saving: UsdPerHour,
    ) -> Result<(), Unconsolidatable> {
        let low = self.balanced(model, nodes, saving).into_iter().find(|own| own.1.is_low());
        let Some((_, PoolScore { score, .. })) = low else { return Ok(()) };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 50"
        )]
        let score_percent = (score * 100.0) as u32;
        Err(Unconsolidatable::Unbalanced { saving, score_percent })
    }

    /// The score of a move in each `Balanced` pool of its nodes.
    #[expect(clippy::cast_precision_loss, reason = "scores are ratios")]
    pub(super) fn balanced(
        &self,
        model: &Model,
        nodes: &[NodeIx],
        saving: UsdPerHour,
    ) -> Vec<(Text, PoolScore)> {
        let total: f64 = nodes.iter().map(|node| self.by_node[*node].price).sum();
        let mut own: BTreeMap<&Text, (f64, f64)> = BTreeMap::new();
        for node in nodes {
            if let Some(pool) = model.nodes[*node].labels.get(label::NODE_POOL) {
                let (price, disruption) = own.entry(pool).or_default();
                *price += self.by_node[*node].price;
                *disruption += self.by_node[*node].disruption;
            }
        }
        let of_pool = |(name, (price, disruption)): (&Text, (f64, f64))| {
            let pool = self.pools.get(name).filter(|pool| pool.is_balanced)?;
            let saved = saving.nanos() as f64 * price / total / pool.price;
            let disrupted = disruption / pool.disruption;
            let score = match () {
                () if pool.price <= 0.0 || pool.disruption <= 0.0 || total <= 0.0 => 0.0,
                () if saved <= 0.0 => 0.0,
                () if disrupted <= 0.0 => f64::INFINITY,
                () => saved / disrupted,
            };
            Some((name.clone(), PoolScore { score, saved, disrupted }))
        };
        own.into_iter().filter_map(of_pool).collect()
    }
}

impl NodeShare {
    #[expect(clippy::cast_precision_loss, reason = "shares are ratios")]
    fn of(model: &Model, node: NodeIx) -> Self {
        let view = &model.nodes[node];
        let evictions: f64 = view
            .bound
            .iter()
            .map(|pod| model.pod(*pod))
            .filter(|pod| pod.is_reschedulable())
            .map(|pod| eviction_cost(pod).max(0.0))
            .sum();
        Self {
            price: view.price().map_or(0.0, |price| price.nanos() as f64),
            evictions,
            disruption: (1.0 + evictions) * lifetime_remaining(view.claim, model.snapshot.now),
            unchanged_hours: unchanged_hours(view.claim, model.snapshot.now),
        }
    }
}

fn unchanged_hours(claim: Option<&NodeClaim>, now: Timestamp) -> f64 {
    let last = claim.and_then(|claim| claim.status.last_pod_event);
    last.map_or(f64::INFINITY, |last| now.duration_since(last).as_secs_f64() / SECONDS_PER_HOUR)
}
