//! Consolidation: nodes whose pods fit elsewhere, or together on something cheaper.

use std::fmt;

use domain::money::UsdPerHour;
use domain::pod::PodKey;
use domain::reason::{DisruptionReason, NotDisruptable};

use super::Disruptor;
use super::balanced;
use super::replacement::{Removal, replacement};
use super::trial::{Trial, Trials};

/// Candidates that are merged at once; more would make one command too large to follow.
const MERGED_MAX: usize = 100;

/// A move that holds.
pub(super) struct Move {
    /// The nodes that go.
    nodes: Vec<usize>,
    /// Where their pods go, with at most one new node.
    pub(super) trial: Trial,
    savings: UsdPerHour,
}

/// Why nodes are not consolidated together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unsuitable {
    /// A pod of theirs finds no other place.
    NoPlace(PodKey),
    /// Their pods fit only with new nodes, and no single one costs less.
    NoReplacement,
    /// Nothing is saved.
    NoSaving,
    /// A `Balanced` pool finds the saving too small for the disruption.
    TooSmallSaving,
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlace(pod) => write!(f, "pod {pod} finds no other place"),
            Self::NoReplacement => write!(f, "its pods fit on no single cheaper node"),
            Self::NoSaving => write!(f, "it saves nothing"),
            Self::TooSmallSaving => {
                write!(f, "it saves too little for its disruption (consolidationPolicy Balanced)")
            }
        }
    }
}

impl Disruptor<'_, '_> {
    /// Several nodes together where that works, else the first single node in order.
    pub(super) fn underutilized(&mut self, trials: &mut Trials, order: &[usize]) {
        let Some(found) = self.merge(trials, order).or_else(|| single(trials, order)) else {
            return;
        };
        for node in &found.nodes {
            self.allowance.count(self.model, *node);
        }
        let replacements = trials.launch(&found.nodes, &found.trial, &mut self.names);
        let disruption = trials.disruption(
            DisruptionReason::Underutilized,
            &found.nodes,
            &found.trial,
            replacements,
        );
        self.disruptions.push(disruption);
        trials.commit(&found.nodes, found.trial);
    }

    /// Nodes that may be consolidated, the best saving for the least disruption first.
    pub(super) fn consolidation_order(&mut self) -> Vec<usize> {
        let mut order: Vec<(f64, usize)> = Vec::new();
        let mut held = Vec::new();
        for candidate in &self.candidates {
            if !candidate.is_graceful()
                || candidate.is_empty
                || candidate.consolidatable.is_err()
                || !candidate.consolidates_underutilized
            {
                continue;
            }
            let node = candidate.node;
            let Some(price) = self.model.nodes[node].price() else {
                let name = self.model.nodes[node].name.clone();
                held.push((node, NotDisruptable::UnknownPrice(name)));
                continue;
            };
            if let Err(reason) =
                self.allowance.check(self.model, node, DisruptionReason::Underutilized)
            {
                held.push((node, reason));
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "a ratio that only ranks")]
            order.push((price.nanos() as f64 / candidate.reschedule_cost, node));
        }
        for (node, reason) in held {
            self.block(node, reason);
        }
        order.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| self.model.nodes[a.1].name.cmp(self.model.nodes[b.1].name))
        });
        order.into_iter().map(|(_, node)| node).collect()
    }

    /// Adds candidates one by one as long as all of them together can go for more savings.
    fn merge(&self, trials: &mut Trials, order: &[usize]) -> Option<Move> {
        let mut best: Option<Move> = None;
        let mut nodes: Vec<usize> = Vec::new();
        for node in order.iter().copied().take(MERGED_MAX) {
            let mut more = nodes.clone();
            more.push(node);
            let allowed =
                self.allowance.check_many(self.model, &more, DisruptionReason::Underutilized);
            if allowed.is_err() {
                continue;
            }
            if more.len() == 1 {
                // The first may go alone or only with others: keep it to build on.
                best = evaluate(trials, &more).ok();
                nodes = more;
                continue;
            }
            match evaluate(trials, &more) {
                Ok(found) if best.as_ref().is_none_or(|best| found.savings > best.savings) => {
                    best = Some(found);
                    nodes = more;
                }
                _ if best.is_none() && nodes.len() == 1 => {
                    // The first goes neither alone nor with this one: build on this one instead, unless
                    // a later one goes with it.
                    if let Ok(found) = evaluate(trials, &[node]) {
                        best = Some(found);
                        nodes = vec![node];
                    }
                }
                _ => {}
            }
        }
        best.filter(|best| best.nodes.len() > 1)
    }
}

/// The first node in order that goes alone.
fn single(trials: &mut Trials, order: &[usize]) -> Option<Move> {
    order.iter().find_map(|node| evaluate(trials, &[*node]).ok())
}

/// Whether the nodes can go for a saving: their pods fit on nodes that stay, or those that do not fit on
/// one new node that costs less.
pub(super) fn evaluate(trials: &mut Trials, nodes: &[usize]) -> Result<Move, Unsuitable> {
    let mut trial = trials.try_without(nodes);
    let model = trials.model;
    if let Some(pod) = trial.failed.first() {
        return Err(Unsuitable::NoPlace(model.pod(*pod).key.clone()));
    }
    let before: UsdPerHour = nodes.iter().filter_map(|node| model.nodes[*node].price()).sum();
    let mut after = UsdPerHour::ZERO;
    if !trial.items.is_empty() {
        let removal = Removal { nodes, items: &trial.items, before };
        let found = replacement(trials, &removal).ok_or(Unsuitable::NoReplacement)?;
        after = found.price;
        trial.packed = vec![found.packed];
    }
    let savings = before - after;
    // Moving pods for nothing is churn.
    if savings <= UsdPerHour::ZERO {
        return Err(Unsuitable::NoSaving);
    }
    if !balanced::approves(model, nodes, savings.nanos()) {
        return Err(Unsuitable::TooSmallSaving);
    }
    Ok(Move { nodes: nodes.to_vec(), trial, savings })
}
