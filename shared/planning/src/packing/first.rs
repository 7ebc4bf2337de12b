//! The first packing, where a relaxation knows what pods are worth.

use std::sync::atomic::{AtomicBool, Ordering};

use parallel::both;

use super::effort::{NODES_FOR_FIRST_MOVES_MAX, WORK_MAX, is_priced, move_towards};
use super::outcome::Outcome;
use super::packer::Packer;
use super::relaxed::PackingRelaxation;
use super::setup::Setup;
use crate::feasibility::limits::Limits;
use crate::ids::{IndexVec, ItemIx};
use crate::work::{Item, PODS_FOR_THREADS};

/// With no more rows than this, a packing without the relaxation's values is made too.
const SIMPLE_ROWS_MAX: usize = 64;

/// Packings one by one at the relaxation's values, at most.
const PRICED_ROUNDS: usize = 3;

/// How far values move from one of them to the next.
const PRICED_STEP: f64 = 0.3;

/// So many times what parts of nodes would cost is near enough.
const NEAR: f64 = 1.09;

/// How many pods a node holds where nothing tells: on the sample workloads 2 to 30.
const PODS_PER_NODE: f64 = 8.0;

/// What the packings share of which the cheapest is the first.
pub(super) struct First<'f, 'p, 'm, 'a> {
    setup: &'f Setup<'p, 'm, 'a>,
    relaxation: &'f PackingRelaxation,
    limits: &'f Limits,
    items: &'f [Item],
    /// By item, what a pod is worth where parts of nodes can be launched.
    values: IndexVec<ItemIx, f64>,
    /// A packing of all pods that costs no more is not made cheaper one by one.
    enough: f64,
}

impl<'f, 'p, 'm, 'a> First<'f, 'p, 'm, 'a> {
    pub(super) fn new(
        setup: &'f Setup<'p, 'm, 'a>,
        relaxation: &'f PackingRelaxation,
        limits: &'f Limits,
        items: &'f [Item],
    ) -> Self {
        let value = |(item, share): (&Item, &f64)| {
            relaxation.dual_price(item).filter(|dual| *dual > 0.0).unwrap_or(*share * 0.1)
        };
        let values: IndexVec<ItemIx, f64> = items.iter().zip(&setup.values).map(value).collect();
        let worth: f64 =
            items.iter().zip(&values).map(|(item, value)| value * float(item.pods.len())).sum();
        // Without patterns, an answer is wanted soon.
        let enough = if relaxation.fractional_solution().is_empty() { worth * NEAR } else { 0.0 };
        Self { setup, relaxation, limits, items, values, enough }
    }

    /// The cheapest of packings at the values that the relaxation knows, by kinds of pods, and one
    /// by one where that is within the budget; for a few nodes, also one without it.
    pub(super) fn pack(&self) -> Outcome {
        let (known, ahead) =
            if self.may_want_priced() { self.both() } else { (self.known(), None) };
        if known.packing.nodes.len() <= NODES_FOR_FIRST_MOVES_MAX {
            return better(self.alone(), known);
        }
        if !self.wants_priced(&known) {
            return known;
        }
        better(known, ahead.unwrap_or_else(|| self.priced(|| false)))
    }

    /// Both packings at once. The second may be unfinished where the first shows that nobody will
    /// ask for it.
    fn both(&self) -> (Outcome, Option<Outcome>) {
        let is_settled = AtomicBool::new(false);
        let known = || {
            let known = self.known();
            is_settled.store(!self.wants_priced(&known), Ordering::Relaxed);
            known
        };
        let (known, priced) = both(known, || self.priced(|| is_settled.load(Ordering::Relaxed)));
        (known, Some(priced))
    }

    /// A packing without the relaxation.
    fn alone(&self) -> Outcome {
        self.setup.pack(self.limits.clone(), self.items.to_vec(), &self.setup.values)
    }

    /// The packing by kinds, where these can be had.
    fn known(&self) -> Outcome {
        let Self { setup, relaxation, limits, items, values, .. } = self;
        if !setup.packs_by_kinds() {
            return self.alone();
        }
        let known = setup.pack_kinds(relaxation, (*limits).clone(), items.to_vec(), values);
        // Of few kinds, patterns are launched many times in a row, whichever way they are found.
        let is_simple = relaxation.row_count() <= SIMPLE_ROWS_MAX;
        if known.packing.left.is_empty() && !is_simple {
            return known;
        }
        better(self.alone(), known)
    }

    /// Packs one by one at the relaxation's values, and then at values moved towards what pods cost
    /// so, until that is cheap enough or it is settled that nobody asks.
    fn priced(&self, is_settled: impl Fn() -> bool) -> Outcome {
        let mut values = self.values.clone();
        let mut best = self.fractional(&values, &is_settled);
        let mut paid = best.paid.clone();
        for _ in 1..PRICED_ROUNDS {
            if is_settled() || self.is_enough(&best) {
                break;
            }
            move_towards(&mut values, &paid, PRICED_STEP);
            let next = self.fractional(&values, &is_settled);
            paid.clone_from(&next.paid);
            if next.is_better_than(&best) {
                best = next;
            }
        }
        best
    }

    fn fractional(&self, values: &IndexVec<ItemIx, f64>, is_settled: &dyn Fn() -> bool) -> Outcome {
        let (limits, items) = (self.limits.clone(), self.items.to_vec());
        let mut packer = Packer::new(self.setup, limits, items, values);
        packer.relaxation = Some(self.relaxation);
        packer.is_given_up = is_settled;
        packer.after_patterns()
    }

    fn is_enough(&self, known: &Outcome) -> bool {
        known.packing.left.is_empty() && known.cost <= self.enough
    }

    /// Whether packings one by one are worth a try after the one that is known.
    fn wants_priced(&self, known: &Outcome) -> bool {
        is_priced(self.items.len(), known) && !self.is_enough(known)
    }

    /// Whether they are worth a thread before anything is known, by the nodes of the relaxation's
    /// patterns or a guess at them. A wrong answer costs time only.
    fn may_want_priced(&self) -> bool {
        let pods: usize = self.items.iter().map(|item| item.pods.len()).sum();
        let patterns = self.relaxation.fractional_solution();
        let nodes = if patterns.is_empty() {
            float(pods) / PODS_PER_NODE
        } else {
            patterns.iter().map(|column| column.level).sum()
        };
        pods >= PODS_FOR_THREADS && float(self.items.len()) * nodes <= float(WORK_MAX)
    }
}

fn better(a: Outcome, b: Outcome) -> Outcome {
    if b.is_better_than(&a) { b } else { a }
}

#[expect(clippy::cast_precision_loss, reason = "pods of a cluster")]
fn float(count: usize) -> f64 {
    count as f64
}
