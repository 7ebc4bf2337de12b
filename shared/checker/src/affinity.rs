//! Required pod affinity and anti-affinity between all pods, once they are where the plan puts
//! them.
//!
//! Both are judged by domain: pods are entered under the domains that they may be in, so the work
//! grows with pods and not with pairs of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;

use crate::family_part::{FamilyPart, next_to_start};
use crate::place::PlaceId;
use crate::plan_index::PlanIndex;
use crate::pods::{GroupId, PodId, PodTermId};
use crate::report::Report;
use crate::state::State;
use crate::violation::Rule;

/// A domain, or a place whose domain may be any: two pods on it share that one, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Where<'s> {
    Domain(&'s Text),
    Place(PlaceId),
}

/// Where a pod at a place may be, as far as others could be there too.
fn possible<'s>(index: &'s PlanIndex<'_>, place: PlaceId, key: &str) -> Vec<Where<'s>> {
    let state = index.places[place].domain(key);
    match state.listed() {
        Some(values) => values.iter().map(Where::Domain).collect(),
        None => vec![Where::Place(place)],
    }
}

/// Where a pod at a place is for sure.
fn settled<'s>(index: &'s PlanIndex<'_>, place: PlaceId, key: &str) -> [Option<Where<'s>>; 2] {
    let domain = index.places[place].domain(key).settled().map(Where::Domain);
    [Some(Where::Place(place)), domain]
}

/// Pods that a term selects, in one domain.
#[derive(Default)]
struct Occupants {
    new: Vec<PodId>,
    old: Vec<PodId>,
}

impl Occupants {
    /// Somebody else here whom a pod must avoid: pods that were together before are not the plan's
    /// doing.
    fn other_than(&self, pod: PodId, is_new: bool) -> Option<PodId> {
        let old = if is_new { self.old.as_slice() } else { &[] };
        self.new.iter().chain(old).copied().find(|other| *other != pod)
    }
}

/// No pod shares a domain with one that its required anti-affinity selects, in both directions.
///
/// Pods of a node that is going away are on their way out, so nobody needs to avoid them there.
pub(crate) fn check_anti_affinity(index: &PlanIndex<'_>, state: &State, report: &mut Report) {
    let mut owners: BTreeMap<PodTermId, Vec<PodId>> = BTreeMap::new();
    for pod in state.pods() {
        for term in &index.pods().shape(pod).anti_affinity {
            owners.entry(*term).or_default().push(pod);
        }
    }
    for (term, owners) in owners {
        check_term(index, state, term, &owners, report);
    }
}

fn check_term(
    index: &PlanIndex<'_>,
    state: &State,
    term: PodTermId,
    owners: &[PodId],
    report: &mut Report,
) {
    let term = &index.pods().pod_terms[term];
    let key = term.topology_key;
    let mut occupied: FxHashMap<Where<'_>, Occupants> = FxHashMap::default();
    let mut groups: Vec<GroupId> = term.selected.iter().copied().collect();
    groups.sort_unstable();
    for (pod, place) in state.members(groups.into_iter()) {
        if state.is_going(index, pod) {
            continue;
        }
        for domain in possible(index, place, key) {
            let occupants = occupied.entry(domain).or_default();
            if state.is_new(pod) { &mut occupants.new } else { &mut occupants.old }.push(pod);
        }
    }
    for pod in owners {
        let stays = !state.is_going(index, *pod);
        let Some(place) = state.place_of(*pod).filter(|_| stays) else {
            continue;
        };
        let other = possible(index, place, key)
            .into_iter()
            .find_map(|domain| occupied.get(&domain)?.other_than(*pod, state.is_new(*pod)));
        let Some(other) = other else { continue };
        let at = |pod: PodId| state.place_of(pod).map(|place| index.places[place].to_string());
        let message = format!(
            "must not share {key} with {}: they are on {} and {}",
            index.pods().pod(other).key,
            at(*pod).unwrap_or_default(),
            at(other).unwrap_or_default()
        );
        report.add(Rule::AntiAffinity, &index.pods().pod(*pod).key, message);
    }
}

/// Some order of arrival lets every pod find, in its domain, a pod that each of its terms selects.
///
/// The first pod of a group that selects itself needs no other, but only while no pod of the
/// cluster that was there before, and stays, matches.
pub(crate) fn check_affinity(index: &PlanIndex<'_>, state: &State, report: &mut Report) {
    let waiting: Vec<PodId> = state
        .new_pods(index)
        .into_iter()
        .filter(|pod| !index.pods().shape(*pod).affinity.is_empty())
        .collect();
    if waiting.is_empty() {
        return;
    }
    let mut arrivals = Arrivals::new(index, state, &waiting);
    arrivals.run();
    let unplaced: FxHashSet<GroupId> =
        state.unplaced.iter().map(|pod| index.pods().group(*pod)).collect();
    for pod in waiting.into_iter().filter(|pod| !arrivals.has_arrived[*pod]) {
        let terms = || {
            let terms = index.pods().shape(pod).affinity.iter();
            terms.map(|term| &index.pods().pod_terms[*term])
        };
        // A pod whose next place is not named may be the one that it needs.
        if terms().any(|term| !term.selected.is_disjoint(&unplaced)) {
            continue;
        }
        let mut keys: Vec<&str> = terms().map(|term| &**term.topology_key).collect();
        keys.sort_unstable();
        keys.dedup();
        let place = state.place_of(pod).map(|place| index.places[place].to_string());
        let message = format!(
            "no pod that its required pod affinity selects is in its {} on {}",
            keys.join(", "),
            place.unwrap_or_default()
        );
        report.add(Rule::PodAffinity, &index.pods().pod(pod).key, message);
    }
}

/// Pods that arrive one after another, each as soon as all its terms are met where it goes.
struct Arrivals<'s, 'w> {
    index: &'s PlanIndex<'w>,
    state: &'s State,
    /// By term, where a pod that it selects has arrived.
    reached: FxHashSet<(PodTermId, Where<'s>)>,
    /// Pods that wait for a term to be met somewhere.
    waiting_for: FxHashMap<(PodTermId, Where<'s>), Vec<PodId>>,
    /// By pod, the terms that are not met yet; a pod that may lack a topology key keeps one for
    /// good.
    unmet: FxHashMap<PodId, Vec<PodTermId>>,
    /// By label group, the terms of waiting pods that select it.
    selecting: FxHashMap<GroupId, Vec<PodTermId>>,
    has_arrived: Vec<bool>,
    ready: VecDeque<PodId>,
    /// Waiting pods by the terms they share, in the order of their first pod.
    families: Vec<(&'s [PodTermId], Vec<PodId>)>,
    /// By family, whether one of its pods was the first, which needs no other.
    has_started: Vec<bool>,
}

impl<'s, 'w> Arrivals<'s, 'w> {
    fn new(index: &'s PlanIndex<'w>, state: &'s State, waiting: &[PodId]) -> Self {
        let mut arrivals = Self {
            index,
            state,
            reached: FxHashSet::default(),
            waiting_for: FxHashMap::default(),
            unmet: FxHashMap::default(),
            selecting: FxHashMap::default(),
            has_arrived: vec![false; index.pods().list.len()],
            ready: VecDeque::new(),
            families: Vec::new(),
            has_started: Vec::new(),
        };
        let mut terms = FxHashSet::default();
        let mut numbers: FxHashMap<&'s [PodTermId], usize> = FxHashMap::default();
        for pod in waiting {
            let own: &'s [PodTermId] = &index.pods().shape(*pod).affinity;
            arrivals.unmet.insert(*pod, own.to_vec());
            let next = arrivals.families.len();
            let number = *numbers.entry(own).or_insert(next);
            if number == next {
                arrivals.families.push((own, Vec::new()));
                arrivals.has_started.push(false);
            }
            arrivals.families[number].1.push(*pod);
            for term in own {
                arrivals.subscribe(*pod, *term);
                if terms.insert(*term) {
                    for group in &index.pods().pod_terms[*term].selected {
                        arrivals.selecting.entry(*group).or_default().push(*term);
                    }
                }
            }
        }
        arrivals
    }

    fn key(&self, term: PodTermId) -> &'s Text {
        self.index.pods().pod_terms[term].topology_key
    }

    fn is_sure_of_domain(&self, pod: PodId, term: PodTermId) -> bool {
        let place = self.state.place_of(pod);
        place.is_some_and(|place| self.index.places[place].domain(self.key(term)).is_there())
    }

    fn subscribe(&mut self, pod: PodId, term: PodTermId) {
        let Some(place) = self.state.place_of(pod) else { return };
        if !self.is_sure_of_domain(pod, term) {
            return; // no arrival can meet it
        }
        for domain in settled(self.index, place, self.key(term)).into_iter().flatten() {
            self.waiting_for.entry((term, domain)).or_default().push(pod);
        }
    }

    fn run(&mut self) {
        let others: Vec<PodId> =
            self.state.pods().filter(|pod| !self.unmet.contains_key(pod)).collect();
        for pod in others {
            self.arrive(pod);
        }
        loop {
            while let Some(pod) = self.ready.pop_front() {
                self.arrive(pod);
            }
            // Nobody can follow anybody: groups may start by themselves.
            let first = self.first_of_families();
            if first.is_empty() {
                return;
            }
            self.ready.extend(first);
        }
    }

    fn arrive(&mut self, pod: PodId) {
        if std::mem::replace(&mut self.has_arrived[pod], true) {
            return;
        }
        let Some(place) = self.state.place_of(pod) else { return };
        let terms = self.selecting.get(&self.index.pods().group(pod)).cloned().unwrap_or_default();
        for term in terms {
            for domain in settled(self.index, place, self.key(term)).into_iter().flatten() {
                if self.reached.insert((term, domain)) {
                    self.meet(term, domain);
                }
            }
        }
    }

    fn meet(&mut self, term: PodTermId, domain: Where<'s>) {
        for pod in self.waiting_for.remove(&(term, domain)).unwrap_or_default() {
            let Some(unmet) = self.unmet.get_mut(&pod) else { continue };
            let before = unmet.len();
            unmet.retain(|other| *other != term);
            if unmet.is_empty() && before > 0 {
                self.ready.push_back(pod);
            }
        }
    }

    /// Pods that are the first of their families, as [`next_to_start`] has it.
    fn first_of_families(&mut self) -> Vec<PodId> {
        let parts = self.parts();
        let first = next_to_start(&parts, |part| self.starter(part));
        for (part, _) in &first {
            self.has_started[parts[*part].family] = true;
        }
        first.into_iter().map(|(_, pod)| pod).collect()
    }

    /// Pods that still wait, by family and the domains in which they must find others.
    fn parts(&self) -> Vec<FamilyPart> {
        let mut parts: Vec<FamilyPart> = Vec::new();
        let mut numbers: FxHashMap<(usize, Vec<Where<'s>>), usize> = FxHashMap::default();
        let mut offered: FxHashMap<(PodTermId, Where<'s>), BTreeSet<usize>> = FxHashMap::default();
        let waiting = |pod: &PodId| !self.has_arrived[*pod];
        for (family, (terms, pods)) in self.families.iter().enumerate() {
            for pod in pods.iter().copied().filter(waiting) {
                let domains = self.domains(terms, pod);
                let number = *numbers.entry((family, domains)).or_insert(parts.len());
                if number == parts.len() {
                    parts.push(FamilyPart { family, pods: Vec::new(), others: BTreeSet::new() });
                }
                parts[number].pods.push(pod);
                for offer in self.offers(pod) {
                    offered.entry(offer).or_default().insert(number);
                }
            }
        }
        for ((family, domains), number) in numbers {
            let (terms, _) = &self.families[family];
            let unmet = parts[number].pods.first().and_then(|pod| self.unmet.get(pod));
            let is_unmet = |term: &PodTermId| unmet.is_some_and(|unmet| unmet.contains(term));
            let sought = terms.iter().copied().zip(domains).filter(|(term, _)| is_unmet(term));
            let helping = |own| -> BTreeSet<usize> {
                let others = offered.get(&own).into_iter().flatten().copied();
                others.filter(|other| *other != number).collect()
            };
            let helpers: Vec<BTreeSet<usize>> = sought.map(helping).collect();
            // Nobody could help where one of the terms is met by none.
            if !helpers.iter().any(BTreeSet::is_empty) {
                parts[number].others = helpers.into_iter().flatten().collect();
            }
        }
        parts
    }

    /// Where the pod must find another for each of the terms.
    fn domains(&self, terms: &[PodTermId], pod: PodId) -> Vec<Where<'s>> {
        let Some(place) = self.state.place_of(pod) else { return Vec::new() };
        let last = |term: &PodTermId| {
            settled(self.index, place, self.key(*term)).into_iter().flatten().last()
        };
        terms.iter().filter_map(last).collect()
    }

    /// Terms that are met by the pod, each with a domain where it meets them.
    fn offers(&self, pod: PodId) -> Vec<(PodTermId, Where<'s>)> {
        let Some(place) = self.state.place_of(pod) else { return Vec::new() };
        let terms = self.selecting.get(&self.index.pods().group(pod)).into_iter().flatten();
        let offers = |term: &PodTermId| {
            let domains = settled(self.index, place, self.key(*term)).into_iter().flatten();
            let term = *term;
            domains.map(move |domain| (term, domain))
        };
        terms.flat_map(offers).collect()
    }

    /// The first pod by name of those that may be the first of their family: it selects itself, its
    /// domains are sure, nobody has started the family, and nothing that was there before matches
    /// all its terms.
    fn starter(&self, part: &FamilyPart) -> Option<PodId> {
        let (terms, _) = self.families[part.family];
        let selects = |group: GroupId| {
            let mut terms = terms.iter().map(|term| &self.index.pods().pod_terms[*term]);
            terms.all(|term| term.selected.contains(&group))
        };
        let mut able = part.pods.iter().copied().filter(|pod| {
            selects(self.index.pods().group(*pod))
                && terms.iter().all(|term| self.is_sure_of_domain(*pod, *term))
        });
        let first = able.next()?;
        let is_closed = self.has_started[part.family] || self.is_matched_before(terms, selects);
        (!is_closed).then_some(first)
    }

    /// Whether a pod that was there before the plan, and stays, matches all the terms, in a domain
    /// of one of them.
    fn is_matched_before(&self, terms: &[PodTermId], selects: impl Fn(GroupId) -> bool) -> bool {
        let Some(term) = terms.first() else { return true };
        let groups = self.index.pods().pod_terms[*term].selected.iter().copied();
        let mut members = self.state.members(groups.filter(|group| selects(*group)));
        let is_in_a_domain = |place: PlaceId| {
            let place = &self.index.places[place];
            terms.iter().any(|term| place.domain(self.key(*term)).has_value())
        };
        members.any(|(pod, place)| {
            !self.state.is_new(pod)
                && !self.state.is_going(self.index, pod)
                && is_in_a_domain(place)
        })
    }
}
