//! Commitments: what nodes cost beyond what is paid for in any case.

use domain::commitment::{Commitments, Instance, Usage};
use domain::instance_type::CapacityType;
use domain::label::{INSTANCE_TYPE, OS, ZONE};
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_offering::{capacity_type_of, offering_of};
use domain::plan::PlannedNodeClaim;

use crate::disruption_entry::DisruptionEntry;
use crate::place::{Place, PlaceKind};
use crate::plan_index::PlanIndex;

/// Commitments that hold, and what they are applied to.
pub(crate) struct Committed {
    commitments: Commitments,
    /// On-demand nodes that stay.
    usage: Usage,
    /// Whether it is known of each node what it is to commitments. A claim that leaves its instance
    /// type open is nothing that a commitment could be applied to.
    pub(crate) is_exact: bool,
}

impl Committed {
    /// Those of the snapshot; `None` where none holds.
    pub(crate) fn of(index: &PlanIndex<'_>) -> Option<Self> {
        let snapshot = index.cluster.snapshot;
        let commitments = Commitments::of(&snapshot.objects.commitments, snapshot.now)?;
        let mut own = Self { commitments, usage: Usage::new(), is_exact: true };
        let exists =
            |place: &&Place<'_>| matches!(place.kind, PlaceKind::Node | PlaceKind::InFlight);
        let stays = |place: &&Place<'_>| !is_leaving(place);
        for place in index.places.iter().filter(exists).filter(stays) {
            match on_demand(index, place) {
                Ok(Some((instance, price))) => own.usage.add(&instance, price),
                Ok(None) => {}
                Err(Unknown) => own.is_exact = false,
            }
        }
        Some(own)
    }

    /// What new claims cost beside the nodes that stay, beyond commitments.
    pub(crate) fn cost_of(&self, claims: &[PlannedNodeClaim]) -> UsdPerHour {
        self.added_by(&self.usage, claims)
    }

    /// What a disruption saves beyond commitments, once the plan's new claims are there. `others`
    /// is what its nodes cost that are not bought on demand.
    pub(crate) fn saved_by(
        &self,
        index: &PlanIndex<'_>,
        entry: &DisruptionEntry<'_>,
        others: UsdPerHour,
    ) -> UsdPerHour {
        let mut usage = self.usage.clone();
        for (instance, price) in index.plan.node_claims.iter().filter_map(planned) {
            usage.add(&instance, price);
        }
        let mut rest = usage.clone();
        for place in &entry.places {
            if let Ok(Some((instance, _))) = on_demand(index, &index.places[*place]) {
                rest.remove(&instance);
            }
        }
        let saved = self.commitments.remaining(&usage) - self.commitments.remaining(&rest);
        saved + others - self.added_by(&rest, &entry.planned.replacements)
    }

    fn added_by(&self, usage: &Usage, claims: &[PlannedNodeClaim]) -> UsdPerHour {
        let mut more = usage.clone();
        let mut others = UsdPerHour::ZERO;
        for claim in claims {
            match planned(claim) {
                Some((instance, price)) => more.add(&instance, price),
                None => others += claim.offering.price,
            }
        }
        others + self.commitments.remaining(&more) - self.commitments.remaining(usage)
    }
}

/// Whether an existing node is bought on demand.
pub(crate) fn is_on_demand(place: &Place<'_>) -> bool {
    place.labels.and_then(capacity_type_of) == Some(CapacityType::OnDemand)
}

fn is_leaving(place: &Place<'_>) -> bool {
    place.is_deleting || place.node.is_some_and(Node::is_disrupted)
}

/// It is bought on demand, and its labels do not say as what.
struct Unknown;

/// What an existing node is to commitments, with its price; `None` where it is nothing to them.
fn on_demand(
    index: &PlanIndex<'_>,
    place: &Place<'_>,
) -> Result<Option<(Instance, UsdPerHour)>, Unknown> {
    let Some(labels) = place.labels.filter(|_| is_on_demand(place)) else { return Ok(None) };
    if labels.get(OS).is_some_and(|own| &**own == "windows") {
        return Ok(None);
    }
    let types = &index.cluster.snapshot.instance_types;
    let of_pool = place.pool.map(|pool| &*index.cluster.pools[pool].catalogue);
    let known = || {
        let (name, zone) = (labels.get(INSTANCE_TYPE)?, labels.get(ZONE)?);
        let listed = || types.by_node_class.values().rev().find_map(|list| list.named(name));
        let own = of_pool.and_then(|own| own.find(name));
        let own = own.or_else(listed).or_else(|| types.default.named(name))?;
        let instance = Instance { instance_type: name.clone(), zone: zone.clone() };
        Some((instance, offering_of(labels, own)?.price))
    };
    match known() {
        Some(own) => Ok(Some(own)),
        None if place.kind == PlaceKind::InFlight => Err(Unknown),
        None => Ok(None),
    }
}

/// A planned claim as an on-demand instance with its price; `None` where it is bought otherwise.
fn planned(claim: &PlannedNodeClaim) -> Option<(Instance, UsdPerHour)> {
    let own = &claim.offering;
    let (instance_type, zone) = (own.instance_type.clone(), own.zone.clone());
    (own.capacity_type == CapacityType::OnDemand)
        .then_some((Instance { instance_type, zone }, own.price))
}
