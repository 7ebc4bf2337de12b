//! Soft topology spread (`whenUnsatisfiable: ScheduleAnyway`), and what keeping it may cost.
//!
//! kube-scheduler scores a soft spread, and no pod waits for it. Karpenter launches nodes as if it
//! were required, and so does planning for a few nodes and while that is cheap. Otherwise nodes are
//! packed as if the spread did not exist, and each is then launched in the zone that evens out its
//! pods best among the zones that cost hardly more.

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::money::UsdPerHour;

use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::Topology;
use crate::ids::{GroupIx, ShapeIx, ZoneIx, ZoneSet};
use crate::model::Model;
use crate::work::NewNode;

/// Soft spreads together may raise the price of new nodes by at most this many percent.
const PERCENT_MAX: i128 = 2;

/// Fewer nodes than this cannot be spread by choosing their zones: the spread then decides how many
/// nodes there are.
const SPREADABLE_MIN: usize = 8;

/// The zone of one node may raise its price by at most one part in this many.
const ZONE_PREMIUM_PART: i64 = 100;

/// Whether nodes that keep all soft spreads are worth their price beside nodes that keep none.
pub(crate) fn is_worth_its_premium(kept: UsdPerHour, open: UsdPerHour, nodes: usize) -> bool {
    let premium = i128::from((kept - open).nanos());
    nodes < SPREADABLE_MIN || premium * 100 <= i128::from(open.nanos()) * PERCENT_MAX
}

/// Whether a search could make nodes that keep all soft spreads cheap enough: it seldom saves a
/// tenth.
pub(crate) fn may_be_worth_its_premium(kept: UsdPerHour, open: UsdPerHour, nodes: usize) -> bool {
    is_worth_its_premium(UsdPerHour::from_nanos(kept.nanos() / 10 * 9), open, nodes)
}

/// Whether pods of some shape carry a soft spread over zones.
pub(crate) fn has_soft_zone_spread(
    topology: &Topology,
    shapes: impl IntoIterator<Item = ShapeIx>,
) -> bool {
    shapes.into_iter().any(|shape| soft_zone_spreads(topology, shape).next().is_some())
}

/// Soft spreads over zones that the shape carries and that select it.
fn soft_zone_spreads(topology: &Topology, shape: ShapeIx) -> impl Iterator<Item = GroupIx> {
    topology.constraints[shape]
        .owned
        .iter()
        .filter(|owned| topology.is_soft_spread(owned) && owned.selects_itself)
        .map(|owned| owned.group)
        .filter(|group| &*topology.groups[*group].key == label::ZONE)
}

/// Settles the zone of each node whose pods carry a soft spread over zones, the fullest nodes
/// first: of the zones that cost hardly more than the cheapest, the one that holds the fewest
/// selected pods.
pub(crate) fn settle_zones(scope: Scope, state: &State, nodes: &mut [NewNode]) {
    let Scope { model, topology, memo } = scope;
    let mut counts: BTreeMap<(GroupIx, Text), u32> = BTreeMap::new();
    let mut order: Vec<(usize, Vec<(GroupIx, u32)>)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let own = soft_spreads_of(model, topology, node);
        if own.is_empty() {
            continue;
        }
        match node.compatible.zones.single() {
            Some(zone) => count(model, zone, &own, &mut counts),
            None => order.push((index, own)),
        }
    }
    order.sort_by_key(|(index, own)| {
        (std::cmp::Reverse(own.iter().map(|(_, count)| *count).max()), *index)
    });
    for (index, own) in order {
        let node = &mut nodes[index];
        let pool = &model.pools[node.pool];
        let Some(cheapest) = node.price(model, memo) else { continue };
        let most = cheapest + UsdPerHour::from_nanos(cheapest.nanos() / ZONE_PREMIUM_PART);
        let mut best: Option<((u32, UsdPerHour), NewNode, ZoneIx)> = None;
        for zone in node.compatible.zones.iter() {
            let mut there = node.clone();
            there.compatible.zones = ZoneSet::one(zone);
            let viable = memo.viable(pool, there.compatible.zones, there.compatible.purchases);
            there.compatible.types.intersect_with(&viable);
            let Some(price) = there.price(model, memo).filter(|price| *price <= most) else {
                continue;
            };
            let crowd = own
                .iter()
                .map(|(group, _)| {
                    let name = pool.zone(zone);
                    let known = state.matched[*group].by_domain.get(name).copied().unwrap_or(0);
                    known + counts.get(&(*group, name.clone())).copied().unwrap_or(0)
                })
                .sum();
            if best.as_ref().is_none_or(|(least, ..)| (crowd, price) < *least) {
                best = Some(((crowd, price), there, zone));
            }
        }
        let Some((_, settled, zone)) = best else { continue };
        *node = settled;
        count(model, zone, &own, &mut counts);
    }
}

/// Soft spreads of the node's pods, with how many of its pods carry each.
fn soft_spreads_of(model: &Model, topology: &Topology, node: &NewNode) -> Vec<(GroupIx, u32)> {
    let mut own: BTreeMap<GroupIx, u32> = BTreeMap::new();
    for member in &node.members {
        let shape = member.pods.first().and_then(|pod| model.shapes.of_pod[*pod]);
        for group in shape.into_iter().flat_map(|shape| soft_zone_spreads(topology, shape)) {
            *own.entry(group).or_default() += u32::try_from(member.pods.len()).unwrap_or(u32::MAX);
        }
    }
    own.into_iter().collect()
}

fn count(
    model: &Model,
    zone: ZoneIx,
    own: &[(GroupIx, u32)],
    counts: &mut BTreeMap<(GroupIx, Text), u32>,
) {
    for (group, pods) in own {
        *counts.entry((*group, model.zones[zone].clone())).or_default() += pods;
    }
}
