//! What interruptions add to the price of a spot offering, for choosing among offerings only.
//!
//! In a NodePool that says what an interruption costs, an offering is chosen at its price and what
//! its interruptions cost an hour, and a little more where EC2 lacked capacity of late. One above
//! the pool's maximum is chosen at many times its price: while another remains, that one is taken.
//! Everywhere else rates decide among equals only. What a plan says it costs is never weighted.

use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{
    AveragePod, InterruptionCost, InterruptionRate, SpotEstimate, SpotPolicy, SpotRates,
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
    known: Option<(SpotRates, AveragePod)>,
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
    pub(crate) const NONE: Self = Self { known: None };

    /// What a snapshot says. Without a history and without a NodePool that asks for it, nothing.
    pub(crate) fn of(snapshot: &ClusterSnapshot) -> Self {
        let pools = &snapshot.objects.node_pools;
        let is_asked_for = || pools.iter().any(|pool| SpotPolicy::of(&pool.annotations).is_set());
        let is_needed = !snapshot.spot.is_empty() || is_asked_for();
        let known = is_needed.then(|| {
            let rates = SpotRates::of(&snapshot.spot, snapshot.now);
            (rates, AveragePod::of(&snapshot.objects.pods))
        });
        Self { known }
    }

    /// Whether anything is known, or asked for.
    pub(crate) const fn is_any(&self) -> bool {
        self.known.is_some()
    }

    /// How often EC2 takes instances of a spot offering back.
    pub(crate) fn rate(&self, instance_type: &str, zone: &str) -> Option<InterruptionRate> {
        self.known.as_ref().map(|(rates, _)| rates.get(instance_type, zone).rate)
    }

    /// What an offering of a NodePool is chosen by. `price` is what it costs.
    pub(crate) fn weighted(
        &self,
        policy: SpotPolicy,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
        price: UsdPerHour,
    ) -> Weighted {
        let Some((rates, average)) = self.known.as_ref() else { return Weighted::at(price) };
        if capacity_type != CapacityType::Spot {
            return Weighted::at(price);
        }
        let estimate = rates.get(&instance_type.name, zone);
        let is_over = policy.max.is_some_and(|max| rates.is_over(&estimate, max));
        let weight = weight(policy, &estimate, *average, instance_type, price);
        let times = if is_over { OVER_MAX_TIMES } else { 1 };
        let nanos = i128::from(price.nanos()).saturating_add(weight).saturating_mul(times);
        let shortage = u64::from(estimate.shortage_per_mille) << 32;
        Weighted {
            price: UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)),
            rank: if rates.is_empty() { 0 } else { shortage + estimate.rate.micros() },
            is_over,
        }
    }

    /// What a node of a NodePool is weighed at, by the offering that it was launched from: its
    /// price and what its interruptions cost. That its offering is above a maximum does not make
    /// the node that is there any dearer.
    pub(crate) fn of_node(
        &self,
        node_pool: Option<&NodePool>,
        instance_type: &InstanceType,
        offering: (&str, CapacityType),
        price: UsdPerHour,
    ) -> UsdPerHour {
        let Some(pool) = node_pool.filter(|_| self.known.is_some()) else { return price };
        let policy = SpotPolicy { max: None, ..SpotPolicy::of(&pool.annotations) };
        self.weighted(policy, instance_type, offering, price).price
    }
}

/// Billionths of a dollar an hour beyond the price.
fn weight(
    policy: SpotPolicy,
    estimate: &SpotEstimate,
    average: AveragePod,
    instance_type: &InstanceType,
    price: UsdPerHour,
) -> i128 {
    let Some(cost) = policy.cost else { return 0 };
    let (rate, price) = (i128::from(estimate.weighed.micros()), i128::from(price.nanos()));
    let interruptions = match cost {
        InterruptionCost::NodeTime(time) => {
            price * rate * i128::from(time.as_secs()) / (3600 * MICROS)
        }
        InterruptionCost::PerPod(nanos) => {
            i128::from(nanos) * rate * i128::from(average.count_on(instance_type)) / MICROS
        }
    };
    interruptions + price * i128::from(estimate.shortage_per_mille) / (1000 * SHORTAGE_PARTS)
}
