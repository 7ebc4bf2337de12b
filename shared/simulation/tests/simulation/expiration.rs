//! Graceful expiration through a whole month: `outrigger.dev/expiration`, `expiration-spread` and
//! `expire-by`.

use domain::SignedDuration;
use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// Pods that each fill a node, whose NodePool has Karpenter's default `expireAfter` of 720 h, these
/// annotations and these budgets.
fn run(pods: u32, annotations: &str, budgets: &str, duration: &str) -> Report {
    let web = Deployment { name: "web", replicas: pods, cpu: "1", annotations: "" };
    let metadata = format!("name: default, annotations: {{{annotations}}}");
    let spec = format!("spec: {{disruption: {{budgets: {budgets}}}, template:");
    let objects = pool_and_pods("    ", &metadata, &[web]).replacen("spec: {template:", &spec, 1);
    let scenario = SmallScenario {
        name: "expiration",
        spec: &format!("duration: {duration}"),
        class_annotations: "",
        objects: &objects,
        expect: "[]",
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

/// When disruptions for a reason began, each by the age of the first nodes.
fn disrupted(report: &Report, reason: &str) -> Vec<SignedDuration> {
    let is_ours = |what: &Happening| match what {
        Happening::Disrupting { reason: own, .. } => own.to_string() == reason,
        _ => false,
    };
    let is_launch = |what: &Happening| matches!(what, Happening::Launched { .. });
    let born = report.timeline.iter().find(|entry| is_launch(&entry.what));
    let born = born.unwrap().at;
    let entries = report.timeline.iter().filter(|entry| is_ours(&entry.what));
    entries.map(|entry| entry.at.duration_since(born)).collect()
}

#[test]
fn fifty_nodes_of_one_minute_expire_over_sixty_hours_with_a_spread_and_at_once_without() {
    let spread = run(50, "outrigger.dev/expiration-spread: 10%", "[{nodes: 100%}]", "725h");
    let times = disrupted(&spread, "Expired");
    assert!(spread.violations.is_empty(), "{:?}", spread.violations);
    assert_eq!(times.len(), 50, "{times:?}");
    let (first, last) = (times[0], times[49]);
    assert!(last - first >= SignedDuration::from_hours(60), "{first} {last}");

    let together = run(50, "", "[{nodes: 100%}]", "725h");
    let times = disrupted(&together, "Expired");
    assert!(together.violations.is_empty(), "{:?}", together.violations);
    assert_eq!(times.len(), 50, "{times:?}");
    assert!(times[49] - times[0] < SignedDuration::from_mins(1), "{times:?}");
}

#[test]
fn a_budget_of_none_holds_an_expired_node_until_its_last_date() {
    let graceful = "outrigger.dev/expiration: graceful, outrigger.dev/expire-by: 48h";
    let report = run(1, graceful, "[{nodes: \"0\"}]", "770h");
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(disrupted(&report, "Drifted").is_empty());
    let by_force = disrupted(&report, "Expired");
    assert_eq!(by_force.len(), 1, "{by_force:?}");
    let (last_date, hour) = (SignedDuration::from_hours(768), SignedDuration::from_hours(1));
    assert!((last_date..last_date + hour).contains(&by_force[0]), "{by_force:?}");
}

#[test]
fn without_a_budget_an_expired_node_is_replaced_at_its_age_limit() {
    let graceful = "outrigger.dev/expiration: graceful, outrigger.dev/expire-by: 48h";
    let report = run(1, graceful, "[{nodes: \"1\"}]", "725h");
    assert!(disrupted(&report, "Expired").is_empty());
    let drifted = disrupted(&report, "Drifted");
    assert_eq!(drifted.len(), 1, "{drifted:?}");
    let (limit, hour) = (SignedDuration::from_hours(720), SignedDuration::from_hours(1));
    assert!((limit..limit + hour).contains(&drifted[0]), "{drifted:?}");
}
