//! Nodes as offers: those that could be launched, and free room on nodes of the cluster.

use domain::taint::first_untolerated;

use super::rows::{Classes, RowPods};
use crate::feasibility::node::node_meets;
use crate::ids::IndexVec;
use crate::model::Model;
use crate::model::node::NodeView;
use crate::packing::bin::{Bin, NodeKind, bins};
use crate::relaxation::{Capacity, Offer, OfferIx, RowIx, Rows, undominated};

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
}

/// Offerings that could be launched for the rows; of those that can be had any number of times,
/// only what no other dominates.
pub(super) fn sold(
    model: &Model,
    rows: &Rows,
    pods_of_row: &IndexVec<RowIx, RowPods>,
    classes: &Classes,
) -> Sold {
    let resource_order = resource_order(model);
    let (mut unlimited, mut limited) = (Vec::new(), Vec::new());
    for ((index, pool), classes) in model.pools.iter_enumerated().zip(classes) {
        for bin in bins(index, pool, classes) {
            let purchase = &pool.purchases[bin.purchase];
            let remaining = purchase.reservation.as_ref().and(purchase.remaining);
            let capacity = Capacity {
                price: bin.price,
                amounts: &pool.types[bin.type_index].room,
                available: remaining.unwrap_or(u32::MAX),
                resource_order: &resource_order,
            };
            let accepts = |row: RowIx| is_accepted(&bin, &pods_of_row[row]);
            let Some(offer) = Offer::new(rows, &capacity, accepts) else { continue };
            if remaining.is_some() {
                limited.push(offer);
            } else {
                unlimited.push((bin.kind(), offer));
            }
        }
    }
    let mut sold = Sold { nodes: IndexVec::new(), offers: IndexVec::new(), limited };
    for (node, offer) in undominated(unlimited) {
        sold.nodes.push(node);
        sold.offers.push(offer);
    }
    sold
}

/// Resources by name: they are numbered as pods name them, and sums must not depend on that.
fn resource_order(model: &Model) -> Vec<usize> {
    let mut order: Vec<usize> = (0..model.resources.len()).collect();
    order.sort_by_key(|resource| model.resources.name(*resource));
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
) -> Vec<Offer> {
    let checks_labels = model.nodes.len() * rows.len() <= PAIRS_MAX;
    let admits = |node: &NodeView, row: RowIx| {
        let shape = model.shape(pods_of_row[row].shape);
        first_untolerated(&shape.spec.tolerations, &node.taints).is_none()
            && (!checks_labels
                || shape.alternatives.iter().any(|way| node_meets(model, node, *way)))
    };
    let resource_order = resource_order(model);
    model
        .nodes
        .iter()
        .filter(|node| !node.is_leaving())
        .filter_map(|node| {
            let amounts: Vec<i64> = node.free.iter().map(|free| (*free).max(0)).collect();
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
