//! Consolidation: nodes whose pods fit elsewhere, or together on something cheaper.
//!
//! Every candidate is looked at alone first: that gives the reason of each that stays, the nodes that can go
//! without anything new, and the best single replacement. Then sets are built: nodes that go together without
//! anything new ([`Search::deletions`]), and nodes whose pods are packed anew on others ([`Search::merges`]).
//! A move has to save as much where kube-scheduler would put the pods, so that each makes the cluster cheaper and it
//! comes to rest; that is looked at last, since it takes longest.
//! Of the best of each kind, the one with the best saving for the least disruption is the tick's command; where
//! limits keep its new nodes from being launched, the next.
//!
//! Work grows with candidates, not with their combinations. Nodes of one command are bounded: a larger command
//! would be hard to follow, and the next tick goes on where it ended.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::plan::PlannedNodeClaim;
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable, Unconsolidatable};

use super::Disruptor;
use super::budget::Allowance;
use super::evaluation::{Move, as_scheduled, draft, evaluate, on_paper};
use super::score::Scores;
use super::trial::Trials;
use crate::ids::NodeIx;
use crate::model::Model;

/// Nodes that one command takes at most.
const NODES_MAX: usize = 100;

/// Of so many candidates that use their price worst, by either measure, every pair is tried.
const PAIRED_MAX: usize = 8;

/// Of these, so many that follow each other are tried together.
const RUN_MAX: usize = 6;

/// A set of so few nodes is extended by others, as long as that saves more.
const EXTENDED_MAX: usize = 8;

impl<'a> Disruptor<'_, 'a> {
    /// Takes the best move, and says of every other candidate why it stays.
    pub(super) fn underutilized(&mut self, trials: &mut Trials<'_, 'a>, is_turn: bool) {
        let candidates = self.consolidatable();
        if !is_turn {
            return;
        }
        let mut search = Search {
            model: self.model,
            scores: &self.scores,
            allowance: &self.allowance,
            trials,
            order: Vec::new(),
            able: 0,
            singles: Vec::new(),
            scattered: BTreeMap::new(),
        };
        search.look_at_each(candidates);
        let moves = search.moves();
        let Search { singles, mut scattered, .. } = search;
        let mut refused: BTreeMap<NodeIx, NodePoolUnfit> = BTreeMap::new();
        let mut going: Vec<NodeIx> = Vec::new();
        for found in moves {
            match trials.launch(&found.nodes, &found.trial, &mut self.names) {
                Ok(claims) => {
                    going.clone_from(&found.nodes);
                    self.carry_out(trials, found, claims);
                    break;
                }
                Err(unfit) => refused.extend(found.nodes.iter().map(|node| (*node, unfit.clone()))),
            }
        }
        for single in singles.into_iter().filter(|own| !going.contains(&own.node)) {
            let outcome = match scattered.remove(&single.node) {
                Some(reason) => Err(reason),
                None => single.outcome,
            };
            let reason = match (outcome, refused.remove(&single.node)) {
                (Ok(saving), _) if !going.is_empty() => Unconsolidatable::Later { saving },
                (_, Some(unfit)) => Unconsolidatable::NotLaunchable(unfit),
                (Ok(saving), None) => Unconsolidatable::Later { saving },
                (Err(reason), None) => reason,
            };
            self.block(single.node, reason.into());
        }
    }

    fn carry_out(&mut self, trials: &mut Trials, found: Move, replacements: Vec<PlannedNodeClaim>) {
        for node in &found.nodes {
            self.allowance.count(self.model, *node);
        }
        let disruption = trials.disruption(
            DisruptionReason::Underutilized,
            &found.nodes,
            &found.trial,
            replacements,
        );
        self.disruptions.push(disruption);
        trials.commit(&found.nodes, found.trial);
    }

    /// Nodes that may be consolidated; what holds the others is noted.
    fn consolidatable(&mut self) -> Vec<NodeIx> {
        let mut candidates = Vec::new();
        let mut held = Vec::new();
        for candidate in self.candidates.iter().filter(|own| own.is_consolidatable()) {
            let node = candidate.node;
            if self.model.nodes[node].price().is_none() {
                let name = self.model.nodes[node].name.clone();
                held.push((node, NotDisruptable::UnknownPrice(name)));
                continue;
            }
            match self.allowance.check(self.model, node, DisruptionReason::Underutilized) {
                Ok(()) => candidates.push(node),
                Err(reason) => held.push((node, reason)),
            }
        }
        for (node, reason) in held {
            self.block(node, reason);
        }
        candidates
    }
}

/// What taking one node alone comes to.
struct Single {
    node: NodeIx,
    /// What it saves, or why not.
    outcome: Result<UsdPerHour, Unconsolidatable>,
    /// How much of its price is not worth what new nodes would have to host.
    waste_of_the_rest: UsdPerHour,
}

/// The search for one tick's command.
struct Search<'t, 's, 'a> {
    model: &'t Model<'a>,
    scores: &'t Scores<'a>,
    allowance: &'t Allowance,
    trials: &'t mut Trials<'s, 'a>,
    /// Candidates, the best saving for the least disruption first.
    order: Vec<NodeIx>,
    /// How many of them, the first ones, can go alone.
    able: usize,
    /// Of each candidate, what taking it alone comes to on paper.
    singles: Vec<Single>,
    /// Those of them that would not come to it where kube-scheduler puts their pods, as far as that was looked at.
    scattered: BTreeMap<NodeIx, Unconsolidatable>,
}

impl Search<'_, '_, '_> {
    /// Tries each candidate alone and ranks them: by what they save for what they disrupt; those that cannot
    /// go alone by what they would save at most, after all that can.
    fn look_at_each(&mut self, candidates: Vec<NodeIx>) {
        let mut ranked: Vec<(bool, f64, NodeIx)> = Vec::with_capacity(candidates.len());
        for node in candidates {
            let draft = draft(self.trials, &[], &[node]);
            let waste_of_the_rest = self.trials.waste_of_the_rest(node, draft.items());
            let found = draft.finished(self.trials, self.scores);
            let price = self.model.nodes[node].price().unwrap_or_default();
            let outcome = found.map(|found| found.savings);
            let saving = outcome.as_ref().copied().unwrap_or(price);
            ranked.push((outcome.is_err(), self.scores.rank(&[node], saving), node));
            self.singles.push(Single { node, outcome, waste_of_the_rest });
        }
        ranked.sort_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| b.1.total_cmp(&a.1))
                .then_with(|| self.model.nodes[a.2].name.cmp(self.model.nodes[b.2].name))
        });
        self.able = ranked.iter().take_while(|(is_stuck, ..)| !is_stuck).count();
        self.order = ranked.into_iter().map(|(.., node)| node).collect();
    }

    /// The best move of each kind, the one first that is worth most; of equal ones the one with fewer nodes.
    fn moves(&mut self) -> Vec<Move> {
        let found = [self.single(), self.deletions(), self.merges()];
        let mut moves: Vec<Move> = found.into_iter().flatten().collect();
        moves.sort_by(Move::by_worth);
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

    /// The first in order that goes alone wherever kube-scheduler puts its pods; of those before it, it is noted
    /// why they do not.
    fn single(&mut self) -> Option<Move> {
        for index in 0..self.able {
            let node = self.order[index];
            if !self.allows(&[node]) {
                continue;
            }
            match evaluate(self.trials, self.scores, &[node]) {
                Ok(found) => return Some(found),
                Err(reason) => {
                    self.scattered.insert(node, reason);
                }
            }
        }
        None
    }

    /// As many as can go together without anything new, in order. A node that has taken in another's pods
    /// stays.
    fn deletions(&mut self) -> Option<Move> {
        let mut gradual = self.trials.gradual();
        let mut chosen: Vec<NodeIx> = Vec::new();
        for index in 0..self.able {
            let node = self.order[index];
            if chosen.len() == NODES_MAX {
                break;
            }
            chosen.push(node);
            let goes = self.allows(&chosen)
                && !gradual.has_taken_in(node)
                && self.trials.take_more(&mut gradual, node);
            if !goes {
                chosen.pop();
            }
        }
        // Together, pods may find places in another order: the smaller half is tried where all do not go.
        while chosen.len() > 1 {
            if let Some(found) = self.try_set(&chosen) {
                return Some(found);
            }
            chosen.truncate(chosen.len() / 2);
        }
        None
    }

    /// Nodes whose pods fit on new ones that cost less: of those that use their price worst, by either measure, the
    /// first ones and some that follow each other; pairs; and what can be added to the best of them.
    fn merges(&mut self) -> Option<Move> {
        let mut best: Option<Move> = None;
        let mut worst: Vec<NodeIx> = Vec::with_capacity(2 * PAIRED_MAX);
        for order in self.by_waste() {
            let together = self.within_budgets(&order);
            let first = &order[..order.len().min(PAIRED_MAX)];
            for set in prefixes(&together).chain(runs(first)) {
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
        let Ok(found) = on_paper(self.trials, self.scores, nodes) else { return };
        let is_better = |found: &Move| best.as_ref().is_none_or(|best| found.is_better_than(best));
        if !is_better(&found) {
            return;
        }
        if let Ok(found) = as_scheduled(self.trials, self.scores, found, is_better) {
            *best = Some(found);
        }
    }

    /// As many of the nodes as budgets let go together, in order.
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

    /// Candidates by how much of their price their pods are not worth, for what they disrupt; and by how much of it is
    /// not worth what new nodes would have to host, the pods that other nodes have room for left out.
    fn by_waste(&mut self) -> [Vec<NodeIx>; 2] {
        // A pool that finds a node's saving too small is not asked again in company.
        let is_refused =
            |own: &Single| matches!(own.outcome, Err(Unconsolidatable::Unbalanced { .. }));
        let candidates: Vec<&Single> = self.singles.iter().filter(|own| !is_refused(own)).collect();
        let for_disruption = candidates
            .iter()
            .map(|own| (self.scores.rank(&[own.node], self.trials.waste(own.node)), own.node))
            .collect();
        let of_the_rest =
            candidates.iter().map(|own| (own.waste_of_the_rest.to_f64(), own.node)).collect();
        [for_disruption, of_the_rest].map(|ranked| self.falling(ranked))
    }

    /// Nodes in falling order of a measure; of equal ones, by name.
    fn falling(&self, mut ranked: Vec<(f64, NodeIx)>) -> Vec<NodeIx> {
        ranked.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| self.model.nodes[a.1].name.cmp(self.model.nodes[b.1].name))
        });
        ranked.into_iter().map(|(_, node)| node).collect()
    }
}

/// The first two, three, four, and on in growing steps, to all.
fn prefixes(order: &[NodeIx]) -> impl Iterator<Item = Vec<NodeIx>> {
    let sizes = std::iter::successors(Some(2_usize), |size| Some(size + (size / 2).max(1)));
    let within = sizes.take_while(|size| *size < order.len());
    let all = (order.len() > 1).then_some(order.len());
    within.chain(all).map(|size| order[..size].to_vec())
}

/// Every pair.
fn pairs(nodes: &[NodeIx]) -> impl Iterator<Item = Vec<NodeIx>> {
    nodes.iter().enumerate().flat_map(move |(index, first)| {
        nodes[..index].iter().map(move |second| vec![*second, *first])
    })
}

/// Three to [`RUN_MAX`] that follow each other, without those that begin with the first.
fn runs(nodes: &[NodeIx]) -> impl Iterator<Item = Vec<NodeIx>> {
    (3..=RUN_MAX).flat_map(|size| nodes.windows(size).skip(1).map(<[NodeIx]>::to_vec))
}
