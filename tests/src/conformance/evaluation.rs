//! Holds a plan against what a scenario expects.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::{ObjectKey, PodKey};
use domain::snapshot::ClusterSnapshot;

use super::error::ScenarioError;
use super::expectation::{
    AllOrNone, Count, DisruptionExpected, DisruptionsExpected, Expect, NodeExpected, NodesExpected,
    PodsExpected, SpreadExpected, TypesExpected,
};
use super::outcome::{Location, Outcome};

/// Why the plan is not as expected, empty if it is.
///
/// An error is an expectation that could never be checked: of a pod or a node that the scenario
/// does not have.
pub fn unmet_expectations(
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    expect: &Expect,
) -> Result<Vec<String>, ScenarioError> {
    if expect.is_empty() {
        return Err(senseless("expect is empty"));
    }
    let mut evaluation = Evaluation { outcome: Outcome::new(snapshot, plan), reasons: Vec::new() };
    evaluation.pods(expect)?;
    evaluation.groups(expect)?;
    for expected in expect.spread.iter().flatten() {
        evaluation.spread(expected)?;
    }
    for expected in expect.nodes.iter().flatten() {
        evaluation.node(expected)?;
    }
    evaluation.disruption(expect)?;
    if let Some(wanted) = expect.saves_money {
        let totals = &plan.totals;
        if (totals.hourly_after < totals.hourly_before) != wanted {
            let (before, after) = (totals.hourly_before, totals.hourly_after);
            evaluation
                .fail(format!("savesMoney: {before} before, {after} after: {wanted} expected"));
        }
    }
    Ok(evaluation.reasons)
}

fn senseless(problem: impl Into<String>) -> ScenarioError {
    ScenarioError::Senseless(problem.into())
}

struct Evaluation<'a> {
    outcome: Outcome<'a>,
    reasons: Vec<String>,
}

impl Evaluation<'_> {
    fn fail(&mut self, reason: String) {
        self.reasons.push(reason);
    }

    /// The key of a pod that the scenario has; `name` means `default/name`.
    fn pod(&self, name: &str) -> Result<PodKey, ScenarioError> {
        let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
        let key = ObjectKey::new(namespace, name);
        if self.outcome.pods.contains_key(&key) || self.outcome.may_be_added(&key) {
            Ok(key)
        } else {
            Err(senseless(format!("pod {key} is not among its objects")))
        }
    }

    fn place<'n>(&self, name: &'n str) -> Result<&'n str, ScenarioError> {
        if self.outcome.has_place(name) {
            Ok(name)
        } else {
            Err(senseless(format!("{name} is neither a node nor a claim among its objects")))
        }
    }

    fn place_of(&self, pod: &PodKey) -> String {
        let location = self.outcome.locations.get(pod);
        location.map_or_else(|| "no node".to_owned(), |location| location.name().to_string())
    }

    fn why_unschedulable(&self, pod: &PodKey) -> String {
        let entry = self.outcome.plan.unschedulable.iter().find(|entry| entry.pod == *pod);
        entry.map_or_else(
            || "not mentioned".to_owned(),
            |entry| {
                let reasons: Vec<_> = entry.reasons.iter().map(ToString::to_string).collect();
                reasons.join("; ")
            },
        )
    }

    /// `scheduled`, `unschedulable`, `newNodes`.
    fn pods(&mut self, expect: &Expect) -> Result<(), ScenarioError> {
        let of_word = |wanted: &Option<PodsExpected>| {
            matches!(wanted, Some(PodsExpected::Word(AllOrNone::All)))
        };
        let expects_all = of_word(&expect.scheduled) || of_word(&expect.unschedulable);
        if expects_all && self.outcome.pending().is_empty() {
            return Err(senseless("expects something of all pending pods, but none is pending"));
        }
        if let Some(wanted) = &expect.scheduled {
            let scheduled = self.outcome.scheduled.clone();
            for (pod, is_missing) in self.deviations(wanted, &scheduled)? {
                self.fail(if is_missing {
                    format!("scheduled: {pod} is not: {}", self.why_unschedulable(&pod))
                } else {
                    format!("scheduled: {pod} is, on {}; none expected", self.place_of(&pod))
                });
            }
        }
        if let Some(wanted) = &expect.unschedulable {
            let unschedulable = self.outcome.unschedulable.clone();
            for (pod, is_missing) in self.deviations(wanted, &unschedulable)? {
                self.fail(if is_missing {
                    format!("unschedulable: {pod} is not listed")
                } else {
                    format!("unschedulable: {pod} is listed: {}", self.why_unschedulable(&pod))
                });
            }
        }
        if let Some(wanted) = &expect.new_nodes {
            let number = self.outcome.plan.node_claims.len();
            if !wanted.matches(number) {
                self.fail(format!("newNodes: {number}, expected {wanted:?}"));
            }
        }
        Ok(())
    }

    /// Pods that are not as expected, and whether they are missing (rather than too many).
    fn deviations(
        &self,
        wanted: &PodsExpected,
        actual: &BTreeSet<&PodKey>,
    ) -> Result<Vec<(PodKey, bool)>, ScenarioError> {
        let missing = |pod: &PodKey| !actual.contains(pod);
        Ok(match wanted {
            PodsExpected::Word(AllOrNone::All) => {
                let pending = self.outcome.pending().into_iter().cloned();
                pending.filter(missing).map(|pod| (pod, true)).collect()
            }
            PodsExpected::Word(AllOrNone::None) => {
                actual.iter().map(|pod| ((*pod).clone(), false)).collect()
            }
            PodsExpected::Listed(names) if names.is_empty() => {
                return Err(senseless("an empty list of pods"));
            }
            PodsExpected::Listed(names) => {
                let pods: Result<Vec<_>, _> = names.iter().map(|name| self.pod(name)).collect();
                pods?.into_iter().filter(missing).map(|pod| (pod, true)).collect()
            }
        })
    }

    /// `together`, `apart`, `placed`.
    fn groups(&mut self, expect: &Expect) -> Result<(), ScenarioError> {
        for group in expect.together.iter().flatten() {
            let places = self.places_of(group, "together")?;
            if places.windows(2).any(|pair| pair[0].1 != pair[1].1) {
                let shown: Vec<_> = places
                    .iter()
                    .map(|(pod, _)| format!("{pod} is on {}", self.place_of(pod)))
                    .collect();
                self.fail(format!("together: {}", shown.join(", ")));
            }
        }
        for group in expect.apart.iter().flatten() {
            let places = self.places_of(group, "apart")?;
            let mut pods_by_place: BTreeMap<String, &PodKey> = BTreeMap::new();
            let mut shared = Vec::new();
            for (pod, place) in &places {
                if let Some(other) = pods_by_place.insert(place.clone(), pod) {
                    shared.push(format!(
                        "apart: {pod} and {other} are both on {}",
                        self.place_of(pod)
                    ));
                }
            }
            self.reasons.extend(shared);
        }
        for (name, node) in expect.placed.iter().flatten() {
            let (pod, node) = (self.pod(name)?, self.place(node)?);
            let placements = &self.outcome.plan.placements;
            if !placements.iter().any(|entry| entry.pod == pod && &*entry.node == node) {
                self.fail(format!("placed: {pod} is on {}, expected {node}", self.place_of(&pod)));
            }
        }
        Ok(())
    }

    /// The pods of a group that are somewhere, each with its place; those that are not are
    /// failures.
    fn places_of(
        &mut self,
        group: &[String],
        what: &str,
    ) -> Result<Vec<(PodKey, String)>, ScenarioError> {
        if group.len() < 2 {
            return Err(senseless(format!("{what} has a list of fewer than two pods")));
        }
        let mut places = Vec::new();
        for name in group {
            let pod = self.pod(name)?;
            match self.outcome.locations.get(&pod).map(|location| format!("{location:?}")) {
                Some(place) => places.push((pod, place)),
                None => self.fail(format!("{what}: {pod} is on no node")),
            }
        }
        Ok(places)
    }

    fn spread(&mut self, expected: &SpreadExpected) -> Result<(), ScenarioError> {
        let SpreadExpected { selector, key, counts, max_skew } = expected;
        let selector = selector.selector();
        if selector.expressions().is_empty() || (counts.is_none() && max_skew.is_none()) {
            return Err(senseless("spread needs selector, key and counts or maxSkew"));
        }
        let mut matching =
            self.outcome.pods.values().filter(|pod| selector.matches(&pod.labels)).peekable();
        if matching.peek().is_none() {
            return Err(senseless("the selector of spread matches no pod among its objects"));
        }
        let mut domains: BTreeMap<String, usize> = BTreeMap::new();
        let mut outside: Option<(&PodKey, &Location<'_>)> = None;
        for pod in matching {
            let Some(location) = self.outcome.locations.get(&pod.key) else { continue };
            match self.outcome.domain(location, key) {
                Some(domain) => *domains.entry(domain).or_default() += 1,
                None => outside = outside.or(Some((&pod.key, location))),
            }
        }
        // A Node without the key is in no domain, which is settled; a claim may still land
        // anywhere.
        let unsettled = outside
            .filter(|(_, location)| counts.is_none() || !matches!(location, Location::Node(_)))
            .map(|(pod, location)| {
                format!("spread: the {key} of {pod} on {} is not settled", location.name())
            });
        if let Some(reason) = unsettled {
            self.fail(reason);
            return Ok(());
        }
        let mut have: Vec<usize> = domains.values().copied().collect();
        have.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(counts) = counts {
            let mut wanted = counts.clone();
            wanted.sort_unstable_by(|a, b| b.cmp(a));
            if have != wanted {
                self.fail(format!("spread: {domains:?} by {key}, expected {counts:?}"));
            }
        }
        if let Some(max_skew) = max_skew {
            match (have.first(), have.last()) {
                (Some(most), Some(least)) if most - least <= *max_skew => {}
                (None, _) | (_, None) => {
                    self.fail("spread: no pod that matches is on a node".into());
                }
                _ => {
                    self.fail(format!("spread: {domains:?} by {key}, maxSkew {max_skew} expected"));
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, expected: &NodeExpected) -> Result<(), ScenarioError> {
        let NodeExpected { pod, node_pool, zone, capacity_type, instance_type, .. } = expected;
        let pod = self.pod(pod)?;
        let Some(claim) = self.outcome.claim_of(&pod) else {
            self.fail(format!("nodes: {pod} is not on a new claim"));
            return Ok(());
        };
        let have = [
            ("nodePool", node_pool, &*claim.node_pool),
            ("zone", zone, &*claim.offering.zone),
            ("capacityType", capacity_type, claim.offering.capacity_type.as_str()),
            ("instanceType", instance_type, &*claim.offering.instance_type),
        ];
        for (what, wanted, have) in have {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| !wanted.contains(have)) {
                self.fail(format!("nodes: {what} of {pod} is {have}, expected {wanted:?}"));
            }
        }
        self.claim_lists(&pod, claim, expected);
        Ok(())
    }

    /// What is expected of the lists of a claim.
    fn claim_lists(&mut self, pod: &PodKey, claim: &PlannedNodeClaim, expected: &NodeExpected) {
        let NodeExpected { instance_types, labels, taints, pods, .. } = expected;
        if let Some(wanted) = instance_types
            && let Some(reason) = types_mismatch(wanted, &claim.instance_types)
        {
            self.fail(format!("nodes: instanceTypes of {pod}: {reason}"));
        }
        for (key, wanted) in labels.iter().flatten() {
            let found = self.outcome.claim_label(claim, key, &claim.instance_types);
            if found.as_ref() != Some(wanted) {
                self.fail(format!(
                    "nodes: label {key} of {pod}'s node is {found:?}, expected {wanted}"
                ));
            }
        }
        if let Some(wanted) = taints {
            let missing = wanted.iter().find(|wanted| {
                !claim.taints.iter().any(|taint| {
                    *taint.key == wanted.key
                        && *taint.value == wanted.value
                        && taint.effect.as_str() == wanted.effect
                })
            });
            if let Some(missing) = missing {
                self.fail(format!("nodes: taint {missing:?} is not on {}", claim.name));
            } else if let (true, Some(taint)) = (wanted.is_empty(), claim.taints.first()) {
                self.fail(format!("nodes: {} has taint {taint}, expected none", claim.name));
            }
        }
        if let Some(wanted) = pods
            && !wanted.matches(claim.pods.len())
        {
            let number = claim.pods.len();
            self.fail(format!("nodes: {number} pods with {pod}, expected {wanted:?}"));
        }
    }

    /// `disruptions`, `maxDisruptedNodes`, `blocked`.
    fn disruption(&mut self, expect: &Expect) -> Result<(), ScenarioError> {
        let plan = self.outcome.plan;
        if let Some(expected) = &expect.disruptions {
            let wanted: &[DisruptionExpected] = match expected {
                DisruptionsExpected::Word(_) => &[],
                DisruptionsExpected::Listed(listed) => listed,
            };
            for item in wanted {
                self.must_make_sense(item)?;
            }
            self.matched_disruptions(wanted);
        }
        if let Some(most) = expect.max_disrupted_nodes {
            let nodes: BTreeSet<&Text> =
                plan.disruptions.iter().flat_map(|entry| &entry.nodes).collect();
            if nodes.len() > most {
                self.fail(format!(
                    "maxDisruptedNodes: {} are, expected at most {most}",
                    nodes.len()
                ));
            }
        }
        for node in expect.blocked.iter().flatten() {
            let node = self.place(node)?;
            if !plan.blocked.iter().any(|entry| &*entry.node == node) {
                self.fail(format!("blocked: {node} is not in blocked"));
            }
        }
        Ok(())
    }

    fn must_make_sense(&self, wanted: &DisruptionExpected) -> Result<(), ScenarioError> {
        let names = match &wanted.nodes {
            None if wanted.reason.is_none() => {
                return Err(senseless("a disruption names neither reason nor nodes"));
            }
            None => return Ok(()),
            Some(NodesExpected::Named(names)) => names,
            Some(NodesExpected::Some(some)) => &some.of,
        };
        names.iter().try_for_each(|name| self.place(name).map(|_| ()))
    }

    /// Each wanted disruption is matched by one of the plan's, all different, and none is left
    /// over.
    fn matched_disruptions(&mut self, wanted: &[DisruptionExpected]) {
        let actual = &self.outcome.plan.disruptions;
        let matches: Vec<Vec<bool>> = wanted
            .iter()
            .map(|item| {
                actual.iter().map(|entry| disruption_mismatch(item, entry).is_none()).collect()
            })
            .collect();
        let mut taken: Vec<Option<usize>> = vec![None; actual.len()];
        let mut reasons = Vec::new();
        for (index, item) in wanted.iter().enumerate() {
            if !assign(index, &matches, &mut taken, &mut vec![false; actual.len()]) {
                let why: Vec<_> = actual
                    .iter()
                    .map(|entry| {
                        let why = disruption_mismatch(item, entry);
                        format!(
                            "{}: {}",
                            shown(entry),
                            why.as_deref().unwrap_or("matched by another")
                        )
                    })
                    .collect();
                reasons.push(format!("disruptions[{index}]: none matches ({})", why.join("; ")));
            }
        }
        for (entry, _) in actual.iter().zip(&taken).filter(|(_, taken)| taken.is_none()) {
            reasons.push(format!("disruptions: {} is not expected", shown(entry)));
        }
        self.reasons.extend(reasons);
    }
}

fn shown(entry: &PlannedDisruption) -> String {
    format!("{} of {}", entry.reason, entry.nodes.join(", "))
}

/// Finds a disruption for the wanted one, moving others to their alternatives (augmenting paths).
fn assign(
    wanted: usize,
    matches: &[Vec<bool>],
    taken: &mut Vec<Option<usize>>,
    tried: &mut Vec<bool>,
) -> bool {
    for actual in 0..taken.len() {
        if !matches[wanted][actual] || tried[actual] {
            continue;
        }
        tried[actual] = true;
        if taken[actual].is_none_or(|other| assign(other, matches, taken, tried)) {
            taken[actual] = Some(wanted);
            return true;
        }
    }
    false
}

/// Why a disruption of the plan is not the wanted one; `None` if it is.
fn disruption_mismatch(wanted: &DisruptionExpected, entry: &PlannedDisruption) -> Option<String> {
    let DisruptionExpected {
        reason,
        nodes,
        replacements,
        replacement_types,
        replacement_capacity_type,
    } = wanted;
    if reason.is_some_and(|reason| format!("{reason:?}") != entry.reason.as_str()) {
        return Some(format!("reason is {}", entry.reason));
    }
    if let Some(mismatch) = nodes.as_ref().and_then(|nodes| nodes_mismatch(nodes, &entry.nodes)) {
        return Some(mismatch);
    }
    let number = entry.replacements.len();
    if replacements.as_ref().is_some_and(|wanted: &Count| !wanted.matches(number)) {
        return Some(format!("{number} replacements"));
    }
    if number == 0 && (replacement_types.is_some() || replacement_capacity_type.is_some()) {
        return Some("no replacement".into());
    }
    entry.replacements.iter().find_map(|claim| {
        let types = replacement_types.as_ref();
        types.and_then(|wanted| types_mismatch(wanted, &claim.instance_types)).or_else(|| {
            let capacity_type = claim.offering.capacity_type.as_str();
            let wanted = replacement_capacity_type.as_ref()?;
            (!wanted.contains(capacity_type)).then(|| format!("a replacement is {capacity_type}"))
        })
    })
}

fn nodes_mismatch(wanted: &NodesExpected, have: &[Text]) -> Option<String> {
    let have: BTreeSet<&str> = have.iter().map(|node| &**node).collect();
    match wanted {
        NodesExpected::Named(names) => {
            let names: BTreeSet<&str> = names.iter().map(|name| &**name).collect();
            (have != names).then(|| format!("nodes are {have:?}"))
        }
        NodesExpected::Some(some) if !some.count.matches(have.len()) => {
            Some(format!("{} nodes, expected {:?}", have.len(), some.count))
        }
        NodesExpected::Some(some) => {
            let other = have.iter().find(|node| !some.of.iter().any(|name| name == *node));
            other.map(|node| format!("node {node} is not one of them"))
        }
    }
}

/// Why a list of instance types is not as wanted; `None` if it is.
fn types_mismatch(wanted: &TypesExpected, types: &[Text]) -> Option<String> {
    let TypesExpected { only, any, all, none, at_least, at_most } = wanted;
    let have: BTreeSet<&str> = types.iter().map(|name| &**name).collect();
    let listed = |name: &&String| have.contains(name.as_str());
    if let Some(only) = only
        && let Some(other) = have.iter().find(|name| !only.iter().any(|own| own == *name))
    {
        return Some(format!("only: it also lists {other}"));
    }
    if let Some(any) = any
        && !any.iter().any(|name| listed(&name))
    {
        return Some(format!("any: none of {any:?} is listed"));
    }
    if let Some(missing) = all.iter().flatten().find(|name| !listed(name)) {
        return Some(format!("all: {missing} is not listed"));
    }
    if let Some(unwanted) = none.iter().flatten().find(listed) {
        return Some(format!("none: {unwanted} is listed"));
    }
    if at_least.is_some_and(|least| have.len() < least)
        || at_most.is_some_and(|most| have.len() > most)
    {
        return Some(format!("{} types, expected {at_least:?} to {at_most:?}", have.len()));
    }
    None
}
