//! Nodes as offers: those that could be launched, and free room on nodes of the cluster.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::ZONE;
use domain::resource::{NODES, Resources, USD_PER_HOUR};
use domain::taint::first_untolerated;

use super::host_groups::HostGroups;
use super::rows::{Classes, RowPods};
use crate::feasibility::limits::Limits;
use crate::feasibility::node::node_meets;
use crate::feasibility::scope::Scope;
use crate::ids::{IndexVec, PurchaseIx, TypeIx};
use crate::model::Model;
use crate::model::commitments::OnDemand;
use crate::model::node::NodeView;
use crate::model::pool::{Bin, NodeKind, Pool};
use crate::relaxation::{Capacity, LimitIx, Offer, OfferIx, RowIx, Rows, undominated};

/// Above this number of node and row pairs, labels of nodes are ignored.
const PAIRS_MAX: usize = 1 << 20;

/// Nodes that could be launched.
pub(super) struct Sold {
    /// What each offer launches.
    pub(super) nodes: IndexVec<OfferIx, NodeKind>,
    /// Offerings that can be had any number of times.
    pub(super) offers: IndexVec<OfferIx, Offer>,
    /// Capacity reservations.
    pub(super) limited: Vec<Offer>,
    /// On-demand offerings as far as commitments cover them.
    pub(super) covered: Vec<Offer>,
    /// What pools may still launch where that may not be enough for all pods, and what commitments
    /// may cover.
    pub(super) limits: IndexVec<LimitIx, Vec<i64>>,
}

/// Offerings that could be launched for the rows; of those that can be had any number of times,
/// only what no other dominates.
pub(super) fn sold(
    Scope { model, memo, .. }: Scope,
    rows: &Rows,
    pods_of_row: &IndexVec<RowIx, RowPods>,
    classes: &Classes,
    host_groups: &HostGroups,
) -> Sold {
    let resource_order = &resource_order(model, host_groups);
    let demand = Demand { rows, pods_of_row, classes, host_groups };
    let pool_limits = Limits::of(model, |_| false);
    let mut limits: IndexVec<LimitIx, Vec<i64>> = IndexVec::new();
    let (mut unlimited, mut limited) = (Vec::new(), Vec::new());
    for ((index, pool), classes) in model.pools.iter_enumerated().zip(classes) {
        // A limit in dollars counts offerings at what they may cost: a bound under it would not
        // hold for every plan within the limit.
        let left: Vec<(Text, i64)> = pool_limits
            .left(index)
            .iter()
            .filter(|(name, _)| &**name != USD_PER_HOUR)
            .cloned()
            .collect();
        let left = left.as_slice();
        let limit = may_run_out(model, rows, left)
            .then(|| limits.push(left.iter().map(|(_, left)| *left).collect()));
        let mut in_zones: BTreeMap<(TypeIx, PurchaseIx), Vec<Bin>> = BTreeMap::new();
        for bin in memo.bins(pool, classes).iter() {
            in_zones.entry((bin.type_index, bin.purchase)).or_default().push(bin.clone());
        }
        unlimited.reserve(in_zones.len());
        for ((type_index, purchase), bins) in in_zones {
            let purchase = &pool.purchases[purchase];
            let remaining = purchase.remaining();
            let own = &pool.types[type_index];
            let sold = SoldType {
                amounts: host_groups.amounts(&own.room),
                available: remaining.unwrap_or(u32::MAX),
                resource_order,
                limit: limit.map(|limit| (limit, taken(left, &own.capacity))),
                bins,
            };
            if remaining.is_some() {
                limited.extend(sold.in_each_zone(&demand));
            } else if let Some(wherever) = sold.offer(&demand, &sold.bins) {
                unlimited.push((sold, wherever));
            }
        }
    }
    let unlimited = apart_where_it_counts(&demand, unlimited);
    let covered = covered(model, &demand, resource_order, &mut limits);
    let (nodes, offers) = (IndexVec::new(), IndexVec::new());
    let mut sold = Sold { nodes, offers, limited, covered, limits };
    for (node, offer) in undominated(unlimited) {
        sold.nodes.push(node);
        sold.offers.push(offer);
    }
    sold
}

/// An instance type as one pool buys it in one way, in the zones that sell it.
struct SoldType<'o> {
    /// By zone. Never empty.
    bins: Vec<Bin>,
    amounts: Vec<i64>,
    available: u32,
    resource_order: &'o [usize],
    limit: Option<(LimitIx, Vec<i64>)>,
}

impl SoldType<'_> {
    /// A node in whichever of some zones sells it for least, for rows that any of them accepts.
    fn offer(&self, demand: &Demand, bins: &[Bin]) -> Option<Offer> {
        let capacity = Capacity {
            price: bins.iter().map(|bin| bin.price).fold(f64::INFINITY, f64::min),
            amounts: &self.amounts,
            available: self.available,
            resource_order: self.resource_order,
        };
        let accepts =
            |row: RowIx| bins.iter().any(|bin| is_accepted(bin, &demand.pods_of_row[row]));
        let offer = Offer::new(demand.rows, &capacity, accepts)?;
        Some(match &self.limit {
            Some((limit, taken)) => offer.within(*limit, taken.clone()),
            None => offer,
        })
    }

    fn in_each_zone(&self, demand: &Demand) -> impl Iterator<Item = Offer> {
        self.bins.chunks(1).filter_map(|bins| self.offer(demand, bins))
    }
}

/// What offers are made for.
struct Demand<'d> {
    rows: &'d Rows,
    pods_of_row: &'d IndexVec<RowIx, RowPods>,
    classes: &'d Classes,
    host_groups: &'d HostGroups,
}

/// Types that may be launched on demand and that some commitment holds for: they cost nothing as
/// long as all of them together, at on-demand prices, stay within what commitments may cover.
///
/// No plan costs less beyond its commitments. Say it launches nodes for P dollars, of which Q are
/// for nodes that some commitment holds for, and C more is covered than before. C is at most what
/// is [coverable], and at most Q, since commitments leave no more of any kind of instance
/// uncovered when less runs. So the program may have a part C/Q of those nodes for nothing and buy
/// the rest, which holds the same pods for P - C.
///
/// [coverable]: crate::model::commitments::ModelCommitments::coverable
#[expect(clippy::cast_precision_loss, reason = "prices are far below 2^53 nanos")]
fn covered(
    model: &Model,
    demand: &Demand,
    resource_order: &[usize],
    limits: &mut IndexVec<LimitIx, Vec<i64>>,
) -> Vec<Offer> {
    let Some(own) = &model.commitments else { return Vec::new() };
    let sold: Vec<OnDemand> =
        model.pools.iter().flat_map(Pool::on_demand).map(|(_, own)| own).collect();
    let coverable = own.coverable(&sold);
    if coverable <= 0 {
        return Vec::new();
    }
    let limit = limits.push(vec![coverable]);
    let mut offers: Vec<((NodeKind, i64), Offer)> = Vec::new();
    for ((index, pool), classes) in model.pools.iter_enumerated().zip(demand.classes) {
        let bought = pool.bought_as(CapacityType::OnDemand);
        let mut least: BTreeMap<TypeIx, i64> = BTreeMap::new();
        for (type_index, OnDemand { instance, price }) in pool.on_demand() {
            if own.commitments.hold_for(&instance, price) {
                let known = least.entry(type_index).or_insert(i64::MAX);
                *known = price.nanos().min(*known);
            }
        }
        for (type_index, price) in least {
            let one = &pool.types[type_index];
            let amounts = demand.host_groups.amounts(&one.room);
            let available = u32::MAX;
            let capacity =
                Capacity { price: price as f64, amounts: &amounts, available, resource_order };
            let is_accepted = |row: RowIx| {
                demand.pods_of_row[row].classes[index].iter().any(|class| {
                    let own = &classes[*class];
                    let mut sold = one.offerings_in(own.zones, own.purchases & bought);
                    own.types.contains(type_index) && sold.next().is_some()
                })
            };
            if let Some(offer) = Offer::new(demand.rows, &capacity, is_accepted) {
                offers.push(((NodeKind { pool: index, type_index }, price), offer));
            }
        }
    }
    undominated(offers)
        .into_iter()
        .map(|((_, price), offer)| offer.without_price().within(limit, vec![price]))
        .collect()
}

/// Whether all pods together might need more than a pool has left of something that it limits.
fn may_run_out(model: &Model, rows: &Rows, left: &[(Text, i64)]) -> bool {
    left.iter().any(|(name, left)| {
        let pods: i64 = rows.iter().map(|row| i64::from(row.count)).sum();
        let resource = (0..model.resources.len()).find(|own| model.resources.name(*own) == name);
        let needed = match resource {
            Some(own) => {
                rows.iter().map(|row| row.requests[own].saturating_mul(row.count.into())).sum()
            }
            None => pods,
        };
        *left < needed.saturating_mul(LIMIT_TIMES)
    })
}

/// Limits of at least this many times what pods request hardly bear on what nodes cost.
const LIMIT_TIMES: i64 = 3;

/// What one node of this capacity takes of each resource that a pool limits.
fn taken(left: &[(Text, i64)], capacity: &Resources) -> Vec<i64> {
    left.iter().map(|(name, _)| if &**name == NODES { 1 } else { capacity.get(name) }).collect()
}

/// Types that are far from the cheapest for every row are taken as if each zone sold them at the
/// lowest price of all: which zone they are in then makes no difference, and offers are fewer.
fn apart_where_it_counts(demand: &Demand, types: Vec<(SoldType, Offer)>) -> Vec<(NodeKind, Offer)> {
    let mut least = IndexVec::filled(f64::INFINITY, demand.rows.len());
    for (sold, wherever) in &types {
        for bin in &sold.bins {
            let accepts = |row: RowIx| is_accepted(bin, &demand.pods_of_row[row]);
            wherever.lower_to_shares_at(bin.price, accepts, &mut least);
        }
    }
    // Most types are far from the cheapest: their offers by zone are not even made.
    let mut offers = Vec::with_capacity(types.len());
    for (sold, wherever) in types {
        let kind = sold.bins[0].kind();
        if sold.bins.len() > 1 && wherever.has_share_within(&least, NEAR) {
            offers.extend(sold.in_each_zone(demand).map(|offer| (kind, offer)));
        } else {
            offers.push((kind, wherever));
        }
    }
    offers
}

/// A type counts by zones if some pod's share of it costs no more than this many times its
/// cheapest share of any.
const NEAR: f64 = 1.1;

/// Resources by name, then groups by host: resources are numbered as pods name them, and sums must
/// not depend on that.
pub(super) fn resource_order(model: &Model, host_groups: &HostGroups) -> Vec<usize> {
    let mut order: Vec<usize> = (0..model.resources.len()).collect();
    order.sort_by_key(|resource| model.resources.name(*resource));
    order.extend((0..host_groups.caps.len()).map(|group| model.resources.len() + group));
    order
}

fn is_accepted(bin: &Bin, pods: &RowPods) -> bool {
    pods.classes[bin.pool].iter().any(|class| bin.accepts_class(*class))
}

/// Free room on nodes of the cluster, which costs nothing.
pub(super) fn free_capacity(
    model: &Model,
    rows: &Rows,
    pods_of_row: &IndexVec<RowIx, RowPods>,
    host_groups: &HostGroups,
) -> Vec<Offer> {
    let checks_labels = model.nodes.len() * rows.len() <= PAIRS_MAX;
    let admits = |node: &NodeView, row: RowIx| {
        let RowPods { shapes, zone, .. } = &pods_of_row[row];
        let is_there = zone.as_ref().is_none_or(|zone| node.labels.get(ZONE) == Some(zone));
        is_there
            && shapes.iter().map(|shape| model.shape(*shape)).any(|shape| {
                first_untolerated(&shape.spec.tolerations, &node.taints).is_none()
                    && (!checks_labels
                        || shape.alternatives.iter().any(|way| node_meets(model, node, *way)))
            })
    };
    let resource_order = resource_order(model, host_groups);
    model
        .nodes
        .iter()
        .filter(|node| !node.is_leaving())
        .filter_map(|node| {
            let free: Vec<i64> = node.free.iter().map(|free| (*free).max(0)).collect();
            let amounts = host_groups.amounts(&free);
            let capacity = Capacity {
                price: 0.0,
                amounts: &amounts,
                available: 1,
                resource_order: &resource_order,
            };
            Offer::new(rows, &capacity, |row| admits(node, row))
        })
        .collect()
}
