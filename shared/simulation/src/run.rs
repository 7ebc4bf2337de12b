//! Runs a scenario: the controllers, unchanged, against the simulated world, at the times at which
//! their functions would wake.
//!
//! Each function is invoked once a minute; in `poll` mode it looks once. In `watch` mode
//! provisioning stays until just before the next time and acts within its batching window, and
//! lifecycle and disruption, while they have work in flight, stay for short pauses and come back by
//! message after longer ones; whoever launches or ends claims wakes lifecycle by message too.
//! Interruption acts on each notice.

mod act;
mod bound;
mod clockwork;
mod historian;
mod idle_runs;
mod judge;
mod needed;
mod observer;
mod process;
mod record;
mod stable;
mod view;

use std::cell::Cell;
use std::collections::BTreeMap;

use catalog::CatalogOptions;
use controllers::core::Core;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};
use manifests::Object;

use crate::ec2::Supply;
use crate::history::History;
use crate::playback::Playback;
use crate::ports::SharedWorld;
use crate::report::{Cost, ExpectationOutcome, Moment, Report, View};
use crate::scenario::{
    CatalogChoice, Expectation, Expected, PriceBound, Scenario, ScenarioError, Step,
};
use crate::world::{World, WorldOptions};
use clockwork::Clockwork;
use historian::{BoundTerms, Historian};
use needed::Stretches;
use observer::Observer;

pub use observer::{Recorded, RecordingTerms};
pub(crate) use stable::RestedRun;

/// Runs a scenario to its end with the real decisions. Of one with variants that is what they have
/// in common: see [`Scenario::in_variant`].
pub fn run(scenario: Scenario, settings: &Settings) -> Result<Report, ScenarioError> {
    run_with(scenario, settings, Core::standard())
}

/// Runs a scenario to its end with decisions of the caller's.
pub fn run_with(
    scenario: Scenario,
    settings: &Settings,
    core: Core,
) -> Result<Report, ScenarioError> {
    run_through(scenario, settings, core, &|_| {})
}

/// Like [`run`]; `passed` gets how much of the scenario's time has passed, again and again.
pub fn run_watched(
    scenario: Scenario,
    settings: &Settings,
    passed: &dyn Fn(SignedDuration),
) -> Result<Report, ScenarioError> {
    run_through(scenario, settings, Core::standard(), passed)
}

/// Runs a scenario until nothing changes any more, or to its end.
pub(crate) fn run_until_stable(
    scenario: Scenario,
    settings: &Settings,
    has_history: bool,
    passed: &dyn Fn(SignedDuration),
) -> Result<RestedRun, ScenarioError> {
    let mut simulation = Simulation::new(scenario, settings, Core::standard())?;
    simulation.historian = has_history.then(|| Historian::new(BoundTerms::Once));
    let rest = simulation.run_until_stable(passed)?;
    Ok(simulation.into_rested_run(&rest))
}

/// Like [`run_watched`], and records what happens.
pub fn run_recorded(
    scenario: Scenario,
    settings: &Settings,
    terms: RecordingTerms,
    passed: &dyn Fn(SignedDuration),
) -> Result<Recorded, ScenarioError> {
    let observer = Observer::new(&scenario, terms);
    let mut simulation = Simulation::new(scenario, settings, Core::standard())?;
    simulation.observer = Some(observer);
    simulation.run(passed)?;
    let observer = simulation.observer.take();
    let end = simulation.end;
    let lines = observer.map_or(Ok(String::new()), |own| own.into_lines(end))?;
    Ok(Recorded { report: simulation.into_report(), lines })
}

/// A run with all that became of its nodes and pods.
#[derive(Debug)]
pub struct Traced {
    /// What a run gives.
    pub report: Report,
    /// The lives of nodes and pods, and figures over time.
    pub history: History,
    /// The recording, line by line, where one was asked for.
    pub lines: Option<String>,
}

/// Like [`run_watched`], and keeps the history; with `recording`, records what happens too.
pub fn run_traced(
    scenario: Scenario,
    settings: &Settings,
    recording: Option<RecordingTerms>,
    passed: &dyn Fn(SignedDuration),
) -> Result<Traced, ScenarioError> {
    let observer = recording.map(|terms| Observer::new(&scenario, terms));
    let mut simulation = Simulation::new(scenario, settings, Core::standard())?;
    simulation.observer = observer;
    simulation.historian = Some(Historian::new(BoundTerms::Within(simulation.scenario.duration)));
    simulation.run(passed)?;
    let lines = simulation.observer.take();
    let end = simulation.end;
    let lines = lines.map(|own| own.into_lines(end)).transpose()?;
    let history = simulation.historian.take().map(Historian::into_history).unwrap_or_default();
    Ok(Traced { report: simulation.into_report(), history, lines })
}

fn run_through(
    scenario: Scenario,
    settings: &Settings,
    core: Core,
    passed: &dyn Fn(SignedDuration),
) -> Result<Report, ScenarioError> {
    let mut simulation = Simulation::new(scenario, settings, core)?;
    simulation.run(passed)?;
    Ok(simulation.into_report())
}

impl Simulation {
    fn new(scenario: Scenario, settings: &Settings, core: Core) -> Result<Self, ScenarioError> {
        check_marks(&scenario)?;
        check_moments(&scenario)?;
        let settings = scenario.settings.applied_to(settings);
        let supply = match &scenario.catalog {
            CatalogChoice::Given(types) => Supply::Fixed((**types).clone()),
            CatalogChoice::Region(region, _) => {
                let options = CatalogOptions::of(region).with_running(nodes_of(&scenario));
                Supply::Catalog(Box::new(catalog::embedded_in(region)?), Box::new(options))
            }
        };
        let options = WorldOptions {
            faults: scenario.faults,
            ec2: scenario.ec2,
            every_run: scenario.every_run,
            job_duration: scenario.job_duration,
            boot: scenario.boot,
            pod_start: scenario.pod_start,
            pod_stop: scenario.pod_stop,
            ..WorldOptions::new(scenario.seed, scenario.start)
        };
        let mut world = World::new(options, supply);
        world.spot_interruptions.clone_from(&scenario.spot_interruptions);
        for workload in watched(&scenario) {
            world.watch_readiness(workload);
        }
        world.images.clone_from(&scenario.images);
        world.own_scheduler.clone_from(&scenario.own_scheduler);
        let replay = scenario.replay.clone();
        world.playback = replay.map(|replay| Playback::new(replay, scenario.start));
        let world = SharedWorld::new(world);
        let clockwork =
            Clockwork::new(&world, settings, core, scenario.provisioning, scenario.start);
        let wants_bound = |own: &Expectation| own.what.is_of_bound();
        let stretches =
            scenario.expectations.iter().any(wants_bound).then(|| Stretches::since(scenario.start));
        Ok(Self {
            end: scenario.start + scenario.duration,
            scenario,
            world,
            clockwork,
            views: Views::default(),
            marks: BTreeMap::new(),
            outcomes: Vec::new(),
            percent_of_bound: Cell::new(None),
            stretches,
            observer: None,
            historian: None,
        })
    }
}

/// A mark that is never set would make an expectation hold or fail by accident.
fn check_marks(scenario: &Scenario) -> Result<(), ScenarioError> {
    let is_set = |mark: &Text| {
        scenario
            .timeline
            .iter()
            .any(|step| matches!(&step.action, crate::scenario::Action::Mark(own) if own == mark))
    };
    for expectation in &scenario.expectations {
        let Expected::Hourly { above, below } = &expectation.what else { continue };
        for bound in [above, below].into_iter().flatten() {
            if let PriceBound::Mark(mark) = bound
                && !is_set(mark)
            {
                let expectation = expectation.what.to_string().into();
                return Err(ScenarioError::UnknownMark { expectation, mark: mark.clone() });
            }
        }
    }
    Ok(())
}

/// An expectation of a moment that never comes would hold by accident. Files are checked as they
/// are read: a scenario that is run over a recording ends when that does.
fn check_moments(scenario: &Scenario) -> Result<(), ScenarioError> {
    let duration = scenario.duration;
    for expectation in &scenario.expectations {
        if let Some(at) = expectation.at.filter(|at| *at > duration) {
            let expectation = expectation.what.to_string().into();
            return Err(ScenarioError::AfterTheEnd { expectation, at, duration });
        }
    }
    Ok(())
}

/// Nodes that are there when a scenario applies them.
fn nodes_of(scenario: &Scenario) -> impl Iterator<Item = &Node> {
    scenario.applied().filter_map(|object| match object {
        Object::Node(node) => Some(node),
        _ => None,
    })
}

struct Simulation {
    scenario: Scenario,
    end: Timestamp,
    world: SharedWorld,
    clockwork: Clockwork,
    views: Views,
    marks: BTreeMap<Text, UsdPerHour>,
    outcomes: Vec<(usize, ExpectationOutcome)>,
    percent_of_bound: Cell<Option<u32>>,
    /// Where something is expected of the bound.
    stretches: Option<Stretches>,
    /// Where what happens is recorded.
    observer: Option<Observer>,
    /// Where the history is kept.
    historian: Option<Historian>,
}

/// The views that the report shows.
#[derive(Default)]
struct Views {
    start: Option<View>,
    peak: Option<View>,
}

impl Simulation {
    fn run(&mut self, passed: &dyn Fn(SignedDuration)) -> Result<(), ScenarioError> {
        let mut done = 0;
        loop {
            let now = self.world.read().now();
            passed(now.duration_since(self.scenario.start));
            while let Some(step) = self.due_step(done, now) {
                self.end_stretch();
                self.act(&step)?;
                done += 1;
            }
            self.world.change().wake_playback();
            self.clockwork.turn();
            if let Some(observer) = &mut self.observer {
                observer.observe(&self.world.read());
            }
            self.keep_history();
            self.record_views();
            self.judge(now);
            if now >= self.end {
                return Ok(());
            }
            let next = self.next_moment(done, now);
            self.world.change().advance_to(next);
        }
    }

    /// Lets a stretch of time end in which nothing changed that pods need.
    fn end_stretch(&mut self) {
        if let Some(stretches) = &mut self.stretches {
            stretches.end(&self.world.read(), &self.clockwork);
        }
    }

    fn keep_history(&mut self) {
        if let Some(historian) = &mut self.historian {
            historian.observe(&self.world.read(), &self.clockwork);
        }
    }

    fn due_step(&self, index: usize, now: Timestamp) -> Option<Step> {
        let step = self.scenario.timeline.get(index)?;
        (self.scenario.start + step.at <= now).then(|| step.clone())
    }

    /// When something happens next, by itself or by anybody's doing.
    fn next_moment(&self, done: usize, now: Timestamp) -> Timestamp {
        let start = self.scenario.start;
        let step = self.scenario.timeline.get(done).map(|step| start + step.at);
        let judged = self.scenario.expectations.iter().filter_map(|own| own.at);
        let judged = judged.map(|at| start + at).filter(|at| *at > now).min();
        let due = self.world.read().next_due();
        let replayed = self.world.read().playback.as_ref().and_then(Playback::next_at);
        [step, judged, due, replayed, Some(self.clockwork.next()), Some(self.end)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(self.end)
            .min(self.end)
    }

    /// Records the views of the start and of the dearest moment.
    fn record_views(&mut self) {
        let world = self.world.read();
        let is_dearer = self.views.peak.as_ref().is_none_or(|peak| {
            let running = || world.api().pods().running();
            world.ec2().hourly() > peak.hourly
                || (world.ec2().hourly() == peak.hourly && running() > peak.pods_running)
        });
        if is_dearer {
            self.views.peak = Some(view::view(&world, Moment::Peak));
        }
        if self.views.start.is_none() {
            self.views.start = Some(view::view(&world, Moment::Start));
        }
    }

    fn into_report(self) -> Report {
        let world = self.world.read();
        let last = view::view(&world, Moment::End);
        let peak_hourly = self.views.peak.as_ref().map(|view| view.hourly).unwrap_or_default();
        let mut outcomes = self.outcomes;
        outcomes.sort_by_key(|(index, _)| *index);
        Report {
            scenario: self.scenario.name.clone(),
            about: self.scenario.about.clone(),
            seed: self.scenario.seed,
            started: self.scenario.start,
            ended: world.now(),
            is_replay: self.scenario.replay.is_some(),
            timeline: world.journal.entries().to_vec(),
            region: world.ec2().types().region.clone(),
            region_said_by: self.scenario.catalog.said_by(),
            pricing: world.ec2().types().pricing.clone(),
            cost: Cost {
                total_nano_usd: world.cost_nano_usd(),
                covered_nano_usd: Some(world.covered_nano_usd()).filter(|covered| *covered > 0),
                peak_hourly,
                final_hourly: last.hourly,
                percent_of_bound: self.percent_of_bound.get(),
            },
            interruptions: world.interruptions,
            needed: self.stretches.as_ref().map(Stretches::sum),
            waiting: judge::waiting(&world),
            views: [self.views.start, self.views.peak, Some(last)].into_iter().flatten().collect(),
            expectations: outcomes.into_iter().map(|(_, outcome)| outcome).collect(),
            violations: world.violations.clone(),
        }
    }
}

/// Workloads that expectations say must have a ready pod.
fn watched(scenario: &Scenario) -> impl Iterator<Item = &Text> {
    scenario.expectations.iter().filter_map(|own| match &own.what {
        Expected::WithoutReadySeconds { workload, .. } => Some(workload),
        _ => None,
    })
}
