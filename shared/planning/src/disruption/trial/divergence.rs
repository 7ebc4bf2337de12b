//! Scheduler divergence: kube-scheduler knows of no plan and spreads pods, so it may place them
//! elsewhere than planned. A pod that then finds no room would cost a node of its own.

use domain::money::UsdPerHour;
use domain::pdb::PodDisruptionBudget;
use domain::reason::Unconsolidatable;

use super::{Trial, Trials};
use crate::disruption::figures::count;
use crate::ids::{NodeIx, PodIx};
use crate::packing::pack;
use crate::placement::{Scored, UpcomingNode};

/// What is wrong with a move once kube-scheduler has placed its pods.
pub(crate) struct Divergence {
    /// Why the move is not worth it.
    pub(crate) reason: Unconsolidatable,
    /// Pods that would find room if new nodes were large enough for them too.
    pub(crate) displaced: Vec<PodIx>,
}

impl Trials<'_, '_> {
    /// Why a move is not worth it when kube-scheduler places the nodes' pods: in one of the orders
    /// in which they may come, new nodes for pods without a place cost more than `spare`, or there
    /// can be none. `saving` is what the move saves on paper. `None` where it is worth it.
    pub(crate) fn divergence(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        saving: UsdPerHour,
        spare: UsdPerHour,
    ) -> Option<Divergence> {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        for (index, closed) in state.closed.iter_mut_enumerated() {
            *closed = self.unschedulable[index] || self.removed[index] || nodes.contains(&index);
        }
        let new: Vec<UpcomingNode> = trial
            .packed
            .iter()
            .filter_map(|own| UpcomingNode::of(&self.model.pools, own))
            .collect();
        let pods = self.pods_of(nodes);
        // Room for them is looked for once all others are there.
        let virtual_pods = self.virtual_pods_of(nodes);
        self.placer.reset(state.clone());
        if self.placer.fit_anyhow(&[pods.as_slice(), &virtual_pods].concat(), &new) {
            return None;
        }
        self.eviction_orders(pods).into_iter().find_map(|mut pods| {
            pods.extend(&virtual_pods);
            self.placer.reset(state.clone());
            let scored = self.placer.place_by_score(&pods, &mut new.clone());
            if scored.left.is_empty() {
                return None;
            }
            let reason = match self.price_of_new_nodes(nodes, &scored.left) {
                Ok(price) if price <= spare => return None,
                Ok(price) => {
                    let pods = count(scored.left.len());
                    Unconsolidatable::SchedulerDivergence { pods, saving, price }
                }
                Err(pod) => Unconsolidatable::NoPlace(self.model.pod(pod).key.clone()),
            };
            Some(Divergence { reason, displaced: displaced(trial, scored) })
        })
    }

    /// Orders in which evicted pods may come. Drains evict the largest first; pods that
    /// PodDisruptionBudgets delay come later.
    fn eviction_orders(&self, mut pods: Vec<PodIx>) -> Vec<Vec<PodIx>> {
        let size = |pod: PodIx| {
            let shape = self.model.shapes.of_pod[pod]?;
            Some(&self.model.shape(shape).requests[..2])
        };
        pods.sort_by(|a, b| {
            let key = |pod: PodIx| &self.model.pod(pod).key;
            size(*b).cmp(&size(*a)).then_with(|| key(*a).cmp(key(*b)))
        });
        let budgets = &self.model.snapshot.objects.pod_disruption_budgets;
        let mut left: Vec<Option<u32>> =
            budgets.iter().map(|own| own.disruptions_allowed).collect();
        let (mut immediate, delayed): (Vec<PodIx>, Vec<PodIx>) = pods.iter().partition(|pod| {
            let guards = |own: &PodDisruptionBudget| own.guards(self.model.pod(**pod));
            budgets.iter().zip(&mut left).filter(|(own, _)| guards(own)).all(|(_, left)| {
                let is_allowed = left.is_none_or(|left| left > 0);
                *left = left.map(|left| left.saturating_sub(1));
                is_allowed
            })
        });
        if delayed.is_empty() {
            return vec![pods];
        }
        immediate.extend(delayed);
        vec![pods, immediate]
    }

    /// What new nodes for the pods cost once `nodes` are removed. The error is a pod that gets
    /// none, for instance because of limits.
    fn price_of_new_nodes(
        &mut self,
        nodes: &[NodeIx],
        pods: &[PodIx],
    ) -> Result<UsdPerHour, PodIx> {
        let model = self.model;
        let outcome = self.placer.place(pods);
        let mut limits = self.limits(nodes);
        let state = &self.placer.state;
        let packing = pack(self.scope, state, &mut limits, &outcome.items);
        match outcome.failed.iter().chain(&packing.left).min() {
            Some(pod) => Err(*pod),
            None => Ok(packing
                .nodes
                .iter()
                .filter_map(|packed| packed.price(model, self.scope.memo))
                .sum()),
        }
    }
}

/// Pods that new nodes should have room for: those whose place on a remaining node is taken by
/// others; and where a pod planned for a new node finds its place taken, those that took it.
fn displaced(trial: &Trial, scored: Scored) -> Vec<PodIx> {
    let is_for_new = |pod: &PodIx| trial.items.iter().any(|item| item.pods.contains(pod));
    let mut displaced = scored.left;
    let before = displaced.len();
    displaced.retain(|pod| !is_for_new(pod));
    if displaced.len() < before {
        displaced.extend(scored.on_new.into_iter().filter(|pod| !is_for_new(pod)));
    }
    displaced
}
