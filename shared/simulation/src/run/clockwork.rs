//! When each function wakes, and what it is told.

use std::collections::BTreeSet;

use controllers::core::Core;
use controllers::interruption::{self, Notice, NoticeKind};
use controllers::ports::{PortError, Ports};
use controllers::run::{Run, RunOutcome};
use controllers::{disruption, lifecycle, provisioning};
use domain::pod::Pod;
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};
use pollster::block_on;

use crate::invariant::Violation;
use crate::ports::{SharedWorld, is_waiting};
use crate::report::Happening;
use crate::scenario::ProvisioningMode;
use controllers::record::claim::ClaimPhase;

/// The schedule of the functions: once a minute.
const TICK: SignedDuration = SignedDuration::from_mins(1);
/// A batch of pods is closed when no new one has come for so long, …
const BATCH_IDLE: SignedDuration = SignedDuration::from_secs(1);
/// … or this long after its first.
const BATCH_MAX: SignedDuration = SignedDuration::from_secs(10);
/// While pods wait or claims are in flight, functions that watch look again after so long.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(10);
/// No function wakes sooner after a run than this.
const PAUSE_MIN: SignedDuration = SignedDuration::from_secs(1);
/// A run that failed is tried again after so long, as a retried invocation is.
const RETRY: SignedDuration = SignedDuration::from_secs(10);
/// How long an invocation may last. Simulated time stands still meanwhile.
const RUN_MAX: SignedDuration = SignedDuration::from_secs(55);

const CLUSTER: &str = "simulated";

/// The functions and when each is due.
pub(super) struct Clockwork {
    world: SharedWorld,
    settings: Settings,
    core: Core,
    mode: ProvisioningMode,
    provisioning: Timestamp,
    lifecycle: Timestamp,
    disruption: Timestamp,
    batch: Option<Batch>,
    seen: BTreeSet<Text>,
    notices: Vec<Notice>,
    notices_at: Timestamp,
    runs: u64,
}

/// Pods that wait for provisioning to look.
#[derive(Clone, Copy)]
struct Batch {
    first: Timestamp,
    last: Timestamp,
}

impl Batch {
    fn due(self) -> Timestamp {
        (self.last + BATCH_IDLE).min(self.first + BATCH_MAX)
    }
}

impl Clockwork {
    pub(super) fn new(
        world: &SharedWorld,
        settings: Settings,
        core: Core,
        mode: ProvisioningMode,
        start: Timestamp,
    ) -> Self {
        // Schedules of EventBridge fall anywhere in the minute, each on its own.
        let seed = world.look().seed;
        let first = |function| {
            start + seed.draw("first-tick", function).between(SignedDuration::ZERO, TICK)
        };
        Self {
            world: world.clone(),
            settings,
            core,
            mode,
            provisioning: first("provisioning"),
            lifecycle: first("lifecycle"),
            disruption: first("disruption"),
            batch: None,
            seen: BTreeSet::new(),
            notices: Vec::new(),
            notices_at: start,
            runs: 0,
        }
    }

    /// Lets the cluster settle and every function run that is due.
    pub(super) fn turn(&mut self) {
        self.settle();
        let now = self.now();
        self.collect_notices();
        if !self.notices.is_empty() && self.notices_at <= now {
            self.interruption();
        }
        self.collect_pods();
        if self.provisioning_due() <= now {
            self.provision();
        }
        if self.lifecycle <= now {
            self.advance_claims();
        }
        if self.disruption <= now {
            self.disrupt();
        }
        self.settle();
        self.collect_pods();
        self.world.change().check_instances();
    }

    /// When a function is due next; always later than the moment of the last turn.
    pub(super) fn next(&self) -> Timestamp {
        let notices = (!self.notices.is_empty()).then_some(self.notices_at);
        let dues = [self.provisioning_due(), self.lifecycle, self.disruption];
        let next = dues.into_iter().chain(notices).min().unwrap_or(self.lifecycle);
        next.max(self.now() + SignedDuration::from_millis(1))
    }

    fn now(&self) -> Timestamp {
        self.world.look().now()
    }

    fn settle(&self) {
        let mut world = self.world.change();
        let now = world.now();
        world.store.forget_expired(now);
        world.settle();
    }

    fn provisioning_due(&self) -> Timestamp {
        let batch = self.batch.filter(|_| self.mode == ProvisioningMode::Watch);
        batch.map_or(self.provisioning, |batch| batch.due().min(self.provisioning))
    }

    /// Takes note of pods that provisioning has not been told of.
    fn collect_pods(&mut self) {
        let world = self.world.look();
        let now = world.now();
        let mut has_new = false;
        for pod in world.api().list::<Pod>().filter(|pod| is_waiting(pod)) {
            has_new |= self.seen.insert(pod.uid.clone());
        }
        if has_new {
            let first = self.batch.map_or(now, |batch| batch.first);
            self.batch = Some(Batch { first, last: now });
        }
    }

    fn collect_notices(&mut self) {
        let mut world = self.world.change();
        let now = world.now();
        for instance_id in std::mem::take(&mut world.interruptions) {
            self.notices.push(Notice { instance_id, at: now, kind: NoticeKind::SpotInterruption });
            self.notices_at = now;
        }
    }

    fn run_id(&mut self) -> String {
        self.runs += 1;
        format!("run-{}", self.runs)
    }

    fn provision(&mut self) {
        let now = self.now();
        self.batch = None;
        let id = self.run_id();
        let result = block_on(provisioning::provision(&self.ports(), &self.run(&id, now)));
        let mut pause = TICK;
        if let Some(report) = self.ran("provisioning", result, &mut pause) {
            self.refused(&report.refused);
        }
        let is_busy = self.mode == ProvisioningMode::Watch && self.has_work_for_provisioning();
        self.provisioning = now + if is_busy { pause.min(IN_FLIGHT) } else { pause };
        self.hurry_lifecycle(now);
    }

    fn advance_claims(&mut self) {
        let now = self.now();
        let id = self.run_id();
        let result = block_on(lifecycle::advance(&self.ports(), &self.run(&id, now)));
        let mut pause = TICK;
        if let Some(report) = self.ran("lifecycle", result, &mut pause)
            && let Some(after) = report.requeue_after
        {
            pause = pause.min(after);
        }
        self.lifecycle = now + pause.max(PAUSE_MIN);
        self.hurry_lifecycle(now);
        self.wake_provisioning(now);
    }

    fn disrupt(&mut self) {
        let now = self.now();
        let id = self.run_id();
        let result = block_on(disruption::disrupt(&self.ports(), &self.run(&id, now)));
        let mut pause = TICK;
        if let Some(report) = self.ran("disruption", result, &mut pause) {
            for change in &report.changes {
                if let disruption::CommandEvent::Refused(violations) = &change.what {
                    self.refused(violations);
                }
            }
            pause = pause.min(report.requeue_after.unwrap_or(TICK));
        }
        self.disruption = now + pause.max(PAUSE_MIN);
        self.hurry_lifecycle(now);
    }

    fn interruption(&mut self) {
        let now = self.now();
        let mut left = Vec::new();
        for notice in std::mem::take(&mut self.notices) {
            if let Err(error) = block_on(interruption::handle(&self.ports(), &notice)) {
                self.failed("interruption", &error);
                left.push(notice);
            }
        }
        // A message that failed comes again once its visibility has timed out.
        self.notices = left;
        self.notices_at = now + RETRY;
        self.lifecycle = self.lifecycle.min(now + PAUSE_MIN);
        self.wake_provisioning(now);
    }

    /// Pods of a node that goes are planned for without waiting for their eviction.
    fn wake_provisioning(&mut self, now: Timestamp) {
        let is_ending = self.world.look().store.claims.iter().any(|record| record.ending.is_some());
        if is_ending && self.mode == ProvisioningMode::Watch {
            self.provisioning = self.provisioning.min(now + IN_FLIGHT);
        }
    }

    /// Lifecycle stays awake while a claim is on its way, in either direction.
    fn hurry_lifecycle(&mut self, now: Timestamp) {
        let is_in_flight = self
            .world
            .look()
            .store
            .claims
            .iter()
            .any(|record| record.phase() != ClaimPhase::Initialized);
        if is_in_flight {
            self.lifecycle = self.lifecycle.min(now + IN_FLIGHT).max(now + PAUSE_MIN);
        }
    }

    fn has_work_for_provisioning(&self) -> bool {
        let world = self.world.look();
        let is_ending = world.store.claims.iter().any(|record| record.ending.is_some());
        is_ending || world.api().list::<Pod>().any(is_waiting)
    }

    fn ports(&self) -> Ports<'_, SharedWorld, SharedWorld, SharedWorld, SharedWorld> {
        let world = &self.world;
        Ports { cluster: world, cloud: world, store: world, clock: world }
    }

    fn run<'a>(&'a self, id: &'a str, now: Timestamp) -> Run<'a> {
        Run {
            cluster: CLUSTER,
            settings: &self.settings,
            core: self.core,
            id,
            deadline: now + RUN_MAX,
        }
    }

    /// The report of a run that took place; one that did not is tried again soon.
    fn ran<R>(
        &self,
        controller: &'static str,
        result: Result<RunOutcome<R>, PortError>,
        pause: &mut SignedDuration,
    ) -> Option<R> {
        match result {
            Ok(outcome) => {
                let report = outcome.ran();
                if report.is_none() {
                    *pause = RETRY;
                }
                report
            }
            Err(error) => {
                self.failed(controller, &error);
                *pause = RETRY;
                None
            }
        }
    }

    fn failed(&self, controller: &'static str, error: &PortError) {
        let mut world = self.world.change();
        let now = world.now();
        let failed = Happening::ControllerFailed { controller: controller.into() };
        world.journal.add_because(now, failed, Some(error.to_string().into()));
    }

    fn refused(&self, violations: &[Text]) {
        let mut world = self.world.change();
        for violation in violations {
            world.violate(Violation::InvalidPlan(violation.clone()));
        }
    }
}
