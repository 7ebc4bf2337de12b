//! Spot that remembers: over offerings of which some are interrupted more often than others, which
//! the planner does not know.

#![expect(clippy::unwrap_used, reason = "what cannot be read or run ends the test")]

use domain::pod::ObjectKey;
use domain::settings::Settings;
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Timestamp};
use simulation::api::WorkloadId;
use simulation::report::{Happening, Report};
use simulation::scenario::{Action, Scenario, Step};

/// Hours after which what was seen is held against what nobody remembers.
const LEARNED_AFTER: SignedDuration = SignedDuration::from_hours(72);
/// What an interruption costs, of its node's price.
const COST: &str = "2h";

/// How many pods there are, and what chance is drawn from.
#[derive(Clone, Copy)]
struct Load {
    replicas: u32,
    seed: u64,
}

/// A scenario of one Deployment on spot nodes of some types.
fn scenario(days: u32, annotation: &str, types: &str, rates: &str, load: Load) -> Scenario {
    let Load { replicas, seed } = load;
    let text = format!(
        r"apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: spot}}
spec:
  duration: {}h
  seed: {seed}
  region: us-east-1
  boot: 50s
  podStop: 10s
  spotInterruptions: [{rates}]
  timeline:
  - at: 0s
    apply:
    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {{name: default}}
      spec:
        amiSelectorTerms: [{{alias: al2023@latest}}]
        role: KarpenterNodeRole-demo
        subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: demo}}}}]
        securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: demo}}}}]
    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default, annotations: {{{annotation}}}}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements:
            - {{key: karpenter.sh/capacity-type, operator: In, values: [spot]}}
            - {{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}}
            - {{key: node.kubernetes.io/instance-type, operator: In, values: [{types}]}}
        disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 5m}}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: web}}
      spec:
        replicas: {replicas}
        selector: {{matchLabels: {{app: web}}}}
        template:
          metadata: {{labels: {{app: web}}}}
          spec:
            containers:
            - {{name: web, image: web, resources: {{requests: {{cpu: 1500m, memory: 2Gi}}}}}}
",
        days * 24,
    );
    Scenario::read("spot.yaml", &text).unwrap()
}

fn run(scenario: Scenario) -> Report {
    let report = simulation::run(scenario, &Settings::default()).unwrap();
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

/// Node prices an hour of the instances that were interrupted from a moment on.
fn interrupted(report: &Report, from: Timestamp) -> Vec<f64> {
    let price_of = |name: &str| {
        report.timeline.iter().find_map(|entry| match &entry.what {
            Happening::NodeRemoved { node, price, .. } if **node == *name => Some(price.to_f64()),
            _ => None,
        })
    };
    let warned = report.timeline.iter().filter(|entry| entry.at >= from);
    let nodes = warned.filter_map(|entry| match &entry.what {
        Happening::InterruptionWarning { node, .. } => Some(node),
        _ => None,
    });
    nodes.map(|node| price_of(node).unwrap_or(0.03)).collect()
}

const TYPES: &str = "m5a.large, m5.large, m6a.large, m6i.large";
/// The cheapest and the next but one are taken back ten times as often as the others.
const TENFOLD: &str = "{instanceType: m5a.large, perNodeHour: 0.3}, {instanceType: m6a.large, \
                       perNodeHour: 0.3}, {perNodeHour: 0.03}";
const EQUAL: &str = "{perNodeHour: 0.1}";

fn remembers() -> String {
    format!("outrigger.dev/spot-interruption-cost: {COST}")
}

struct Figures {
    late: usize,
    dollars: f64,
    with_interruptions: f64,
}

fn figures(days: u32, annotation: &str, rates: &str, seed: u64) -> Figures {
    let report = run(scenario(days, annotation, TYPES, rates, Load { replicas: 3, seed }));
    let dollars = report.cost.total_usd();
    let all = interrupted(&report, report.started);
    let late = interrupted(&report, report.started + LEARNED_AFTER).len();
    let lost: f64 = all.iter().map(|price| price * 2.0).sum();
    Figures { late, dollars, with_interruptions: dollars + lost }
}

#[test]
fn an_offering_that_is_taken_back_every_ten_minutes_is_left_after_three_notices() {
    const RATES: &str = "{instanceType: m5a.large, perNodeHour: 6}, {perNodeHour: 0}";
    // A replica more every eight minutes: each needs a node of its own.
    let hours = |annotation: &str| {
        let mut scenario =
            scenario(1, annotation, "m5a.large, m5.large", RATES, Load { replicas: 1, seed: 3 });
        scenario.duration = SignedDuration::from_hours(2);
        let workload =
            WorkloadId { kind: WorkloadKind::Deployment, key: ObjectKey::new("default", "web") };
        scenario.timeline.extend((1..15).map(|step| Step {
            at: SignedDuration::from_mins(8 * i64::from(step)),
            action: Action::Scale { workload: workload.clone(), replicas: 1 + step },
        }));
        run(scenario)
    };
    let without = hours("");
    let with = hours("outrigger.dev/spot-interruption-cost: 15m");
    let counts = [&without, &with].map(|report| interrupted(report, report.started).len());
    assert!(counts[0] >= 10, "{counts:?}");
    assert!(counts[1] < 5, "{counts:?}");
    let third = with
        .timeline
        .iter()
        .filter(|entry| matches!(entry.what, Happening::InterruptionWarning { .. }));
    let Some(third) = third.map(|entry| entry.at).nth(2) else { return };
    let is_bad = |what: &Happening| matches!(what, Happening::Launched { instance_type, .. } if &**instance_type == "m5a.large");
    let after = third + SignedDuration::from_secs(30);
    let again = with.timeline.iter().find(|entry| entry.at > after && is_bad(&entry.what));
    assert!(again.is_none(), "{again:?}");
}

#[test]
#[ignore = "simulates days with many interruptions: minutes unless optimised"]
fn a_week_over_offerings_that_differ_tenfold_sees_far_fewer_interruptions_and_costs_less() {
    let without = figures(7, "", TENFOLD, 1);
    let with = figures(7, &remembers(), TENFOLD, 1);
    println!(
        "after three days: {} and {} interruptions; hours: ${:.2} and ${:.2}; with interruptions: \
         ${:.2} and ${:.2}",
        without.late,
        with.late,
        without.dollars,
        with.dollars,
        without.with_interruptions,
        with.with_interruptions
    );
    assert!(with.late * 10 <= without.late * 4, "{} of {}", with.late, without.late);
    assert!(with.with_interruptions <= without.with_interruptions * 0.85);
}

#[test]
#[ignore = "not met yet: 1.5 % where 0.2 % are wanted, see docs/spot.md"]
fn where_all_are_taken_back_alike_remembering_changes_next_to_nothing() {
    let without = figures(4, "", EQUAL, 2);
    let with = figures(4, &remembers(), EQUAL, 2);
    let change = with.dollars / without.dollars - 1.0;
    println!("hours: ${:.4} and ${:.4}, {:.3} %", without.dollars, with.dollars, change * 100.0);
    assert!(change.abs() <= 0.002, "{:.3} %", change * 100.0);
}
