//! What holds savings back, and what each comes to.
//!
//! A cluster that has come to rest is planned on without one thing that held it back: without a
//! PodDisruptionBudget, say. What that saves is what it costs. To be quick, plans are carried out
//! at once here: all budgets of NodePools are open, `consolidateAfter` has passed, and pods are
//! where a plan puts them. That a NodePool forbids spot concerns all of its nodes: those are not
//! replaced one by one, but their pods are planned anew, with spot and without.

mod candidates;
mod pods;
mod without;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use domain::money::UsdPerHour;
use domain::node_pool::{NeverOr, NodePool};
use domain::pod::ObjectKey;
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text};
use parallel::both;

use super::Owners;
use super::carry_out::carry_out;
pub use candidates::is_spot_forbidden;

/// Plans that are carried out one after the other at most. What a cluster comes to beyond that is
/// not counted.
const ROUNDS_MAX: usize = 16;
/// Of the members of one kind, as many are planned without one by one; the others together.
const SINGLE_MAX: usize = 12;
/// From this many members on, all of a kind are left out first: where that saves nothing, none
/// does.
const TOGETHER_MIN: usize = 3;
/// After this time nothing more comes of age.
const LATER: SignedDuration = SignedDuration::from_mins(61);

/// A kind of thing that holds savings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A PodDisruptionBudget that allows no disruption.
    PodDisruptionBudget,
    /// Pods with `karpenter.sh/do-not-disrupt`.
    DoNotDisruptPods,
    /// A Node or NodeClaim with `karpenter.sh/do-not-disrupt`.
    DoNotDisruptNode,
    /// A NodePool that does not allow spot.
    OnDemandOnly,
    /// Feature gate `SpotToSpotConsolidation` is off.
    SpotToSpotOff,
    /// A NodePool that is consolidated only where nodes are empty.
    WhenEmpty,
    /// A NodePool with `consolidateAfter: Never`.
    NeverConsolidated,
    /// A NodePool with a budget that never lets a node go.
    NoBudget,
    /// Pods that have to be spread over zones.
    ZoneSpread,
    /// A DaemonSet, which takes its share of every node.
    DaemonSet,
}

/// Something that holds savings back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// What it is.
    pub kind: Kind,
    /// Whose it is: names of NodePools and Nodes, `default/web` of PodDisruptionBudgets and
    /// DaemonSets, `Deployment default/web` of pods. Several where they are left out together; none
    /// of a feature gate.
    pub names: Vec<Text>,
    /// Nodes that it concerns.
    pub nodes: usize,
    /// Of a DaemonSet, what its pods request of all nodes' CPU or memory, whichever is more, in
    /// thousandths.
    pub share_permille: Option<u32>,
}

impl Blocker {
    fn of(kind: Kind, name: Text, nodes: usize) -> Self {
        Self { kind, names: vec![name], nodes, share_permille: None }
    }
}

/// What a blocker costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockerCost {
    /// What holds back.
    pub blocker: Blocker,
    /// What a cluster without it would cost less.
    pub saving: UsdPerHour,
    /// Whether it may be more: planning on was given up.
    pub is_at_least: bool,
}

/// What was found of blockers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockerCosts {
    /// Those that hold something back, the costliest first.
    pub costs: Vec<BlockerCost>,
    /// How many were looked at and hold nothing back.
    pub harmless: usize,
}

/// What everything costs that holds savings back in a cluster at rest.
pub fn costs(end: &ClusterSnapshot, owners: &Owners) -> BlockerCosts {
    let base = opened(end);
    let candidates = candidates::candidates(&base, owners);
    let mut first: Vec<Blocker> = Vec::new();
    let mut kinds: Vec<(Kind, Vec<Blocker>)> = Vec::new();
    for blocker in candidates {
        match kinds.iter_mut().find(|(kind, _)| *kind == blocker.kind) {
            Some((_, own)) => own.push(blocker),
            None => kinds.push((blocker.kind, vec![blocker])),
        }
    }
    for (kind, own) in &kinds {
        if is_tried_together(*kind, own) {
            first.push(together(own));
        } else {
            first.extend(own.iter().cloned());
        }
    }
    let (found, rested) = both(|| savings(&base, owners, &first), || rest(base.clone()));
    let mut all: Vec<Found> = Vec::new();
    let mut second: Vec<Blocker> = Vec::new();
    let mut joint: Vec<Found> = Vec::new();
    let mut harmless = 0;
    for (blocker, hourly) in first.into_iter().zip(found) {
        let found = Found::of(blocker, hourly, rested);
        let members = kinds.iter().find(|(kind, _)| *kind == found.blocker.kind);
        let members = members.map_or(&[][..], |(_, own)| own.as_slice());
        if found.blocker.names.len() < TOGETHER_MIN || members.len() < TOGETHER_MIN {
            all.push(found);
        } else if found.saving > UsdPerHour::ZERO {
            second.extend(singles(members));
            joint.push(found);
        } else {
            harmless += members.len();
        }
    }
    let found = savings(&base, owners, &second);
    let singles = second.into_iter().zip(found);
    let singles: Vec<Found> =
        singles.map(|(blocker, hourly)| Found::of(blocker, hourly, rested)).collect();
    for found in joint {
        // Where several hold the same nodes, leaving out one saves nothing.
        let own = singles.iter().filter(|own| own.blocker.kind == found.blocker.kind);
        let each: UsdPerHour = own.map(|own| own.saving.max(UsdPerHour::ZERO)).sum();
        if found.saving.nanos() / 20 * 19 > each.nanos() {
            all.push(found);
        }
    }
    all.extend(singles);
    let (mut costs, without): (Vec<Found>, Vec<Found>) =
        all.into_iter().partition(|own| own.saving.shown_sign() == std::cmp::Ordering::Greater);
    harmless += without.iter().map(|own| own.blocker.names.len().max(1)).sum::<usize>();
    costs.sort_by(|a, b| {
        b.saving.cmp(&a.saving).then_with(|| {
            (a.blocker.kind, &a.blocker.names).cmp(&(b.blocker.kind, &b.blocker.names))
        })
    });
    BlockerCosts { costs, harmless }
}

type Found = BlockerCost;

impl BlockerCost {
    fn of(blocker: Blocker, hourly: Outcome, rested: Rested) -> Self {
        match hourly {
            Outcome::Rested(own) => {
                Self { blocker, saving: rested.hourly - own.hourly, is_at_least: own.is_given_up }
            }
            Outcome::Saves(saving) => Self { blocker, saving, is_at_least: false },
        }
    }
}

/// A cluster that was planned on.
#[derive(Clone, Copy, Debug)]
struct Rested {
    hourly: UsdPerHour,
    /// There was more to do.
    is_given_up: bool,
}

/// What came of leaving a blocker out.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// What the cluster then costs.
    Rested(Rested),
    /// What is saved.
    Saves(UsdPerHour),
}

/// Whether all of a kind are left out at first.
fn is_tried_together(kind: Kind, own: &[Blocker]) -> bool {
    own.len() >= TOGETHER_MIN && kind != Kind::OnDemandOnly
}

fn together(own: &[Blocker]) -> Blocker {
    let kind = own.first().map_or(Kind::DaemonSet, |first| first.kind);
    let names = own.iter().flat_map(|one| one.names.iter().cloned()).collect();
    let nodes = own.iter().map(|one| one.nodes).max().unwrap_or(0);
    let share = own.iter().filter_map(|one| one.share_permille).sum::<u32>();
    let share_permille = (kind == Kind::DaemonSet).then_some(share);
    Blocker { kind, names, nodes, share_permille }
}

/// One by one those that concern most nodes, and the others together.
fn singles(members: &[Blocker]) -> Vec<Blocker> {
    let mut members = members.to_vec();
    members.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.names.cmp(&b.names)));
    let others = members.split_off(members.len().min(SINGLE_MAX));
    if !others.is_empty() {
        members.push(together(&others));
    }
    members
}

/// What comes of leaving out each blocker, in order. As many at a time as there are processors.
fn savings(base: &ClusterSnapshot, owners: &Owners, blockers: &[Blocker]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::with_capacity(blockers.len()));
    let workers = thread::available_parallelism().map_or(1, usize::from).min(blockers.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(blocker) = blockers.get(index) else { return };
                    let outcome = outcome(base, owners, blocker);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((index, outcome));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}

fn outcome(base: &ClusterSnapshot, owners: &Owners, blocker: &Blocker) -> Outcome {
    if blocker.kind == Kind::OnDemandOnly {
        let saved = blocker.names.iter().map(|pool| without::spot_saving(base, pool));
        return Outcome::Saves(saved.sum());
    }
    Outcome::Rested(rest(without::without(base, owners, blocker)))
}

/// Plans on until nothing is disrupted any more.
fn rest(mut snapshot: ClusterSnapshot) -> Rested {
    let mut hourly = UsdPerHour::MAX;
    for _ in 0..ROUNDS_MAX {
        let plan = planning::plan(&snapshot);
        let is_first = hourly == UsdPerHour::MAX;
        // A plan that saves nothing repairs something, which is not asked about here.
        if plan.disruptions.is_empty() || (!is_first && plan.totals.hourly_before >= hourly) {
            let hourly = plan.totals.hourly_before.min(hourly);
            return Rested { hourly, is_given_up: false };
        }
        hourly = plan.totals.hourly_before;
        carry_out(&mut snapshot, &plan);
    }
    let hourly = planning::scheduling::schedule(&snapshot).totals.hourly_before.min(hourly);
    Rested { hourly, is_given_up: true }
}

/// The cluster with nothing left that is a matter of time: budgets are open, but for those that
/// never let a node go, and `consolidateAfter` has passed. Default constraints are their pods' own,
/// so that they can be taken from pods.
fn opened(end: &ClusterSnapshot) -> ClusterSnapshot {
    let mut opened = end.with_default_constraints().into_owned();
    opened.now = end.now.checked_add(LATER).unwrap_or(end.now);
    opened.nominations.clear();
    for pool in &mut opened.objects.node_pools {
        if !candidates::never_lets_go(pool) {
            pool.disruption.budgets.clear();
        }
        if let NeverOr::After(after) = &mut pool.disruption.consolidate_after {
            *after = SignedDuration::ZERO;
        }
    }
    opened
}

/// The name of an object with a namespace.
fn key_of(name: &str) -> Option<ObjectKey> {
    name.split_once('/').map(|(namespace, name)| ObjectKey::new(namespace, name))
}

/// The NodePool of a name.
fn pool_of<'a>(snapshot: &'a mut ClusterSnapshot, name: &str) -> Option<&'a mut NodePool> {
    snapshot.objects.node_pools.iter_mut().find(|pool| *pool.name == *name)
}
