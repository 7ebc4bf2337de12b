//! Looking ahead: what is removed after this run's disruptions.
//!
//! Budgets let a cluster shrink by a few nodes at a time, and kube-scheduler spreads the pods of
//! those over all others, the next to go included. So the nodes that go are chosen together, down
//! to where nothing more can be removed, and marked: pods are moved once, to nodes that stay, and
//! the next disruption does not wait until the pods of the last have settled.

use std::collections::BTreeSet;

use domain::plan::{BlockedNode, PlannedDisruption};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::{Text, Timestamp};

use super::budget::Allowance;
use super::candidate::Candidate;
use super::consolidation::search::Search;
use super::disruptor::Disruptor;
use super::host_order::prefer_remaining_nodes;
use super::trial::{Decision, Trials};
use crate::ids::NodeIx;
use crate::scheduling::Scheduling;

impl Disruptor<'_, '_> {
    /// Finds the consolidation that budgets allow next, where they allow none now, and the nodes
    /// that are removed after it.
    pub(super) fn look_ahead(&mut self, scheduling: &Scheduling, acts_at: Timestamp) {
        let is_held = |own: &BlockedNode| {
            let underutilized = DisruptionReason::Underutilized;
            matches!(&own.reason, NotDisruptable::Budget { reason, .. } if *reason == underutilized)
        };
        if self.disruptions.is_empty() && self.blocked.iter().any(is_held) {
            self.awaiting_budget = self.once_free(scheduling, acts_at).into_iter().collect();
        }
        // Where nothing is decided, consolidation has found the nodes that go: all that may go now
        // or later were open to it, as they are here.
        let is_undecided = self.disruptions.is_empty() && self.awaiting_budget.is_empty();
        if let Some(going) = self.going.take().filter(|_| is_undecided) {
            self.to_come = self.names_of(going);
            return;
        }
        let mut trials = Trials::beyond_windows(self.model, scheduling);
        trials.close_for_good(&self.empty_for_now());
        prefer_remaining_nodes(&mut trials, &self.candidates, &self.scores);
        let decided = self.disruptions.iter().chain(&self.awaiting_budget);
        let names = &self.model.nodes;
        let going: Vec<Vec<NodeIx>> = decided
            .map(|own| {
                let goes = |node: &NodeIx| own.nodes.contains(names[*node].name);
                names.indices().filter(goes).collect()
            })
            .collect();
        for nodes in &going {
            let trial = trials.reschedule(nodes);
            trials.commit(nodes, trial);
        }
        let stays = |own: &&Candidate| !going.iter().flatten().any(|node| *node == own.node);
        let candidates = self.candidates.iter().filter(|own| own.is_consolidatable_soon());
        let candidates: Vec<NodeIx> = candidates
            .filter(stays)
            .map(|own| own.node)
            .filter(|node| self.model.nodes[*node].price().is_some())
            .collect();
        let unlimited = Allowance::unlimited();
        let search = Search::new(&mut trials, &self.scores, &unlimited);
        let to_come = search.go_later(&candidates);
        self.to_come = self.names_of(going.into_iter().flatten().chain(to_come));
    }

    fn names_of(&self, nodes: impl IntoIterator<Item = NodeIx>) -> BTreeSet<Text> {
        nodes.into_iter().map(|node| self.model.nodes[node].name.clone()).collect()
    }

    /// The best consolidation once the disruptions under way are over.
    fn once_free(
        &mut self,
        scheduling: &Scheduling,
        acts_at: Timestamp,
    ) -> Option<PlannedDisruption> {
        let allowance = Allowance::once_free(self.model);
        let reason = DisruptionReason::Underutilized;
        let candidates = self.candidates.iter().filter(|own| own.is_consolidatable());
        let candidates: Vec<NodeIx> = candidates
            .map(|own| own.node)
            .filter(|node| self.model.nodes[*node].price().is_some())
            .filter(|node| allowance.check(self.model, *node, reason).is_ok())
            .collect();
        let mut trials = Trials::of(self.model, scheduling, acts_at);
        prefer_remaining_nodes(&mut trials, &self.candidates, &self.scores);
        let waiting = self.waiting(&candidates);
        trials.close_for_good(&self.empty_for_now());
        let search = Search::new(&mut trials, &self.scores, &allowance);
        let found = search.run(&candidates, waiting);
        for found in found.moves {
            if let Ok(replacements) = trials.launch(&found.nodes, &found.trial, &mut self.names) {
                let (nodes, trial) = (found.nodes, found.trial);
                return Some(trials.decide(Decision { reason, nodes, trial, replacements }));
            }
        }
        None
    }
}
