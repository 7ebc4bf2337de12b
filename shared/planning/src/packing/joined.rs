//! One more pod on a node that is still to be launched.

use domain::money::UsdPerHour;

use super::merge::is_reserved;
use crate::feasibility::fit::Fit;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::ids::{PodIx, TypeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::pool::{Compatible, Narrowing};
use crate::work::{Member, NewNode};

/// A pod that a node is to have, and what it must have met.
type More<'f> = (PodIx, ConjunctionId, &'f Fit);

/// The node with one more pod that must have the conjunction met, and what the node costs then;
/// `None` where it has no room within the limits. Whether they may share a host is not asked.
///
/// Where it has no room wherever it may be, it may be in fewer zones, or be bought in fewer ways:
/// DaemonSets that run elsewhere then take nothing of it. Its requests are less by what these would
/// take.
pub(crate) fn joined(
    scope: Scope,
    limits: &Limits,
    node: &NewNode,
    more: More,
) -> Option<(NewNode, UsdPerHour)> {
    let Scope { model, memo, .. } = scope;
    if is_reserved(model, node) {
        return None;
    }
    let pool = &model.pools[node.pool];
    let (pod, _, fit) = more;
    let own = fit.pools.iter().chain(&fit.avoided).find(|own| own.pool == node.pool)?;
    let compatible = pool.both(&node.compatible, &own.compatible, memo)?;
    let shape = model.shape(model.shapes.of_pod[pod]?);
    let sum = |of_node: &[i64]| -> Vec<i64> {
        of_node.iter().zip(&shape.requests).map(|(of_node, own)| of_node + own).collect()
    };
    let with_one_more = |compatible: Compatible, requests| {
        launched_for(scope, limits, node, (compatible, requests))
    };
    let anywhere = with_one_more(compatible.clone(), sum(&node.requests));
    let joined = anywhere.or_else(|| {
        let requests = sum(&requests_of_pods(model, node));
        let narrowed = pool.narrowings(&model.key_kinds).iter().filter_map(|own| {
            let (compatible, requests) = narrowed(scope, node, own, (&compatible, &requests))?;
            with_one_more(compatible, requests)
        });
        narrowed.min_by_key(|(_, price)| *price)
    });
    joined.map(|(mut joined, price)| {
        joined.members.push(Member { conjunction: more.1, pods: vec![pod] });
        (joined, price)
    })
}

/// The node for these requests, of what may be launched and limits allow in its place.
fn launched_for(
    Scope { model, memo, .. }: Scope,
    limits: &Limits,
    node: &NewNode,
    (mut compatible, requests): (Compatible, Vec<i64>),
) -> Option<(NewNode, UsdPerHour)> {
    let pool = &model.pools[node.pool];
    let capacity = |index: TypeIx| &pool.types[index].capacity;
    compatible.types = pool.with_room(&compatible.types, &requests);
    compatible.types.retain(|index| {
        limits.allow_instead(node.pool, capacity(index), capacity(node.type_index))
    });
    let (types, zones, purchases) = (&compatible.types, compatible.zones, compatible.purchases);
    let is_met = pool.min_values_unmet(types, zones, purchases).is_none();
    let priced = *memo
        .cheapest(pool, zones, purchases)
        .iter()
        .find(|priced| types.contains(priced.index) && is_met)?;
    let policy = model.snapshot.settings.min_values_policy;
    let type_index = pool.counted_type(policy, &compatible, priced.index);
    let launched = NewNode { compatible, type_index, requests, ..node.clone() };
    Some((launched, priced.offering.price))
}

/// What its pods request.
fn requests_of_pods(model: &Model, node: &NewNode) -> Vec<i64> {
    let mut sum = vec![0; node.requests.len()];
    for pod in node.members.iter().flat_map(|member| &member.pods) {
        let Some(shape) = model.shapes.of_pod[*pod] else { continue };
        for (sum, own) in sum.iter_mut().zip(&model.shape(shape).requests) {
            *sum += own;
        }
    }
    sum
}

/// What may be launched where types have more room, and the requests less by what the cheapest type
/// that has room then has more: all others that are left have as much more.
fn narrowed(
    Scope { model, memo, .. }: Scope,
    node: &NewNode,
    narrowing: &Narrowing,
    (compatible, requests): (&Compatible, &[i64]),
) -> Option<(Compatible, Vec<i64>)> {
    let pool = &model.pools[node.pool];
    let zones = compatible.zones & narrowing.zones;
    let purchases = compatible.purchases & narrowing.purchases;
    let less = |more: &[i64]| -> Vec<i64> {
        requests.iter().zip(more).map(|(own, more)| own - more).collect()
    };
    let mut types = compatible.types.clone();
    let has_room = |index: TypeIx| {
        types.contains(index) && pool.types[index].has_room_for(&less(&narrowing.more[index]))
    };
    let cheapest = memo.cheapest(pool, zones, purchases);
    let first = cheapest.iter().map(|priced| priced.index).find(|index| has_room(*index))?;
    let least = &narrowing.more[first];
    types.retain(|index| narrowing.more[index].iter().zip(least).all(|(own, least)| own >= least));
    Some((Compatible { types, zones, purchases, open: compatible.open.clone() }, less(least)))
}
