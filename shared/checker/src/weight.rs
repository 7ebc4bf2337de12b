//! What a spot offering is to be chosen at, by the annotations of its NodePool: its price with what
//! its interruptions come to, worked out here once more.

use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{AveragePod, InterruptionCost, SpotPolicy, SpotRates};

/// How many times its price an offering counts that is interrupted more often than is wanted.
const UNWANTED_TIMES: i128 = 100;
/// A twentieth of the price is added where every launch fails for lack of capacity.
const SHORTAGE_PER_MILLE_OF_PRICE: i128 = 50;

/// What is remembered of spot, where some NodePool makes anything of it.
pub(crate) struct Weights(Option<(SpotRates, AveragePod)>);

impl Weights {
    /// Reads a snapshot.
    pub(crate) fn read(snapshot: &ClusterSnapshot) -> Self {
        let mut policies =
            snapshot.objects.node_pools.iter().map(|pool| SpotPolicy::of(&pool.annotations));
        Self(policies.any(|policy| policy.is_set()).then(|| {
            let rates = SpotRates::of(&snapshot.spot, snapshot.now);
            (rates, AveragePod::of(&snapshot.objects.pods))
        }))
    }

    /// Whether the NodePool wants the offering only where no other is left.
    pub(crate) fn is_unwanted(
        &self,
        pool: &NodePool,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
    ) -> bool {
        let Self(Some((rates, _))) = self else { return false };
        let max = SpotPolicy::of(&pool.annotations).max;
        capacity_type == CapacityType::Spot
            && max.is_some_and(|max| rates.is_over(&rates.get(&instance_type.name, zone), max))
    }

    /// What an offering that costs `price` is to be chosen at.
    pub(crate) fn weighted(
        &self,
        pool: &NodePool,
        instance_type: &InstanceType,
        offering: (&str, CapacityType),
        price: UsdPerHour,
    ) -> UsdPerHour {
        let Self(Some((rates, average))) = self else { return price };
        if offering.1 != CapacityType::Spot {
            return price;
        }
        let known = rates.get(&instance_type.name, offering.0);
        let hourly = i128::from(price.nanos());
        let micros = i128::from(known.weighed.micros());
        let interruptions = SpotPolicy::of(&pool.annotations).cost.map(|cost| {
            let shortage =
                hourly * i128::from(known.shortage_per_mille) * SHORTAGE_PER_MILLE_OF_PRICE
                    / 1_000_000;
            let of_nodes = match cost {
                InterruptionCost::NodeTime(time) => {
                    hourly * micros * i128::from(time.as_secs()) / 3_600_000_000
                }
                InterruptionCost::PerPod(nanos) => {
                    i128::from(nanos) * micros * i128::from(average.count_on(instance_type))
                        / 1_000_000
                }
            };
            of_nodes + shortage
        });
        let times =
            if self.is_unwanted(pool, instance_type, offering) { UNWANTED_TIMES } else { 1 };
        let all = (hourly + interruptions.unwrap_or_default()) * times;
        UsdPerHour::from_nanos(i64::try_from(all).unwrap_or(i64::MAX))
    }
}
