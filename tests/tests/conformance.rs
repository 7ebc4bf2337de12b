//! Every conformance scenario, planned and judged; one test an area, so that a failure names it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::BTreeSet;

use outrigger_tests::conformance::{self, Expect, Scenario, unmet_expectations};
use serde_json::{Value, json};

/// Planning the scenarios of an area and holding them against what they expect.
#[track_caller]
fn check_area(area: &str) {
    let expected_failures = conformance::expected_failures();
    let mut complaints = Vec::new();
    let mut checked = 0;
    // Names begin with their area, so files of other areas need not be read; another area's name
    // may begin with this one's, so the area is looked at as well.
    for path in conformance::files() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.starts_with(area) {
            continue;
        }
        let scenario =
            Scenario::read(&path).unwrap_or_else(|error| panic!("{name}: {}", chain(&error)));
        if scenario.area != area {
            continue;
        }
        checked += 1;
        let reasons = conformance::judge(&scenario)
            .unwrap_or_else(|error| panic!("{name}: {}", chain(&error)));
        complaints.extend(complaint(&name, &reasons, expected_failures.contains(&name)));
    }
    assert!(checked > 0, "no scenario of area {area}");
    assert!(
        complaints.is_empty(),
        "{} of {checked} scenarios of {area}:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// What is wrong with a scenario's outcome: it fails unexpectedly, or holds although it is listed
/// as failing.
fn complaint(name: &str, reasons: &[String], is_expected_to_fail: bool) -> Option<String> {
    match (reasons, is_expected_to_fail) {
        ([], true) => {
            Some(format!("{name} holds now: take it off conformance/expected-failures.txt"))
        }
        ([], false) | ([_, ..], true) => None,
        (reasons, false) => Some(format!("{name}:\n    {}", reasons.join("\n    "))),
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

macro_rules! areas {
    ($($test:ident: $area:literal,)+) => {
        const AREAS: &[&str] = &[$($area),+];

        $(
            #[test]
            fn $test() {
                check_area($area);
            }
        )+
    };
}

areas! {
    affinity_scenarios_hold: "affinity",
    balanced_scenarios_hold: "balanced",
    budgets_scenarios_hold: "budgets",
    buffers_scenarios_hold: "buffers",
    candidates_scenarios_hold: "candidates",
    consolidation_scenarios_hold: "consolidation",
    daemonsets_scenarios_hold: "daemonsets",
    do_not_disrupt_scenarios_hold: "do-not-disrupt",
    drift_scenarios_hold: "drift",
    emptiness_scenarios_hold: "emptiness",
    existing_nodes_scenarios_hold: "existing-nodes",
    expiration_scenarios_hold: "expiration",
    hostports_scenarios_hold: "hostports",
    instance_selection_scenarios_hold: "instance-selection",
    limits_scenarios_hold: "limits",
    nodepools_scenarios_hold: "nodepools",
    order_scenarios_hold: "order",
    overlays_scenarios_hold: "overlays",
    pdb_scenarios_hold: "pdb",
    pods_scenarios_hold: "pods",
    preferences_scenarios_hold: "preferences",
    repair_scenarios_hold: "repair",
    requirements_scenarios_hold: "requirements",
    reserved_scenarios_hold: "reserved",
    resources_scenarios_hold: "resources",
    taints_scenarios_hold: "taints",
    topology_scenarios_hold: "topology",
    volumes_scenarios_hold: "volumes",
}

#[test]
fn every_scenario_belongs_to_an_area_that_is_tested() {
    let untested: Vec<_> = conformance::files()
        .into_iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let area =
                text.lines().find_map(|line| line.strip_prefix("area: ")).unwrap_or_default();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            !AREAS.contains(&area.trim()) || !name.starts_with(area.trim())
        })
        .collect();
    assert_eq!(untested, Vec::<std::path::PathBuf>::new());
    assert!(conformance::files().len() >= 552, "scenarios are missing");
}

#[test]
fn expected_failures_are_scenarios_that_exist() {
    let names: BTreeSet<String> = conformance::files()
        .iter()
        .filter_map(|path| path.file_stem())
        .map(|stem| stem.to_string_lossy().into_owned())
        .collect();
    let unknown: Vec<_> =
        conformance::expected_failures().into_iter().filter(|name| !names.contains(name)).collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn a_failure_counts_unless_it_is_listed_and_a_listed_one_must_fail() {
    let reasons = ["newNodes: 1, expected 2".to_owned()];
    assert_eq!(complaint("a", &[], false), None);
    assert_eq!(complaint("a", &reasons, true), None);
    assert!(complaint("a", &reasons, false).unwrap().contains("expected 2"));
    assert!(complaint("a", &[], true).unwrap().contains("expected-failures.txt"));
}

/// A scenario by name.
fn scenario(name: &str) -> Scenario {
    Scenario::read(&conformance::folder().join(format!("scenarios/{name}.yaml"))).unwrap()
}

/// How many reasons there are why a scenario's plan is not as this `expect` says.
fn unmet(scenario: &Scenario, expect: Value) -> usize {
    let expect: Expect = serde_json::from_value(expect).unwrap();
    let plan = planning::plan(&scenario.snapshot);
    unmet_expectations(&scenario.snapshot, &plan, &expect).unwrap().len()
}

#[test]
fn expectations_of_pending_pods_can_fail() {
    let scenario = scenario("topology-zone-spread-balances");
    let plan = planning::plan(&scenario.snapshot);
    let pods: Vec<String> = plan
        .node_claims
        .iter()
        .flat_map(|claim| &claim.pods)
        .map(|pod| pod.name.to_string())
        .collect();
    let (first, last) = (pods.first().unwrap(), pods.last().unwrap());
    for wrong in [
        json!({"scheduled": "none"}),
        json!({"unschedulable": [first]}),
        json!({"unschedulable": "all"}),
        json!({"newNodes": plan.node_claims.len() + 1}),
        json!({"newNodes": {"max": 0}}),
        json!({"together": [[first, last]]}),
        json!({"apart": [[first, first]]}),
        json!({"spread": [{"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            "key": "topology.kubernetes.io/zone", "counts": [17]}]}),
        json!({"nodes": [{"pod": first, "nodePool": "other"}]}),
        json!({"nodes": [{"pod": first, "zone": ["mars-1", "mars-2"]}]}),
        json!({"nodes": [{"pod": first, "capacityType": "reserved"}]}),
        json!({"nodes": [{"pod": first, "instanceType": "other"}]}),
        json!({"nodes": [{"pod": first, "instanceTypes": {"only": ["other"]}}]}),
        json!({"nodes": [{"pod": first, "instanceTypes": {"any": ["other"]}}]}),
        json!({"nodes": [{"pod": first, "instanceTypes": {"all": ["other"]}}]}),
        json!({"nodes": [{"pod": first, "instanceTypes": {"atLeast": 1000}}]}),
        json!({"nodes": [{"pod": first, "instanceTypes": {"atMost": 0}}]}),
        json!({"nodes": [{"pod": first, "labels": {"team": "none"}}]}),
        json!({"nodes": [{"pod": first, "taints": [{"key": "k", "effect": "NoSchedule"}]}]}),
        json!({"nodes": [{"pod": first, "pods": {"min": 1000}}]}),
        json!({"disruptions": [{"reason": "Empty"}]}),
        json!({"savesMoney": true}),
    ] {
        assert!(unmet(&scenario, wrong.clone()) > 0, "{wrong} holds");
    }
    assert_eq!(unmet(&scenario, json!({"scheduled": "all", "unschedulable": "none"})), 0);
}

#[test]
fn expectations_of_nodes_can_fail() {
    let scenario = scenario("emptiness-daemon-pods-do-not-count");
    let node = scenario.snapshot.objects.nodes[0].name.to_string();
    for wrong in [
        json!({"disruptions": "none"}),
        json!({"disruptions": []}),
        json!({"disruptions": [{"reason": "Drifted"}]}),
        json!({"disruptions": [{"nodes": {"count": 7, "of": [node]}}]}),
        json!({"disruptions": [{"reason": "Empty", "replacements": 1}]}),
        json!({"disruptions": [{"reason": "Empty", "replacementTypes": {"any": ["x"]}}]}),
        json!({"disruptions": [{"reason": "Empty", "replacementCapacityType": "spot"}]}),
        json!({"maxDisruptedNodes": 0}),
        json!({"blocked": [node]}),
        json!({"savesMoney": false}),
    ] {
        assert!(unmet(&scenario, wrong.clone()) > 0, "{wrong} holds");
    }
    assert_eq!(unmet(&scenario, json!({"disruptions": [{"reason": "Empty"}]})), 0);
}

#[test]
fn an_expectation_that_could_never_be_checked_is_an_error() {
    let scenario = scenario("emptiness-daemon-pods-do-not-count");
    let plan = planning::plan(&scenario.snapshot);
    for unknown in [
        json!({"scheduled": ["ghost"]}),
        json!({"placed": {"ghost": "node"}}),
        json!({"blocked": ["ghost"]}),
        json!({"disruptions": [{"nodes": ["ghost"]}]}),
        json!({"disruptions": [{"replacements": 1}]}),
        json!({"spread": [{"selector": {"app": "ghost"}, "key": "zone", "counts": [1]}]}),
        json!({}),
    ] {
        let expect: Expect = serde_json::from_value(unknown.clone()).unwrap();
        assert!(unmet_expectations(&scenario.snapshot, &plan, &expect).is_err(), "{unknown}");
    }
    for unread in [
        json!({"newNode": 1}),
        json!({"nodes": [{"pod": "a", "zones": "b"}]}),
        json!({"newNodes": {"least": 1}}),
        json!({"scheduled": "some"}),
        json!({"disruptions": [{"reason": "Bored"}]}),
    ] {
        assert!(serde_json::from_value::<Expect>(unread.clone()).is_err(), "{unread}");
    }
}
