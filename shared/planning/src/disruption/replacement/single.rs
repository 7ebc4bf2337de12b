//! One new node for all pods that need one.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::joint::{JointFit, heaviest_pools, joint_fit, members};
use super::offerings::{LaunchScope, cheapest, keep_cheaper};
use super::{Removal, Replacements};
use crate::disruption::figures::count;
use crate::disruption::trial::Trials;
use crate::feasibility::scope::Scope;
use crate::ids::{NodeIx, PoolIx, TypeSet};
use crate::model::Model;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, Pool};
use crate::scheduling::claim::SPOT_TO_SPOT_TYPES;
use crate::work::NewNode;

/// The cheapest single node that costs less than the removed ones.
pub(super) fn single(trials: &Trials, removal: &Removal) -> Result<Replacements, Unconsolidatable> {
    let mut reason = Unconsolidatable::NoReplacement { pods: removal.pods() };
    let mut best: Option<(UsdPerHour, NewNode)> = None;
    for pool in heaviest_pools(trials.model, removal.items) {
        match in_pool(trials, removal, pool) {
            Ok(found) if best.as_ref().is_none_or(|(least, _)| found.0 < *least) => {
                best = Some(found);
            }
            // A reason about prices says more than that another pool hosts none of the pods.
            Ok(_) | Err(Unconsolidatable::NoReplacement { .. }) => {}
            Err(why) => reason = why,
        }
    }
    best.map(|(price, packed)| Replacements { packed: vec![packed], price }).ok_or(reason)
}

/// The cheapest node of one pool that hosts all items for less than the removed nodes cost.
fn in_pool(
    trials: &Trials,
    removal: &Removal,
    pool_index: PoolIx,
) -> Result<(UsdPerHour, NewNode), Unconsolidatable> {
    let Scope { model, memo, .. } = trials.scope;
    let pool = &model.pools[pool_index];
    let none = || Unconsolidatable::NoReplacement { pods: removal.pods() };
    let JointFit { mut compatible, requests } =
        joint_fit(trials, removal.items, pool_index).ok_or_else(none)?;
    compatible.types = pool.with_room(&compatible.types, &requests);
    let limits = trials.limits(removal.nodes);
    limits.keep_allowed(pool_index, pool, &mut compatible.types);
    compatible.purchases = limits.purchases_left(pool, compatible.purchases);
    let hosting = compatible.clone();
    let types_wanted = cheaper_only(trials.scope, pool, removal, &mut compatible)
        .map_err(|why| why.reason(memo, pool, removal, &hosting))?;
    let (type_index, price) = cheapest(memo, pool, &compatible).ok_or_else(none)?;
    let members = members(removal.items);
    let packed =
        NewNode { pool: pool_index, compatible, type_index, requests, members, types_wanted };
    Ok((price, packed))
}

/// Why no cheaper node is left.
enum NotCheaper {
    /// No type that hosts the pods costs less.
    Dearer,
    /// Feature gate `SpotToSpotConsolidation` is off.
    SpotGate,
    /// Only this many cheaper spot types are left.
    SpotTypes(usize),
    /// Cheaper types have too few values of a key for `minValues`.
    MinValues(Text),
}

impl NotCheaper {
    fn reason(
        self,
        memo: &Memo,
        pool: &Pool,
        removal: &Removal,
        hosting: &Compatible,
    ) -> Unconsolidatable {
        let pods = removal.pods();
        match self {
            Self::SpotGate => Unconsolidatable::SpotToSpot { pods },
            Self::SpotTypes(found) => Unconsolidatable::TooFewSpotTypes {
                found: count(found),
                needed: count(SPOT_TO_SPOT_TYPES),
            },
            Self::MinValues(key) => Unconsolidatable::MinValues(key),
            Self::Dearer => match cheapest(memo, pool, hosting) {
                Some((index, price)) => Unconsolidatable::NothingCheaper {
                    pods,
                    instance_type: pool.types[index].instance_type.name.clone(),
                    price,
                    before: removal.before,
                },
                None => Unconsolidatable::NoReplacement { pods },
            },
        }
    }
}

/// Keeps types whose highest price is below what the removed nodes cost, bought in one way. Returns
/// how many of them are listed, if that is fixed: where one spot node replaces one, neither fewer,
/// or it would soon be interrupted, nor more, or it would soon be consolidated again.
fn cheaper_only(
    Scope { model, memo, .. }: Scope,
    pool: &Pool,
    removal: &Removal,
    compatible: &mut Compatible,
) -> Result<Option<usize>, NotCheaper> {
    let all_spot = removal.all_spot(model);
    let passes_over_spot = pool.passes_over_spot(memo, compatible);
    for capacity_type in CapacityType::ALL {
        let purchases = compatible.purchases & pool.bought_as(capacity_type);
        let mut types = compatible.types.clone();
        types.intersect_with(&memo.viable(pool, compatible.zones, purchases));
        if types.is_empty() || (capacity_type == CapacityType::Spot && passes_over_spot) {
            continue;
        }
        let is_spot_to_spot = all_spot && capacity_type == CapacityType::Spot;
        if is_spot_to_spot && !model.snapshot.settings.feature_gates.spot_to_spot_consolidation {
            return Err(NotCheaper::SpotGate);
        }
        let scope = LaunchScope { zones: compatible.zones, purchases };
        keep_cheaper(pool, scope, removal.before, &mut types);
        without_same_types(model, pool, removal.nodes, &mut types);
        let found = types.count();
        let types_wanted =
            (is_spot_to_spot && removal.nodes.len() == 1).then_some(SPOT_TO_SPOT_TYPES);
        if types_wanted.is_some_and(|wanted| found < wanted) {
            return Err(NotCheaper::SpotTypes(found));
        }
        if types.is_empty() {
            // More expensive capacity types are tried only after reservations.
            if capacity_type == CapacityType::Reserved {
                continue;
            }
            return Err(NotCheaper::Dearer);
        }
        if let Some(unmet) = pool.min_values_unmet(&types, compatible.zones, purchases) {
            return Err(NotCheaper::MinValues(unmet.key));
        }
        compatible.types = types;
        compatible.purchases = purchases;
        return Ok(types_wanted);
    }
    Err(NotCheaper::Dearer)
}

/// Replacing several nodes must not relaunch a type that it removes: where it could, only types
/// cheaper than the cheapest removed node of such a type are kept.
fn without_same_types(model: &Model, pool: &Pool, nodes: &[NodeIx], types: &mut TypeSet) {
    if nodes.len() < 2 {
        return;
    }
    let cheapest_same = nodes
        .iter()
        .filter_map(|node| {
            let own = model.nodes[*node].instance_type?;
            let is_option =
                types.iter().any(|index| pool.types[index].instance_type.name == own.name);
            is_option.then(|| model.nodes[*node].price())?
        })
        .min();
    let Some(ceiling) = cheapest_same else { return };
    keep_cheaper(pool, LaunchScope::ALL, ceiling, types);
}
