//! Decisions that are wrong on purpose: each must be caught, or the invariants watch nothing.

use crate::report_text::report_text;
use crate::small_scenario::SmallScenario;
use controllers::core::Core;
use domain::label;
use domain::money::UsdPerHour;
use domain::plan::{Plan, PlannedDisruption};
use domain::reason::DisruptionReason;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use simulation::invariant::Violation;
use simulation::report::Report;
use simulation::scenario::Scenario;

const POOL_AND_PODS: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        limits: {cpu: 4}
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
        disruption: {consolidateAfter: 5m, budgets: [{nodes: '0'}]}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 2
        selector: {matchLabels: {app: web}}
        template:
          metadata:
            labels: {app: web}
            annotations: {karpenter.sh/do-not-disrupt: 'true'}
          spec:
            containers: [{name: c, image: x, resources: {requests: {cpu: 1500m}}}]
";

/// Two pods on a node each, of a pool that must not go over 4 cores.
fn scenario() -> Scenario {
    let scenario = SmallScenario {
        name: "canary",
        spec: "duration: 6m",
        class_annotations: "",
        objects: POOL_AND_PODS,
        expect: "[]",
    };
    scenario.read()
}

fn run(core: Core) -> Report {
    simulation::run_with(scenario(), &Settings::default(), core).unwrap()
}

#[track_caller]
fn is_caught(report: &Report, expected: impl Fn(&Violation) -> bool) {
    let is_found = report.violations.iter().any(|occurrence| expected(&occurrence.violation));
    assert!(is_found, "{}", report_text(report));
}

/// Proposes to take away the first node that is ready, come what may.
fn take_any_node(snapshot: &ClusterSnapshot) -> Plan {
    let ready = snapshot
        .objects
        .nodes
        .iter()
        .find(|node| node.labels.contains_key(label::INITIALIZED) && !node.is_disrupted());
    let disruptions = ready.map(|node| PlannedDisruption {
        reason: DisruptionReason::Underutilized,
        nodes: vec![node.name.clone()],
        pods: Vec::new(),
        replacements: Vec::new(),
        moves: Vec::new(),
        savings: UsdPerHour::ZERO,
    });
    Plan { disruptions: disruptions.into_iter().collect(), ..Plan::default() }
}

/// Plans as if there were no limits.
fn forget_limits(snapshot: &ClusterSnapshot) -> Plan {
    let mut unlimited = snapshot.clone();
    for pool in &mut unlimited.objects.node_pools {
        pool.limits = domain::resource::Resources::new();
    }
    // And as if nothing were in flight, so that each run launches again.
    unlimited.node_claims.clear();
    (Core::standard().schedule)(&unlimited)
}

#[test]
fn right_decisions_break_nothing() {
    let report = run(Core::standard());
    assert!(report.violations.is_empty(), "{}", report_text(&report));
}

#[test]
fn nodes_taken_at_will_break_budgets_windows_and_promises() {
    let core = Core {
        propose: take_any_node,
        validate: |_, disruption| Ok(disruption.clone()),
        check: |_, _| Vec::new(),
        ..Core::standard()
    };
    let report = run(core);
    is_caught(&report, |own| matches!(own, Violation::BudgetExceeded { allowed: 0, .. }));
    is_caught(&report, |own| matches!(own, Violation::ConsolidatedTooSoon { .. }));
    is_caught(&report, |own| matches!(own, Violation::DoNotDisruptIgnored { .. }));
}

#[test]
fn launches_over_the_limit_are_detected() {
    let core = Core { schedule: forget_limits, check: |_, _| Vec::new(), ..Core::standard() };
    is_caught(&run(core), |own| matches!(own, Violation::LimitExceeded { limit: 4000, .. }));
}

#[test]
fn a_plan_that_fails_its_check_is_reported_and_not_executed() {
    let core = Core { check: |_, _| vec!["it is wrong".into()], ..Core::standard() };
    let report = run(core);
    is_caught(&report, |own| matches!(own, Violation::InvalidPlan(_)));
    assert_eq!(report.cost.total_nano_usd, 0, "{}", report_text(&report));
}
