//! Scores of moves: what they save for what they disrupt, and what they cost once.
//!
//! The score is that of the `Balanced` policy: the fraction of the cost that a move saves, over the
//! fraction of all disruption that it causes. It decides under that policy, and ranks moves under
//! every policy.
//!
//! Source: Karpenter `pkg/controllers/disruption/balanced.go`, with k = 2.

use std::collections::BTreeMap;
use std::fmt;

use domain::label;
use domain::money::UsdPerHour;
use domain::node_claim::NodeClaim;
use domain::node_pool::ConsolidationPolicy;
use domain::pod::Pod;
use domain::reason::Unconsolidatable;
use domain::{SignedDuration, Text, Timestamp};

use super::cost::{eviction_cost, lifetime_remaining};
use crate::ids::{IndexVec, NodeIx};
use crate::model::Model;
use crate::model::successor::must_move;

/// A `Balanced` pool approves a move when its score is at least one half.
const SCORE_MIN: f64 = 0.5;

/// What evicting an ordinary pod is taken to cost, for work that is lost and requests that fail or
/// wait: what a pod of the cluster costs on average in ten minutes. More with a deletion cost or a
/// priority.
const EVICTION_HOURS: f64 = 10.0 / 60.0;

/// Hours for which a new node is paid for beside the nodes that it replaces: five minutes.
const OVERLAP_HOURS: f64 = 5.0 / 60.0;

/// Hours within which a move must pay for itself at the latest.
const PAYBACK_HOURS: f64 = 24.0;

/// Hours within which a move to several new nodes must pay for itself at the latest: with enough
/// pods there is always one that saves a little.
const PAYBACK_OF_SEVERAL_HOURS: f64 = 8.0;

/// Hours without a change after which nodes are taken to stay as they are. Until then what a move
/// saves is expected to last half as long as nothing has changed: what has just changed is likely
/// to change again soon.
const SETTLED_HOURS: f64 = 0.5;

/// For how long nothing has changed on a node counts in steps of so many minutes: what is worth it
/// changes a few times in an hour, not with every second.
const UNCHANGED_STEP_MINUTES: i64 = 5;

/// Hours for which savings are expected to last where all pods of the cluster have just come; twice
/// as long where half of them have, and so on. Where pods come and go, what is saved is soon gone;
/// so is it where planning itself keeps moving them.
const LASTING_HOURS: f64 = 1.0 / 16.0;

/// Prices that differ by so much count as one, a millionth of a dollar: those of two reservations
/// differ by less, and what is paid for is the reservation, used or not.
const SAME_PRICE_MAX: UsdPerHour = UsdPerHour::from_nanos(1_000);

/// Hours that every move has to pay for its evictions: twenty minutes. In a cluster that has just
/// shrunk, what saves much goes first, and small moves wait until it is known whether pods come
/// back.
const PAYBACK_LEAST_HOURS: f64 = 20.0 / 60.0;

/// Hours that every move has to pay for its new nodes: two minutes. New pods may fill the holes
/// that others left, and make them superfluous.
const PAYBACK_OF_LAUNCHES_LEAST_HOURS: f64 = 2.0 / 60.0;

/// Hours within which a pod that has come counts less and less. Were it to count in full for an
/// hour and then not at all, what a wave of moves left would all be worth it at once after that.
const YOUNG_HOURS: f64 = 2.0;

/// The age of pods counts in steps of so many minutes.
const AGE_STEP_MINUTES: i64 = 10;

const SECONDS_PER_MINUTE: i64 = 60;
const SECONDS_PER_HOUR: f64 = 3600.0;

/// Prices and disruption of all nodes, with their sums by pool.
pub(super) struct Scores<'a> {
    pools: BTreeMap<&'a Text, PoolTotal>,
    by_node: IndexVec<NodeIx, NodeShare>,
    /// What evicting an ordinary pod is taken to cost, in nano-USD.
    eviction_nanos: f64,
    /// For how many hours savings are expected to last.
    lasting_hours: f64,
}

#[derive(Clone, Copy, Default)]
struct NodeShare {
    /// Nano-USD per hour; 0 where it is not known.
    price: f64,
    /// Pods that would have to go elsewhere.
    pods: f64,
    /// How many of them have come lately: each by its youth, from 1 to 0.
    young_pods: f64,
    /// Sum of their eviction costs, 1 for an ordinary one.
    evictions: f64,
    /// (1 + evictions) × remaining lifetime fraction.
    disruption: f64,
    /// Hours since a pod came or went, in whole steps; infinite where that is not known.
    unchanged_hours: f64,
}

#[derive(Clone, Copy, Default)]
struct PoolTotal {
    price: f64,
    disruption: f64,
    is_balanced: bool,
}

/// What a move has to save per hour for what it costs once.
struct Payback {
    /// For its evictions, in nano-USD.
    evictions: f64,
    /// For its new nodes beside the old ones, as a multiple of their price.
    overlap: f64,
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
        let eviction_nanos = eviction_nanos(&by_node);
        let lasting_hours = lasting_hours(&by_node);
        Self { pools, by_node, eviction_nanos, lasting_hours }
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
    /// old ones while they start, over the time for which it is expected to save, which is longer
    /// for nodes on which nothing has changed lately, and in clusters whose pods stay. Always
    /// positive, and with new nodes more than the least difference between prices. `price` is that
    /// of the new nodes, `launches` their number.
    pub(super) fn required_savings(
        &self,
        nodes: &[NodeIx],
        launches: usize,
        price: UsdPerHour,
    ) -> UsdPerHour {
        let Payback { evictions, overlap } = self.payback(nodes, launches);
        let overlap = price.to_f64() * 1e9 * overlap;
        let least = if launches > 0 { SAME_PRICE_MAX } else { UsdPerHour::ZERO };
        UsdPerHour::from_f64((evictions + overlap) / 1e9)
            .unwrap_or(UsdPerHour::MAX)
            .max(least + UsdPerHour::from_nanos(1))
    }

    /// The most that so many new nodes may cost in place of nodes that cost `before`, so that the
    /// move saves what it has to, and its score is at least `least_score` where there is one. None
    /// that cost more are worth it; of those that cost less, some may not be.
    pub(super) fn price_ceiling(
        &self,
        nodes: &[NodeIx],
        launches: usize,
        before: UsdPerHour,
        least_score: Option<f64>,
    ) -> UsdPerHour {
        let Payback { evictions, overlap } = self.payback(nodes, launches);
        let net = least_score.map_or(0.0, |score| (score * self.disruption(nodes)).sqrt() * 1e9);
        let ceiling = (before.to_f64() * 1e9 - evictions - net) / (1.0 + overlap);
        // Prices are whole numbers of nano-USD.
        UsdPerHour::from_f64((ceiling + 2.0) / 1e9).unwrap_or_default()
    }

    /// What a move has to save per hour for what it costs once.
    fn payback(&self, nodes: &[NodeIx], launches: usize) -> Payback {
        let evictions: f64 = nodes.iter().map(|node| self.by_node[*node].evictions).sum();
        let unchanged = nodes.iter().map(|node| self.by_node[*node].unchanged_hours);
        let most = if launches > 1 { PAYBACK_OF_SEVERAL_HOURS } else { PAYBACK_HOURS };
        let unchanged = unchanged.fold(f64::INFINITY, f64::min);
        let is_settled = unchanged >= SETTLED_HOURS;
        let lasts = if is_settled { self.lasting_hours.min(most) } else { unchanged / 2.0 };
        Payback {
            evictions: evictions * self.eviction_nanos / lasts.max(PAYBACK_LEAST_HOURS),
            overlap: OVERLAP_HOURS / lasts.max(PAYBACK_OF_LAUNCHES_LEAST_HOURS),
        }
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
        let pods = view.bound.iter().filter(|pod| must_move(model, **pod));
        let moving = pods.map(|pod| model.pod(*pod));
        let evictions: f64 = moving.clone().map(|pod| eviction_cost(pod).max(0.0)).sum();
        Self {
            pods: moving.clone().count() as f64,
            young_pods: moving.map(|pod| youth(pod, model.snapshot.now)).sum(),
            price: view.price().map_or(0.0, |price| price.nanos() as f64),
            evictions,
            disruption: (1.0 + evictions) * lifetime_remaining(view.claim, model.snapshot.now),
            unchanged_hours: unchanged_hours(view.claim, model.snapshot.now),
        }
    }
}

/// 1 for a pod that has just come, less the older it is, and 0 from some age on; 0 where its age is
/// not known.
fn youth(pod: &Pod, now: Timestamp) -> f64 {
    let Some(created) = pod.created else { return 0.0 };
    let age = hours_in_steps(created, now, AGE_STEP_MINUTES);
    (1.0 - age / YOUNG_HOURS).clamp(0.0, 1.0)
}

/// Hours from one moment to a later one, in whole steps of so many minutes by the clock: those that
/// begin and end in between. So all that is counted becomes older at once, and until the next step
/// nothing is worth more than before.
fn hours_in_steps(since: Timestamp, now: Timestamp, step_minutes: i64) -> f64 {
    let step = step_minutes * SECONDS_PER_MINUTE;
    let first = -(-since.as_second()).div_euclid(step);
    let steps = (now.as_second().div_euclid(step) - first).max(0);
    SignedDuration::from_secs(steps * step).as_secs_f64() / SECONDS_PER_HOUR
}

/// What evicting an ordinary pod is taken to cost, in nano-USD.
fn eviction_nanos(nodes: &IndexVec<NodeIx, NodeShare>) -> f64 {
    let pods: f64 = nodes.iter().map(|node| node.pods).sum();
    let price: f64 = nodes.iter().filter(|node| node.pods > 0.0).map(|node| node.price).sum();
    if pods > 0.0 { EVICTION_HOURS * price / pods } else { 0.0 }
}

/// For how many hours savings are expected to last.
fn lasting_hours(nodes: &IndexVec<NodeIx, NodeShare>) -> f64 {
    let pods: f64 = nodes.iter().map(|node| node.pods).sum();
    let young: f64 = nodes.iter().map(|node| node.young_pods).sum();
    if young > 0.0 { LASTING_HOURS * pods / young } else { f64::INFINITY }
}

fn unchanged_hours(claim: Option<&NodeClaim>, now: Timestamp) -> f64 {
    let last = claim.and_then(|claim| claim.status.last_pod_event);
    last.map_or(f64::INFINITY, |last| hours_in_steps(last, now, UNCHANGED_STEP_MINUTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Idx;

    const NODES: [f64; 2] = [96.0, 58.0];

    fn usd(dollars: f64) -> UsdPerHour {
        UsdPerHour::from_f64(dollars).unwrap()
    }

    /// Two nodes of nano-USD prices in the thousands of millions, with a few pods each.
    fn scores(unchanged_hours: f64) -> Scores<'static> {
        let node = |price: f64| NodeShare {
            price: price * 1e9,
            pods: 4.0,
            evictions: 4.0,
            disruption: 5.0,
            unchanged_hours,
            ..NodeShare::default()
        };
        let by_node = NODES.map(node).to_vec().into();
        let eviction_nanos = eviction_nanos(&by_node);
        Scores { pools: BTreeMap::new(), by_node, eviction_nanos, lasting_hours: f64::INFINITY }
    }

    #[test]
    fn new_nodes_at_the_ceiling_save_just_what_they_have_to() {
        let nodes = [NodeIx::new(0), NodeIx::new(1)];
        let before = usd(NODES.iter().sum());
        for unchanged_hours in [0.0, 0.25, 0.5, f64::INFINITY] {
            let scores = scores(unchanged_hours);
            let ceiling = scores.price_ceiling(&nodes, 2, before, None);
            let saves_enough =
                |price: UsdPerHour| before - price >= scores.required_savings(&nodes, 2, price);
            assert!(saves_enough(ceiling - usd(0.000_001)), "{unchanged_hours}");
            assert!(!saves_enough(ceiling + usd(0.000_001)), "{unchanged_hours}");
        }
    }

    #[test]
    fn a_pod_counts_less_the_older_it_is_in_steps_and_not_at_all_in_the_end() {
        let hour = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(100);
        let youth_after = |minutes| {
            let pod = Pod { created: Some(hour), ..testkit::pod("p").build() };
            format!("{:.2}", youth(&pod, hour + SignedDuration::from_mins(minutes)))
        };
        assert_eq!([0, 9].map(youth_after), ["1.00", "1.00"]);
        assert_eq!([30, 60, 69].map(youth_after), ["0.75", "0.50", "0.50"]);
        assert_eq!([120, 1000].map(youth_after), ["0.00", "0.00"]);
    }

    #[test]
    fn pods_that_came_at_different_moments_become_older_at_the_same_one() {
        let hour = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(100);
        let ages = |seconds| {
            let now = hour + SignedDuration::from_secs(seconds);
            let came = [1, 100, 599].map(|before| hour - SignedDuration::from_secs(before));
            format!("{:.0?}", came.map(|came| hours_in_steps(came, now, 10) * 60.0))
        };
        assert_eq!([-1, 0, 599].map(ages), ["[0, 0, 0]"; 3], "no whole step has passed");
        assert_eq!([600, 1199].map(ages), ["[10, 10, 10]"; 2]);
        assert_eq!(ages(1200), "[20, 20, 20]");
    }

    #[test]
    fn savings_last_longer_the_fewer_pods_have_come_lately() {
        let lasting = |young_pods: f64| {
            let node = NodeShare { pods: 10.0, young_pods, ..NodeShare::default() };
            format!("{:.4}", lasting_hours(&vec![node].into()))
        };
        assert_eq!([10.0, 5.0, 0.5].map(lasting), ["0.0625", "0.1250", "1.2500"]);
        assert_eq!(lasting(0.0), "inf");
    }

    #[test]
    fn a_least_score_lowers_the_ceiling_to_where_a_move_has_it() {
        let nodes = [NodeIx::new(0), NodeIx::new(1)];
        let before = usd(NODES.iter().sum());
        let scores = scores(f64::INFINITY);
        let ceiling = scores.price_ceiling(&nodes, 2, before, Some(40.0));
        let net = before - ceiling - scores.required_savings(&nodes, 2, ceiling);
        let score = net.to_f64() * net.to_f64() / scores.disruption(&nodes);
        assert!((score - 40.0).abs() < 0.001, "{score}");
    }
}
