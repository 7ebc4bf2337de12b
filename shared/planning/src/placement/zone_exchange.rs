//! Exchanging zones between pods that count alike: which pods are in a zone, not how many.
//!
//! Of pods of several shapes that are spread together, a spread says how many each zone has, and
//! not which. Placement takes the largest first, so each zone gets large ones, the dear zones too.
//! Where the same constraints tie the pods to others, any two of them may change places and every
//! count stays what it was, whatever the order in which they are placed.
//!
//! The cheapest exchange is a transportation problem: so many pods of each shape, so many in each
//! zone. It is solved by moving pods around cycles of zones as long as one saves anything
//! (Klein 1967), which ends at the optimum.

use std::sync::Arc;

use domain::Text;
use domain::label::ZONE;

use super::pin::PinScore;
use super::placer::Placer;
use crate::feasibility::domains::pinned_keys;
use crate::feasibility::fit::Fit;
use crate::feasibility::host::host_affinity;
use crate::feasibility::topology::Rule;
use crate::ids::{Idx, PodIx, PoolIx, ShapeIx, ZoneIx};
use crate::model::intern::ConjunctionId;
use crate::work::{Item, ZonePrices};

/// A cycle that saves less is left alone, in nano-USD an hour: prices are sums of fractions.
const SAVING_MIN: f64 = 1.0;

/// Cycles that are moved along, at most, for one set of shapes.
const CYCLES_MAX: usize = 10_000;

/// Pods of one shape on new nodes in one zone.
struct Settled {
    zone: ZoneIx,
    conjunction: ConjunctionId,
    fit: Arc<Fit>,
}

/// A shape that may change zones with others.
struct Exchanged {
    shape: ShapeIx,
    pods: Vec<PodIx>,
    /// Where pods of the shape may be.
    zones: Vec<Settled>,
    /// By zone, what a pod costs: infinite where it may not be.
    costs: Vec<f64>,
    /// By zone, how many pods are there.
    counts: Vec<u32>,
}

impl Placer<'_, '_> {
    /// Sets of shapes of the items that count alike, each of two shapes or more: they carry the
    /// same constraints, are selected by the same ones, and may be in the same domains.
    pub(crate) fn shapes_that_count_alike(&mut self, items: &[Item]) -> Vec<Vec<ShapeIx>> {
        let mut shapes: Vec<ShapeIx> = items.iter().map(|item| item.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        shapes.retain(|shape| self.is_spread_over_zones_alone(*shape));
        let mut sets: Vec<Vec<ShapeIx>> = Vec::new();
        for shape in shapes {
            let known = sets.iter().position(|set| self.count_alike(set[0], shape));
            match known {
                Some(known) => sets[known].push(shape),
                None => sets.push(vec![shape]),
            }
        }
        sets.retain(|set| set.len() > 1);
        sets
    }

    /// Gives pods of each set the zones among them in which all together cost the least.
    pub(crate) fn exchange_zones(
        &mut self,
        items: &mut Vec<Item>,
        sets: &[Vec<ShapeIx>],
        prices: &ZonePrices,
    ) {
        for set in sets {
            let shapes: Option<Vec<Exchanged>> =
                set.iter().map(|shape| self.exchanged(*shape, items, prices)).collect();
            let Some(mut shapes) = shapes else { continue };
            if !move_along_cycles(&mut shapes, self.model.zones.len()) {
                continue;
            }
            items.retain(|item| !set.contains(&item.shape));
            items.extend(shapes.into_iter().flat_map(Exchanged::into_items));
        }
    }

    /// Whether zones are all that is settled for pods of the shape, by how many others are there.
    fn is_spread_over_zones_alone(&self, shape: ShapeIx) -> bool {
        let own = self.model.shape(shape);
        let is_spread = self.topology.constraints[shape].owned.iter().any(|owned| {
            let group = &self.topology.groups[owned.group];
            matches!(group.rule, Rule::Spread { .. }) && &*group.key == ZONE
        });
        is_spread
            && pinned_keys(self.topology, shape, self.soft_spread) == [Text::from(ZONE)]
            && own.alternatives.len() == 1
            && own.volumes.exclusive.is_empty()
            && host_affinity(self.topology, shape).next().is_none()
    }

    fn count_alike(&mut self, a: ShapeIx, b: ShapeIx) -> bool {
        let constraints = &self.topology.constraints;
        let (own_a, own_b) = (&constraints[a], &constraints[b]);
        let is_same = own_a.priority == own_b.priority
            && own_a.selected_by == own_b.selected_by
            && own_a.owned == own_b.owned;
        is_same
            && own_a.owned.iter().all(|owned| {
                let group = &self.topology.groups[owned.group];
                group.is_by_host()
                    || self.eligible_domains(a, owned.group)
                        == self.eligible_domains(b, owned.group)
            })
    }

    /// Pods of the shape among the items, and where they may be as well as where they are; `None`
    /// where it is not known of all items where they are.
    fn exchanged(
        &mut self,
        shape: ShapeIx,
        items: &[Item],
        prices: &ZonePrices,
    ) -> Option<Exchanged> {
        let width = self.model.zones.len();
        let mut scored: Vec<(Settled, (PinScore, PoolIx))> = Vec::new();
        for (zone, name) in self.model.zones.iter_enumerated() {
            let Some(choice) = self.choice_in_zone(shape, name) else { continue };
            // Taints of the pool decide who counts its nodes.
            let known = (choice.score, choice.fit.pools[0].pool);
            let own = Settled { zone, conjunction: choice.conjunction, fit: choice.fit };
            scored.push((own, known));
        }
        let mut counts = vec![0_u32; width];
        let mut pods = Vec::new();
        let mut scores = Vec::new();
        for item in items.iter().filter(|item| item.shape == shape) {
            let (own, score) =
                scored.iter().find(|(own, _)| own.conjunction == item.conjunction)?;
            counts[own.zone.index()] += u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
            pods.extend(&item.pods);
            scores.push(*score);
        }
        // What is worse than where the pods are is no place to go to.
        let first = *scores.first()?;
        if scores.iter().any(|own| *own != first) {
            return None;
        }
        scored.retain(|(_, own)| *own == first);
        let mut costs = vec![f64::INFINITY; width];
        for (own, _) in &scored {
            costs[own.zone.index()] = prices.price(shape, own.zone).unwrap_or(f64::INFINITY);
        }
        let is_priced = |(count, cost): (&u32, &f64)| *count == 0 || cost.is_finite();
        if !counts.iter().zip(&costs).all(is_priced) {
            return None;
        }
        pods.sort_by(|a: &PodIx, b| self.model.pod(*a).key.cmp(&self.model.pod(*b).key));
        let zones = scored.into_iter().map(|(own, _)| own).collect();
        Some(Exchanged { shape, pods, zones, costs, counts })
    }
}

impl Exchanged {
    /// Its pods, by name, in the zones that they are in now.
    fn into_items(self) -> Vec<Item> {
        let Self { shape, pods, zones, counts, .. } = self;
        let mut pods = pods.into_iter();
        let items = zones.into_iter().map(|Settled { zone, conjunction, fit }| {
            let pods = pods.by_ref().take(counts[zone.index()] as usize).collect();
            Item { shape, conjunction, fit, pods }
        });
        items.filter(|item| !item.pods.is_empty()).collect()
    }
}

/// Which shape moves from one zone to another at the best price, and that price.
#[derive(Clone, Copy)]
struct Move {
    shape: usize,
    price: f64,
}

/// Moves pods around cycles of zones while that saves anything. Returns whether any did.
fn move_along_cycles(shapes: &mut [Exchanged], zones: usize) -> bool {
    let mut has_moved = false;
    for _ in 0..CYCLES_MAX {
        let moves = moves(shapes, zones);
        let Some(cycle) = saving_cycle(&moves, zones) else { break };
        let steps: Vec<(usize, usize, usize)> = cycle
            .iter()
            .zip(cycle.iter().cycle().skip(1))
            .filter_map(|(from, to)| Some((moves[from * zones + to]?.shape, *from, *to)))
            .collect();
        let most = steps.iter().map(|(shape, from, _)| shapes[*shape].counts[*from]).min();
        let most = most.unwrap_or(0);
        for (shape, from, to) in steps {
            shapes[shape].counts[from] -= most;
            shapes[shape].counts[to] += most;
        }
        has_moved = true;
    }
    has_moved
}

/// For each pair of zones, line by line, the best move from one to the other.
fn moves(shapes: &[Exchanged], zones: usize) -> Vec<Option<Move>> {
    let best = |from: usize, to: usize| {
        let movable = shapes
            .iter()
            .enumerate()
            .filter(|(_, own)| from != to && own.counts[from] > 0 && own.costs[to].is_finite());
        movable
            .map(|(shape, own)| Move { shape, price: own.costs[to] - own.costs[from] })
            .min_by(|a, b| a.price.total_cmp(&b.price))
    };
    (0..zones * zones).map(|place| best(place / zones, place % zones)).collect()
}

/// A cycle of zones along which moves save something together (Bellman and Ford).
fn saving_cycle(moves: &[Option<Move>], zones: usize) -> Option<Vec<usize>> {
    let mut distance = vec![0.0_f64; zones];
    let mut before: Vec<Option<usize>> = vec![None; zones];
    let mut last = None;
    for _ in 0..=zones {
        last = None;
        for from in 0..zones {
            for to in 0..zones {
                let Some(own) = moves[from * zones + to] else { continue };
                // No more than a part of what a cycle must save, so that rounding makes none.
                let reached = distance[from] + own.price;
                if reached < distance[to] - SAVING_MIN {
                    distance[to] = reached;
                    before[to] = Some(from);
                    last = Some(to);
                }
            }
        }
        last?;
    }
    let mut own = last?;
    for _ in 0..zones {
        own = before[own]?;
    }
    let mut cycle = vec![own];
    let mut next = before[own]?;
    while next != own {
        cycle.push(next);
        next = before[next]?;
    }
    cycle.reverse();
    let price: f64 = cycle
        .iter()
        .zip(cycle.iter().cycle().skip(1))
        .filter_map(|(from, to)| Some(moves[from * zones + to]?.price))
        .sum();
    (price < -SAVING_MIN).then_some(cycle)
}
