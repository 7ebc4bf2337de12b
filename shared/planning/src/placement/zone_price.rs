//! Which zone is cheapest for a pod, and for those that must join it there.

use std::collections::BTreeMap;

use domain::Text;
use domain::label::ZONE;

use super::placer::Placer;
use super::zone_choice::{ZoneChoice, weigh_relatively};
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, IndexVec, ShapeIx, ZoneIx};
use crate::work::{Item, ZonePrices};

impl Placer<'_, '_> {
    /// Shapes of the items whose zone placement has chosen, in order. None where no pod must join
    /// others in a zone: the cheapest zone of a single pod is known without more ado.
    pub(crate) fn shapes_in_chosen_zones(&self, items: &[Item]) -> Vec<ShapeIx> {
        let is_chosen = |shape: &ShapeIx| {
            let owned = &self.topology.constraints[*shape].owned;
            owned.iter().any(|owned| &*self.topology.groups[owned.group].key == ZONE)
        };
        let mut shapes: Vec<ShapeIx> = items.iter().map(|item| item.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        if !shapes.iter().any(|shape| self.joined_by_zone(*shape).next().is_some()) {
            return Vec::new();
        }
        shapes.retain(is_chosen);
        shapes
    }

    /// Has zones chosen by these prices; `pods` says how many pods of each shape there are.
    pub(crate) fn choose_zones_by(&mut self, prices: ZonePrices, pods: &[(ShapeIx, u32)]) {
        let mut together: BTreeMap<GroupIx, IndexVec<ZoneIx, f64>> = BTreeMap::new();
        for (shape, count) in pods {
            for group in self.joined_by_zone(*shape) {
                let none = IndexVec::filled(0.0, self.model.zones.len());
                let sums = together.entry(group).or_insert(none);
                for (zone, sum) in sums.iter_mut_enumerated() {
                    *sum += prices.price(*shape, zone).unwrap_or(0.0) * f64::from(*count);
                }
            }
        }
        weigh_relatively(&mut together, self.model.zones.len());
        self.zone_choice = ZoneChoice { prices, together };
    }

    /// Required affinity by zone that pods of the shape carry and are selected by.
    fn joined_by_zone(&self, shape: ShapeIx) -> impl Iterator<Item = GroupIx> {
        let topology = self.topology;
        let owned = topology.constraints[shape].owned.iter();
        let is_joined = move |group: &GroupIx| {
            let group = &topology.groups[*group];
            group.rule == Rule::Affinity && &*group.key == ZONE
        };
        owned
            .filter(|owned| owned.weight == 0 && owned.selects_itself)
            .map(|owned| owned.group)
            .filter(is_joined)
    }

    /// What a pod of the shape costs with these domains settled, in nano-USD an hour, together with
    /// the pods that must be in the same zone. Zero where that is not known.
    pub(super) fn zone_price(&self, shape: ShapeIx, pins: &[(Text, Text)]) -> f64 {
        let ZoneChoice { prices, together } = &self.zone_choice;
        let [(key, domain)] = pins else { return 0.0 };
        if prices.is_empty() || &**key != ZONE {
            return 0.0;
        }
        let Some(zone) = self.model.zones.position(|zone| zone == domain) else { return 0.0 };
        let mut groups = self.joined_by_zone(shape);
        let of_group = groups.find_map(|group| together.get(&group)?.get(zone).copied());
        of_group.or_else(|| prices.price(shape, zone)).unwrap_or(0.0)
    }
}
