//! Runs that would find nothing to do.
//!
//! Functions run every minute, disruption every ten seconds; on most days most of those runs find
//! what the one before found, and do nothing again. A run is left out where the last one of its
//! function did nothing, nothing has changed since, and no moment has passed at which time alone
//! makes a difference. What it would have left behind is left behind: a newer fencing token, and
//! the message by which it comes back.
//!
//! What a node's remaining lifetime is worth changes with every second, and ranks moves; where no
//! move was worth anything, that it ranks differently is not taken for news.
//!
//! Where calls fail or take time, every run takes place.

use std::collections::BTreeMap;
use std::iter::successors;

use controllers::ports::FunctionName;
use controllers::record::claim::{ClaimPhase, ClaimRecord};
use domain::buffer::{PrewarmSchedule, PrewarmTarget};
use domain::commitment::Commitment;
use domain::drift_waves::DriftWaves;
use domain::instance_type::CapacityType;
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::node_pool::{ConsolidationPolicy, NeverOr, NodePool};
use domain::pod::{DoNotDisrupt, ObjectKey, Pod};
use domain::settings::Settings;
use domain::spot::SKIPPED_FOR;
use domain::{SignedDuration, Timestamp};
use manifests::WorkloadObject;

use crate::api::WorkloadId;
use crate::ec2::{Ec2Behaviour, Faults};
use crate::world::World;

/// For how long pods that came or went are news for disruption, once their node is consolidatable:
/// its `NEWS_TTL`, rounded up.
const NEWS_TTL: SignedDuration = SignedDuration::from_secs(95);
/// For how long disruption takes a change of a node's pods for one that may be undone, and the
/// steps of the clock in which it counts that.
const SETTLES_AFTER: SignedDuration = SignedDuration::from_mins(30);
const SETTLES_IN_STEPS_OF: SignedDuration = SignedDuration::from_mins(5);
/// Age of claims at which disruption sees them differently.
const COMES_OF_AGE: SignedDuration = SignedDuration::from_hours(1);
/// How long after a change disruption no longer comes back by message.
const IDLE_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// Up to which age disruption takes a pod for one that came lately, and the steps of the clock in
/// which it counts that.
const AGES_UP_TO: SignedDuration = SignedDuration::from_hours(2);
const AGES_IN_STEPS_OF: SignedDuration = SignedDuration::from_mins(10);
/// How long before a window its capacity is wanted at most, where a schedule does not say it:
/// longer than nodes take to start.
const LEAD_MAX: SignedDuration = SignedDuration::from_mins(30);

/// Numbers that move on with everything that runs depend on, and with all that they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    revision: u64,
    ec2: u64,
    store: [u64; 6],
    effects: u64,
    entries: usize,
    broken: usize,
}

impl Marks {
    pub(super) fn of(world: &World) -> Self {
        Self {
            revision: world.api().revision(),
            ec2: world.ec2().changes(),
            store: world.store.marks(),
            effects: world.effects,
            entries: world.journal.entries().len(),
            broken: world.violations.len(),
        }
    }

    /// Whether nothing has changed that a run depends on; the timeline is no such thing.
    fn is_same_world(&self, other: &Self) -> bool {
        let Self { revision, ec2, store, effects, entries: _, broken: _ } = self;
        (revision, ec2, store, effects)
            == (&other.revision, &other.ec2, &other.store, &other.effects)
    }
}

/// Which decisions a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// All of its function's.
    Whole,
    /// Disruption's without proposing anything: a message brought it, and there was no news.
    Partial,
}

/// A run that did nothing.
#[derive(Clone, Debug)]
struct IdleRun {
    marks: Marks,
    /// When time alone makes a difference.
    until: Timestamp,
    comes_back: ComesBack,
}

/// What follows a run that did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComesBack {
    /// The schedule invokes its function again.
    BySchedule,
    /// A message does, after a while.
    ByMessage(SignedDuration),
}

/// The last run of each function that did nothing.
#[derive(Debug, Default)]
pub(super) struct IdleRuns(BTreeMap<(FunctionName, Extent), IdleRun>);

impl IdleRuns {
    /// Whether every run has to take place.
    pub(super) fn is_off(world: &World) -> bool {
        let own = &world.options;
        own.every_run || own.faults != Faults::default() || own.ec2 != Ec2Behaviour::default()
    }

    /// Takes note of a run that did nothing.
    pub(super) fn note(
        &mut self,
        world: &World,
        settings: &Settings,
        (function, extent): (FunctionName, Extent),
        comes_back: ComesBack,
    ) {
        let until = next_difference(world, settings, function, extent);
        let Some(until) = until.filter(|until| *until > world.now()) else {
            self.0.remove(&(function, extent));
            return;
        };
        self.0.insert((function, extent), IdleRun { marks: Marks::of(world), until, comes_back });
    }

    /// How the invocation of a run would come back that would do nothing; `None` for a run that may
    /// do something.
    pub(super) fn would_idle(
        &self,
        world: &World,
        function: FunctionName,
        extent: Extent,
    ) -> Option<ComesBack> {
        if Self::is_off(world) || !world.statuses.is_empty() {
            return None;
        }
        // A whole run that does nothing contains one of any other extent.
        let known = [Extent::Whole, extent].into_iter();
        let idle = known
            .filter_map(|own| self.0.get(&(function, own)))
            .find(|own| world.now() < own.until && own.marks.is_same_world(&Marks::of(world)))?;
        Some(idle.comes_back)
    }
}

/// When time alone makes a difference to a function's next run; `None` where it always may.
fn next_difference(
    world: &World,
    settings: &Settings,
    function: FunctionName,
    extent: Extent,
) -> Option<Timestamp> {
    if !is_settled(world, settings) {
        return None;
    }
    let now = world.now();
    let mut proposes = extent == Extent::Whole;
    let mut until = Timestamp::MAX;
    let mut at = |moment: Timestamp| {
        if moment > now {
            until = until.min(moment);
        }
    };
    for schedule in world.api().list::<PrewarmSchedule>() {
        at(next_of_schedule(world, schedule)?);
    }
    for commitment in world.api().list::<Commitment>() {
        commitment.start.into_iter().chain(commitment.end).for_each(&mut at);
    }
    for pool in world.api().list::<NodePool>() {
        if let Some(moment) = pool.options.off_hours.as_ref().and_then(|own| own.next_change(now)) {
            at(moment);
        }
    }
    for record in world.store.claims.iter() {
        let claim = &record.claim;
        let pool = pool_of(world, claim);
        moments_of_claim(world, claim).for_each(&mut at);
        if let Some(instance) = &record.instance {
            at(instance.launched + SKIPPED_FOR);
        }
        let Some(pool) = pool else { continue };
        let (Some(event), NeverOr::After(after)) =
            (last_event(claim), pool.disruption.consolidate_after)
        else {
            continue;
        };
        // Until then, runs count down to it.
        if function != FunctionName::Provisioning && event + after > now {
            return None;
        }
        // News make every run of disruption a whole one.
        proposes |= event + after + NEWS_TTL > now;
        if function == FunctionName::Disruption {
            counted_in_steps(event, SETTLES_AFTER, SETTLES_IN_STEPS_OF).for_each(&mut at);
            at(event + IDLE_AFTER);
        }
    }
    if function == FunctionName::Disruption {
        for created in world.api().list::<Pod>().filter_map(|pod| pod.created) {
            at(created + IDLE_AFTER);
        }
        for created in world.store.claims.iter().filter_map(|record| record.claim.created) {
            at(created + COMES_OF_AGE);
        }
        if proposes {
            moments_of_proposals(world, &mut at)?;
        }
    }
    Some(until)
}

/// When capacity may next be wanted by a schedule; `None` where that may be now, or where it scales
/// a workload or waits for one to exist.
fn next_of_schedule(world: &World, schedule: &PrewarmSchedule) -> Option<Timestamp> {
    match &schedule.target {
        PrewarmTarget::Workload { scale: true, .. } => return None,
        PrewarmTarget::Workload { kind, name, .. } => {
            let key = ObjectKey::new(schedule.key.namespace.clone(), name.clone());
            world.api().get::<WorkloadObject>(&WorkloadId { kind: *kind, key })?;
        }
        PrewarmTarget::Template(_) => {}
    }
    let lead = schedule.lead_time.unwrap_or_default().max(LEAD_MAX);
    let mut next = Timestamp::MAX;
    for trigger in &schedule.triggers {
        if trigger.is_due(world.now(), lead) {
            return None;
        }
        if let Some(opens) = trigger.start.next_after(world.now(), &trigger.timezone) {
            next = next.min(opens - lead);
        }
    }
    Some(next)
}

/// When a claim's node expires, goes whatever holds it, and has been ready for long enough that
/// more of its pool may drift.
pub(super) fn moments_of_claim(
    world: &World,
    claim: &NodeClaim,
) -> impl Iterator<Item = Timestamp> {
    let options = pool_of(world, claim).map(|pool| &pool.options);
    let expiration = options.map(|own| own.expiration).unwrap_or_default();
    let waves = options.and_then(|own| own.drift_waves.as_ref());
    let soaked = waves.and_then(|waves| soak_ends(world, claim, waves));
    [expiration.due(claim), expiration.forced(claim), soaked].into_iter().flatten()
}

/// Moments at which disruption sees a pod differently that came at some moment, in order.
pub(super) fn ages_of_pod(created: Timestamp) -> impl Iterator<Item = Timestamp> {
    counted_in_steps(created, AGES_UP_TO, AGES_IN_STEPS_OF)
}

/// Moments at which one more whole step of the clock has passed since some moment, in order.
fn counted_in_steps(
    since: Timestamp,
    up_to: SignedDuration,
    step: SignedDuration,
) -> impl Iterator<Item = Timestamp> {
    let until_first = (-since.as_second()).rem_euclid(step.as_secs());
    let first = Timestamp::from_second(since.as_second() + until_first).ok();
    successors(first, move |moment| Some(*moment + step))
        .skip(1)
        .take_while(move |moment| first.is_some_and(|first| *moment <= first + up_to))
}

/// Moments at which disruption may propose something that it did not before; `None` where that is
/// any moment.
fn moments_of_proposals(world: &World, at: &mut impl FnMut(Timestamp)) -> Option<()> {
    let now = world.now();
    for pod in world.api().list::<Pod>() {
        let came_lately = |own: &Timestamp| *own + AGES_UP_TO + AGES_IN_STEPS_OF >= now;
        let ages = pod.created.filter(came_lately).map(ages_of_pod);
        ages.into_iter().flatten().for_each(&mut *at);
        if let (Some(DoNotDisrupt::For(duration)), Some(started)) =
            (pod.do_not_disrupt, pod.started)
        {
            at(started + duration);
        }
    }
    for pool in world.api().list::<NodePool>() {
        // Its threshold is a share of what is left of lifetimes.
        let is_balanced = pool.disruption.consolidation_policy == ConsolidationPolicy::Balanced;
        if is_balanced && pool.template.expire_after != NeverOr::Never {
            return None;
        }
        // Windows open and close.
        if pool.disruption.budgets.iter().any(|budget| budget.window.is_some()) {
            return None;
        }
    }
    Some(())
}

/// Whether nothing is under way: no node comes or goes, no pod moves, nothing is scheduled.
fn is_settled(world: &World, settings: &Settings) -> bool {
    let is_joined = |record: &ClaimRecord| {
        record.phase() == ClaimPhase::Initialized
            && record.ending.is_none()
            && record.claim.deleted.is_none()
            && record.claim.status.node_name.is_some()
            && record
                .instance
                .as_ref()
                .is_some_and(|own| own.capacity_type != CapacityType::Reserved)
    };
    let is_calm = |node: &Node| {
        node.deleted.is_none()
            && !node.is_not_ready()
            && !node.is_disrupted()
            // Others are looked at where nodes are repaired.
            && (!settings.feature_gates.node_repair || node.conditions.len() <= 1)
    };
    // Those that were there before keep their objects, and get a record.
    let is_adopted = |claim: &NodeClaim| world.store.claims.get(&claim.name).is_some();
    world.store.commands.iter().next().is_none()
        && !world.store.has_nominations()
        && world.statuses.is_empty()
        && world.announcements.is_empty()
        && world.orphans.is_empty()
        && world.store.claims.iter().all(is_joined)
        && world.api().list::<Node>().all(is_calm)
        && world.api().list::<NodeClaim>().all(is_adopted)
        && world.api().list::<Pod>().all(|pod| !pod.is_terminating())
        && world.api().list::<domain::buffer::CapacityBuffer>().next().is_none()
        && world.api().list::<domain::buffer::ScaledObject>().next().is_none()
}

/// When a pod last came to a claim's node or went, or since when the node is ready.
fn last_event(claim: &NodeClaim) -> Option<Timestamp> {
    let initialized = || claim.condition(ConditionType::Initialized)?.changed;
    claim.status.last_pod_event.or_else(initialized)
}

/// When a node has been ready for the soak of its NodePool's waves, from which on more may drift.
fn soak_ends(world: &World, claim: &NodeClaim, waves: &DriftWaves) -> Option<Timestamp> {
    let initialized = claim.condition(ConditionType::Initialized)?.changed;
    let node = world.api().get::<Node>(claim.status.node_name.as_ref()?)?;
    let ready = node.condition("Ready").and_then(|own| own.changed);
    initialized.max(ready)?.checked_add(waves.soak).ok()
}

fn pool_of<'w>(world: &'w World, claim: &NodeClaim) -> Option<&'w NodePool> {
    world.api().get::<NodePool>(claim.node_pool()?)
}
