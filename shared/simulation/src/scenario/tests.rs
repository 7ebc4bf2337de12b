use super::*;
use crate::region::SaidBy;
use domain::SignedDuration;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::settings::{FeatureGates, PreferencePolicy, Settings};
use manifests::Object;

const HEAD: &str = "apiVersion: outrigger.dev/v1alpha1\nkind: Scenario\nmetadata: {name: t}\n";

fn read(spec: &str) -> Result<Scenario, ScenarioError> {
    Scenario::read("t.yaml", &format!("{HEAD}spec:\n{spec}"))
}

fn error(spec: &str) -> String {
    read(spec).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn steps_without_a_time_follow_where_the_one_before_left_off() {
    let scenario = read(
        "  duration: 20m
  timeline:
  - mark: a
  - advance: 5m
  - mark: b
  - at: 10m
    mark: c
  - mark: d
",
    )
    .unwrap();
    let at: Vec<_> = scenario.timeline.iter().map(|step| step.at.as_mins()).collect();
    assert_eq!(at, [0, 5, 10, 10]);
}

#[test]
fn objects_are_read_with_conversion_and_defaults() {
    let scenario = read(
        "  duration: 1m
  timeline:
  - apply:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 3
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}
",
    )
    .unwrap();
    let [Step { action: Action::Apply(objects), .. }] = scenario.timeline.as_slice() else {
        panic!("{:?}", scenario.timeline)
    };
    assert!(matches!(objects.as_slice(), [Object::Workload(own)] if own.workload.replicas == 3));
}

#[test]
fn a_variant_adds_objects_at_the_start_and_expectations_of_its_own() {
    let scenario = read(
        "  duration: 10m
  timeline:
  - mark: a
  - at: 5m
    mark: b
  expect:
  - nodes: {count: 0}
  variants:
  - name: plain
  - name: with a namespace
    apply: [{apiVersion: v1, kind: Namespace, metadata: {name: shop}}]
    expect: [zones: {count: 0}]
",
    )
    .unwrap();
    let [plain, more] = scenario.variants.as_slice() else { panic!("{:?}", scenario.variants) };
    let lengths = |own: &Scenario| (own.timeline.len(), own.expectations.len());
    assert_eq!(lengths(&scenario.in_variant(plain)), (2, 1));
    let more = scenario.in_variant(more);
    assert_eq!(lengths(&more), (3, 2));
    assert!(matches!(
        more.timeline[1],
        Step { at: SignedDuration::ZERO, action: Action::Apply(_) }
    ));
    assert!(
        error("  duration: 1m\n  variants: [{name: a}, {name: a}]\n").contains("another variant")
    );
}

#[test]
fn expectations_are_read_with_their_bounds() {
    let scenario = read(
        "  duration: 1m
  expect:
  - {at: 30s, nodes: {min: 3, capacityType: spot}}
  - hourlyUsd: {max: 0.5, greaterThan: idle}
  - pods: {workload: web, running: {min: 2}, pending: 0}
",
    )
    .unwrap();
    let spot = InstanceFilter { capacity_type: Some(CapacityType::Spot), ..Default::default() };
    let expected = [
        Expectation {
            at: Some(SignedDuration::from_secs(30)),
            what: Expected::Nodes(spot, Range { min: 3, max: u32::MAX }),
        },
        Expectation {
            at: None,
            what: Expected::Hourly {
                above: Some(PriceBound::Mark("idle".into())),
                below: Some(PriceBound::Figure(UsdPerHour::from_nanos(500_000_000))),
            },
        },
        Expectation {
            at: None,
            what: Expected::Pods {
                workload: Some("web".into()),
                counts: vec![
                    (PodCount::Running, Range { min: 2, max: u32::MAX }),
                    (PodCount::Pending, Range { min: 0, max: 0 }),
                ],
            },
        },
    ];
    assert_eq!(scenario.expectations, expected);
}

#[test]
fn errors_have_file_and_line() {
    assert_eq!(
        error("  duration: soon\n"),
        "\"soon\" is not a length of time such as 90s, 5m or 1h30m (t.yaml:5, field spec.duration)"
    );
    let unknown = error("  duration: 1m\n  timeline:\n  - {at: 0s, explode: {}}\n");
    assert!(unknown.contains("t.yaml:7"), "{unknown}");
    let late = error("  duration: 1m\n  timeline:\n  - {at: 2m, mark: x}\n");
    assert!(late.contains("goes on for longer"), "{late}");
    let pool = error(
        "  duration: 1m\n  timeline:\n  - apply:\n    - {apiVersion: v1, kind: Node, metadata: {}}\n",
    );
    assert!(pool.contains("t.yaml:8"), "{pool}");
    let file = error("  duration: 1m\n  timeline:\n  - apply: [no-such-file.yaml]\n");
    assert!(file.contains("no-such-file.yaml"), "{file}");
}

#[test]
fn what_is_expected_after_the_end_is_an_error() {
    let late = error(
        "  duration: 10m\n  expect:\n  - {at: 10m, nodes: {count: 0}}\n  - {at: 20m, nodes: {count: 0}}\n",
    );
    assert_eq!(late, "the scenario ends before (t.yaml:8, field spec.expect[1].at)");
    let of_variant = error(
        "  duration: 10m\n  variants:\n  - {name: a, expect: [{at: 11m, zones: {count: 0}}]}\n",
    );
    assert!(of_variant.contains("spec.variants[0].expect[0].at"), "{of_variant}");
}

#[test]
fn values_that_mean_nothing_are_errors() {
    for (spec, expected) in [
        ("  seed: -3\n", "a seed is not negative (t.yaml:6"),
        ("  region: mars\n", "mars is no region of the embedded catalogue: "),
        ("  faults: {launchesFailedPerMille: 1001}\n", "from 0 to 1000 (t.yaml:6"),
        ("  faults: {throttledPerMille: 1300}\n", "field spec.faults.throttledPerMille"),
        ("  expect: [{nodes: {min: 5, max: 3}}]\n", "no number is at least 5 and at most 3"),
        ("  expect: [{zones: {count: 1, min: 2}}]\n", "neither min nor max is needed"),
        ("  expect: [{pods: {workload: web}}]\n", "it needs running or pending"),
        ("  expect: [{hourlyUsd: {}}]\n", "it needs min, max, lessThan or greaterThan"),
        ("  expect: [{costUsd: {}}]\n", "it needs min or max"),
    ] {
        let error = error(&format!("  duration: 1m\n{spec}"));
        assert!(error.contains(expected), "{spec}: {error}");
    }
}

#[test]
fn what_says_the_region_is_known() {
    let said_by = |spec: &str| read(spec).unwrap().catalog.said_by();
    assert_eq!(said_by("  duration: 1m\n  region: eu-west-1\n"), SaidBy::Scenario);
    assert_eq!(said_by("  duration: 1m\n"), SaidBy::Nothing);
}

#[test]
fn a_scenario_that_would_not_end_is_an_error_that_names_the_limit() {
    let error = error(
        "  start: 9990-01-01T00:00:00Z
  duration: 100000000h
  timeline:
  - advance: 9000h
  - scale: {name: web, replicas: 100000000}
",
    );
    for expected in [
        "\"100000000h\" is longer than the 8784h (366 days) that are simulated at most (t.yaml:6",
        "\"9000h\" is longer than the 8784h",
        "at most 150000 pods are simulated (t.yaml:9",
        "simulated time begins between 1970 and 2199 (t.yaml:5",
    ] {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn settings_of_a_scenario_yield_to_those_of_the_caller() {
    let change = SettingsChange {
        feature_gates: Some("NodeRepair=true".into()),
        preference_policy: Some(PreferencePolicy::Ignore),
        min_values_policy: None,
    };
    let plain = change.applied_to(&Settings::default());
    assert!(plain.feature_gates.node_repair);
    assert_eq!(plain.preference_policy, PreferencePolicy::Ignore);
    let gates = FeatureGates { node_overlay: false, ..FeatureGates::default() };
    let chosen = Settings { feature_gates: gates, ..Settings::default() };
    assert!(!change.applied_to(&chosen).feature_gates.node_repair);
}
