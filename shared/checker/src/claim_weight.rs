//! What offerings are to be chosen at for the pods of one claim, which may differ from others in
//! what their interruption costs.

use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::spot::{NodeInterruptionCost, PodInterruption};

use crate::launch::{Prices, TypeLaunch};
use crate::plan_index::PlanIndex;
use crate::pool::Offer;
use crate::weight::Priced;

/// What offerings are to be chosen at for the pods of one claim.
pub(crate) struct ClaimWeights<'c, 'w> {
    index: &'c PlanIndex<'w>,
    pub(crate) pool: usize,
    /// What an interruption of the claim's node costs, where that is not what it usually costs.
    apart: Option<NodeInterruptionCost>,
}

impl<'c, 'w> ClaimWeights<'c, 'w> {
    /// Of a claim of a NodePool: by the dearest of its pods, virtual ones included.
    pub(crate) fn of(index: &'c PlanIndex<'w>, claim: &PlannedNodeClaim, pool: usize) -> Self {
        let costs = index.cluster.weights.costs(index.cluster.pools[pool].spec);
        let apart = costs.and_then(|costs| {
            let pods = claim.pods.iter().filter_map(|key| index.pods().find(key));
            let now = index.cluster.snapshot.now;
            let mut all = pods
                .map(|id| PodInterruption::of(index.pods().list[id].pod, now))
                .map(|pod| costs.of_pod(pod))
                .collect::<Vec<_>>();
            let is_here = |place: &Option<Text>| place.as_ref() == Some(&claim.name);
            if index.plan.virtual_pods.iter().any(|own| is_here(&own.place)) {
                all.push(costs.usual());
            }
            let dearest = all.into_iter().reduce(NodeInterruptionCost::and)?;
            (dearest != costs.usual()).then_some(dearest)
        });
        Self { index, pool, apart }
    }

    fn weigh(&self, apart: NodeInterruptionCost, priced: Priced<'_>) -> UsdPerHour {
        let cluster = self.index.cluster;
        cluster.weights.weighted_at(apart, cluster.pools[self.pool].spec, priced)
    }

    /// What a quoted offering is to be chosen at.
    pub(crate) fn quoted(&self, quoted: &LaunchOffering) -> UsdPerHour {
        let own = &self.index.cluster.pools[self.pool];
        let LaunchOffering { instance_type, zone, capacity_type, price, .. } = quoted;
        let (capacity_type, price) = (*capacity_type, *price);
        let Some(instance_type) = own.catalogue.find(instance_type) else { return price };
        if let Some(apart) = self.apart {
            return self.weigh(apart, Priced { instance_type, zone, capacity_type, price });
        }
        let weights = &self.index.cluster.weights;
        weights.weighted(own.spec, instance_type, (zone, capacity_type), price)
    }

    /// The least and the most that an offering may be chosen at.
    pub(crate) fn range(&self, of: &TypeLaunch<'_>, offer: &Offer<'_>) -> [UsdPerHour; 2] {
        let Some(apart) = self.apart else {
            return [offer.lowest_weighted(), offer.highest_weighted()];
        };
        let at = |price: UsdPerHour| Priced {
            instance_type: of.of.instance_type,
            zone: &offer.offering.zone,
            capacity_type: offer.offering.capacity_type,
            price,
        };
        [offer.prices.first(), offer.prices.last()]
            .map(|price| price.map_or(UsdPerHour::MAX, |price| self.weigh(apart, at(*price))))
    }

    /// What the offerings of a type are to be chosen at.
    pub(crate) fn prices(&self, of: &TypeLaunch<'_>) -> Prices {
        if self.apart.is_none() {
            return of.prices;
        }
        Prices::of(&of.offers, |offer| self.range(of, offer))
    }
}
