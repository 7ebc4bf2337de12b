//! What planning makes of what is remembered of spot offerings.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{InterruptionRate, SpotPolicy};

use crate::model::weight::Weights;

/// What is known of a spot offering, and what a NodePool makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpotWeight {
    /// How often EC2 takes instances back.
    pub rate: InterruptionRate,
    /// What that and a shortage of late add to the price when offerings are compared; nothing
    /// where the NodePool does not say what an interruption costs.
    pub weight: UsdPerHour,
    /// It is above the NodePool's maximum: left out while another offering remains.
    pub is_over: bool,
}

/// What a snapshot says of spot offerings.
pub struct SpotWeights<'s> {
    snapshot: &'s ClusterSnapshot,
    weights: Weights,
}

impl<'s> SpotWeights<'s> {
    /// Of a snapshot. Without a history, and without a NodePool that asks for weights, `None`.
    pub fn of(snapshot: &'s ClusterSnapshot) -> Option<Self> {
        let weights = Weights::of(snapshot);
        weights.is_any().then_some(Self { snapshot, weights })
    }

    /// Of a spot offering at a price, as a NodePool sees it; `None` of a type that is not sold.
    pub fn get(
        &self,
        node_pool: Option<&str>,
        (instance_type, zone): (&str, &str),
        price: UsdPerHour,
    ) -> Option<SpotWeight> {
        let pools = &self.snapshot.objects.node_pools;
        let is_named = |pool: &&NodePool| Some(&*pool.name) == node_pool;
        let pool = pools.iter().find(is_named);
        let class = pool.map_or("", |pool| &*pool.template.node_class_ref.name);
        let mut types = self.snapshot.instance_types.of(class).iter();
        let own = types.find(|own| *own.name == *instance_type)?;
        let policy = pool.map(|pool| SpotPolicy::of(&pool.annotations)).unwrap_or_default();
        let offering = (zone, CapacityType::Spot);
        let whole = self.weights.weighted(policy, own, offering, price);
        let without_max = SpotPolicy { max: None, ..policy };
        let weighted = self.weights.weighted(without_max, own, offering, price);
        Some(SpotWeight {
            rate: self.weights.rate(instance_type, zone)?,
            weight: weighted.price - price,
            is_over: whole.is_over,
        })
    }
}
