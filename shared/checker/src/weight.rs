//! What a spot offering is to be chosen at, by the annotations of its NodePool and of pods: its
//! price with what its interruptions come to, worked out here once more; and by what EC2 launched
//! instead where it skipped one.

use rustc_hash::FxHashMap;

use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{
    InterruptionCosts, NodeInterruptionCost, PodInterruption, SkippedSpot, SpotPolicy, SpotRates,
};
use domain::{Text, Timestamp};

/// How many times its price an offering counts that is interrupted more often than is wanted.
const UNWANTED_TIMES: i128 = 100;
/// A twentieth of the price is added where every launch fails for lack of capacity.
const SHORTAGE_PER_MILLE_OF_PRICE: i128 = 50;

/// What is remembered of spot, where some NodePool or pod makes anything of it, and what EC2 skips.
pub(crate) struct Weights {
    known: Option<Known>,
    skipped: SkippedSpot,
}

struct Known {
    rates: SpotRates,
    /// By NodePool.
    costs: FxHashMap<Text, InterruptionCosts>,
}

/// A type in an offering, at a price.
#[derive(Clone, Copy)]
pub(crate) struct Priced<'o> {
    /// The type.
    pub(crate) instance_type: &'o InstanceType,
    /// Its zone.
    pub(crate) zone: &'o str,
    /// How it is bought.
    pub(crate) capacity_type: CapacityType,
    /// What it costs.
    pub(crate) price: UsdPerHour,
}

impl Weights {
    /// Whether anything is weighted by its interruptions.
    pub(crate) const fn is_any(&self) -> bool {
        self.known.is_some()
    }

    /// Reads a snapshot.
    pub(crate) fn read(snapshot: &ClusterSnapshot) -> Self {
        let pools = &snapshot.objects.node_pools;
        let pods = &snapshot.objects.pods;
        let of_pool = |pool: &NodePool| SpotPolicy::of(&pool.annotations);
        let matters = pools.iter().any(|pool| of_pool(pool).is_set())
            || pods.iter().any(|pod| pod.spec.spot_interruption_cost.is_some());
        let known = matters.then(|| {
            let costs = |pool: &NodePool| InterruptionCosts::of(of_pool(pool), pods, snapshot.now);
            Known {
                rates: SpotRates::of(&snapshot.spot, snapshot.now),
                costs: pools.iter().map(|pool| (pool.name.clone(), costs(pool))).collect(),
            }
        });
        Self { known, skipped: snapshot.skipped_spot.clone() }
    }

    /// Whether the NodePool wants the offering only where no other is left.
    pub(crate) fn is_unwanted(
        &self,
        pool: &NodePool,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
    ) -> bool {
        let Some(Known { rates, .. }) = &self.known else { return false };
        let max = SpotPolicy::of(&pool.annotations).max;
        capacity_type == CapacityType::Spot
            && max.is_some_and(|max| rates.is_over(&rates.get(&instance_type.name, zone), max))
    }

    /// What interruptions cost in a NodePool; `None` where nothing is weighted.
    pub(crate) fn costs(&self, pool: &NodePool) -> Option<&InterruptionCosts> {
        self.known.as_ref()?.costs.get(&pool.name)
    }

    /// What an offering that costs `price` is to be chosen at for pods that nothing sets apart.
    pub(crate) fn weighted(
        &self,
        pool: &NodePool,
        instance_type: &InstanceType,
        (zone, capacity_type): (&str, CapacityType),
        price: UsdPerHour,
    ) -> UsdPerHour {
        let usual = self.costs(pool).map(InterruptionCosts::usual).unwrap_or_default();
        self.weighted_at(usual, pool, Priced { instance_type, zone, capacity_type, price })
    }

    /// What an offering that costs `price` is to be chosen at for a node whose interruption costs
    /// so much.
    pub(crate) fn weighted_at(
        &self,
        interruption: NodeInterruptionCost,
        pool: &NodePool,
        priced: Priced<'_>,
    ) -> UsdPerHour {
        let own = self.interruptions(interruption, pool, priced);
        let Priced { instance_type, zone, capacity_type, price } = priced;
        let mut all = i128::from(price.nanos()) + own;
        if self.is_unwanted(pool, instance_type, (zone, capacity_type)) {
            all *= UNWANTED_TIMES;
        }
        if capacity_type == CapacityType::Spot {
            all += i128::from(self.skipped.surcharge(instance_type, zone, price).nanos());
        }
        UsdPerHour::from_nanos(i64::try_from(all).unwrap_or(i64::MAX))
    }

    /// Billionths of a dollar that interruptions cost an hour, and a shortage of late is held to.
    fn interruptions(
        &self,
        interruption: NodeInterruptionCost,
        pool: &NodePool,
        Priced { instance_type, zone, capacity_type, price }: Priced<'_>,
    ) -> i128 {
        let Some(Known { rates, costs }) = &self.known else { return 0 };
        if capacity_type != CapacityType::Spot || !interruption.is_any() {
            return 0;
        }
        let known = rates.get(&instance_type.name, zone);
        let hourly = i128::from(price.nanos());
        let micros = i128::from(known.weighed.micros());
        let NodeInterruptionCost { time, nanos_per_pod } = interruption;
        let shortage =
            hourly * i128::from(known.shortage_per_mille) * SHORTAGE_PER_MILLE_OF_PRICE / 1_000_000;
        let lost_time = hourly * micros * i128::from(time.as_secs()) / 3_600_000_000;
        let pods = costs.get(&pool.name).filter(|_| nanos_per_pod > 0);
        let pods = pods.map_or(0, |own| own.pods_on(nanos_per_pod, instance_type));
        shortage + lost_time + i128::from(nanos_per_pod) * micros * i128::from(pods) / 1_000_000
    }

    /// What interruptions cost an hour of a node that is there, with these pods on it.
    pub(crate) fn of_node<'p>(
        &self,
        pool: &NodePool,
        priced: Priced<'_>,
        pods: impl Iterator<Item = &'p Pod>,
        now: Timestamp,
    ) -> UsdPerHour {
        let Some(costs) = self.costs(pool) else { return UsdPerHour::ZERO };
        let dearest = pods
            .filter(|pod| !pod.is_daemon() && !pod.is_static())
            .map(|pod| costs.of_pod(PodInterruption::of(pod, now)))
            .reduce(NodeInterruptionCost::and);
        let cost = dearest.unwrap_or_else(|| costs.usual());
        let nanos = self.interruptions(cost, pool, priced);
        UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}
