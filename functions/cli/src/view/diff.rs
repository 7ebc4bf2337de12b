//! What a change of manifests does to a cluster.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::drift::DriftReason;
use domain::money::UsdPerHour;
use domain::plan::UnschedulablePod;
use domain::pod::PodKey;
use domain::reason::PodUnschedulable;

use super::money::Dollars;
use super::outcome::{Group, Outcome};
use super::pod_names::counted;
use super::threshold::{Exceeded, Measured, Thresholds};
use crate::change::{Difference, ObjectChange};

/// A change, what comes of it, and what of that is worse than is allowed.
#[derive(Clone, Debug)]
pub(crate) struct ClusterDiff {
    /// What the old manifests are called.
    pub(crate) old_name: String,
    /// What the new manifests are called.
    pub(crate) new_name: String,
    /// What differs between both, as far as nodes depend on it.
    pub(crate) changes: Vec<ObjectChange>,
    /// Nodes that are there, whatever the manifests are, without those on their way out.
    pub(crate) now: Group,
    /// Nodes that are on their way out.
    pub(crate) leaving: usize,
    /// Whether any of them is of a NodePool, so that it matters which nodes are there.
    pub(crate) has_managed_nodes: bool,
    /// What one tick leaves of the nodes that are there.
    pub(crate) next_tick: Pair,
    /// What the same pods need once every node of a NodePool is launched anew.
    pub(crate) all_replaced: Pair,
    /// Pods that lose their place, or are new and have none, by pod.
    pub(crate) newly_unschedulable: Vec<NewlyUnschedulable>,
    /// Pods that had no place and get one, by pod.
    pub(crate) newly_scheduled: Vec<PodKey>,
    /// Nodes that the change makes drift, by name.
    pub(crate) newly_drifted: BTreeMap<Text, DriftReason>,
    /// What is worse than is allowed.
    pub(crate) exceeded: Vec<Exceeded>,
}

/// The same figures by the old and by the new manifests.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// By the old ones.
    pub(crate) old: Outcome,
    /// By the new ones.
    pub(crate) new: Outcome,
}

/// A pod that loses its place by the change, or is new and has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewlyUnschedulable {
    /// The pod.
    pub(crate) pod: PodKey,
    /// Why it has none.
    pub(crate) reasons: Vec<PodUnschedulable>,
    /// When that shows.
    pub(crate) when: When,
}

/// When a pod is without a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    /// With the next tick.
    NextTick,
    /// Once its node goes, whatever makes it go.
    NodeGone,
}

impl When {
    /// In words, after `without a place`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NextTick => "at once",
            Self::NodeGone => "once their node goes",
        }
    }
}

/// What a diff is made from.
#[derive(Debug)]
pub(crate) struct Parts {
    /// What the old and the new manifests are called.
    pub(crate) names: [String; 2],
    /// What differs between them.
    pub(crate) changes: Vec<ObjectChange>,
    /// Nodes that are there.
    pub(crate) now: Group,
    /// Nodes that are on their way out.
    pub(crate) leaving: usize,
    /// Whether any of them is of a NodePool.
    pub(crate) has_managed_nodes: bool,
    /// See [`ClusterDiff::next_tick`].
    pub(crate) next_tick: Pair,
    /// See [`ClusterDiff::all_replaced`].
    pub(crate) all_replaced: Pair,
    /// Nodes that drift by the old manifests and by the new ones.
    pub(crate) drifted: [BTreeMap<Text, DriftReason>; 2],
    /// Pods by the new manifests.
    pub(crate) pods: BTreeSet<PodKey>,
}

impl ClusterDiff {
    /// Puts the parts together, and holds them against thresholds.
    pub(crate) fn new(parts: Parts, thresholds: &Thresholds) -> Self {
        let Parts {
            names: [old_name, new_name],
            changes,
            now,
            leaving,
            has_managed_nodes,
            next_tick,
            all_replaced,
            drifted: [drifted_before, mut newly_drifted],
            pods,
        } = parts;
        newly_drifted.retain(|node, _| !drifted_before.contains_key(node));
        let newly_unschedulable = newly_unschedulable(&next_tick, &all_replaced);
        let newly_scheduled = newly_scheduled(&next_tick, &all_replaced, &pods);
        let exceeded = thresholds.exceeded(&Measured {
            price: (all_replaced.old.nodes.price, all_replaced.new.nodes.price),
            unschedulable: newly_unschedulable.len(),
            spot_permille: (
                all_replaced.old.spot_pods.permille(),
                all_replaced.new.spot_pods.permille(),
            ),
            drifted: newly_drifted.len(),
        });
        Self {
            old_name,
            new_name,
            changes,
            now,
            leaving,
            has_managed_nodes,
            next_tick,
            all_replaced,
            newly_unschedulable,
            newly_scheduled,
            newly_drifted,
            exceeded,
        }
    }

    /// What matters most, in one sentence without a full stop.
    pub(crate) fn headline(&self) -> String {
        let Pair { old, new } = &self.all_replaced;
        let mut parts = Vec::new();
        let invalid = self.changes.iter().filter(|own| own.difference == Difference::Invalid);
        let invalid = invalid.count();
        if invalid > 0 {
            parts.push(format!("{} invalid", counted(invalid, "object")));
        }
        let (was, is) = (old.nodes.price, new.nodes.price);
        let change = cost_change(was, is);
        match dollars(was, is).0.cmp(&0) {
            std::cmp::Ordering::Greater => parts.push(format!("costs {change} a month more")),
            std::cmp::Ordering::Less => parts.push(format!("saves {change} a month")),
            std::cmp::Ordering::Equal => {}
        }
        if !self.newly_unschedulable.is_empty() {
            let pods = counted(self.newly_unschedulable.len(), "pod");
            parts.push(format!("{pods} newly without a place"));
        }
        if !self.newly_scheduled.is_empty() {
            let pods = counted(self.newly_scheduled.len(), "pod");
            let get = if self.newly_scheduled.len() == 1 { "gets" } else { "get" };
            parts.push(format!("{pods} {get} a place"));
        }
        if !self.newly_drifted.is_empty() {
            let nodes = counted(self.newly_drifted.len(), "node");
            let drift = if self.newly_drifted.len() == 1 { "drifts" } else { "drift" };
            parts.push(format!("{nodes} {drift}"));
        }
        if !parts.is_empty() {
            return parts.join(", ");
        }
        if self.changes.is_empty() {
            return "nothing that nodes depend on changes".to_owned();
        }
        "same cost, every pod as before".to_owned()
    }
}

/// The difference of two hourly prices in a month.
pub(crate) fn dollars(old: UsdPerHour, new: UsdPerHour) -> Dollars {
    Dollars(i128::from((new - old).nanos()) * i128::from(domain::money::HOURS_PER_MONTH))
        .to_the_cent()
}

/// `$212.40 (8.1%)`, without a sign.
fn cost_change(old: UsdPerHour, new: UsdPerHour) -> String {
    let change = Dollars(dollars(old, new).0.abs());
    match percent(old.nanos(), new.nanos()) {
        Some(percent) => format!("{change} ({})", percent.trim_start_matches(['+', '-'])),
        None => change.to_string(),
    }
}

/// `+8.1%`; `None` of nothing, or where it rounds to nothing.
pub(crate) fn percent(old: i64, new: i64) -> Option<String> {
    if old <= 0 {
        return None;
    }
    let (old, change) = (i128::from(old), i128::from(new) - i128::from(old));
    let half = if change < 0 { -old / 2 } else { old / 2 };
    let permille = (change * 1000 + half) / old;
    let sign = if permille < 0 { '-' } else { '+' };
    let permille = permille.unsigned_abs();
    (permille > 0).then(|| format!("{sign}{}.{}%", permille / 10, permille % 10))
}

/// Pods without a place by the new manifests that have one, or are not there, by the old ones.
fn newly_unschedulable(next_tick: &Pair, all_replaced: &Pair) -> Vec<NewlyUnschedulable> {
    let mut found: BTreeMap<PodKey, NewlyUnschedulable> = BTreeMap::new();
    for (pair, when) in [(next_tick, When::NextTick), (all_replaced, When::NodeGone)] {
        let before = keys(&pair.old);
        let new = pair.new.unschedulable.iter().filter(|own| !before.contains(&own.pod));
        for UnschedulablePod { pod, reasons } in new {
            found.entry(pod.clone()).or_insert_with(|| NewlyUnschedulable {
                pod: pod.clone(),
                reasons: reasons.clone(),
                when,
            });
        }
    }
    found.into_values().collect()
}

/// Pods without a place by the old manifests that are there and have one by the new ones.
fn newly_scheduled(next_tick: &Pair, all_replaced: &Pair, pods: &BTreeSet<PodKey>) -> Vec<PodKey> {
    let mut found: BTreeSet<PodKey> = BTreeSet::new();
    for pair in [next_tick, all_replaced] {
        let after = keys(&pair.new);
        let gone = keys(&pair.old).into_iter().filter(|pod| !after.contains(pod));
        found.extend(gone.filter(|pod| pods.contains(pod)).cloned());
    }
    let still_without = [keys(&next_tick.new), keys(&all_replaced.new)];
    found.retain(|pod| !still_without.iter().any(|own| own.contains(pod)));
    found.into_iter().collect()
}

fn keys(outcome: &Outcome) -> BTreeSet<&PodKey> {
    outcome.unschedulable.iter().map(|own| &own.pod).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_share_of_what_was_there() {
        assert_eq!(percent(1000, 1081).as_deref(), Some("+8.1%"));
        assert_eq!(percent(1000, 1).as_deref(), Some("-99.9%"));
        assert_eq!(percent(10_000, 10_001), None);
        assert_eq!(percent(0, 5), None);
    }
}
