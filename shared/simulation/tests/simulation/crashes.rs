//! A process dies after each of its calls in turn: whichever it was, the next invocations make it
//! good.
//!
//! By default every sixty-first call is the last of its process; every single one with
//! `OUTRIGGER_EVERY_CALL=1 cargo test --release -p outrigger-simulation --test crashes`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::report_text::report_text;
use crate::small_scenario::{SmallScenario, catalog, deployment, guard, instance_type};
use domain::settings::Settings;
use simulation::report::{Happening, Report};
use simulation::scenario::Scenario;

const POOL: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: Exists}]
        disruption: {consolidateAfter: 30s}
";

const TIMELINE: &str = "  - at: 5m
    interrupt: {count: 1}
  - at: 11m
    scale: {kind: Deployment, name: big, replicas: 0}
  - at: 20m
    scale: {kind: Deployment, name: lone, replicas: 0}
";

/// Everything that functions do, once each: nodes are launched for three pods, one of which is
/// guarded; one instance is taken back; a node that has become too large is replaced; one that is
/// empty goes.
fn scenario(after_call: u64) -> Scenario {
    let sold = |name, cpus, price| {
        let zones = [("us-east-1a", price), ("us-east-1b", price + 0.01)];
        instance_type(name, [cpus, cpus * 4, 50], "on-demand", &zones)
    };
    let types = [sold("small", 2, 0.05), sold("large", 8, 0.2)];
    let objects = [
        POOL.to_owned(),
        guard("small"),
        deployment("small", 1, 1200),
        deployment("big", 1, 5500),
        deployment("lone", 1, 7000),
        TIMELINE.to_owned(),
    ];
    let scenario = SmallScenario {
        name: "crash",
        spec: &format!(
            "start: 2026-01-05T09:00:00Z
             duration: 30m
             seed: 3
             faults: {{crashAfterCall: {after_call}}}
             {}",
            catalog(&types)
        ),
        class_annotations: "",
        objects: &objects.concat(),
        expect: "[{pods: {running: 1, pending: 0}}, {nodes: {count: 1, instanceType: small}}, \
                 {unplacedSeconds: {max: 300}}]",
    };
    scenario.read()
}

fn run(after_call: u64) -> Report {
    simulation::run(scenario(after_call), &Settings::default()).unwrap()
}

fn has_died(report: &Report) -> bool {
    let dies = |what: &Happening| matches!(what, Happening::Fault(fault) if fault.contains(" dies after "));
    report.timeline.iter().any(|entry| dies(&entry.what))
}

/// More calls than a run makes.
const CALLS_MAX: u64 = 20_000;
/// Not every call is a process's last but one: after so many in a row without a death there are no
/// more.
const SILENT: u64 = 300;

fn stride() -> u64 {
    if std::env::var_os("OUTRIGGER_EVERY_CALL").is_some() { 1 } else { 61 }
}

#[test]
fn without_a_death_everything_happens_that_is_to_be_interrupted() {
    let report = run(0);
    assert!(report.is_as_expected(), "{}", report_text(&report));
    let has =
        |expected: fn(&Happening) -> bool| report.timeline.iter().any(|own| expected(&own.what));
    assert!(
        has(|own| matches!(own, Happening::InterruptionWarning { .. })),
        "{}",
        report_text(&report)
    );
    let replaced = |own: &Happening| matches!(own, Happening::Disrupting { replacements, .. } if !replacements.is_empty());
    assert!(has(replaced), "{}", report_text(&report));
    let emptied = |own: &Happening| matches!(own, Happening::Disrupting { replacements, .. } if replacements.is_empty());
    assert!(has(emptied), "{}", report_text(&report));
}

#[test]
fn a_process_may_die_after_any_of_its_calls() {
    let (next, is_over, stride) = (AtomicU64::new(1), AtomicBool::new(false), stride());
    let (silent, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let deaths = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let call = next.fetch_add(stride, Ordering::Relaxed);
                    let report = run(call);
                    if has_died(&report) {
                        deaths.fetch_add(1, Ordering::Relaxed);
                        silent.store(0, Ordering::Relaxed);
                    } else if silent.fetch_add(stride, Ordering::Relaxed) > SILENT {
                        is_over.store(true, Ordering::Relaxed);
                    }
                    if !report.is_as_expected() {
                        failures.lock().unwrap().push((call, report_text(&report)));
                    }
                    if call > CALLS_MAX {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let calls: Vec<u64> = failures.iter().map(|(call, _)| *call).collect();
    assert!(
        failures.is_empty(),
        "{} of {}: after calls {calls:?}: {}",
        failures.len(),
        deaths.load(Ordering::Relaxed),
        failures[0].1
    );
    assert!(deaths.load(Ordering::Relaxed) > 10, "processes are really killed");
}
