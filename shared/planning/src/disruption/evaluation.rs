//! What taking a set of nodes away together comes to.

use std::cmp::Ordering;

use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::replacement::{Removal, replacements};
use super::score::Scores;
use super::trial::{Scatter, Trial, Trials};
use crate::ids::{NodeIx, PodIx};
use crate::work::Item;

/// A move that is possible and worth it.
pub(super) struct Move {
    /// The nodes that go.
    pub(super) nodes: Vec<NodeIx>,
    /// Where their pods go: nodes that stay, and no more new ones than go.
    pub(super) trial: Trial,
    /// What it saves.
    pub(super) savings: UsdPerHour,
    /// What it has to save, for what moving costs.
    needed: UsdPerHour,
    /// What it disrupts, as the `Balanced` score has it.
    disruption: f64,
}

impl Move {
    /// Whether it is worth more than the other, or as much with fewer nodes.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.by_worth(other) == Ordering::Less
    }

    /// Orders moves: first what is worth most, then what takes fewer nodes.
    pub(super) fn by_worth(&self, other: &Self) -> Ordering {
        other
            .worth()
            .total_cmp(&self.worth())
            .then_with(|| self.nodes.len().cmp(&other.nodes.len()))
    }

    /// What is left of the saving once moving is paid, times what is left of it for the disruption. Comparable between
    /// moves of one plan only.
    ///
    /// A move is worth more with one more node where that node saves at least half as much for its disruption as the
    /// others do: as the `Balanced` policy has it with k = 2. By the saving alone, large moves would come first that
    /// save little more than small ones.
    fn worth(&self) -> f64 {
        let left = (self.savings - self.needed).to_f64();
        left * left / self.disruption.max(f64::MIN_POSITIVE)
    }
}

/// New nodes are given more room so often, for pods that kube-scheduler would leave without a place.
const ROOMIER_MAX: usize = 3;

/// Whether the nodes can go for a saving if their pods go where they are planned to go: on nodes that stay, and
/// those that do not fit there on new ones, which cost less together. One node is replaced by one at most: its pods
/// are not spread over more.
///
/// It must save what moving costs, so that nodes of one price are never swapped for each other, and every
/// `Balanced` pool of theirs must approve. In which order nodes are named makes no difference.
pub(super) fn on_paper(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
) -> Result<Move, Unconsolidatable> {
    draft(trials, &[], nodes).finished(trials, scores)
}

/// A move whose new nodes are not chosen yet.
pub(super) struct Draft {
    nodes: Vec<NodeIx>,
    trial: Trial,
}

/// Where the nodes' pods would go, with room on new nodes for some of them in any case.
pub(super) fn draft(trials: &mut Trials, displaced: &[PodIx], nodes: &[NodeIx]) -> Draft {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    let trial = trials.try_with_room_for(displaced, &nodes);
    Draft { nodes, trial }
}

impl Draft {
    /// Pods that need new nodes.
    pub(super) fn items(&self) -> &[Item] {
        &self.trial.items
    }

    /// The move with the new nodes that cost least, if it is worth it.
    pub(super) fn finished(
        self,
        trials: &Trials,
        scores: &Scores,
    ) -> Result<Move, Unconsolidatable> {
        let Self { nodes, mut trial } = self;
        let model = trials.model;
        if let Some(pod) = trial.failed.first() {
            return Err(Unconsolidatable::NoPlace(model.pod(*pod).key.clone()));
        }
        let before: UsdPerHour = nodes.iter().filter_map(|node| model.nodes[*node].price()).sum();
        let mut after = UsdPerHour::ZERO;
        if !trial.items.is_empty() {
            let removal =
                Removal { nodes: &nodes, items: &trial.items, state: &trial.state, before };
            let found = replacements(trials, &removal)?;
            after = found.price;
            trial.packed = found.packed;
        }
        let savings = before - after;
        let needed = scores.needed(&nodes, (trial.packed.len(), after));
        if savings < needed {
            let pods = count(trials.pods_of(&nodes).len());
            return Err(Unconsolidatable::TooLittle { saving: savings, pods, needed });
        }
        scores.approve(model, &nodes, savings)?;
        let disruption = scores.disruption(&nodes);
        Ok(Move { nodes, trial, savings, needed, disruption })
    }
}

/// The same for a move that is as good where kube-scheduler puts the pods as it is on paper.
pub(super) fn evaluate(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
) -> Result<Move, Unconsolidatable> {
    let found = on_paper(trials, scores, nodes)?;
    as_scheduled(trials, scores, found, |_| true)
}

/// A move that saves enough where kube-scheduler puts the pods, which knows of no plan: it spreads them, and a pod that
/// finds its place taken costs a node of its own, which the next tick would take away again. Where that happens, the
/// move has larger new nodes, as long as it is wanted at their price.
pub(super) fn as_scheduled(
    trials: &mut Trials,
    scores: &Scores,
    planned: Move,
    is_wanted: impl Fn(&Move) -> bool,
) -> Result<Move, Unconsolidatable> {
    let Some(scatter) = scattered(trials, &planned) else { return Ok(planned) };
    let mut displaced = scatter.displaced;
    for _ in 0..ROOMIER_MAX {
        let roomier = draft(trials, &displaced, &planned.nodes).finished(trials, scores);
        let Some(found) = roomier.ok().filter(&is_wanted) else { break };
        match scattered(trials, &found) {
            None => return Ok(found),
            Some(more) if more.displaced.is_empty() => break,
            Some(more) => displaced.extend(more.displaced),
        }
    }
    Err(scatter.reason)
}

fn scattered(trials: &mut Trials, found: &Move) -> Option<Scatter> {
    let spare = found.savings - found.needed;
    trials.scattered(&found.nodes, &found.trial, (found.savings, spare))
}

/// A number of pods as figures show it.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
