//! The simple methods of disruption: forced removals, empty nodes, drifted nodes.

use domain::drift::DriftReason;
use domain::reason::{DisruptionReason, NotDisruptable};

use super::candidates::forced;
use super::disruptor::{Disruptor, Drifted};
use super::static_capacity::is_static;
use super::trial::{Decision, Trials};
use crate::ids::NodeIx;

impl Disruptor<'_, '_> {
    /// Nodes that are removed in any case: with replacements first, but nothing blocks them. Nodes
    /// that take their pods are not removed by the same plan.
    pub(super) fn forced(&mut self, trials: &mut Trials) {
        let forced = forced(&self.candidates);
        // Pods of one of them do not move to another.
        trials.close(forced.iter().map(|(node, _)| *node));
        for (node, reason) in forced {
            let trial = trials.reschedule(&[node]);
            let launch = trials.launch_where_possible(&[node], &trial, &mut self.names);
            let replacements = launch.claims;
            self.keep_hosts(&trial.moved);
            self.push(trials, Decision { reason, nodes: vec![node], trial, replacements });
        }
    }

    /// All empty nodes that budgets allow, as one disruption.
    pub(super) fn empty(&mut self, trials: &mut Trials) {
        let chosen: Vec<NodeIx> = self
            .candidates
            .iter()
            .filter(|candidate| candidate.is_eligible_for(DisruptionReason::Empty))
            .map(|candidate| candidate.node)
            .collect();
        let reason = DisruptionReason::Empty;
        let mut nodes = Vec::new();
        for node in chosen {
            match self.allowance.take(self.model, node, reason) {
                Ok(()) => nodes.push(node),
                Err(blocked) => self.block(node, blocked),
            }
        }
        if nodes.is_empty() {
            return;
        }
        let trial = trials.reschedule(&[]);
        self.push(trials, Decision { reason, nodes, trial, replacements: Vec::new() });
    }

    /// Empty drifted nodes together; otherwise the one that drifted first among those whose pods
    /// find a place. Nodes of static NodePools are left out.
    pub(super) fn drift(&mut self, trials: &mut Trials) {
        let reason = DisruptionReason::Drifted;
        let drifted = self.drifted_in_order(|node| !is_static(node));
        let (empty, in_use): (Vec<Drifted>, Vec<Drifted>) =
            drifted.into_iter().partition(|own| own.is_empty);
        let mut allowed = Vec::new();
        for Drifted { node, drift, .. } in empty {
            match self.may_drift(node, &drift) {
                Ok(()) => {
                    self.count_drifted(node, &drift);
                    allowed.push(node);
                }
                Err(blocked) => self.block(node, blocked),
            }
        }
        if !allowed.is_empty() {
            for node in allowed {
                let (nodes, trial) = (vec![node], trials.reschedule(&[]));
                self.push(trials, Decision { reason, nodes, trial, replacements: Vec::new() });
            }
            return;
        }
        for Drifted { node, drift, .. } in in_use {
            if let Err(blocked) = self.may_drift(node, &drift) {
                self.block(node, blocked);
                continue;
            }
            match self.replace_drifted(trials, node, &drift) {
                Ok(decision) => {
                    // One command per run: the next is found on a cluster that shows what this one
                    // did.
                    self.push(trials, decision);
                    self.count_drifted(node, &drift);
                    return;
                }
                Err(blocked) => self.block(node, blocked),
            }
        }
    }

    /// Whether budgets and waves let one more drifted node go.
    pub(super) fn may_drift(
        &self,
        node: NodeIx,
        drift: &DriftReason,
    ) -> Result<(), NotDisruptable> {
        self.waves.check(self.model, node, drift)?;
        self.allowance.check(self.model, node, DisruptionReason::Drifted)
    }

    /// Counts a drifted node that may go.
    pub(super) fn count_drifted(&mut self, node: NodeIx, drift: &DriftReason) {
        self.waves.count(self.model, node, drift);
        self.allowance.count(self.model, node);
    }

    /// The replacement of a drifted node whose pods find a place on remaining nodes or on any
    /// number of new ones.
    fn replace_drifted(
        &mut self,
        trials: &mut Trials,
        node: NodeIx,
        drift: &DriftReason,
    ) -> Result<Decision, NotDisruptable> {
        let drift = || drift.clone();
        let trial = trials.reschedule(&[node]);
        if let Some(pod) = trial.first_left(self.model) {
            let pod = self.model.pod(pod).key.clone();
            return Err(NotDisruptable::DriftWithoutPlace { drift: drift(), pod });
        }
        match trials.launch(&[node], &trial, &mut self.names) {
            Ok(replacements) => {
                let reason = DisruptionReason::Drifted;
                Ok(Decision { reason, nodes: vec![node], trial, replacements })
            }
            Err(unfit) => Err(NotDisruptable::DriftWithoutReplacement { drift: drift(), unfit }),
        }
    }
}
