//! Topology spread that is a rule (DoNotSchedule), on the final state.
//!
//! For every domain that got a pod with the constraint: the matching pods there, less those of the emptiest
//! eligible domain, are at most `maxSkew`. Where a claim may still land in several domains, it must hold for
//! each of them. Counts lean towards the plan: pods that match without carrying the constraint may have come
//! later, so they fill the emptiest domain but do not crowd another.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;
use domain::pod::{NodeInclusionPolicy, TopologySpreadConstraint};
use domain::taint::{Toleration, first_untolerated};

use crate::place::{PlaceId, PlaceKind};
use crate::pods::{GroupId, PodId, Shape, TermsId};
use crate::reach::Reach;
use crate::report::Report;
use crate::scene::Scene;
use crate::state::State;
use crate::violation::Rule;

/// Pods that spread together: one constraint over the same nodes.
struct Team<'w> {
    constraint: &'w TopologySpreadConstraint,
    members: Vec<PodId>,
}

/// What makes pods spread together: namespace, constraint, and as far as these narrow the domains, node
/// affinity and tolerations.
type TeamKey<'w> =
    (&'w Text, &'w TopologySpreadConstraint, Option<TermsId>, Option<&'w [Toleration]>);

/// Judges every spread that pods new to their places take part in.
pub(crate) fn check(scene: &Scene<'_>, state: &State, report: &mut Report) {
    let teams = teams(scene, state);
    if teams.is_empty() {
        return;
    }
    let mut reach = Reach::new(scene);
    let mut by_domain: BTreeMap<&Text, Domains<'_>> = BTreeMap::new();
    for team in &teams {
        let key = &team.constraint.topology_key;
        let domains = by_domain.entry(key).or_insert_with(|| Domains::of(scene, state, key));
        check_team(scene, state, team, domains, &mut reach, report);
    }
}

fn teams<'w>(scene: &Scene<'w>, state: &State) -> Vec<Team<'w>> {
    let mut teams: Vec<Team<'w>> = Vec::new();
    let mut numbers: FxHashMap<TeamKey<'w>, usize> = FxHashMap::default();
    for pod in state.new_pods(scene) {
        let shape: &Shape<'w> = scene.pods().shape(pod);
        for constraint in shape.spreads() {
            let honors = |policy| policy == NodeInclusionPolicy::Honor;
            let spec = shape.spec;
            let key = (
                &scene.pods().pod(pod).key.namespace,
                constraint,
                honors(constraint.node_affinity_policy).then_some(shape.node_terms),
                honors(constraint.node_taints_policy).then_some(&*spec.tolerations),
            );
            let next = teams.len();
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                teams.push(Team { constraint, members: Vec::new() });
            }
            teams[number].members.push(pod);
        }
    }
    teams
}

/// Places by the domain that they are in for sure; those that go away are left out.
struct Domains<'s>(BTreeMap<&'s Text, Vec<PlaceId>>);

impl<'s> Domains<'s> {
    fn of(scene: &'s Scene<'_>, state: &State, key: &str) -> Self {
        let mut domains: BTreeMap<&'s Text, Vec<PlaceId>> = BTreeMap::new();
        for id in &state.places {
            let place = &scene.places[*id];
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

/// Which places a team's constraint looks at, worked out as they are asked for.
struct Included<'s, 'w> {
    scene: &'s Scene<'w>,
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
        let place = &self.scene.places[id];
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
        let verdict = place.verdict(self.scene.world, self.shape.node_terms);
        Inclusion { surely: surely && verdict.certain, perhaps: verdict.possible }
    }
}

/// Matching pods of a place whose domain is not settled.
#[derive(Default)]
struct Undecided {
    matching: i64,
    of_team: i64,
}

/// Matching pods by domain.
#[derive(Default)]
struct Counts<'s> {
    /// Pods that are sure to be there, and to have counted when the team's pods came.
    at_least: BTreeMap<&'s Text, i64>,
    /// Pods that may be there.
    at_most: BTreeMap<&'s Text, i64>,
    undecided: BTreeMap<PlaceId, Undecided>,
}

fn check_team<'s, 'w>(
    scene: &'s Scene<'w>,
    state: &State,
    team: &Team<'w>,
    domains: &Domains<'s>,
    reach: &mut Reach<'s, 'w>,
    report: &mut Report,
) {
    let constraint = team.constraint;
    check_keys(scene, state, team, report);
    let Some(first) = team.members.first() else { return };
    let namespace = &scene.pods().pod(*first).key.namespace;
    let selected: FxHashSet<GroupId> = scene
        .pods()
        .groups
        .selected(constraint.selector.as_ref(), |other| other == namespace)
        .into_iter()
        .collect();
    if constraint.selector.is_none() {
        return; // a null selector counts no pod
    }
    // Pods whose next place is not named may fill the gap.
    if state.unplaced.iter().any(|pod| selected.contains(&scene.pods().group(*pod))) {
        return;
    }
    let mut included = Included {
        scene,
        constraint,
        shape: scene.pods().shape(*first),
        known: FxHashMap::default(),
    };
    let counts = count(scene, state, team, &selected, &mut included);
    let Some(emptiest) = Emptiest::find(scene, team, domains, &mut included, reach, &counts) else {
        return;
    };
    let mut judge = SkewJudge { scene, state, team, counts, emptiest };
    judge.check_settled(&mut included, report);
    judge.check_undecided(&mut included, report);
}

fn check_keys(scene: &Scene<'_>, state: &State, team: &Team<'_>, report: &mut Report) {
    let key = &team.constraint.topology_key;
    for pod in &team.members {
        let Some(place) = state.place_of(*pod).map(|place| &scene.places[place]) else { continue };
        let is_open = place.kind == PlaceKind::InFlight
            || place.launch().is_some_and(|launch| launch.types.is_empty());
        if !is_open && !place.domain(key).is_there() {
            let message = format!("spreads over {key}, which {place} does not have");
            report.add(Rule::SpreadKey, &scene.pods().pod(*pod).key, message);
        }
    }
}

fn count<'s>(
    scene: &'s Scene<'_>,
    state: &State,
    team: &Team<'_>,
    selected: &FxHashSet<GroupId>,
    included: &mut Included<'_, '_>,
) -> Counts<'s> {
    let key = &team.constraint.topology_key;
    let own: FxHashSet<PodId> = team.members.iter().copied().collect();
    let mut counts = Counts::default();
    for (pod, id) in state.members(selected.iter().copied()) {
        let place = &scene.places[id];
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
            undecided.of_team += i64::from(is_own);
        }
    }
    for (id, undecided) in &counts.undecided {
        for value in scene.places[*id].domain(key).listed().unwrap_or_default() {
            *counts.at_most.entry(value).or_default() += undecided.matching;
        }
    }
    counts
}

/// The eligible domain with the fewest pods.
///
/// Eligible are the domains of nodes and claims that the constraint looks at, and those in which a node could
/// still be launched for every pod of the team.
enum Emptiest {
    /// One has none, or there are fewer domains than `minDomains`: the emptiest counts as empty.
    Empty,
    /// All of them have some.
    Among(BTreeSet<Text>),
}

impl Emptiest {
    /// `None` where no domain is eligible.
    fn find<'s, 'w>(
        scene: &Scene<'w>,
        team: &Team<'w>,
        domains: &Domains<'s>,
        included: &mut Included<'_, '_>,
        reach: &mut Reach<'s, 'w>,
        counts: &Counts<'_>,
    ) -> Option<Self> {
        let is_empty = |domain: &Text| counts.at_most.get(domain).is_none_or(|count| *count == 0);
        let mut eligible: BTreeSet<Text> = BTreeSet::new();
        for domain in reachable(scene, team, reach) {
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
        let wanted = team.constraint.min_domains.and_then(|least| usize::try_from(least).ok());
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

/// Domains in which a node could be launched for each pod of the team.
fn reachable<'w>(scene: &Scene<'w>, team: &Team<'w>, reach: &mut Reach<'_, 'w>) -> BTreeSet<Text> {
    let shapes: BTreeSet<_> =
        team.members.iter().map(|pod| scene.pods().list[*pod].shape).collect();
    let mut common: Option<BTreeSet<Text>> = None;
    for shape in shapes {
        let domains = reach.domains(shape, &team.constraint.topology_key);
        common = Some(match common {
            None => BTreeSet::clone(&domains),
            Some(common) => common.intersection(&domains).cloned().collect(),
        });
    }
    common.unwrap_or_default()
}

struct SkewJudge<'j, 's, 'w> {
    scene: &'s Scene<'w>,
    state: &'j State,
    team: &'j Team<'w>,
    counts: Counts<'s>,
    emptiest: Emptiest,
}

impl SkewJudge<'_, '_, '_> {
    fn at_most(&self, domain: &Text) -> i64 {
        self.counts.at_most.get(domain).copied().unwrap_or(0)
    }

    fn subject(&self) -> String {
        let first = self.team.members.first();
        first.map(|pod| self.scene.pods().pod(*pod).key.to_string()).unwrap_or_default()
    }

    /// Domains that members are in for sure.
    fn check_settled(&mut self, included: &mut Included<'_, '_>, report: &mut Report) {
        let TopologySpreadConstraint { max_skew, topology_key: key, .. } = self.team.constraint;
        let mut domains: BTreeSet<&Text> = BTreeSet::new();
        let places: BTreeSet<PlaceId> =
            self.team.members.iter().filter_map(|pod| self.state.place_of(*pod)).collect();
        for id in places {
            if included.get(id).surely {
                domains.extend(self.scene.places[id].domain(key).settled());
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
        let TopologySpreadConstraint { max_skew, topology_key: key, .. } = self.team.constraint;
        for (id, undecided) in &self.counts.undecided {
            if undecided.of_team == 0 || !included.get(*id).surely {
                continue;
            }
            let place = &self.scene.places[*id];
            let values = place.domain(key).listed().unwrap_or_default();
            for value in values {
                let lands_here = |domain: &Text| {
                    let lands_elsewhere = domain != value && values.contains(domain);
                    self.at_most(domain) - if lands_elsewhere { undecided.matching } else { 0 }
                };
                let held =
                    self.counts.at_least.get(value).copied().unwrap_or(0) + undecided.of_team;
                let lowest = self.emptiest.holds(lands_here);
                if held - lowest > i64::from(*max_skew) {
                    let message = format!(
                        "{place} may be launched in {key}={value}, which would then hold {held} pods \
                         of its spread, the emptiest domain {lowest}: more than maxSkew {max_skew} apart"
                    );
                    report.add(Rule::Spread, self.subject(), message);
                    break;
                }
            }
        }
    }
}
