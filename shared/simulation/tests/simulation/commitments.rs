//! A Commitment through hours of a cluster: filled at once, left when it ends, and taken off the
//! bill.

use domain::settings::Settings;
use simulation::report::Report;

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// Eight pods for eight hours, from nine o'clock.
fn run(commitment: &str, expect: &str) -> Report {
    let web = Deployment { name: "web", replicas: 8, cpu: "800m", annotations: "" };
    let objects = pool_and_pods("    ", "name: default", &[web]);
    let objects = objects.replace("[on-demand]", "[spot, on-demand]") + commitment;
    let scenario = SmallScenario {
        name: "commitment",
        spec: "start: 2026-01-05T09:00:00Z\nduration: 8h",
        class_annotations: "",
        objects: &objects,
        expect,
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

/// A Compute Savings Plan that is larger than anything here, until noon.
const UNTIL_NOON: &str = "    - apiVersion: outrigger.dev/v1alpha1
      kind: Commitment
      metadata: {name: compute}
      spec:
        type: ComputeSavingsPlan
        hourlyCommitmentUsd: \"50\"
        discountPercent: 30
        end: 2026-01-05T12:00:00Z
";

#[test]
fn a_commitment_is_filled_until_it_ends_and_spot_is_bought_then() {
    let expect = "[{at: 30m, pods: {running: 8}}, \
                  {at: 2h50m, nodes: {count: 0, capacityType: spot}}, \
                  {at: 7h50m, nodes: {count: 0, capacityType: on-demand}}, \
                  {at: 7h50m, pods: {running: 8}}]";
    let with = run(UNTIL_NOON, expect);
    let failed: Vec<_> = with.expectations.iter().filter(|own| !own.holds()).collect();
    assert!(with.violations.is_empty() && failed.is_empty(), "{failed:?} {:?}", with.violations);
    let without = run("", "[{at: 30m, pods: {running: 8}}]");
    assert!(without.is_as_expected(), "{:?}", without.expectations);
    assert_eq!(without.cost.covered_nano_usd, None);
    let covered = with.cost.covered_nano_usd.unwrap();
    let beyond = with.cost.total_nano_usd - covered;
    assert!(covered > 0 && beyond < without.cost.total_nano_usd, "{beyond} beside {without:?}");
}
