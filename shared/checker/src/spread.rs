//! Topology spread that is a rule (DoNotSchedule), on the final state.
//!
//! For every domain that got a pod with the constraint: the matching pods there, less those of the
//! emptiest eligible domain, are at most `maxSkew`. Where a claim may still land in several
//! domains, it must hold for each of them. Counts lean towards the plan: pods that match without
//! carrying the constraint may have come later, so they fill the emptiest domain but do not crowd
//! another.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;
use domain::pod::{NodeInclusionPolicy, TopologySpreadConstraint};
use domain::taint::{Toleration, first_untolerated};

use crate::place::{PlaceId, PlaceKind};
use crate::plan_index::PlanIndex;
use crate::pods::{GroupId, PodId, Shape, TermsId};
use crate::reach::Reach;
use crate::report::Report;
use crate::state::State;
use crate::violation::Rule;

/// Pods that spread together: one constraint over the same nodes.
struct SpreadGroup<'w> {
    constraint: &'w TopologySpreadConstraint,
    members: Vec<PodId>,
}

/// What makes pods spread together: namespace, constraint, and what narrows the nodes that it looks
/// at.
type SpreadGroupKey<'w> = (&'w Text, &'w TopologySpreadConstraint, NodesKey<'w>);

/// What narrows the nodes that a constraint looks at: the keys of all spreads of the pod, and as
/// far as they count, node affinity and tolerations.
type NodesKey<'w> = (BTreeSet<&'w Text>, Option<TermsId>, Option<&'w [Toleration]>);

/// Judges every spread that pods new to their places take part in.
pub(crate) fn check(index: &PlanIndex<'_>, state: &State, report: &mut Report) {
    let groups = groups(index, state);
    if groups.is_empty() {
        return;
    }
    let mut rule =
        SpreadRule { index, state, reach: Reach::new(index), domains_by_key: BTreeMap::new() };
    for group in &groups {
        rule.check_group(group, report);
    }
}

/// What judging one group leaves to the next.
struct SpreadRule<'s, 'w> {
    index: &'s PlanIndex<'w>,
    state: &'s State,
    reach: Reach<'s, 'w>,
    domains_by_key: BTreeMap<&'w Text, Domains<'s>>,
}

fn groups<'w>(index: &PlanIndex<'w>, state: &State) -> Vec<SpreadGroup<'w>> {
    let mut groups: Vec<SpreadGroup<'w>> = Vec::new();
    let mut numbers: FxHashMap<SpreadGroupKey<'w>, usize> = FxHashMap::default();
    for pod in state.new_pods(index) {
        let shape: &Shape<'w> = index.pods().shape(pod);
        for constraint in shape.spreads() {
            let honors = |policy| policy == NodeInclusionPolicy::Honor;
            let spec = shape.spec;
            let nodes = (
                shape.spreads().map(|own| &own.topology_key).collect(),
                honors(constraint.node_affinity_policy).then_some(shape.node_terms),
                honors(constraint.node_taints_policy).then_some(&*spec.tolerations),
            );
            let key = (&index.pods().pod(pod).key.namespace, constraint, nodes);
            let next = groups.len();
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                groups.push(SpreadGroup { constraint, members: Vec::new() });
            }
            groups[number].members.push(pod);
        }
    }
    groups
}

/// Places by the domain that they are in for sure; those that go away are left out.
struct Domains<'s>(BTreeMap<&'s Text, Vec<PlaceId>>);

impl<'s> Domains<'s> {
    fn of(index: &'s PlanIndex<'_>, state: &State, key: &str) -> Self {
        let mut domains: BTreeMap<&'s Text, Vec<PlaceId>> = BTreeMap::new();
        for id in &state.places {
            let place = &index.places[*id];
            if let Some(domain) = place.domain(key).settled().filter(|_| !place.is_leaving()) {
                domains.entry(domain).or_default().push(*id);
            }
        }
        Self(domains)
    }
}

/// Whether a place is among the nodes that a constraint looks at.
#[derive(Clone, Copy)]
struct Inclusion {
    surely: bool,
    perhaps: bool,
}

/// Which places a group's constraint looks at, worked out as they are asked for.
struct Included<'s, 'w> {
    index: &'s PlanIndex<'w>,
    constraint: &'w TopologySpreadConstraint,
    shape: &'w Shape<'w>,
    known: FxHashMap<PlaceId, Inclusion>,
}

impl Included<'_, '_> {
    fn get(&mut self, id: PlaceId) -> Inclusion {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let inclusion = self.find(id);
        self.known.insert(id, inclusion);
        inclusion
    }

    fn find(&self, id: PlaceId) -> Inclusion {
        let place = &self.index.places[id];
        let left_out = Inclusion { surely: false, perhaps: false };
        let honors_taints = self.constraint.node_taints_policy == NodeInclusionPolicy::Honor;
        let tolerations = &self.shape.spec.tolerations;
        if honors_taints && first_untolerated(tolerations, &place.taints).is_some() {
            return left_out;
        }
        let mut surely = true;
        for constraint in self.shape.spreads() {
            let domain = place.domain(&constraint.topology_key);
            if !domain.has_value() {
                return left_out; // a node without all topology keys does not count
            }
            surely &= domain.is_there();
        }
        if self.constraint.node_affinity_policy == NodeInclusionPolicy::Ignore {
            return Inclusion { surely, perhaps: true };
        }
        let verdict = place.verdict(self.index.cluster, self.shape.node_terms);
        Inclusion { surely: surely && verdict.certain, perhaps: verdict.possible }
    }
}

/// Matching pods of a place whose domain is not settled.
#[derive(Default)]
struct Undecided {
    matching: i64,
    of_group: i64,
}

/// Matching pods by domain.
#[derive(Default)]
struct Counts<'s> {
    /// Pods that are sure to be there, and to have counted when the group's pods came.
    at_least: BTreeMap<&'s Text, i64>,
    /// Pods that may be there.
    at_most: BTreeMap<&'s Text, i64>,
    undecided: BTreeMap<PlaceId, Undecided>,
}

impl<'w> SpreadRule<'_, 'w> {
    fn check_group(&mut self, group: &SpreadGroup<'w>, report: &mut Report) {
        let Self { index, state, reach, domains_by_key } = self;
        let (index, state) = (*index, *state);
        let key = &group.constraint.topology_key;
        let domains = domains_by_key.entry(key).or_insert_with(|| Domains::of(index, state, key));
        let constraint = group.constraint;
        check_keys(index, state, group, report);
        let Some(first) = group.members.first() else { return };
        let namespace = &index.pods().pod(*first).key.namespace;
        let selected: FxHashSet<GroupId> = index
            .pods()
            .groups
            .selected(constraint.selector.as_ref(), |other| other == namespace)
            .into_iter()
            .collect();
        if constraint.selector.is_none() {
            return; // a null selector counts no pod
        }
        // Pods whose next place is not named may fill the gap.
        if state.unplaced.iter().any(|pod| selected.contains(&index.pods().group(*pod))) {
            return;
        }
        let mut included = Included {
            index,
            constraint,
            shape: index.pods().shape(*first),
            known: FxHashMap::default(),
        };
        let counts = count(index, state, group, &selected, &mut included);
        let reachable = reachable(index, group, reach);
        let Some(emptiest) = Emptiest::find(group, domains, reachable, &mut included, &counts)
        else {
            return;
        };
        let mut judge = SkewJudge { index, state, group, counts, emptiest };
        judge.check_settled(&mut included, report);
        judge.check_undecided(&mut included, report);
    }
}

fn check_keys(index: &PlanIndex<'_>, state: &State, group: &SpreadGroup<'_>, report: &mut Report) {
    let key = &group.constraint.topology_key;
    for pod in &group.members {
        let Some(place) = state.place_of(*pod).map(|place| &index.places[place]) else { continue };
        let is_open = place.kind == PlaceKind::InFlight
            || place.launch().is_some_and(|launch| launch.types.is_empty());
        if !is_open && !place.domain(key).is_there() {
            let message = format!("spreads over {key}, which {place} does not have");
            report.add(Rule::SpreadKey, &index.pods().pod(*pod).key, message);
        }
    }
}

fn count<'s>(
    index: &'s PlanIndex<'_>,
    state: &State,
    group: &SpreadGroup<'_>,
    selected: &FxHashSet<GroupId>,
    included: &mut Included<'_, '_>,
) -> Counts<'s> {
    let key = &group.constraint.topology_key;
    let own: FxHashSet<PodId> = group.members.iter().copied().collect();
    let mut counts = Counts::default();
    for (pod, id) in state.members(selected.iter().copied()) {
        let place = &index.places[id];
        let inclusion = included.get(id);
        let is_own = own.contains(&pod);
        let domain = place.domain(key);
        if let Some(value) = domain.settled() {
            *counts.at_most.entry(value).or_default() += i64::from(inclusion.perhaps);
            if inclusion.surely && !place.is_leaving() && (is_own || !state.is_new(pod)) {
                *counts.at_least.entry(value).or_default() += 1;
            }
        } else if inclusion.perhaps && domain.listed().is_some_and(|values| !values.is_empty()) {
            let undecided = counts.undecided.entry(id).or_default();
            undecided.matching += 1;
            undecided.of_group += i64::from(is_own);
        }
    }
    for (id, undecided) in &counts.undecided {
        for value in index.places[*id].domain(key).listed().unwrap_or_default() {
            *counts.at_most.entry(value).or_default() += undecided.matching;
        }
    }
    counts
}

/// The eligible domain with the fewest pods.
///
/// Eligible are the domains of nodes and claims that the constraint looks at, and those in which a
/// node could still be launched for every pod of the group.
enum Emptiest {
    /// One has none, or there are fewer domains than `minDomains`: the emptiest counts as empty.
    Empty,
    /// All of them have some.
    Among(BTreeSet<Text>),
}

impl Emptiest {
    /// `None` where no domain is eligible.
    fn find(
        group: &SpreadGroup<'_>,
        domains: &Domains<'_>,
        reachable: BTreeSet<Text>,
        included: &mut Included<'_, '_>,
        counts: &Counts<'_>,
    ) -> Option<Self> {
        let is_empty = |domain: &Text| counts.at_most.get(domain).is_none_or(|count| *count == 0);
        let mut eligible: BTreeSet<Text> = BTreeSet::new();
        for domain in reachable {
            if is_empty(&domain) {
                return Some(Self::Empty);
            }
            eligible.insert(domain);
        }
        for (domain, places) in &domains.0 {
            if !eligible.contains(*domain) && places.iter().any(|id| included.get(*id).surely) {
                if is_empty(domain) {
                    return Some(Self::Empty);
                }
                eligible.insert((*domain).clone());
            }
        }
        let wanted = group.constraint.min_domains.and_then(|least| usize::try_from(least).ok());
        if eligible.is_empty() {
            None
        } else if wanted.is_some_and(|least| eligible.len() < least) {
            Some(Self::Empty)
        } else {
            Some(Self::Among(eligible))
        }
    }

    /// How many pods it holds.
    fn holds(&self, count: impl Fn(&Text) -> i64) -> i64 {
        match self {
            Self::Empty => 0,
            Self::Among(domains) => domains.iter().map(count).min().unwrap_or(0),
        }
    }
}

/// Domains in which a node could be launched for each pod of the group.
fn reachable<'w>(
    index: &PlanIndex<'w>,
    group: &SpreadGroup<'w>,
    reach: &mut Reach<'_, 'w>,
) -> BTreeSet<Text> {
    let shapes: BTreeSet<_> =
        group.members.iter().map(|pod| index.pods().list[*pod].shape).collect();
    let mut common: Option<BTreeSet<Text>> = None;
    for shape in shapes {
        let domains = reach.domains(shape, &group.constraint.topology_key);
        common = Some(match common {
            None => BTreeSet::clone(&domains),
            Some(common) => common.intersection(&domains).cloned().collect(),
        });
    }
    common.unwrap_or_default()
}

struct SkewJudge<'j, 's, 'w> {
    index: &'s PlanIndex<'w>,
    state: &'j State,
    group: &'j SpreadGroup<'w>,
    counts: Counts<'s>,
    emptiest: Emptiest,
}

impl SkewJudge<'_, '_, '_> {
    fn at_most(&self, domain: &Text) -> i64 {
        self.counts.at_most.get(domain).copied().unwrap_or(0)
    }

    fn subject(&self) -> String {
        let first = self.group.members.first();
        first.map(|pod| self.index.pods().pod(*pod).key.to_string()).unwrap_or_default()
    }

    /// Domains that members are in for sure.
    fn check_settled(&mut self, included: &mut Included<'_, '_>, report: &mut Report) {
        let TopologySpreadConstraint { max_skew, topology_key: key, .. } = self.group.constraint;
        let mut domains: BTreeSet<&Text> = BTreeSet::new();
        let places: BTreeSet<PlaceId> =
            self.group.members.iter().filter_map(|pod| self.state.place_of(*pod)).collect();
        for id in places {
            if included.get(id).surely {
                domains.extend(self.index.places[id].domain(key).settled());
            }
        }
        let lowest = self.emptiest.holds(|domain| self.at_most(domain));
        for domain in domains {
            let held = self.counts.at_least.get(domain).copied().unwrap_or(0);
            if held - lowest > i64::from(*max_skew) {
                let message = format!(
                    "{key}={domain} holds {held} pods of its spread, the emptiest domain {lowest}: \
                     more than maxSkew {max_skew} apart"
                );
                report.add(Rule::Spread, self.subject(), message);
            }
        }
    }

    /// Claims with members that may still land in several domains: each of them must do.
    fn check_undecided(&mut self, included: &mut Included<'_, '_>, report: &mut Report) {
        let TopologySpreadConstraint { max_skew, topology_key: key, .. } = self.group.constraint;
        for (id, undecided) in &self.counts.undecided {
            if undecided.of_group == 0 || !included.get(*id).surely {
                continue;
            }
            let place = &self.index.places[*id];
            let values = place.domain(key).listed().unwrap_or_default();
            for value in values {
                let lands_here = |domain: &Text| {
                    let lands_elsewhere = domain != value && values.contains(domain);
                    self.at_most(domain) - if lands_elsewhere { undecided.matching } else { 0 }
                };
                let held =
                    self.counts.at_least.get(value).copied().unwrap_or(0) + undecided.of_group;
                let lowest = self.emptiest.holds(lands_here);
                if held - lowest > i64::from(*max_skew) {
                    let message = format!(
                        "{place} may be launched in {key}={value}, which would then hold {held} \
                         pods of its spread, the emptiest domain {lowest}: more than maxSkew \
                         {max_skew} apart"
                    );
                    report.add(Rule::Spread, self.subject(), message);
                    break;
                }
            }
        }
    }
}
