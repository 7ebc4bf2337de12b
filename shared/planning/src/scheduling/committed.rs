//! What commitments cover of a plan.

use std::collections::BTreeSet;

use domain::Text;
use domain::commitment::Instance;
use domain::instance_type::CapacityType;
use domain::plan::{CommittedTotals, PlannedNodeClaim};

use crate::model::Model;
use crate::model::commitments::OnDemand;

/// A planned claim as an on-demand instance; `None` where it is bought otherwise.
pub(crate) fn planned_on_demand(claim: &PlannedNodeClaim) -> Option<OnDemand> {
    let own = &claim.offering;
    let (instance_type, zone) = (own.instance_type.clone(), own.zone.clone());
    (own.capacity_type == CapacityType::OnDemand)
        .then_some(OnDemand { instance: Instance { instance_type, zone }, price: own.price })
}

/// What commitments cover of all nodes before and after some are launched and others removed;
/// `None` where no commitment holds.
pub(crate) fn committed_totals<'c>(
    model: &Model,
    launched: impl IntoIterator<Item = &'c PlannedNodeClaim>,
    removed: &BTreeSet<&Text>,
) -> Option<CommittedTotals> {
    let own = model.commitments.as_ref()?;
    let mut after = own.all().clone();
    for (index, node) in model.nodes.iter_enumerated() {
        if let Some(on_demand) = own.of_node(index).filter(|_| removed.contains(node.name)) {
            after.remove(&on_demand.instance);
        }
    }
    for OnDemand { instance, price } in launched.into_iter().filter_map(planned_on_demand) {
        after.add(&instance, price);
    }
    let (before, after) = (own.commitments.apply(own.all()), own.commitments.apply(&after));
    Some(CommittedTotals { before, after })
}
