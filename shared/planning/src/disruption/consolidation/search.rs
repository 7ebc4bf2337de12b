//! The search for one run's consolidation command.

use std::collections::{BTreeMap, BTreeSet};

use domain::money::UsdPerHour;
use domain::reason::{DisruptionReason, Unconsolidatable};

use super::sets::{in_ascending_order, pairs, prefixes, runs};
use crate::disruption::budget::Allowance;
use crate::disruption::evaluation::{
    Move, draft, evaluate, evaluate_promising, may_be_worth_it, robust,
};
use crate::disruption::score::Scores;
use crate::disruption::trial::Trials;
use crate::ids::NodeIx;
use crate::model::Model;

/// Nodes that one command removes at most.
pub(super) const NODES_MAX: usize = 100;

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
    /// Nodes that are removed in the end, now or later.
    pub(super) going: Vec<NodeIx>,
}

/// The search for one run's command.
pub(in crate::disruption) struct Search<'t, 's, 'a> {
    pub(super) model: &'t Model<'a>,
    pub(super) scores: &'t Scores<'a>,
    allowance: &'t Allowance,
    pub(super) trials: &'t mut Trials<'s, 'a>,
    /// Nodes that can be removed alone, by savings per disruption.
    pub(super) removable: Vec<NodeIx>,
    /// Nodes that wait for their `consolidateAfter`, in ascending order: they go later.
    waiting: Vec<NodeIx>,
    /// Nodes that are removed in the end, now or later.
    going: Vec<NodeIx>,
    singles: Vec<Single>,
    diverging: BTreeMap<NodeIx, Unconsolidatable>,
}

/// A candidate in the order in which sets are built.
struct Ranked {
    node: NodeIx,
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
            removable: Vec::new(),
            waiting: Vec::new(),
            going: Vec::new(),
            singles: Vec::new(),
            diverging: BTreeMap::new(),
        }
    }

    /// Evaluates each candidate alone, then sets of them. Nodes that wait for their
    /// `consolidateAfter` decide with them which nodes go in the end.
    pub(in crate::disruption) fn run(
        mut self,
        candidates: &[NodeIx],
        mut waiting: Vec<NodeIx>,
    ) -> SearchOutcome {
        waiting.sort_unstable();
        self.waiting = waiting;
        // Which nodes stay is decided as if all could go: those that wait would take pods that
        // have to move again.
        let has_closed = self.trials.open_waiting();
        if has_closed || !self.waiting.is_empty() {
            let all: Vec<NodeIx> = candidates.iter().chain(&self.waiting).copied().collect();
            self.going = self.removable_of(&all);
            self.trials.close_waiting();
            self.singles.clear();
            self.evaluate_singles(candidates);
        } else {
            self.evaluate_singles(candidates);
            self.going = self.removable_together();
        }
        let moves = self.moves();
        let Self { singles, diverging, going, .. } = self;
        SearchOutcome { moves, singles, diverging, going }
    }

    /// Evaluates each node alone, and ranks those that can be removed by savings per disruption,
    /// the marked ones first.
    fn evaluate_singles(&mut self, candidates: &[NodeIx]) {
        let mut ranked: Vec<Ranked> = Vec::with_capacity(candidates.len());
        for node in candidates.iter().copied() {
            let draft = draft(self.trials, &[], &[node]);
            let residual_waste = self.trials.residual_waste(node, draft.items());
            let outcome = draft.complete(self.trials, self.scores, None).map(|found| found.savings);
            if let Ok(saving) = outcome {
                let rank = self.scores.rank(&[node], saving);
                let is_candidate = self.model.nodes[node].is_candidate();
                ranked.push(Ranked { node, is_candidate, rank });
            }
            self.singles.push(Single { node, outcome, residual_waste });
        }
        let name = |own: &Ranked| self.model.nodes[own.node].name;
        ranked.sort_by(|a, b| {
            b.is_candidate
                .cmp(&a.is_candidate)
                .then_with(|| b.rank.total_cmp(&a.rank))
                .then_with(|| name(a).cmp(name(b)))
        });
        self.removable = ranked.into_iter().map(|own| own.node).collect();
    }

    fn is_waiting(&self, node: NodeIx) -> bool {
        self.waiting.binary_search(&node).is_ok()
    }

    /// The best move of each kind, the highest score first; of equal ones the one with fewer nodes.
    /// As many nodes are removed as can be: a command takes as long for one.
    fn moves(&mut self) -> Vec<Move> {
        let removal = self.deletions().or_else(|| self.single());
        let found = [removal, self.merges()];
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
        for node in self.removable.clone() {
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

    /// As many as budgets allow of those that can be removed together without anything new, what
    /// saves most first.
    pub(super) fn deletions(&mut self) -> Option<Move> {
        let due = self.going.iter().filter(|node| !self.is_waiting(**node));
        let measured = due.map(|node| (self.net_saving(*node), *node)).collect();
        let going = self.descending(measured);
        let mut chosen = self.within_budgets(&going);
        // Together, pods may find places in another order: where not all nodes can be removed, the
        // first half of them is tried.
        while !chosen.is_empty() {
            if let Some(found) = self.try_set(&chosen) {
                return Some(found);
            }
            chosen.truncate(chosen.len() / 2);
        }
        None
    }

    /// The nodes that can be removed one after the other without anything new, wherever their pods
    /// are planned to go.
    pub(in crate::disruption) fn go_later(mut self, candidates: &[NodeIx]) -> Vec<NodeIx> {
        self.removable_of(candidates)
    }

    /// Of the candidates, those that can be removed together. Why others cannot is not asked.
    fn removable_of(&mut self, candidates: &[NodeIx]) -> Vec<NodeIx> {
        let may_go = |node: &NodeIx| {
            may_be_worth_it(self.trials, self.scores, &[*node], None)
                && (!self.trials.may_launch_nothing_for(&[*node])
                    || self.trials.have_room_elsewhere(&[*node]))
        };
        let candidates: Vec<NodeIx> = candidates.iter().copied().filter(may_go).collect();
        self.evaluate_singles(&candidates);
        self.removable_together()
    }

    /// Nodes whose pods fit on new ones that cost less: of those with the highest waste, by either
    /// measure, the first ones and some consecutive ones; pairs; and what can be added to the best
    /// of them.
    pub(super) fn merges(&mut self) -> Option<Move> {
        let mut best: Option<Move> = None;
        let mut tried: BTreeSet<Vec<NodeIx>> = BTreeSet::new();
        let mut worst: Vec<NodeIx> = Vec::with_capacity(2 * PAIRED_MAX);
        for order in self.by_waste() {
            let together = self.within_budgets(&order);
            let first = &order[..order.len().min(PAIRED_MAX)];
            for set in prefixes(&together).chain(runs(first, RUN_MAX)) {
                if tried.insert(in_ascending_order(&set)) {
                    self.try_better(&set, &mut best);
                }
            }
            for node in first {
                if !worst.contains(node) {
                    worst.push(*node);
                }
            }
        }
        for set in pairs(&worst) {
            if tried.insert(in_ascending_order(&set)) {
                self.try_better(&set, &mut best);
            }
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
        let least_score = best.as_ref().map(Move::score);
        if !may_be_worth_it(self.trials, self.scores, nodes, least_score) {
            return;
        }
        let found = evaluate_promising(self.trials, self.scores, nodes, least_score);
        let Some(found) = found else { return };
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
    pub(super) fn descending(&self, mut measured: Vec<(f64, NodeIx)>) -> Vec<NodeIx> {
        measured.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| self.model.nodes[a.1].name.cmp(self.model.nodes[b.1].name))
        });
        measured.into_iter().map(|(_, node)| node).collect()
    }
}
