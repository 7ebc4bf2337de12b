//! The zone of each new node, where its NodePool asks for balance over zones or its EC2NodeClass
//! for free addresses.
//!
//! Nodes are packed as if nobody asked. Then each of a NodePool with balance gets one zone: of
//! those that cost no more than the premium, the one in which the pool is least above its share.
//! Where addresses are plenty for whatever zone EC2 chooses, they decide nothing; where they are
//! scarce, nodes get one zone each as well, and pods for which no zone has any wait.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label;
use domain::money::UsdPerHour;
use domain::zone_balance::ZoneBalance;

use super::spot_share::{may_be_parted, part};
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::ids::{IndexVec, NodeIx, PodIx, PoolIx, ShapeIx, TypeIx, ZoneIx, ZoneSet};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::model::pool::Pool;
use crate::work::{Member, NewNode};

/// How many nodes each pool has in each zone, once what is planned is done.
#[derive(Clone, Debug)]
pub(crate) struct NodeZones {
    nodes: IndexVec<PoolIx, IndexVec<ZoneIx, u32>>,
}

/// A zone that a node may be launched in, and the cheapest type for it there.
#[derive(Clone, Copy)]
struct Place {
    price: UsdPerHour,
    type_index: TypeIx,
    zone: ZoneIx,
}

/// What a pool's nodes are spread by.
#[derive(Clone, Copy)]
struct Share {
    balance: ZoneBalance,
    /// The most nodes that a zone is to have.
    most: u32,
}

/// New nodes with their zones.
pub(crate) struct Settled {
    /// The nodes, in the order in which they came.
    pub(crate) nodes: Vec<NewNode>,
    /// Pods for which no zone has addresses.
    pub(crate) left: Vec<PodIx>,
}

fn class_of<'p>(pool: &'p Pool) -> &'p Text {
    &pool.node_pool.template.node_class_ref.name
}

/// Its balance, if its zones may be narrowed: `minValues` may count them, or types that some of
/// them lack.
fn balance_of(pool: &Pool) -> Option<ZoneBalance> {
    pool.node_pool.options.zone_balance.filter(|_| pool.min_values.is_empty())
}

/// The zone of a node. One that has joined and is not registered yet has few labels of its own.
fn zone_of(model: &Model, view: &NodeView) -> Option<ZoneIx> {
    let of_claim = || view.claim?.labels.get(label::ZONE);
    let name = view.labels.get(label::ZONE).or_else(of_claim)?;
    model.zones.position(|zone| zone == name)
}

fn pods_on(node: &NewNode) -> usize {
    node.members.iter().map(|member| member.pods.len()).sum()
}

impl NodeZones {
    /// Of the nodes that are there; `None` where nobody asks for balance or about addresses.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let is_balanced = model.pools.iter().any(|pool| balance_of(pool).is_some());
        if !is_balanced && model.addresses.is_none() {
            return None;
        }
        let none = IndexVec::filled(0, model.zones.len());
        let mut own = Self { nodes: IndexVec::filled(none, model.pools.len()) };
        for node in model.nodes.iter().filter(|node| !node.is_leaving()) {
            if let Some(count) = own.count_of(model, node) {
                *count += 1;
            }
        }
        Some(own)
    }

    /// How many nodes a pool has in each zone.
    pub(crate) fn nodes_of(&self, pool: PoolIx) -> impl Iterator<Item = (ZoneIx, u32)> {
        self.nodes[pool].iter_enumerated().map(|(zone, count)| (zone, *count))
    }

    fn count_of(&mut self, model: &Model, node: &NodeView) -> Option<&mut u32> {
        let name = node.labels.get(label::NODE_POOL).filter(|_| node.is_managed)?;
        let pool = model.pools.position(|pool| pool.node_pool.name == *name)?;
        Some(&mut self.nodes[pool][zone_of(model, node)?])
    }

    /// Counts nodes out that are removed.
    pub(crate) fn leave(&mut self, model: &Model, nodes: &[NodeIx]) {
        for node in nodes.iter().map(|index| &model.nodes[*index]) {
            if let Some(count) = self.count_of(model, node).filter(|_| !node.is_leaving()) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Counts a new node in whose zone is settled, and its addresses wherever it may turn out to
    /// be.
    pub(crate) fn count(&mut self, model: &Model, limits: &mut Limits, node: &NewNode) {
        let pool = &model.pools[node.pool];
        let zones = possible_zones(model, node);
        if let [zone] = zones.as_slice() {
            self.nodes[node.pool][*zone] += 1;
        }
        if let Some(ledger) = &mut limits.addresses {
            let class = class_of(pool);
            let needed = ledger.policy(class).map_or(0, |policy| policy.needed(pods_on(node)));
            for zone in zones {
                ledger.take(class, pool.zone(zone), needed);
            }
        }
    }

    /// Chooses the zones of new nodes, and counts them there.
    pub(crate) fn settle(
        &mut self,
        scope: Scope,
        limits: &mut Limits,
        nodes: &[NewNode],
    ) -> Settled {
        let model = scope.model;
        let shares = self.shares(model, nodes);
        let scarce = scarce_classes(model, limits, nodes);
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        // What has no choice counts before what has one.
        order.sort_by_key(|index| possible_zones(model, &nodes[*index]).len() > 1);
        let mut settled: Vec<Vec<NewNode>> = vec![Vec::new(); nodes.len()];
        let mut left = Vec::new();
        for index in order {
            let node = &nodes[index];
            let share = shares.get(&node.pool).copied();
            if share.is_none() && !scarce.contains(class_of(&model.pools[node.pool])) {
                self.count(model, limits, node);
                settled[index].push(node.clone());
                continue;
            }
            let mut rest = Some(node.clone());
            while let Some(mut whole) = rest.take() {
                if !self.pin(scope, limits, &mut whole, share) {
                    let cut = cut(scope, limits, &whole);
                    left.extend(cut.left);
                    rest = cut.rest;
                    let Some(fewer) = cut.node else { continue };
                    whole = fewer;
                }
                self.count(model, limits, &whole);
                settled[index].push(whole);
            }
        }
        Settled { nodes: settled.into_iter().flatten().collect(), left }
    }

    /// Each pool's share of a zone, where it asks for balance, once these are launched.
    fn shares(&self, model: &Model, nodes: &[NewNode]) -> BTreeMap<PoolIx, Share> {
        let mut shares = BTreeMap::new();
        for (index, pool) in model.pools.iter_enumerated() {
            let Some(balance) = balance_of(pool) else { continue };
            let new = nodes.iter().filter(|node| node.pool == index).count();
            let there: u32 = self.nodes[index].iter().sum();
            let total = there.saturating_add(u32::try_from(new).unwrap_or(u32::MAX));
            let offered = pool.types.iter().flat_map(|own| own.offerings.iter());
            let zones: BTreeSet<ZoneIx> = offered.map(|own| own.zone).collect();
            let zones = u32::try_from(zones.len()).unwrap_or(u32::MAX);
            shares.insert(index, Share { balance, most: balance.most_in_zone(total, zones) });
        }
        shares
    }

    /// Launches the node in one zone that has addresses for its pods. Returns whether there is one.
    fn pin(
        &self,
        Scope { model, memo, .. }: Scope,
        limits: &mut Limits,
        node: &mut NewNode,
        share: Option<Share>,
    ) -> bool {
        let pool = &model.pools[node.pool];
        let types = pool.with_room(&node.compatible.types, &node.requests);
        let own = &pool.types[node.type_index].capacity;
        let has_room = |zone: &ZoneIx| {
            let (class, pods) = (class_of(pool), pods_on(node));
            limits.addresses.as_ref().is_none_or(|own| own.has_room(class, pool.zone(*zone), pods))
        };
        let cheapest_in = |zone: ZoneIx| {
            let priced = memo.cheapest(pool, ZoneSet::one(zone), node.compatible.purchases);
            let mut hosting = priced.iter().filter(|priced| {
                types.contains(priced.index)
                    && limits.allow_instead(node.pool, &pool.types[priced.index].capacity, own)
            });
            let first = hosting.next()?;
            Some(Place { price: first.offering.price, type_index: first.index, zone })
        };
        let zones = possible_zones(model, node).into_iter().filter(has_room);
        let places: Vec<Place> = zones.filter_map(cheapest_in).collect();
        let Some(least) = places.iter().map(|own| own.price.nanos()).min() else { return false };
        let is_near = |own: &&Place| match share {
            Some(share) => share.balance.is_worth(own.price.nanos(), least),
            None => true,
        };
        let rank = |own: &&Place| {
            let count = self.nodes[node.pool][own.zone];
            let above = share.map_or(0, |share| (count + 1).saturating_sub(share.most));
            (above, own.price, share.map_or(0, |_| count), pool.zone(own.zone))
        };
        let Some(chosen) = places.iter().filter(is_near).min_by_key(rank).copied() else {
            return false;
        };
        if chosen.type_index != node.type_index {
            limits.give_back(node.pool, own);
            limits.take(node.pool, &pool.types[chosen.type_index].capacity);
            node.type_index = chosen.type_index;
        }
        node.compatible.zones = ZoneSet::one(chosen.zone);
        true
    }
}

/// Zones in which a type that hosts the node's pods is offered.
fn possible_zones(model: &Model, node: &NewNode) -> Vec<ZoneIx> {
    let pool = &model.pools[node.pool];
    let types = pool.with_room(&node.compatible.types, &node.requests);
    let is_offered = |zone: &ZoneIx| {
        let zone = ZoneSet::one(*zone);
        types.iter().any(|index| {
            pool.types[index].offerings_in(zone, node.compatible.purchases).next().is_some()
        })
    };
    let admitted = model.zones.indices().filter(|zone| node.compatible.zones.contains(*zone));
    admitted.filter(is_offered).collect()
}

/// EC2NodeClasses of which some zone has too few addresses, should all nodes that may be launched
/// there be.
fn scarce_classes(model: &Model, limits: &Limits, nodes: &[NewNode]) -> BTreeSet<Text> {
    let Some(ledger) = &limits.addresses else { return BTreeSet::new() };
    let mut worst = ledger.clone();
    let mut scarce = BTreeSet::new();
    for node in nodes {
        let pool = &model.pools[node.pool];
        let class = class_of(pool);
        let Some(policy) = ledger.policy(class) else { continue };
        for zone in possible_zones(model, node) {
            let zone = pool.zone(zone);
            worst.take(class, zone, policy.needed(pods_on(node)));
            if worst.left(class, zone).is_some_and(|left| left < 0) {
                scarce.insert(class.clone());
            }
        }
    }
    scarce
}

/// What becomes of a node for whose pods no zone has addresses.
#[derive(Default)]
struct Cut {
    /// The node with as many of them as some zone has addresses for.
    node: Option<NewNode>,
    /// A node for the others, whose zone is still to be chosen.
    rest: Option<NewNode>,
    /// Pods that wait.
    left: Vec<PodIx>,
}

/// Parts a node, where its pods need not be together. Every part is smaller, so that parting ends.
fn cut(scope: Scope, limits: &mut Limits, node: &NewNode) -> Cut {
    let model = scope.model;
    limits.give_back(node.pool, &model.pools[node.pool].types[node.type_index].capacity);
    let shapes: BTreeSet<ShapeIx> = node
        .members
        .iter()
        .filter_map(|member| model.shapes.of_pod[*member.pods.first()?])
        .collect();
    if !shapes.iter().all(|shape| may_be_parted(scope, *shape)) {
        let needed = pods_on(node);
        for shape in shapes {
            let most = limits.too_many_for_addresses.entry(shape).or_default();
            *most = needed.max(*most);
        }
        return Cut { left: pods_of(&node.members), ..Cut::default() };
    }
    let Some((zone, room)) = roomiest_zone(model, limits, node) else {
        return Cut { left: pods_of(&node.members), ..Cut::default() };
    };
    let (kept, others) = parted(&node.members, room);
    let mut in_zone = node.clone();
    in_zone.compatible.zones = ZoneSet::one(zone);
    let Some(fewer) = part(scope, limits, &in_zone, kept) else {
        return Cut { left: pods_of(&node.members), ..Cut::default() };
    };
    let rest = part(scope, limits, node, others.clone());
    let left = if rest.is_none() { pods_of(&others) } else { Vec::new() };
    Cut { node: Some(fewer), rest, left }
}

fn pods_of(members: &[Member]) -> Vec<PodIx> {
    members.iter().flat_map(|member| member.pods.iter().copied()).collect()
}

/// The zone with most addresses that a node's pods may be in, and for how many pods they do;
/// `None` where that is none.
fn roomiest_zone(model: &Model, limits: &Limits, node: &NewNode) -> Option<(ZoneIx, usize)> {
    let pool = &model.pools[node.pool];
    let class = class_of(pool);
    let ledger = limits.addresses.as_ref()?;
    let policy = ledger.policy(class)?;
    let known = possible_zones(model, node)
        .into_iter()
        .filter_map(|zone| Some((ledger.left(class, pool.zone(zone))?, zone)));
    let (most, zone) = known.max_by_key(|(left, zone)| (*left, std::cmp::Reverse(*zone)))?;
    let for_pods = most - i64::try_from(policy.needed(0)).ok()?;
    let room = for_pods.checked_div(i64::from(policy.per_pod))?;
    Some((zone, usize::try_from(room).ok().filter(|own| *own > 0)?))
}

/// The first so many pods, and the others.
fn parted(members: &[Member], first: usize) -> (Vec<Member>, Vec<Member>) {
    let mut room = first;
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    for Member { conjunction, pods } in members {
        let (own, rest) = pods.split_at(room.min(pods.len()));
        room -= own.len();
        for (all, pods) in [(&mut kept, own), (&mut others, rest)] {
            if !pods.is_empty() {
                all.push(Member { conjunction: *conjunction, pods: pods.to_vec() });
            }
        }
    }
    (kept, others)
}
