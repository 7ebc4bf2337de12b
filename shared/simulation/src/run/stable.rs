//! Runs that end where nothing changes any more.
//!
//! Nothing has changed for a while, and nothing is under way: then it is asked what disruption
//! would propose once time alone makes a difference, as `consolidateAfter` passes, pods and nodes
//! come of age, nodes expire, windows of budgets open and close, and NodePools go off. Where it
//! would propose something, the run goes on up to that moment; else the cluster is stable. Of
//! pauses of hours, in which every run of a function finds what the last one found, all but the
//! last minutes are left out.

use std::collections::BTreeSet;
use std::iter::successors;

use controllers::record::claim::{ClaimPhase, ClaimRecord};
use controllers::steps::snapshot::{ClusterState, SpotMemory, snapshot};
use domain::budget::BudgetWindow;
use domain::commitment::Commitment;
use domain::node_pool::{NeverOr, NodePool};
use domain::off_hours::OffHours;
use domain::pod::{DoNotDisrupt, Pod};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Timestamp};

use super::Simulation;
use super::historian::Historian;
use super::idle_runs::{ages_of_pod, moments_of_claim};
use crate::history::History;
use crate::ports::listing_of;
use crate::report::{Happening, Report};
use crate::scenario::ScenarioError;
use crate::world::World;

/// For how long nothing has to change before it is asked whether anything will. Longer than a
/// function's schedule, its message's delay and a command's validation together.
const UNCHANGED_FOR: SignedDuration = SignedDuration::from_mins(3);
/// For how long nothing has to change where something is under way, such as a drain that a
/// PodDisruptionBudget holds: longer than anything takes that takes its course.
const STUCK: SignedDuration = SignedDuration::from_mins(20);
/// How long after disruption sees pods, claims and changes differently it is asked.
const A_LITTLE: SignedDuration = SignedDuration::from_mins(1);
/// What is not left out before a moment at which disruption would propose something: between one
/// moment that is asked for and the next, pods come of age one by one. It is as long as the steps
/// in which their ages count, and [`A_LITTLE`].
const NOT_SKIPPED: SignedDuration = SignedDuration::from_mins(11);
/// What is left out at once, at least. Shorter pauses are lived through: with every run of a
/// function, chance goes on, and what comes next is what a simulation comes to, second by second.
const SKIPPED_MIN: SignedDuration = SignedDuration::from_mins(60);
/// Windows of one budget that are looked at, and changes of one NodePool's off hours: there are
/// more only where they last for minutes.
const WINDOWS_MAX: usize = 24;

/// A run that came to rest, or was given up.
pub(crate) struct RestedRun {
    pub(crate) report: Report,
    /// Whether it came to rest.
    pub(crate) is_stable: bool,
    /// When something changed last.
    pub(crate) last_change: Timestamp,
    /// The cluster at the end.
    pub(crate) end: ClusterSnapshot,
    /// What became of nodes and pods, where that was asked for.
    pub(crate) history: Option<History>,
}

/// How a run came to rest.
pub(super) struct Rest {
    is_stable: bool,
    last_change: Timestamp,
}

/// What has changed last, and what was asked since.
struct Watch {
    entries: usize,
    last_change: Timestamp,
    /// Up to when it was asked what time alone brings.
    asked: Timestamp,
    /// Before this moment nothing is asked: something is about to happen.
    not_before: Timestamp,
}

impl Simulation {
    pub(super) fn run_until_stable(
        &mut self,
        passed: &dyn Fn(SignedDuration),
    ) -> Result<Rest, ScenarioError> {
        let start = self.scenario.start;
        let mut watch = Watch { entries: 0, last_change: start, asked: start, not_before: start };
        let mut done = 0;
        loop {
            let now = self.world.read().now();
            passed(now.duration_since(start));
            while let Some(step) = self.due_step(done, now) {
                self.act(&step)?;
                done += 1;
            }
            self.clockwork.turn();
            self.keep_history();
            self.record_views();
            watch.note(&self.world.read());
            let last_change = watch.last_change;
            if now >= self.end {
                return Ok(Rest { is_stable: false, last_change });
            }
            if watch.is_unchanged(&self.world.read(), now) {
                let Some(moment) = self.next_proposal(&mut watch, now) else {
                    return Ok(Rest { is_stable: true, last_change });
                };
                watch.not_before = moment + UNCHANGED_FOR;
                let from = moment - NOT_SKIPPED;
                if from > now + SKIPPED_MIN {
                    self.world.change().advance_to(from);
                    self.clockwork.skip_to(from);
                    continue;
                }
            }
            let next = self.next_moment(done, now);
            self.world.change().advance_to(next);
        }
    }

    /// The first moment not asked for yet at which disruption would propose something if nothing
    /// changed until then.
    fn next_proposal(&self, watch: &mut Watch, now: Timestamp) -> Option<Timestamp> {
        let moments: Vec<Timestamp> = {
            let world = self.world.read();
            let all = moments(&world, watch.last_change, self.end);
            all.into_iter().filter(|own| *own > watch.asked).collect()
        };
        for moment in moments {
            watch.asked = moment;
            let at = moment.max(now);
            let plan = (self.clockwork.core().propose)(&self.snapshot_at(at));
            if !plan.disruptions.is_empty() || !plan.awaiting_budget.is_empty() {
                return Some(at);
            }
        }
        None
    }

    /// The cluster as the functions would see it at a moment, if nothing changed until then.
    fn snapshot_at(&self, now: Timestamp) -> ClusterSnapshot {
        let world = self.world.read();
        let state = ClusterState {
            now,
            seed: 0,
            listing: listing_of(&world),
            claims: world.store.claims.all(),
            commands: world.store.commands.all(),
            unavailable: Vec::new(),
            nominations: Vec::new(),
            spot: SpotMemory { all: world.store.remembered_spot(), own: None },
            instance_types: world.ec2().types().clone(),
        };
        snapshot(&state, self.clockwork.settings())
    }

    pub(super) fn into_rested_run(mut self, rest: &Rest) -> RestedRun {
        let history = self.historian.take().map(Historian::into_history);
        let Rest { is_stable, last_change } = *rest;
        let now = self.world.read().now();
        let end = self.snapshot_at(now);
        RestedRun { is_stable, last_change, end, history, report: self.into_report() }
    }
}

impl Watch {
    fn note(&mut self, world: &World) {
        let entries = world.journal.entries();
        let is_change = |what: &Happening| {
            !matches!(what, Happening::Fault(_) | Happening::ControllerFailed { .. })
        };
        let new = entries.get(self.entries..).unwrap_or_default();
        if new.iter().any(|entry| is_change(&entry.what) && !is_given(&entry.what)) {
            self.last_change = world.now();
            self.asked = world.now();
        }
        self.entries = entries.len();
    }

    fn is_unchanged(&self, world: &World, now: Timestamp) -> bool {
        let wait = if is_under_way(world) { STUCK } else { UNCHANGED_FOR };
        now >= self.not_before && now.duration_since(self.last_change) >= wait
    }
}

/// What is there from the start, or is found out about it, is no change.
fn is_given(what: &Happening) -> bool {
    matches!(
        what,
        Happening::Applied(_) | Happening::PodsPending(_) | Happening::PodsUnschedulable(_)
    )
}

fn is_under_way(world: &World) -> bool {
    let is_joined = |record: &ClaimRecord| {
        record.phase() == ClaimPhase::Initialized
            && record.ending.is_none()
            && record.claim.deleted.is_none()
    };
    world.store.commands.iter().next().is_some()
        || world.store.has_nominations()
        || !world.store.claims.iter().all(is_joined)
        || world.api().list::<Pod>().any(Pod::is_terminating)
}

/// Moments up to an end at which time alone may make a difference, in order.
fn moments(world: &World, since: Timestamp, end: Timestamp) -> BTreeSet<Timestamp> {
    let mut moments = BTreeSet::from([since + UNCHANGED_FOR]);
    // For how long nodes have not changed is among the ages of pods.
    moments.extend(ages_of_pod(since).map(|moment| moment + A_LITTLE));
    for pool in world.api().list::<NodePool>() {
        if let NeverOr::After(after) = pool.disruption.consolidate_after {
            moments.extend(since.checked_add(after + SignedDuration::from_mins(1)));
        }
        let windows = pool.disruption.budgets.iter().filter_map(|own| own.window.as_ref());
        let windows = windows.flat_map(|window| moments_of_window(window, since, end));
        let off_hours = pool.options.off_hours.iter();
        let off_hours = off_hours.flat_map(|own| moments_of_off_hours(own, since, end));
        moments.extend(windows.chain(off_hours).filter_map(just_after));
    }
    for record in world.store.claims.iter() {
        moments.extend(moments_of_claim(world, &record.claim).filter_map(just_after));
    }
    for commitment in world.api().list::<Commitment>() {
        let bounds = commitment.start.into_iter().chain(commitment.end);
        moments.extend(bounds.filter_map(just_after));
    }
    for pod in world.api().list::<Pod>() {
        if let (Some(DoNotDisrupt::For(duration)), Some(started)) =
            (pod.do_not_disrupt, pod.started)
        {
            moments.extend(started.checked_add(duration + SignedDuration::from_secs(1)));
        }
    }
    moments.into_iter().filter(|own| *own > since && *own <= end).collect()
}

fn just_after(moment: Timestamp) -> Option<Timestamp> {
    moment.checked_add(SignedDuration::from_secs(1)).ok()
}

/// When a window opens and closes. One of which nobody knows when is open at all times.
fn moments_of_window(window: &BudgetWindow, since: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    let Ok((schedule, zone)) = window.times() else { return Vec::new() };
    let opens_after = |moment: Timestamp| schedule.next_after(moment, zone);
    // The first is one that is open from before.
    let from = since.checked_sub(window.duration).unwrap_or(Timestamp::MIN);
    successors(opens_after(from), |opens| opens_after(*opens))
        .take_while(|opens| *opens <= end)
        .take(WINDOWS_MAX)
        .flat_map(|opens| [Some(opens), opens.checked_add(window.duration).ok()])
        .flatten()
        .collect()
}

/// When a NodePool goes off, when nothing holds its pods any more, and when it is on again.
fn moments_of_off_hours(off_hours: &OffHours, since: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    successors(off_hours.next_change(since), |moment| off_hours.next_change(*moment))
        .take_while(|moment| *moment <= end)
        .take(WINDOWS_MAX)
        .collect()
}
