//! How many pods of a shape any plan has in each zone, whatever it chooses.

use domain::label::ZONE;

use super::placer::Placer;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, IndexVec, ShapeIx};
use crate::work::LeastByZone;

/// Of more shapes than this none is divided: rows by zone take more of the search than they
/// add to what it finds.
const WAITING_MAX: usize = 512;

/// Shapes that are divided by zones, at most.
const SHAPES_MAX: usize = 32;

impl Placer<'_, '_> {
    /// The least that zones hold of shapes, of the pods to place, that must be spread over them.
    ///
    /// In no zone are there more than `maxSkew` pods above those in the emptiest, so `n` pods in
    /// `d` zones leave the emptiest no fewer than `(n - (d - 1) * maxSkew) / d`, rounded up. That
    /// holds as long as nothing else is counted: shapes whose spread also selects others, or pods
    /// that have a place already, are left out.
    pub(crate) fn least_by_zone(&mut self, pods: &[(ShapeIx, u32)]) -> Vec<LeastByZone> {
        if pods.len() > WAITING_MAX {
            return Vec::new();
        }
        let spreads: Vec<(ShapeIx, u32, GroupIx, u32)> = pods
            .iter()
            .filter_map(|(shape, count)| {
                let (group, max_skew) = self.zone_spread(*shape)?;
                Some((*shape, *count, group, max_skew))
            })
            .collect();
        if spreads.is_empty() {
            return Vec::new();
        }
        let is_alone = self.selecting_one_shape();
        let mut found = Vec::new();
        for (shape, count, group, max_skew) in spreads {
            if !is_alone[group] || !self.state.matched[group].is_empty() {
                continue;
            }
            let zones = self.eligible_domains(shape, group);
            let others = u32::try_from(zones.len()).unwrap_or(u32::MAX).saturating_sub(1);
            let uneven = max_skew.saturating_mul(others);
            let least = count.saturating_sub(uneven).div_ceil(others.saturating_add(1));
            if others > 0 && least > 0 {
                found.push(LeastByZone { shape, zones: zones.to_vec(), least });
            }
        }
        // Those that have the most pods in each zone, as each takes rows of its own.
        found.sort_by_key(|own| std::cmp::Reverse(own.least));
        found.truncate(SHAPES_MAX);
        found
    }

    /// The spread over zones that pods of the shape must keep, and its skew.
    fn zone_spread(&self, shape: ShapeIx) -> Option<(GroupIx, u32)> {
        self.topology.constraints[shape].owned.iter().find_map(|owned| {
            let group = &self.topology.groups[owned.group];
            match group.rule {
                Rule::Spread { max_skew, .. }
                    if owned.weight == 0 && owned.selects_itself && &*group.key == ZONE =>
                {
                    Some((owned.group, u32::try_from(max_skew).ok()?))
                }
                _ => None,
            }
        })
    }

    /// By group, whether it selects a single shape, none of whose pods is virtual.
    fn selecting_one_shape(&self) -> IndexVec<GroupIx, bool> {
        let mut selected = IndexVec::filled(0_usize, self.topology.groups.len());
        for constraints in &self.topology.constraints {
            for group in &constraints.selected_by {
                selected[*group] += 1;
            }
        }
        for (pod, shape) in self.model.shapes.pods.iter().zip(&self.model.shapes.of_pod) {
            let Some(shape) = shape.filter(|_| pod.virtual_of.is_some()) else { continue };
            for group in &self.topology.constraints[shape].selected_by {
                selected[*group] += 1;
            }
        }
        selected.into_iter().map(|count| count == 1).collect()
    }
}
