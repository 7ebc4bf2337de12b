//! What interruptions add to the price of a spot offering, for choosing among offerings only.
//!
//! In a NodePool that says what an interruption costs, an offering is chosen at its price and what
//! its interruptions cost an hour, and a little more where EC2 lacked capacity of late. One above
//! the pool's maximum is chosen at many times its price: while another remains, that one is taken.
//! Everywhere else rates decide among equals only. In every NodePool an offering that EC2 skips is
//! chosen at the price of what it launches instead. What a plan says it costs is never weighted.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{
    InterruptionCosts, InterruptionRate, NodeInterruptionCost, PodInterruption, SkippedSpot,
    SpotEstimate, SpotPolicy, SpotRates,
};

/// How many times its price an offering above the maximum is chosen at: more than the largest node
/// costs beside the smallest that pods of one node fit on.
const OVER_MAX_TIMES: i128 = 100;
/// What an offering of which every launch fails costs more, in parts of its price.
const SHORTAGE_PARTS: i128 = 20;
/// Rates and costs are counted in millionths.
const MICROS: i128 = 1_000_000;

/// What is known of spot offerings, and by what it is weighted.
pub(crate) struct Weights {
    known: Option<Known>,
    skipped: SkippedSpot,
}

struct Known {
    rates: SpotRates,
    /// By NodePool.
    costs: BTreeMap<Text, InterruptionCosts>,
}

/// By what a NodePool weighs a spot offering.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'c> {
    /// Above which rate an offering is left out while another remains.
    pub(crate) max: Option<InterruptionRate>,
    /// What interruptions of the NodePool's nodes cost.
    pub(crate) costs: Option<&'c InterruptionCosts>,
    /// What an interruption costs of the node in question.
    pub(crate) cost: NodeInterruptionCost,
}

/// An offering's price, and what it is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weighted {
    /// What it is chosen at.
    pub(crate) price: UsdPerHour,
    /// Among equal prices the least comes first.
    pub(crate) rank: u64,
    /// It is above the NodePool's maximum.
    pub(crate) is_over: bool,
}

impl Weighted {
    /// Chosen at its price alone.
    const fn at(price: UsdPerHour) -> Self {
        Self { price, rank: 0, is_over: false }
    }
}

impl Weights {
    /// Nothing is weighted.
    pub(crate) const NONE: Self = Self { known: None, skipped: SkippedSpot::NONE };

    /// What a snapshot says. Without a history and without a NodePool or pod that asks for it,
    /// nothing.
    pub(crate) fn of(snapshot: &ClusterSnapshot) -> Self {
        let (pools, pods) = (&snapshot.objects.node_pools, &snapshot.objects.pods);
        let is_asked_for = || pools.iter().any(|pool| SpotPolicy::of(&pool.annotations).is_set());
        let has_own = |pod: &Pod| pod.spec.spot_interruption_cost.is_some();
        let is_needed = !snapshot.spot.is_empty() || is_asked_for() || pods.iter().any(has_own);
        let known = is_needed.then(|| {
            let costs = pools.iter().map(|pool| {
                let policy = SpotPolicy::of(&pool.annotations);
                (pool.name.clone(), InterruptionCosts::of(policy, pods, snapshot.now))
            });
            Known { rates: SpotRates::of(&snapshot.spot, snapshot.now), costs: costs.collect() }
        });
        Self { known, skipped: snapshot.skipped_spot.clone() }
    }

    /// What interruptions cost in a NodePool, by pods; `None` where nothing is weighted.
    pub(crate) fn costs(&self, node_pool: &NodePool) -> Option<&InterruptionCosts> {
        self.known.as_ref()?.costs.get(&node_pool.name)
    }

    /// Whether anything is known, or asked for.
    pub(crate) const fn is_any(&self) -> bool {
        self.known.is_some()
    }

    /// How often EC2 takes instances of a spot offering back.
    pub(crate) fn rate(&self, instance_type: &str, zone: &str) -> Option<InterruptionRate> {
        self.known.as_ref().map(|known| known.rates.get(instance_type, zone).rate)
    }

    /// Whether EC2 skips any offering, which is then chosen at more than it costs in any NodePool.
    pub(crate) fn is_any_skipped(&self) -> bool {
        !self.skipped.is_empty()
    }

    /// What an offering of a NodePool is chosen by. `price` is what it costs.
    pub(crate) fn weighted(
        &self,
        measure: Measure<'_>,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
        price: UsdPerHour,
    ) -> Weighted {
        let own = self.with_interruptions(measure, instance_type, (zone, capacity_type), price);
        if capacity_type != CapacityType::Spot || self.skipped.is_empty() {
            return own;
        }
        let price = own.price + self.skipped.surcharge(instance_type, zone, price);
        Weighted { price, ..own }
    }

    /// What an offering is chosen by for its price and its interruptions.
    fn with_interruptions(
        &self,
        measure: Measure<'_>,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
        price: UsdPerHour,
    ) -> Weighted {
        let Some(Known { rates, .. }) = self.known.as_ref() else { return Weighted::at(price) };
        if capacity_type != CapacityType::Spot {
            return Weighted::at(price);
        }
        let estimate = rates.get(&instance_type.name, zone);
        let is_over = measure.max.is_some_and(|max| rates.is_over(&estimate, max));
        let weight = weight(measure, &estimate, instance_type, price);
        let times = if is_over { OVER_MAX_TIMES } else { 1 };
        let nanos = i128::from(price.nanos()).saturating_add(weight).saturating_mul(times);
        let shortage = u64::from(estimate.shortage_per_mille) << 32;
        Weighted {
            price: UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)),
            rank: if rates.is_empty() { 0 } else { shortage + estimate.rate.micros() },
            is_over,
        }
    }

    /// What a node of a NodePool with such pods is weighed at, by the offering that it was launched
    /// from: its price and what its interruptions cost. That its offering is above a maximum does
    /// not make the node that is there any dearer.
    pub(crate) fn of_node(
        &self,
        node_pool: Option<&NodePool>,
        pods: impl IntoIterator<Item = PodInterruption>,
        instance_type: &InstanceType,
        (offering, price): ((&str, CapacityType), UsdPerHour),
    ) -> UsdPerHour {
        let Some(costs) = node_pool.and_then(|pool| self.costs(pool)) else { return price };
        let cost = cost_of_node(costs, pods);
        let measure = Measure { max: None, costs: Some(costs), cost };
        self.with_interruptions(measure, instance_type, offering, price).price
    }
}

/// What an interruption costs of a node with such pods; of an empty one, as of pods that nothing
/// sets apart.
pub(crate) fn cost_of_node(
    costs: &InterruptionCosts,
    pods: impl IntoIterator<Item = PodInterruption>,
) -> NodeInterruptionCost {
    let pods = pods.into_iter().map(|pod| costs.of_pod(pod));
    pods.reduce(NodeInterruptionCost::and).unwrap_or_else(|| costs.usual())
}

/// Billionths of a dollar an hour beyond the price.
fn weight(
    Measure { costs, cost, .. }: Measure<'_>,
    estimate: &SpotEstimate,
    instance_type: &InstanceType,
    price: UsdPerHour,
) -> i128 {
    let Some(costs) = costs.filter(|_| cost.is_any()) else { return 0 };
    let (rate, price) = (i128::from(estimate.weighed.micros()), i128::from(price.nanos()));
    let of_time = price * rate * i128::from(cost.time.as_secs()) / (3600 * MICROS);
    let of_pods = if cost.nanos_per_pod == 0 {
        0
    } else {
        let count = i128::from(costs.pods_on(cost.nanos_per_pod, instance_type));
        i128::from(cost.nanos_per_pod) * rate * count / MICROS
    };
    let of_shortage = price * i128::from(estimate.shortage_per_mille) / (1000 * SHORTAGE_PARTS);
    of_time + of_pods + of_shortage
}
