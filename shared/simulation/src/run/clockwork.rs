//! When each function is invoked, and with which event.

use std::cell::RefCell;
use std::rc::Rc;

use controllers::core::Core;
use controllers::interruption::{self, Notice, Terms, check_health};
use controllers::node_classes::resolve;
use controllers::ports::{FunctionName, Wake};
use controllers::provisioning::demand_check::{begin_demand_checks, check_demand};
use controllers::provisioning::watch::{First, watch_from};
use controllers::record::fuses::Urgency;
use controllers::requeue::reconcile_until_idle;
use controllers::run::Run;
use controllers::safeguards::Safeguards;
use controllers::{disruption, lifecycle, provisioning};
use domain::node_class::Ec2NodeClass;
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};

use super::idle_runs::{ComesBack, Extent, IdleRuns, Marks};
use super::process::{Process, Step};
use super::record;
use crate::ec2::images_change;
use crate::ports::{SharedWorld, Worlds};
use crate::report::Happening;
use crate::scenario::ProvisioningMode;
use crate::world::World;

/// The schedule of the functions: once a minute.
const TICK: SignedDuration = SignedDuration::from_mins(1);
/// The longest an invocation runs: until just before the next.
const RUN_MAX: SignedDuration = SignedDuration::from_secs(55);
/// How long after its deadline a process is ended.
const DEADLINE_MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// From sending a message without a delay until it invokes its function, at the shortest and at the
/// longest.
const DELIVERED_AFTER: [SignedDuration; 2] =
    [SignedDuration::from_millis(50), SignedDuration::from_millis(500)];
/// The default number of messages in a batch of SQS.
const NOTICES_AT_ONCE: usize = 10;
/// The visibility timeout of the queue: an unhandled notice comes again after it.
const VISIBLE_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// The most by which an event may be late.
const LATE_MAX: SignedDuration = SignedDuration::from_mins(1);
/// Rounds within which processes that wake each other in one moment come to rest.
const ROUNDS_MAX: usize = 100;

const CLUSTER: &str = "simulated";

/// The functions and when each is due.
pub(super) struct Clockwork {
    world: SharedWorld,
    settings: Rc<Settings>,
    safeguards: Rc<Safeguards>,
    core: Core,
    mode: ProvisioningMode,
    schedule: Vec<Scheduled>,
    queue: Vec<Queued>,
    messages: Vec<Message>,
    running: Vec<Running>,
    /// Invocations that begin in this turn, in order.
    due: Vec<Due>,
    invocations: u64,
    /// Node classes as they were once all were resolved.
    resolved: Rc<RefCell<ResolvedClasses>>,
    /// Messages between functions so far.
    sent: u64,
    idle_runs: IdleRuns,
}

/// A function on its schedule.
struct Scheduled {
    function: FunctionName,
    due: Timestamp,
}

/// A notice that waits in its queue.
struct Queued {
    notice: Notice,
    visible: Timestamp,
}

/// A message between functions that waits in its queue.
struct Message {
    wake: Wake,
    visible: Timestamp,
}

/// An invocation of a function that is about to begin, by its schedule or by a message.
struct Due {
    function: FunctionName,
    message: Option<Wake>,
}

/// An invocation under way.
struct Running {
    what: Invocation,
    process: Process,
    /// What its first run decides; `None` once that has taken place, and where it does not matter.
    first: Option<Extent>,
}

/// Node classes as they were once all were resolved.
#[derive(Debug, Default)]
struct ResolvedClasses {
    classes: Vec<Ec2NodeClass>,
    at: Timestamp,
}

impl ResolvedClasses {
    /// Whether resolving the classes of a world again would find the same.
    fn is_of(&self, world: &World) -> bool {
        let classes = || world.api().list::<Ec2NodeClass>();
        classes().eq(self.classes.iter())
            && !images_change(&world.images, classes(), (self.at, world.now()))
            && !world.addresses_changed()
    }
}

/// Resolves node classes as lifecycle's function does once a minute: here, where one has changed.
async fn resolve_node_classes(
    world: &SharedWorld,
    run: &Run<'_>,
    resolved: &RefCell<ResolvedClasses>,
) {
    let classes = || world.read().api().list::<Ec2NodeClass>().cloned().collect::<Vec<_>>();
    if resolved.borrow().is_of(&world.read()) {
        return;
    }
    let at = world.read().now();
    let result = Box::pin(resolve(world, run)).await;
    if record::node_classes(world, &result) {
        resolved.replace(ResolvedClasses { classes: classes(), at });
    }
}

/// What was there before a run.
#[derive(Default)]
struct BeforeRun {
    marks: Option<Marks>,
    messages: usize,
    token: u64,
}

enum Invocation {
    Function(FunctionName),
    /// The cell says which of the notices were handled, and may be deleted from their queue.
    Notices(Vec<Notice>, Rc<RefCell<Vec<bool>>>),
}

impl Clockwork {
    pub(super) fn new(
        world: &SharedWorld,
        settings: Settings,
        core: Core,
        mode: ProvisioningMode,
        start: Timestamp,
    ) -> Self {
        // Schedules of EventBridge fall anywhere in the minute, each on its own. Whoever watches
        // was there before anything happened.
        let seed = world.read().seed;
        let scheduled = |function: FunctionName| {
            let is_there =
                function == FunctionName::Provisioning && mode == ProvisioningMode::Watch;
            let mut draw = seed.draw("first-tick", function.as_str());
            let first = draw.between(SignedDuration::ZERO, TICK);
            Scheduled { function, due: if is_there { start } else { start + first } }
        };
        let functions =
            [FunctionName::Provisioning, FunctionName::Lifecycle, FunctionName::Disruption];
        Self {
            world: world.clone(),
            settings: Rc::new(settings),
            safeguards: Rc::new(Safeguards {
                installation: CLUSTER.into(),
                ..Safeguards::default()
            }),
            core,
            mode,
            schedule: functions.into_iter().map(scheduled).collect(),
            queue: Vec::new(),
            messages: Vec::new(),
            running: Vec::new(),
            due: Vec::new(),
            invocations: 0,
            resolved: Rc::default(),
            sent: 0,
            idle_runs: IdleRuns::default(),
        }
    }

    /// Who decides.
    pub(super) const fn core(&self) -> Core {
        self.core
    }

    /// By which settings.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lets the cluster settle and every invocation go on whose time has come.
    pub(super) fn turn(&mut self) {
        self.settle();
        self.collect_notices();
        self.collect_messages();
        self.invoke_due();
        for _ in 0..ROUNDS_MAX {
            let before = self.world.read().api().revision();
            self.go_on();
            self.settle();
            if self.world.read().api().revision() == before {
                break;
            }
        }
        self.world.change().check_instances();
        // What was sent in this turn may be due before anything else is: a message that was
        // collected in the next turn only would be late by as long as nothing else happens.
        self.collect_notices();
        self.collect_messages();
    }

    /// When an invocation is due or goes on; always later than the moment of the last turn.
    pub(super) fn next(&self) -> Timestamp {
        let dues = self.schedule.iter().map(|own| own.due);
        let visible = self.queue.iter().map(|own| own.visible);
        let visible = visible.chain(self.messages.iter().map(|own| own.visible));
        let woken = self.running.iter().filter_map(|own| own.process.wakes_at());
        let soonest = self.now() + SignedDuration::from_millis(1);
        dues.chain(visible).chain(woken).min().unwrap_or(soonest).max(soonest)
    }

    /// Leaves out all invocations before a moment, which would find nothing to do.
    pub(super) fn skip_to(&mut self, moment: Timestamp) {
        for own in &mut self.schedule {
            while own.due < moment {
                own.due += TICK;
            }
        }
        for own in &mut self.messages {
            own.visible = own.visible.max(moment);
        }
    }

    fn now(&self) -> Timestamp {
        self.world.read().now()
    }

    fn settle(&self) {
        let mut world = self.world.change();
        let now = world.now();
        world.store.forget_expired(now);
        world.settle();
    }

    fn collect_notices(&mut self) {
        let mut world = self.world.change();
        let (now, seed, faults) = (world.now(), world.seed, world.options.faults);
        for (instance_id, kind) in std::mem::take(&mut world.announcements) {
            let mut draw = seed.draw("notice", &instance_id);
            let notice = Notice { instance_id, at: now, kind };
            let copies = 1 + usize::from(draw.happens(faults.events_doubled_per_mille));
            for _ in 0..copies {
                let is_late = draw.happens(faults.events_late_per_mille);
                let late = draw.between(SignedDuration::ZERO, LATE_MAX);
                let visible = if is_late { now + late } else { now };
                self.queue.push(Queued { notice: notice.clone(), visible });
            }
        }
    }

    /// Messages of SQS are delivered at least once, in any order.
    fn collect_messages(&mut self) {
        let mut world = self.world.change();
        let (now, seed, faults) = (world.now(), world.seed, world.options.faults);
        for wake in std::mem::take(&mut world.wakes) {
            self.sent += 1;
            let mut draw = seed.draw("message", &self.sent.to_string());
            let copies = 1 + usize::from(draw.happens(faults.events_doubled_per_mille));
            for _ in 0..copies {
                let is_late = draw.happens(faults.events_late_per_mille);
                let late = draw.between(SignedDuration::ZERO, LATE_MAX);
                let [soonest, latest] = DELIVERED_AFTER;
                let takes = draw.between(soonest, latest)
                    + if is_late { late } else { SignedDuration::ZERO };
                self.messages.push(Message { wake, visible: now + wake.after + takes });
            }
        }
    }

    fn invoke_due(&mut self) {
        let now = self.now();
        let visible = self.queue.extract_if(.., |own| own.visible <= now);
        let notices: Vec<Notice> = visible.map(|own| own.notice).collect();
        for batch in notices.chunks(NOTICES_AT_ONCE) {
            let running = self.notified(batch.to_vec());
            self.running.push(running);
        }
        let due: Vec<Message> = self.messages.extract_if(.., |own| own.visible <= now).collect();
        for Message { wake, .. } in due {
            self.due.push(Due { function: wake.function, message: Some(wake) });
        }
        for index in 0..self.schedule.len() {
            if self.schedule[index].due > now {
                continue;
            }
            let function = self.schedule[index].function;
            let (copies, next) = self.draw_tick(function, self.schedule[index].due);
            self.schedule[index].due = next;
            for _ in 0..copies {
                self.due.push(Due { function, message: None });
            }
        }
    }

    /// How often a tick comes, and when the next does.
    fn draw_tick(&self, function: FunctionName, due: Timestamp) -> (usize, Timestamp) {
        let world = self.world.read();
        let faults = world.options.faults;
        let mut draw = world.seed.draw("tick", &format!("{function} {due}"));
        let copies = 1 + usize::from(draw.happens(faults.events_doubled_per_mille));
        let is_late = draw.happens(faults.events_late_per_mille);
        let late = draw.between(SignedDuration::ZERO, LATE_MAX);
        (copies, due + TICK + if is_late { late } else { SignedDuration::ZERO })
    }

    /// Invokes a function, unless it would find nothing to do. `others` are the invocations under
    /// way.
    fn begin(&mut self, Due { function, message }: Due, others: &[Running]) -> Option<Running> {
        self.invocations += 1;
        let continues = message.as_ref().and_then(|own| own.continues);
        let extent = match continues {
            Some(_) if function == FunctionName::Disruption => Extent::Partial,
            _ => Extent::Whole,
        };
        let idles = self.would_idle(function, extent, others);
        let mut begins = First::Provision;
        if let Some(comes_back) = idles {
            let mut world = self.world.change();
            let now = world.now();
            if continues.is_some_and(|own| world.store.last_token(function) != Some(own)) {
                return None;
            }
            if let Some(token) = world.store.pass_lease(function, now) {
                if let ComesBack::ByMessage(after) = comes_back {
                    world.wakes.push(Wake {
                        function,
                        continues: Some(token),
                        after,
                        demand_check: None,
                    });
                }
                if !self.watches(function) {
                    return None;
                }
                begins = First::Wait;
            }
        }
        Some(self.invoked(function, message, (extent, begins)))
    }

    /// How an invocation would come back that would find nothing to do.
    fn would_idle(
        &self,
        function: FunctionName,
        extent: Extent,
        others: &[Running],
    ) -> Option<ComesBack> {
        let world = self.world.read();
        let is_it = |own: &Running| matches!(own.what, Invocation::Function(running) if running == function);
        // Provisioning that watches holds its lease during its runs only.
        let may_be_held = !self.watches(function) && others.iter().any(is_it);
        let are_resolved = || self.resolved.borrow().is_of(&world);
        if may_be_held || !are_resolved() {
            return None;
        }
        self.idle_runs.would_idle(&world, function, extent)
    }

    /// Whether invocations of a function stay until the next.
    fn watches(&self, function: FunctionName) -> bool {
        function == FunctionName::Provisioning && self.mode == ProvisioningMode::Watch
    }

    fn invoked(
        &mut self,
        function: FunctionName,
        message: Option<Wake>,
        (first, begins): (Extent, First),
    ) -> Running {
        let id = format!("run-{}", self.invocations);
        let deadline = self.now() + RUN_MAX;
        let process_ends = deadline + DEADLINE_MARGIN;
        let (settings, core, mode) = (Rc::clone(&self.settings), self.core, self.mode);
        let safeguards = Rc::clone(&self.safeguards);
        let resolved = Rc::clone(&self.resolved);
        let process = Process::start(&self.world, |handle| async move {
            let ports = &*handle;
            let run = Run {
                cluster: CLUSTER,
                settings: &settings,
                safeguards: &safeguards,
                urgency: Urgency::Routine,
                core,
                id: &id,
                deadline,
                process_ends,
                wakes: mode != ProvisioningMode::Poll,
                continues: message.and_then(|own| own.continues),
            };
            match function {
                FunctionName::Provisioning if mode == ProvisioningMode::Watch => {
                    let record = |result| record::provisioning(&handle, result);
                    if begins == First::Wait {
                        handle.note_demand();
                    }
                    watch_from(ports, &run, begins, record).await;
                }
                FunctionName::Provisioning if mode == ProvisioningMode::Tick => {
                    let record = |result| record::provisioning(&handle, result);
                    match message.and_then(|own| own.demand_check) {
                        Some(own) => check_demand(ports, &run, own, record).await,
                        None => begin_demand_checks(ports, &run, record).await,
                    }
                }
                FunctionName::Provisioning => {
                    record::provisioning(&handle, provisioning::provision(ports, &run).await);
                }
                FunctionName::Lifecycle => {
                    if message.is_none() {
                        resolve_node_classes(&handle, &run, &resolved).await;
                        record::health(&handle, &Box::pin(check_health(ports, &run)).await);
                    }
                    let record = |result| record::lifecycle(&handle, result);
                    match mode {
                        ProvisioningMode::Watch | ProvisioningMode::Tick => {
                            reconcile_until_idle(ports, &run, lifecycle::advance, record).await;
                        }
                        ProvisioningMode::Poll => record(lifecycle::advance(ports, &run).await),
                    }
                }
                FunctionName::Disruption => {
                    let record = |result| record::disruption(&handle, result);
                    match mode {
                        ProvisioningMode::Watch | ProvisioningMode::Tick => {
                            disruption::disrupt_until_idle(ports, &run, record).await;
                        }
                        ProvisioningMode::Poll => record(disruption::disrupt(ports, &run).await),
                    }
                }
                // No schedule wakes it: an operator does, in a test of its own.
                FunctionName::HandBack => {}
            }
        });
        let first = (begins == First::Provision).then_some(first);
        Running { what: Invocation::Function(function), process, first }
    }

    fn notified(&mut self, notices: Vec<Notice>) -> Running {
        self.invocations += 1;
        let id = format!("run-{}", self.invocations);
        let deadline = self.now() + RUN_MAX;
        let process_ends = deadline + DEADLINE_MARGIN;
        let (settings, core) = (Rc::clone(&self.settings), self.core);
        let safeguards = Rc::clone(&self.safeguards);
        let wakes = self.mode != ProvisioningMode::Poll;
        let are_handled = Rc::new(RefCell::new(Vec::new()));
        let (own, handled) = (notices.clone(), Rc::clone(&are_handled));
        let process = Process::start(&self.world, |handle| async move {
            let worlds = Worlds::new([(CLUSTER.into(), Rc::clone(&handle))]);
            let (settings, safeguards) = (&*settings, &*safeguards);
            let terms =
                Terms { settings, safeguards, core, id: &id, deadline, process_ends, wakes };
            let report = interruption::handle(&worlds, &terms, &own).await;
            handled.borrow_mut().extend(report.outcomes.iter().map(Result::is_ok));
            record::interruption(&handle, &report);
        });
        Running { what: Invocation::Notices(notices, are_handled), process, first: None }
    }

    /// Lets every invocation go on until it waits.
    fn go_on(&mut self) {
        let mut left = Vec::with_capacity(self.running.len() + self.due.len());
        for running in std::mem::take(&mut self.running) {
            left.extend(self.step(running));
        }
        for due in std::mem::take(&mut self.due) {
            if let Some(running) = self.begin(due, &left) {
                left.extend(self.step(running));
            }
        }
        self.running = left;
    }

    /// Lets an invocation go on until it waits; `None` once it has ended.
    fn step(&mut self, mut running: Running) -> Option<Running> {
        let before = running.first.take().map(|extent| (extent, self.before_run(&running)));
        let step = running.process.step();
        if let Some((extent, before)) = before {
            self.note_if_idle(&running, step, extent, &before);
        }
        match step {
            Step::Waits => return Some(running),
            Step::Done => {}
            Step::Died => self.note_death(&running.what),
        }
        self.ended(&running.what);
        None
    }

    fn before_run(&self, running: &Running) -> BeforeRun {
        let world = self.world.read();
        let Invocation::Function(function) = running.what else { return BeforeRun::default() };
        BeforeRun {
            marks: Some(Marks::of(&world)),
            messages: world.wakes.len(),
            token: world.store.last_token(function).unwrap_or(0),
        }
    }

    /// Takes note of a first run that did nothing, and whose invocation has no other before it.
    fn note_if_idle(&mut self, running: &Running, step: Step, extent: Extent, before: &BeforeRun) {
        let Invocation::Function(function) = running.what else { return };
        let world = self.world.read();
        let has_run = world.store.last_token(function) == Some(before.token + 1);
        if IdleRuns::is_off(&world) || !has_run || before.marks != Some(Marks::of(&world)) {
            return;
        }
        let sent = world.wakes.get(before.messages..).unwrap_or_default();
        let watches = self.watches(function);
        let comes_back = match (step, sent) {
            // It waits for nothing but demand.
            (Step::Waits, [])
                if watches && running.process.wakes_at() == Some(world.now() + RUN_MAX) =>
            {
                ComesBack::BySchedule
            }
            (Step::Done, []) if !watches => ComesBack::BySchedule,
            (Step::Done, [own])
                if own.function == function && own.continues == Some(before.token + 1) =>
            {
                ComesBack::ByMessage(own.after)
            }
            _ => return,
        };
        self.idle_runs.note(&world, &self.settings, (function, extent), comes_back);
    }

    fn ended(&mut self, what: &Invocation) {
        let Invocation::Notices(notices, are_handled) = what else { return };
        let visible = self.now() + VISIBLE_AGAIN_AFTER;
        // None are where the process died.
        for (index, notice) in notices.iter().enumerate() {
            if are_handled.borrow().get(index) != Some(&true) {
                self.queue.push(Queued { notice: notice.clone(), visible });
            }
        }
    }

    fn note_death(&self, what: &Invocation) {
        let name = match what {
            Invocation::Function(function) => function.as_str(),
            Invocation::Notices(..) => "interruption",
        };
        let mut world = self.world.change();
        let (now, call) = (world.now(), world.calls());
        let died: Text = format!("{name} dies after call {call}").into();
        world.journal.add(now, Happening::Fault(died));
    }
}
