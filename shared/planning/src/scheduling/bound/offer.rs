//! What pods may go to, as the relaxation sees it: nodes that could be launched, and room that is there.

use domain::taint::first_untolerated;

use super::demand::{Classes, Demand};
use super::knapsack::Room;
use crate::model::Model;
use crate::model::node::NodeView;
use crate::scheduling::packing::bin::{Bin, bins};
use crate::scheduling::placement::node_meets;
use crate::scheduling::state::room_for;

/// A node that pods may go to.
pub(super) struct Offer {
    /// What it holds and costs.
    pub(super) room: Room,
    /// How many there are.
    pub(super) most: u32,
    /// What is launched; none for a node that is there.
    pub(super) source: Option<super::Source>,
}

impl Offer {
    /// `None` where no demand fits.
    fn new(
        model: &Model,
        demands: &[Demand],
        (amounts, price, most): (&[i64], f64, u32),
        accepts: impl Fn(&Demand) -> bool,
    ) -> Option<Self> {
        let mut rows = Vec::new();
        let mut is_asked = vec![false; amounts.len()];
        for (index, demand) in demands.iter().enumerate() {
            let requests = &model.shape(demand.shape).requests;
            let fitting = room_for(amounts, requests).min(demand.count).min(demand.per_node);
            if fitting > 0 && accepts(demand) {
                rows.push((u32::try_from(index).ok()?, fitting));
                for (is_asked, amount) in is_asked.iter_mut().zip(requests) {
                    *is_asked |= *amount > 0;
                }
            }
        }
        if rows.is_empty() {
            return None;
        }
        let mut kept: Vec<usize> =
            (0..amounts.len()).filter(|resource| is_asked[*resource]).collect();
        // They are numbered as pods name them; sums must not depend on that.
        kept.sort_by_key(|resource| model.resources.name(*resource));
        let mut requests = Vec::with_capacity(rows.len() * kept.len());
        for (row, _) in &rows {
            let all = &model.shape(demands[*row as usize].shape).requests;
            requests.extend(kept.iter().map(|resource| all[*resource]));
        }
        let amounts: Vec<i64> = kept.iter().map(|resource| amounts[*resource]).collect();
        #[expect(clippy::cast_precision_loss, reason = "the surrogate may be off by a rounding")]
        let shares = requests
            .chunks_exact(kept.len())
            .flat_map(|own| own.iter().zip(&amounts).map(|(a, b)| *a as f64 / *b as f64))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a handful of resources")]
        let weights = vec![1.0 / kept.len() as f64; kept.len()];
        Some(Self {
            room: Room { price, rows, resources: kept, shares, requests, amounts, weights },
            most,
            source: None,
        })
    }
}

/// Offerings worth a look: those of which there are any number, and those that are reserved.
pub(super) fn offers(
    model: &Model,
    demands: &[Demand],
    classes: &Classes,
) -> (Vec<Offer>, Vec<Offer>) {
    let (mut offers, mut scarce) = (Vec::new(), Vec::new());
    for ((index, pool), classes) in model.pools.iter_enumerated().zip(classes) {
        for bin in bins(index, pool, classes) {
            let purchase = &pool.purchases[bin.purchase];
            let remaining = purchase.reservation.as_ref().and(purchase.remaining);
            let room = &pool.types[bin.type_index].room;
            let amounts = (room.as_slice(), bin.price, remaining.unwrap_or(u32::MAX));
            let accepts = |demand: &Demand| is_accepted(&bin, demand);
            let Some(mut offer) = Offer::new(model, demands, amounts, accepts) else { continue };
            offer.source = Some((bin.pool, bin.type_index));
            if remaining.is_some() { scarce.push(offer) } else { offers.push(offer) }
        }
    }
    (undominated(offers), scarce)
}

/// Leaves out what another offer beats or equals: no dearer, no smaller, and open to the same pods.
fn undominated(mut offers: Vec<Offer>) -> Vec<Offer> {
    offers.sort_by(|a, b| {
        a.room.price.total_cmp(&b.room.price).then_with(|| a.source.cmp(&b.source))
    });
    let mut kept: Vec<Offer> = Vec::new();
    for offer in offers {
        if !kept.iter().any(|other| other.room.is_at_least(&offer.room)) {
            kept.push(offer);
        }
    }
    kept
}

fn is_accepted(bin: &Bin, demand: &Demand) -> bool {
    demand.classes[bin.pool].iter().any(|class| bin.accepts_class(*class))
}

/// Among more pairs of nodes and demands than this, labels of nodes are not looked at.
const PAIRS_MAX: usize = 1 << 20;

/// The room that is left on nodes, free of charge.
pub(super) fn free_rooms(model: &Model, demands: &[Demand]) -> Vec<Offer> {
    let looks_at_labels = model.nodes.len() * demands.len() <= PAIRS_MAX;
    let admits = |node: &NodeView, demand: &Demand| {
        let shape = model.shape(demand.shape);
        first_untolerated(&shape.spec.tolerations, &node.taints).is_none()
            && (!looks_at_labels
                || shape.alternatives.iter().any(|way| node_meets(model, node, *way)))
    };
    model
        .nodes
        .iter()
        .filter(|node| !node.is_leaving())
        .filter_map(|node| {
            let amounts: Vec<i64> = node.free.iter().map(|free| (*free).max(0)).collect();
            Offer::new(model, demands, (&amounts, 0.0, 1), |demand| admits(node, demand))
        })
        .collect()
}
