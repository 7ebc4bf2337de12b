//! What taking a set of nodes away together comes to.

use std::cmp::Ordering;

use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::replacement::{Removal, replacements};
use super::score::Scores;
use super::trial::{Trial, Trials};

/// A move that is possible and worth it.
pub(super) struct Move {
    /// The nodes that go.
    pub(super) nodes: Vec<usize>,
    /// Where their pods go: nodes that stay, and fewer new ones than go.
    pub(super) trial: Trial,
    /// What it saves.
    pub(super) savings: UsdPerHour,
    /// What it has to save, for what moving costs.
    needed: UsdPerHour,
}

impl Move {
    /// Whether it saves more than the other once moving is paid, or as much with fewer nodes.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.by_worth(other) == Ordering::Less
    }

    /// Orders moves: first what saves more once moving is paid, then what takes fewer nodes.
    pub(super) fn by_worth(&self, other: &Self) -> Ordering {
        let net = |own: &Self| own.savings - own.needed;
        net(other).cmp(&net(self)).then_with(|| self.nodes.len().cmp(&other.nodes.len()))
    }
}

/// Whether the nodes can go for a saving: their pods fit on nodes that stay, and those that do not on fewer
/// new nodes that cost less together. One node is replaced by one at most: pods are never spread over more
/// nodes than before.
///
/// It must save what moving costs, so that nodes of one price are never swapped for each other, and every
/// `Balanced` pool of theirs must approve.
pub(super) fn evaluate(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[usize],
) -> Result<Move, Unconsolidatable> {
    let mut trial = trials.try_without(nodes);
    let model = trials.model;
    if let Some(pod) = trial.failed.first() {
        return Err(Unconsolidatable::NoPlace(model.pod(*pod).key.clone()));
    }
    let before: UsdPerHour = nodes.iter().filter_map(|node| model.nodes[*node].price()).sum();
    let mut after = UsdPerHour::ZERO;
    if !trial.items.is_empty() {
        let removal = Removal { nodes, items: &trial.items, state: &trial.state, before };
        let found = replacements(trials, &removal)?;
        after = found.price;
        trial.packed = found.packed;
    }
    let savings = before - after;
    let needed = scores.needed(nodes, after);
    if savings < needed {
        let pods = count(trials.pods_of(nodes).len());
        return Err(Unconsolidatable::TooLittle { saving: savings, pods, needed });
    }
    scores.approve(model, nodes, savings)?;
    Ok(Move { nodes: nodes.to_vec(), trial, savings, needed })
}

/// A number of pods as figures show it.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
