//! What planning makes of what is remembered of spot offerings.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::plan::PlannedNodeClaim;
use domain::pod::{Pod, PodSpec};
use domain::requirement::Requirements;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{InterruptionRate, PodInterruption, SpotPolicy};

use crate::model::interruption::counts;
use crate::model::weight::{Measure, Weights, cost_of_node};

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

/// The cheapest spot offering beside which a node is launched on demand all the same, since
/// interruptions of its pods would cost more than it saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpotPassedOver {
    /// The instance type.
    pub instance_type: Text,
    /// The zone.
    pub zone: Text,
    /// What it costs.
    pub price: UsdPerHour,
    /// What is known of it.
    pub spot: SpotWeight,
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

    /// Of a spot offering at a price, as a NodePool sees it for a node with such pods; `None` of a
    /// type that is not sold.
    pub fn get(
        &self,
        node_pool: Option<&str>,
        (instance_type, zone): (&str, &str),
        price: UsdPerHour,
        pods: &[&Pod],
    ) -> Option<SpotWeight> {
        let pools = &self.snapshot.objects.node_pools;
        let is_named = |pool: &&NodePool| Some(&*pool.name) == node_pool;
        let pool = pools.iter().find(is_named);
        let class = pool.map_or("", |pool| &*pool.template.node_class_ref.name);
        let mut types = self.snapshot.instance_types.of(class).iter();
        let own = types.find(|own| *own.name == *instance_type)?;
        let policy = pool.map(|pool| SpotPolicy::of(&pool.annotations)).unwrap_or_default();
        let offering = (zone, CapacityType::Spot);
        let pods = pods.iter().filter(|pod| counts(pod));
        let pods = pods.map(|pod| PodInterruption::of(pod, self.snapshot.now));
        let costs = pool.and_then(|pool| self.weights.costs(pool));
        let cost = costs.map(|costs| cost_of_node(costs, pods)).unwrap_or_default();
        let measure = Measure { max: policy.max, costs, cost };
        let whole = self.weights.weighted(measure, own, offering, price);
        let without_max = Measure { max: None, ..measure };
        let weighted = self.weights.weighted(without_max, own, offering, price);
        Some(SpotWeight {
            rate: self.weights.rate(instance_type, zone)?,
            weight: weighted.price - price,
            is_over: whole.is_over,
        })
    }

    /// The spot offering that a claim on demand passes over for what interruptions of its pods
    /// would cost; `None` where spot is not allowed, sold for no less, or nothing is weighed.
    pub fn passed_over(&self, claim: &PlannedNodeClaim, pods: &[&Pod]) -> Option<SpotPassedOver> {
        let own = &claim.offering;
        let objects = &self.snapshot.objects;
        let pool = objects.node_pools.iter().find(|pool| pool.name == claim.node_pool)?;
        let requirements = &pool.template.requirements;
        let zones = claim.requirements.iter().filter(|own| &*own.key == label::ZONE);
        let allowed = Requirements::of(requirements.iter().chain(zones));
        let allows =
            |key: &str, value: &str| allowed.get(key).is_none_or(|own| own.values.contains(value));
        let spot = CapacityType::Spot;
        if own.capacity_type != CapacityType::OnDemand
            || !allows(label::CAPACITY_TYPE, spot.as_str())
            || pods.iter().any(|pod| names_capacity_type(&pod.spec))
        {
            return None;
        }
        let types = self.snapshot.instance_types.of(&pool.template.node_class_ref.name).iter();
        let listed = types.filter(|known| claim.instance_types.contains(&known.name));
        let cheaper = listed.flat_map(|known| {
            let offerings = known.offerings.iter().filter(move |offering| {
                offering.capacity_type == spot && offering.is_usable() && offering.price < own.price
            });
            offerings.map(move |offering| (offering.price, &known.name, &offering.zone))
        });
        let (price, instance_type, zone) =
            cheaper.filter(|(_, _, zone)| allows(label::ZONE, zone)).min()?;
        let offering = (&**instance_type, &**zone);
        let weight = self.get(Some(&claim.node_pool), offering, price, pods)?;
        (weight.is_over || price + weight.weight > own.price).then(|| SpotPassedOver {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            price,
            spot: weight,
        })
    }
}

/// Whether a pod says itself how its node is to be bought.
fn names_capacity_type(spec: &PodSpec) -> bool {
    let terms = spec.required_node_terms.iter().flatten();
    let named = terms.flat_map(|term| &term.expressions).map(|own| &own.key);
    spec.node_selector
        .iter()
        .map(|(key, _)| key)
        .chain(named)
        .any(|key| **key == *label::CAPACITY_TYPE)
}
