//! Waste: how much of a node's price its pods are not worth.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;

use super::Trials;
use crate::ids::{IndexVec, NodeIx, ShapeIx};
use crate::packing::relaxed::PackingRelaxation;
use crate::relaxation::Budget;
use crate::work::Item;

impl Trials<'_, '_> {
    /// The node's price less what its pods would cost if all pods of managed nodes were on the
    /// cheapest new ones, fractions of nodes included. Summed over nodes, it is what they cost
    /// beyond the minimum.
    #[expect(clippy::cast_possible_truncation, reason = "only ranks")]
    pub(crate) fn waste(&mut self, node: NodeIx) -> UsdPerHour {
        self.solve_dual_prices();
        let price = self.model.nodes[node].price().unwrap_or_default();
        let pods = self.pods_of(&[node]);
        let shapes = pods.iter().filter_map(|pod| self.model.shapes.of_pod[*pod]);
        let value: f64 = shapes.map(|shape| self.dual_prices[shape]).sum();
        price - UsdPerHour::from_nanos(value as i64)
    }

    /// The node's price less what those of its pods would cost that need new nodes, once other
    /// nodes have taken what they have room for. It is high for nodes of small pods, which fit
    /// anywhere; several such nodes may want the same places.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "only ranks")]
    pub(crate) fn residual_waste(&mut self, node: NodeIx, items: &[Item]) -> UsdPerHour {
        self.solve_dual_prices();
        let price = self.model.nodes[node].price().unwrap_or_default();
        let value = |item: &Item| self.dual_prices[item.shape] * item.pods.len() as f64;
        let value: f64 = items.iter().map(value).sum();
        price - UsdPerHour::from_nanos(value as i64)
    }

    /// What the items cost on the cheapest new nodes, fractions of nodes included: whole ones cost
    /// no less. Zero where that is not proven.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a bound")]
    pub(crate) fn dual_floor(&self, items: &[Item]) -> UsdPerHour {
        if self.dual_prices.is_empty() {
            return UsdPerHour::ZERO;
        }
        let value = |item: &Item| self.dual_prices[item.shape] * item.pods.len() as f64;
        let sum: f64 = items.iter().map(value).sum();
        UsdPerHour::from_nanos((sum * self.proven_share) as i64)
    }

    fn solve_dual_prices(&mut self) {
        if self.dual_prices.is_empty() {
            self.dual_prices = self.solved_dual_prices();
        }
    }

    /// What one more pod of each shape would cost, in nano-USD per hour.
    fn solved_dual_prices(&mut self) -> IndexVec<ShapeIx, f64> {
        let model = self.model;
        let is_managed = |node: &NodeIx| model.nodes[*node].is_managed;
        let managed: Vec<NodeIx> = model.nodes.indices().filter(is_managed).collect();
        let mut counts: BTreeMap<ShapeIx, u32> = BTreeMap::new();
        for shape in self.pods_of(&managed).iter().filter_map(|pod| model.shapes.of_pod[*pod]) {
            *counts.entry(shape).or_default() += 1;
        }
        let pods: Vec<(ShapeIx, u32)> = counts.into_iter().collect();
        let relaxation =
            PackingRelaxation::solve(self.scope, &pods, &[], &Budget::WITHOUT_PATTERNS);
        self.proven_share = relaxation.as_ref().map_or(0.0, PackingRelaxation::proven_share);
        let mut dual_prices = IndexVec::filled(0.0, model.shapes.list.len());
        for (shape, _) in pods {
            let solved = relaxation.as_ref().and_then(|own| own.least_dual_price(shape));
            dual_prices[shape] = solved.unwrap_or_else(|| self.placer.value(shape));
        }
        dual_prices
    }
}
