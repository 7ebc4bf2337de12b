//! The search for one run's consolidation command.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::reason::{DisruptionReason, Unconsolidatable};

use super::sets::{pairs, prefixes, runs};
use crate::disruption::budget::Allowance;
use crate::disruption::evaluation::{Move, draft, evaluate, evaluate_as_planned, robust};
use crate::disruption::score::Scores;
use crate::disruption::trial::Trials;
use crate::ids::NodeIx;
use crate::model::Model;

/// Nodes that one command removes at most.
const NODES_MAX: usize = 100;

/// Of this many candidates with the highest waste, by either measure, every pair is tried.
const PAIRED_MAX: usize = 8;

/// Of these, up to this many consecutive ones are tried together.
const RUN_MAX: usize = 6;

/// A set of at most this many nodes is extended by others, as long as that raises its score.
const EXTENDED_MAX: usize = 8;

/// What removing one node alone saves.
pub(in crate::disruption) struct Single {
    pub(super) node: NodeIx,
    /// What it saves, or why it is not consolidated.
    pub(super) outcome: Result<UsdPerHour, Unconsolidatable>,
    /// The node's price less what its pods that need new nodes are worth.
    residual_waste: UsdPerHour,
}

/// What a search found.
pub(in crate::disruption) struct SearchOutcome {
    /// The best move of each kind, the highest score first.
    pub(in crate::disruption) moves: Vec<Move>,
    /// Each candidate, removed alone as planned.
    pub(super) singles: Vec<Single>,
    /// Candidates whose removal is not worth it where kube-scheduler places their pods, as far as
    /// that was checked.
    pub(super) diverging: BTreeMap<NodeIx, Unconsolidatable>,
}

/// The search for one run's command.
pub(in crate::disruption) struct Search<'t, 's, 'a> {
    model: &'t Model<'a>,
    scores: &'t Scores<'a>,
    allowance: &'t Allowance,
    trials: &'t mut Trials<'s, 'a>,
    /// Candidates, those that can be removed alone first, by savings per disruption.
    order: Vec<NodeIx>,
    /// How many of them, the first ones, can be removed alone.
    removable: usize,
    singles: Vec<Single>,
    diverging: BTreeMap<NodeIx, Unconsolidatable>,
}

/// A candidate in the order in which sets are built.
struct Ranked {
    node: NodeIx,
    /// It cannot be removed alone.
    is_stuck: bool,
    /// It is marked as one of the next to go, so that pods have gone elsewhere.
    is_candidate: bool,
    /// Savings per disruption.
    rank: f64,
}

impl<'t, 's, 'a> Search<'t, 's, 'a> {
    /// A search that has not begun.
    pub(in crate::disruption) fn new(
        trials: &'t mut Trials<'s, 'a>,
        scores: &'t Scores<'a>,
        allowance: &'t Allowance,
    ) -> Self {
        Self {
            model: trials.model,
            scores,
            allowance,
            trials,
            order: Vec::new(),
            removable: 0,
            singles: Vec::new(),
            diverging: BTreeMap::new(),
        }
    }

    /// Evaluates each candidate alone, then sets of them.
    pub(in crate::disruption) fn run(mut self, candidates: Vec<NodeIx>) -> SearchOutcome {
        self.evaluate_singles(candidates);
        let moves = self.moves();
        SearchOutcome { moves, singles: self.singles, diverging: self.diverging }
    }

    /// Evaluates each candidate alone and ranks them by savings per disruption; those that cannot
    /// be removed alone come last, ranked by what they would save at most.
    fn evaluate_singles(&mut self, candidates: Vec<NodeIx>) {
        let mut ranked: Vec<Ranked> = Vec::with_capacity(candidates.len());
        for node in candidates {
            let draft = draft(self.trials, &[], &[node]);
            let residual_waste = self.trials.residual_waste(node, draft.items());
            let found = draft.complete(self.trials, self.scores);
            let price = self.model.nodes[node].price().unwrap_or_default();
            let outcome = found.map(|found| found.savings);
            let saving = outcome.as_ref().copied().unwrap_or(price);
            let rank = self.scores.rank(&[node], saving);
            let is_candidate = self.model.nodes[node].is_candidate();
            ranked.push(Ranked { node, is_stuck: outcome.is_err(), is_candidate, rank });
            self.singles.push(Single { node, outcome, residual_waste });
        }
        let name = |own: &Ranked| self.model.nodes[own.node].name;
        ranked.sort_by(|a, b| {
            a.is_stuck
                .cmp(&b.is_stuck)
                .then_with(|| b.is_candidate.cmp(&a.is_candidate))
                .then_with(|| b.rank.total_cmp(&a.rank))
                .then_with(|| name(a).cmp(name(b)))
        });
        self.removable = ranked.iter().take_while(|own| !own.is_stuck).count();
        self.order = ranked.into_iter().map(|own| own.node).collect();
    }

    /// The best move of each kind, the highest score first; of equal ones the one with fewer nodes.
    fn moves(&mut self) -> Vec<Move> {
        let found = [self.single(), self.deletions(), self.merges()];
        let mut moves: Vec<Move> = found.into_iter().flatten().collect();
        moves.sort_by(Move::best_first);
        moves
    }

    fn allows(&self, nodes: &[NodeIx]) -> bool {
        self.allowance.check_many(self.model, nodes, DisruptionReason::Underutilized).is_ok()
    }

    fn try_set(&mut self, nodes: &[NodeIx]) -> Option<Move> {
        if !self.allows(nodes) {
            return None;
        }
        evaluate(self.trials, self.scores, nodes).ok()
    }

    /// The first in order that can be removed alone wherever kube-scheduler places its pods; for
    /// those before it, records why they cannot.
    fn single(&mut self) -> Option<Move> {
        for index in 0..self.removable {
            let node = self.order[index];
            if !self.allows(&[node]) {
                continue;
            }
            match evaluate(self.trials, self.scores, &[node]) {
                Ok(found) => return Some(found),
                Err(reason) => {
                    self.diverging.insert(node, reason);
                }
            }
        }
        None
    }

    /// As many as can be removed together without anything new, in order. A node that has received
    /// pods of another is kept.
    pub(super) fn deletions(&mut self) -> Option<Move> {
        let mut chosen = self.removable_together();
        // Together, pods may find places in another order: where not all nodes can be removed, the
        // first half of them is tried.
        while chosen.len() > 1 {
            if let Some(found) = self.try_set(&chosen) {
                return Some(found);
            }
            chosen.truncate(chosen.len() / 2);
        }
        None
    }

    /// The nodes that can be removed one after the other without anything new, wherever their pods
    /// are planned to go.
    pub(in crate::disruption) fn go_later(mut self, candidates: Vec<NodeIx>) -> Vec<NodeIx> {
        self.evaluate_singles(candidates);
        self.removable_together()
    }

    fn removable_together(&mut self) -> Vec<NodeIx> {
        let mut removal = self.trials.incremental_removal();
        let mut chosen: Vec<NodeIx> = Vec::new();
        for index in 0..self.removable {
            let node = self.order[index];
            if chosen.len() == NODES_MAX {
                break;
            }
            chosen.push(node);
            let is_removed = self.allows(&chosen)
                && !removal.has_received(node)
                && self.trials.try_remove(&mut removal, node);
            if !is_removed {
                chosen.pop();
            }
        }
        chosen
    }

    /// Nodes whose pods fit on new ones that cost less: of those with the highest waste, by either
    /// measure, the first ones and some consecutive ones; pairs; and what can be added to the best
    /// of them.
    pub(super) fn merges(&mut self) -> Option<Move> {
        let mut best: Option<Move> = None;
        let mut worst: Vec<NodeIx> = Vec::with_capacity(2 * PAIRED_MAX);
        for order in self.by_waste() {
            let together = self.within_budgets(&order);
            let first = &order[..order.len().min(PAIRED_MAX)];
            for set in prefixes(&together).chain(runs(first, RUN_MAX)) {
                self.try_better(&set, &mut best);
            }
            for node in first {
                if !worst.contains(node) {
                    worst.push(*node);
                }
            }
        }
        for set in pairs(&worst) {
            self.try_better(&set, &mut best);
        }
        for node in worst {
            let Some(found) = &best else { break };
            if found.nodes.contains(&node) || found.nodes.len() > EXTENDED_MAX {
                continue;
            }
            let mut more = found.nodes.clone();
            more.push(node);
            self.try_better(&more, &mut best);
        }
        best
    }

    /// Keeps a set that is better than the best so far.
    fn try_better(&mut self, nodes: &[NodeIx], best: &mut Option<Move>) {
        if !self.allows(nodes) {
            return;
        }
        let Ok(found) = evaluate_as_planned(self.trials, self.scores, nodes) else { return };
        let is_better = |found: &Move| best.as_ref().is_none_or(|best| found.is_better_than(best));
        if !is_better(&found) {
            return;
        }
        if let Ok(found) = robust(self.trials, self.scores, found, is_better) {
            *best = Some(found);
        }
    }

    /// As many of the nodes as budgets allow together, in order.
    fn within_budgets(&self, nodes: &[NodeIx]) -> Vec<NodeIx> {
        let mut together: Vec<NodeIx> = Vec::new();
        for node in nodes {
            together.push(*node);
            if !self.allows(&together) {
                together.pop();
            }
            if together.len() == NODES_MAX {
                break;
            }
        }
        together
    }

    /// Candidates by waste per disruption, and by residual waste; the highest first.
    fn by_waste(&mut self) -> [Vec<NodeIx>; 2] {
        // A pool that finds a node's saving too small is not asked again together with others.
        let is_refused =
            |own: &Single| matches!(own.outcome, Err(Unconsolidatable::Unbalanced { .. }));
        let candidates: Vec<&Single> = self.singles.iter().filter(|own| !is_refused(own)).collect();
        let per_disruption = candidates
            .iter()
            .map(|own| (self.scores.rank(&[own.node], self.trials.waste(own.node)), own.node))
            .collect();
        let residual =
            candidates.iter().map(|own| (own.residual_waste.to_f64(), own.node)).collect();
        [per_disruption, residual].map(|measured| self.descending(measured))
    }

    /// Nodes in descending order of a measure; of equal ones, by name.
    fn descending(&self, mut measured: Vec<(f64, NodeIx)>) -> Vec<NodeIx> {
        measured.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| self.model.nodes[a.1].name.cmp(self.model.nodes[b.1].name))
        });
        measured.into_iter().map(|(_, node)| node).collect()
    }
}
