//! When each function is invoked, and with which event.

use std::cell::RefCell;
use std::rc::Rc;

use controllers::core::Core;
use controllers::interruption::{self, Notice, Terms, check_health};
use controllers::ports::{FunctionName, Wake};
use controllers::record::fuses::Urgency;
use controllers::requeue::reconcile_until_idle;
use controllers::run::Run;
use controllers::safeguards::Safeguards;
use controllers::{disruption, lifecycle, provisioning};
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};

use super::process::{Process, Step};
use super::record;
use crate::ports::{SharedWorld, Worlds};
use crate::report::Happening;
use crate::scenario::ProvisioningMode;

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
    invocations: u64,
    /// Messages between functions so far.
    sent: u64,
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

/// An invocation under way.
struct Running {
    what: Invocation,
    process: Process,
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
            invocations: 0,
            sent: 0,
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
            let running = self.invoked(wake.function, Some(wake));
            self.running.push(running);
        }
        for index in 0..self.schedule.len() {
            if self.schedule[index].due > now {
                continue;
            }
            let function = self.schedule[index].function;
            let (copies, next) = self.draw_tick(function, self.schedule[index].due);
            self.schedule[index].due = next;
            for _ in 0..copies {
                let running = self.invoked(function, None);
                self.running.push(running);
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

    /// An invocation by its schedule, or by a message.
    fn invoked(&mut self, function: FunctionName, message: Option<Wake>) -> Running {
        self.invocations += 1;
        let id = format!("run-{}", self.invocations);
        let deadline = self.now() + RUN_MAX;
        let process_ends = deadline + DEADLINE_MARGIN;
        let (settings, core, mode) = (Rc::clone(&self.settings), self.core, self.mode);
        let safeguards = Rc::clone(&self.safeguards);
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
                wakes: mode == ProvisioningMode::Watch,
                continues: message.and_then(|own| own.continues),
            };
            match function {
                FunctionName::Provisioning if mode == ProvisioningMode::Watch => {
                    let record = |result| record::provisioning(&handle, result);
                    provisioning::watch::watch(ports, &run, record).await;
                }
                FunctionName::Provisioning => {
                    record::provisioning(&handle, provisioning::provision(ports, &run).await);
                }
                FunctionName::Lifecycle => {
                    if message.is_none() {
                        record::health(&handle, &Box::pin(check_health(ports, &run)).await);
                    }
                    let record = |result| record::lifecycle(&handle, result);
                    match mode {
                        ProvisioningMode::Watch => {
                            reconcile_until_idle(ports, &run, lifecycle::advance, record).await;
                        }
                        ProvisioningMode::Poll => record(lifecycle::advance(ports, &run).await),
                    }
                }
                FunctionName::Disruption => {
                    let record = |result| record::disruption(&handle, result);
                    match mode {
                        ProvisioningMode::Watch => {
                            reconcile_until_idle(ports, &run, disruption::disrupt, record).await;
                        }
                        ProvisioningMode::Poll => record(disruption::disrupt(ports, &run).await),
                    }
                }
                // No schedule wakes it: an operator does, in a test of its own.
                FunctionName::HandBack => {}
            }
        });
        Running { what: Invocation::Function(function), process }
    }

    fn notified(&mut self, notices: Vec<Notice>) -> Running {
        self.invocations += 1;
        let id = format!("run-{}", self.invocations);
        let deadline = self.now() + RUN_MAX;
        let process_ends = deadline + DEADLINE_MARGIN;
        let (settings, core) = (Rc::clone(&self.settings), self.core);
        let safeguards = Rc::clone(&self.safeguards);
        let wakes = self.mode == ProvisioningMode::Watch;
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
        Running { what: Invocation::Notices(notices, are_handled), process }
    }

    /// Lets every invocation go on until it waits.
    fn go_on(&mut self) {
        let mut left = Vec::with_capacity(self.running.len());
        for mut running in std::mem::take(&mut self.running) {
            let step = running.process.step();
            match step {
                Step::Waits => left.push(running),
                Step::Done => self.ended(&running.what),
                Step::Died => {
                    self.note_death(&running.what);
                    self.ended(&running.what);
                }
            }
        }
        self.running = left;
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
