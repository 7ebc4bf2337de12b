//! Consolidation: nodes whose pods fit elsewhere, or together on something cheaper.
//!
//! Every candidate is evaluated alone first: that gives the reason for each that is not
//! consolidated, the nodes that can be removed without anything new, and the best single
//! replacement. Then sets are built: nodes that are removed together without anything new
//! ([`search::Search::deletions`]), and nodes whose pods are packed anew on others
//! ([`search::Search::merges`]). A move has to save as much where kube-scheduler would place the
//! pods, so that each makes the cluster cheaper and it comes to rest; that is checked last, since
//! it takes longest. Of the best of each kind, the one with the highest score is the command; where
//! limits keep its new nodes from being launched, the next.
//!
//! Work grows with candidates, not with their combinations. Nodes of one command are bounded: a
//! larger command would be hard to follow, and the next run continues where it ended.

mod removal;
pub(super) mod search;
mod sets;

use std::collections::BTreeMap;

use domain::Text;
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable, Unconsolidatable};

use super::candidate::Candidate;
use super::disruptor::Disruptor;
use super::trial::{Decision, Trials};
use crate::ids::NodeIx;
use search::{Search, SearchOutcome, Single};

impl<'a> Disruptor<'_, 'a> {
    /// Takes the best move if it is consolidation's turn, and reports why every other candidate is
    /// not consolidated.
    pub(super) fn consolidation(&mut self, trials: &mut Trials<'_, 'a>, is_turn: bool) {
        let candidates = self.consolidatable();
        if !is_turn {
            return;
        }
        let waiting = self.waiting(&candidates);
        trials.close_for_good(&self.empty_for_now());
        let search = Search::new(trials, &self.scores, &self.allowance);
        let found = search.run(&candidates, waiting);
        let SearchOutcome { moves, singles, mut diverging, going } = found;
        self.going = Some(going);
        let mut refused: BTreeMap<NodeIx, NodePoolUnfit> = BTreeMap::new();
        let mut removed: Vec<NodeIx> = Vec::new();
        for found in moves {
            match trials.launch(&found.nodes, &found.trial, &mut self.names) {
                Ok(replacements) => {
                    removed.clone_from(&found.nodes);
                    for node in &found.nodes {
                        self.allowance.count(self.model, *node);
                    }
                    let reason = DisruptionReason::Underutilized;
                    let (nodes, trial) = (found.nodes, found.trial);
                    self.push(trials, Decision { reason, nodes, trial, replacements });
                    break;
                }
                Err(unfit) => refused.extend(found.nodes.iter().map(|node| (*node, unfit.clone()))),
            }
        }
        let mut before: Vec<Text> =
            removed.iter().map(|node| self.model.nodes[*node].name.clone()).collect();
        before.sort();
        for single in singles.into_iter().filter(|own| !removed.contains(&own.node)) {
            let Single { node, outcome, .. } = single;
            let outcome = diverging.remove(&node).map_or(outcome, Err);
            let later = |saving| Unconsolidatable::Later { saving, before: before.clone() };
            let reason = match (outcome, refused.remove(&node)) {
                (Ok(saving), _) if !removed.is_empty() => later(saving),
                (_, Some(unfit)) => Unconsolidatable::NotLaunchable(unfit),
                (Ok(saving), None) => later(saving),
                (Err(reason), None) => reason,
            };
            self.block(node, reason.into());
        }
    }

    /// Nodes that may be consolidated once their `consolidateAfter` has passed, or budgets allow
    /// it.
    pub(super) fn waiting(&self, candidates: &[NodeIx]) -> Vec<NodeIx> {
        let soon = self.candidates.iter().filter(|own| own.is_consolidatable_soon());
        let waits =
            |node: &NodeIx| !candidates.contains(node) && self.model.nodes[*node].price().is_some();
        soon.map(|own| own.node).filter(waits).collect()
    }

    /// Nodes that go as empty ones: pods that moved there would move again, or keep them.
    pub(super) fn empty_for_now(&self) -> Vec<NodeIx> {
        let empty = self.candidates.iter().filter(|own| own.is_empty_for_now());
        empty.map(|own| own.node).collect()
    }

    /// Whether the node drifts in the next run: drift comes before consolidation, and waits only
    /// for empty nodes.
    fn is_left_to_drift(&self, candidate: &Candidate) -> bool {
        let has_empty = self.disruptions.iter().any(|own| own.reason == DisruptionReason::Empty);
        let may_drift = |drift| self.may_drift(candidate.node, drift).is_ok();
        let is_eligible = candidate.is_eligible_for(DisruptionReason::Drifted);
        has_empty && is_eligible && candidate.drifted.as_ref().is_some_and(may_drift)
    }

    /// Nodes that may be consolidated; what blocks the others is reported.
    fn consolidatable(&mut self) -> Vec<NodeIx> {
        let mut candidates = Vec::new();
        let mut blocked = Vec::new();
        let meant = |own: &&Candidate| own.is_consolidatable() && !self.is_left_to_drift(own);
        for candidate in self.candidates.iter().filter(meant) {
            let node = candidate.node;
            if self.model.nodes[node].price().is_none() {
                blocked.push((node, NotDisruptable::UnknownPrice));
                continue;
            }
            match self.allowance.check(self.model, node, DisruptionReason::Underutilized) {
                Ok(()) => candidates.push(node),
                Err(reason) => blocked.push((node, reason)),
            }
        }
        for (node, reason) in blocked {
            self.block(node, reason);
        }
        candidates
    }
}
