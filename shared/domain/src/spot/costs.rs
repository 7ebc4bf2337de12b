//! What an interruption costs by the pods that it hits.
//!
//! A node that EC2 takes back takes all its pods with it. What that costs is said by the dearest of
//! them: the longest of their times, and the most dollars a pod for as many such pods as the node
//! has room for. So a node with one dear pod is weighed as if it were full of them, which keeps
//! others off it and those that are cheap to lose together.

use super::average_pod::AveragePod;
use super::policy::{InterruptionCost, SpotPolicy};
use crate::instance_type::InstanceType;
use crate::pod::Pod;
use crate::{SignedDuration, Timestamp};

/// How long before EC2 takes a spot instance back it says so.
///
/// Source: "Spot Instance interruption notices" in the user guide of Amazon EC2.
pub const INTERRUPTION_NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// Times, and dollars, that are kept apart in a NodePool at the most; others count as the next
/// higher one.
const LEVELS_MAX: usize = 4;

/// What of a pod decides what its interruption costs, whatever the NodePool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodInterruption {
    /// What it says itself.
    pub own: Option<InterruptionCost>,
    /// EC2's notice does not do for it: it is not to be disrupted, or may take longer to end.
    pub outlasts_notice: bool,
}

impl PodInterruption {
    /// Of a pod at a moment. Virtual pods are headroom, which loses nothing.
    pub fn of(pod: &Pod, now: Timestamp) -> Self {
        if pod.virtual_of.is_some() {
            return Self::default();
        }
        let grace = SignedDuration::from_secs(pod.spec.termination_grace.0);
        Self {
            own: pod.spec.spot_interruption_cost,
            outlasts_notice: pod.refuses_disruption(now) || grace > INTERRUPTION_NOTICE,
        }
    }
}

/// What an interruption of a node costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeInterruptionCost {
    /// As much as the node costs in so long.
    pub time: SignedDuration,
    /// So much for each of its pods, in billionths of a dollar.
    pub nanos_per_pod: i64,
}

impl NodeInterruptionCost {
    /// Nothing.
    pub const NONE: Self = Self { time: SignedDuration::ZERO, nanos_per_pod: 0 };

    /// Of a node with pods that cost either.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            time: self.time.max(other.time),
            nanos_per_pod: self.nanos_per_pod.max(other.nanos_per_pod),
        }
    }

    /// Whether it is more than nothing.
    pub fn is_any(self) -> bool {
        self != Self::NONE
    }
}

impl From<InterruptionCost> for NodeInterruptionCost {
    fn from(cost: InterruptionCost) -> Self {
        match cost {
            InterruptionCost::NodeTime(time) => Self { time, ..Self::NONE },
            InterruptionCost::PerPod(nanos_per_pod) => Self { nanos_per_pod, ..Self::NONE },
        }
    }
}

/// What interruptions of a cluster's pods cost in one NodePool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptionCosts {
    policy: SpotPolicy,
    /// Times that are kept apart, shortest first; without zero.
    times: Vec<SignedDuration>,
    /// Dollars a pod that are kept apart, in billionths, least first; without zero. With each
    /// stands what pods that cost so much request on average.
    dollars: Vec<(i64, AveragePod)>,
    /// What pods of the cluster request on average.
    average: AveragePod,
}

impl InterruptionCosts {
    /// Of the pods of a cluster at a moment, by the annotations of a NodePool and their own.
    pub fn of(policy: SpotPolicy, pods: &[Pod], now: Timestamp) -> Self {
        let average = AveragePod::of(pods);
        let mut known = Self { policy, average, ..Self::default() };
        let counts = |pod: &&Pod| !pod.is_terminal() && !pod.is_daemon() && !pod.is_static();
        let costs = pods.iter().filter(counts).map(|pod| {
            let cost = policy.cost_of(PodInterruption::of(pod, now));
            (cost.map_or(NodeInterruptionCost::NONE, NodeInterruptionCost::from), pod)
        });
        let of_pool = policy.cost.map_or(NodeInterruptionCost::NONE, NodeInterruptionCost::from);
        // In most clusters, of none.
        let all: Vec<(NodeInterruptionCost, &Pod)> =
            costs.filter(|(cost, _)| cost.is_any()).collect();
        let named = || all.iter().map(|(cost, _)| *cost).chain([of_pool]);
        known.times = levels(named().map(|cost| cost.time));
        let dollars = levels(named().map(|cost| cost.nanos_per_pod));
        known.dollars = dollars
            .iter()
            .enumerate()
            .map(|(index, most)| {
                let below = index.checked_sub(1).map_or(0, |index| dollars[index]);
                let is_of = |cost: i64| cost > below && cost <= *most;
                let own = || all.iter().filter(|(cost, _)| is_of(cost.nanos_per_pod));
                let pods = own().map(|(_, pod)| *pod);
                let mean = AveragePod::of(pods);
                (*most, if mean == AveragePod::default() { average } else { mean })
            })
            .collect();
        known
    }

    /// What an interruption costs of a node with such a pod.
    pub fn of_pod(&self, pod: PodInterruption) -> NodeInterruptionCost {
        let Some(cost) = self.policy.cost_of(pod) else { return NodeInterruptionCost::NONE };
        let NodeInterruptionCost { time, nanos_per_pod } = cost.into();
        let dollars: Vec<i64> = self.dollars.iter().map(|(own, _)| *own).collect();
        NodeInterruptionCost {
            time: rounded_up(time, &self.times),
            nanos_per_pod: rounded_up(nanos_per_pod, &dollars),
        }
    }

    /// What an interruption costs of a node with pods that nothing sets apart.
    pub fn usual(&self) -> NodeInterruptionCost {
        self.of_pod(PodInterruption::default())
    }

    /// How many pods that cost so many billionths of a dollar a node of the type has room for.
    pub fn pods_on(&self, nanos_per_pod: i64, instance_type: &InstanceType) -> i64 {
        let own = self.dollars.iter().find(|(own, _)| *own >= nanos_per_pod);
        own.map_or(self.average, |(_, average)| *average).count_on(instance_type)
    }
}

impl SpotPolicy {
    /// What an interruption of a pod costs; `None` where nothing says that, or it says nothing.
    pub fn cost_of(&self, pod: PodInterruption) -> Option<InterruptionCost> {
        let of_long = || self.do_not_disrupt.filter(|_| pod.outlasts_notice);
        pod.own.or_else(of_long).or(self.cost).filter(|cost| !cost.is_zero())
    }
}

/// The least of the levels that is not below a value; nothing stays nothing.
fn rounded_up<T: Ord + Copy + Default>(value: T, levels: &[T]) -> T {
    let level = levels.iter().copied().find(|level| *level >= value);
    if value == T::default() { value } else { level.unwrap_or(value) }
}

/// Values that are kept apart, least first: all that there are, or a few that leave about as many
/// values each to round up.
fn levels<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.filter(|value| *value > T::default()).collect();
    values.sort_unstable();
    values.dedup();
    let count = values.len();
    if count <= LEVELS_MAX {
        return values;
    }
    (1..=LEVELS_MAX).map(|level| values[(level * count).div_ceil(LEVELS_MAX) - 1]).collect()
}
