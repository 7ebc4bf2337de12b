//! Replacements: the new nodes that host the pods of removed nodes for less than those cost. One,
//! or several where several are removed.

mod covered;
mod joint;
mod offerings;
mod several;
mod single;

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::figures::count;
use super::trial::Trials;
use crate::feasibility::state::State;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::work::Item;
use crate::work::NewNode;
use covered::covered;
pub(super) use joint::{JointOffers, single_node};
pub(super) use several::may_be_several;
use several::several;
use single::single;

/// Nodes to remove, and what is left to host.
pub(super) struct Removal<'t> {
    /// The nodes.
    pub(super) nodes: &'t [NodeIx],
    /// Pods that no remaining node hosts.
    pub(super) items: &'t [Item],
    /// Where the others are.
    pub(super) state: &'t State,
    /// What the nodes cost together.
    pub(super) before: UsdPerHour,
    /// The most that several new nodes may cost for the removal to be worth it.
    pub(super) ceiling: UsdPerHour,
}

impl Removal<'_> {
    fn pods(&self) -> u32 {
        count(self.items.iter().map(|item| item.pods.len()).sum())
    }

    fn all_spot(&self, model: &Model) -> bool {
        self.nodes.iter().all(|node| is_spot(model, *node))
    }
}

fn is_spot(model: &Model, node: NodeIx) -> bool {
    model.nodes[node].capacity_type() == Some(CapacityType::Spot)
}

/// New nodes for all of a removal's items.
pub(super) struct Replacements {
    /// The nodes.
    pub(super) packed: Vec<NewNode>,
    /// What their cheapest offerings cost together, beyond commitments.
    pub(super) price: UsdPerHour,
}

/// The cheapest new nodes that host all items for less than the removed nodes cost: one, or several
/// where several are removed. Of equal prices, one node. What commitments cover costs nothing.
pub(super) fn replacements(
    trials: &Trials,
    removal: &Removal,
) -> Result<Replacements, Unconsolidatable> {
    let one = single(trials, removal);
    let found = match (one, several(trials, removal)) {
        (Ok(one), Some(several)) if several.price < one.price => Ok(several),
        (Err(_), Some(several)) => Ok(several),
        (one, _) => one,
    };
    let Some((own, usage)) = trials.committed_without(removal.nodes) else { return found };
    let found = found.map(|Replacements { packed, .. }| {
        let price = trials.price_of_new(removal.nodes, &packed);
        Replacements { packed, price }
    });
    match (found, covered(trials, removal, (own, &usage))) {
        (Ok(found), Some(covered)) if covered.price < found.price => Ok(covered),
        (Err(_), Some(covered)) => Ok(covered),
        (found, _) => found,
    }
}
