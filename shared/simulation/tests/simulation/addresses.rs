//! `outrigger.dev/min-free-addresses`: addresses of subnets are taken as nodes and pods come.

use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// Three Deployments of two pods that each fill a node, one every half hour, in two zones with so
/// many addresses each.
fn run(addresses: u32, more: &str, expect: &str) -> Report {
    let own = |name| Deployment { name, replicas: 2, cpu: "800m", annotations: "" };
    let zones = "requirements: [{key: topology.kubernetes.io/zone, operator: In, values: \
                 [us-east-1a, us-east-1b]}, ";
    let first = pool_and_pods("    ", "name: default", &[own("first")]).replacen(
        "requirements: [",
        zones,
        1,
    );
    let deployment = |name| {
        let objects = pool_and_pods("    ", "name: default", &[own(name)]);
        // Without the NodePool, which stands in the first line.
        objects.split_once('\n').unwrap().1.to_owned()
    };
    let later = |at: &str, name| format!("  - at: {at}\n    apply:\n{}", deployment(name));
    let objects = format!("{first}{more}{}{}", later("30m", "second"), later("60m", "third"));
    let annotations = format!(
        "outrigger.dev/min-free-addresses: \"0\", outrigger.dev/free-addresses: \
         \"us-east-1a/subnet-1={addresses},us-east-1b/subnet-2={addresses}\""
    );
    let scenario = SmallScenario {
        name: "addresses",
        spec: "duration: 90m",
        class_annotations: &annotations,
        objects: &objects,
        expect,
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

fn zones(report: &Report) -> Vec<String> {
    let launches = report.timeline.iter().filter_map(|entry| match &entry.what {
        Happening::Launched { zone, .. } => Some(zone.to_string()),
        _ => None,
    });
    launches.collect()
}

#[test]
fn a_zone_whose_addresses_are_taken_gets_no_further_node_and_pods_wait_once_all_are() {
    // A node and its two pods take three of four: none is left for a node with one pod.
    let expect = "[{at: 55m, pods: {running: 4}}, {at: 85m, pods: {running: 4}}, \
                  {at: 85m, waiting: {pod: third, because: too few addresses}}]";
    let report = run(4, "", expect);
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    let mut zones = zones(&report);
    zones.sort();
    assert_eq!(zones, ["us-east-1a", "us-east-1b"]);
}

#[test]
fn where_there_are_enough_all_pods_run() {
    let report = run(20, "", "[{at: 85m, pods: {running: 6}}]");
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    assert_eq!(zones(&report).len(), 3);
}

#[test]
fn pods_of_daemon_sets_take_addresses_too_but_on_their_nodes_network() {
    let agent = |spec: &str| {
        format!(
            "    - {{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: agent}}, spec: {{selector: \
             {{matchLabels: {{app: agent}}}}, template: {{metadata: {{labels: {{app: agent}}}}, spec: \
             {{{spec}containers: [{{name: c, image: x, resources: {{requests: {{cpu: 10m}}}}}}]}}}}}}}}\n"
        )
    };
    // A node with an agent takes two before any pod, and four with both.
    let running = |addresses, spec: &str| {
        let report = run(addresses, &agent(spec), "[]");
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        zones(&report).len()
    };
    assert_eq!(running(2, ""), 0);
    assert_ne!(running(2, "hostNetwork: true, "), 0);
    assert_eq!(running(4, ""), 2);
    assert_eq!(running(8, ""), 3);
}
