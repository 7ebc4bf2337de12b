//! How the cluster's scheduler is configured: ConfigMap `kube-system/outrigger` says it to both
//! sides, and a scenario to kube-scheduler alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// The ConfigMap with a configuration, as an entry of an `apply` list.
fn config_map(config: &str) -> String {
    format!(
        "    - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: outrigger, namespace: \
         kube-system}}, data: {{scheduler-config: '{config}'}}}}\n"
    )
}

const PACKING: &str = "{nodeResourcesFit: {scoringStrategy: {type: MostAllocated}}}";
const SPREADING: &str = "{podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: \
                         topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}}";

/// Workloads of several sizes, each of which grows in its hours of a day and shrinks again.
const WORKLOADS: [(&str, &str, [u32; 4]); 5] = [
    ("web", "900m", [6, 14, 9, 4]),
    ("api", "600m", [4, 5, 12, 6]),
    ("queue", "350m", [10, 4, 7, 16]),
    ("cache", "1200m", [2, 6, 3, 2]),
    ("cron", "200m", [3, 12, 2, 8]),
];

/// A day under a scheduler that only the scenario says something of, and the cluster with its
/// ConfigMap.
fn day(seed: u64, of_scheduler: &str, config: &str) -> Report {
    let deployments = WORKLOADS.map(|(name, cpu, replicas)| Deployment {
        name,
        replicas: replicas[0],
        cpu,
        annotations: "",
    });
    let pool = pool_and_pods("    ", "name: default", &deployments);
    let mut objects = pool + config;
    for hour in 1..24 {
        let (name, _, replicas) = WORKLOADS[hour % WORKLOADS.len()];
        let replicas = replicas[hour / 2 % replicas.len()];
        let _infallible = writeln!(
            objects,
            "  - {{at: {hour}h, scale: {{kind: Deployment, namespace: default, name: {name}, \
             replicas: {replicas}}}}}"
        );
    }
    let scenario = SmallScenario {
        name: "packed",
        spec: &format!("duration: 24h\nseed: {seed}\n{of_scheduler}"),
        class_annotations: "",
        objects: &objects,
        expect: "[{pods: {pending: 0}}]",
    };
    let report = simulation::run(scenario.read(), &Settings::default()).unwrap();
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    report
}

/// How many pods were evicted.
fn moves(report: &Report) -> usize {
    let evicted = |what: &Happening| match what {
        Happening::PodsEvicted { pods, .. } => pods.len(),
        _ => 0,
    };
    report.timeline.iter().map(|entry| evicted(&entry.what)).sum()
}

/// One day says little: of each of these, either way may have more moves.
const DAYS: std::ops::RangeInclusive<u64> = 1..=8;

#[test]
fn days_under_a_scheduler_that_packs_cost_no_more_where_plans_know_of_it() {
    let sums = |config: &str| {
        DAYS.fold((0, 0), |(sum, cost), seed| {
            let own = day(seed, "scoring: MostAllocated", config);
            (sum + moves(&own), cost + own.cost.total_nano_usd)
        })
    };
    let (known, unknown) = (sums(&config_map(PACKING)), sums(""));
    let figures = format!("moves and cost: {known:?} against {unknown:?}");
    assert!(unknown.0 > 0 && known.0 * 10 <= unknown.0 * 11, "{figures}");
    assert!(known.1 * 1000 <= unknown.1 * 1001, "{figures}");
}

/// How many pods of a Deployment of twelve run in each zone.
fn by_zone(config: &str, spec: &str) -> Vec<usize> {
    let web = Deployment { name: "web", replicas: 12, cpu: "600m", annotations: "" };
    let objects = pool_and_pods("    ", "name: default", &[web]) + config;
    let scenario = SmallScenario {
        name: "spread",
        spec,
        class_annotations: "",
        objects: &objects,
        expect: "[{pods: {running: 12}}]",
    };
    let report = simulation::run(scenario.read(), &Settings::default()).unwrap();
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    let mut zones: BTreeMap<String, usize> = BTreeMap::new();
    let end = report.views.last().unwrap();
    for node in &end.nodes {
        let pods = usize::try_from(node.pods.used).unwrap();
        *zones.entry(node.zone.to_string()).or_default() += pods;
    }
    let mut counts: Vec<usize> = zones.into_values().collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn pods_without_constraints_are_spread_by_the_clusters_default() {
    let spec = "duration: 20m\nseed: 5";
    assert_eq!(by_zone(&config_map(SPREADING), spec), [3, 3, 2, 2, 2], "all zones that sell m5");
    assert_eq!(by_zone("", spec), [12], "the cheapest zone");
}

#[test]
fn a_scenario_says_of_kube_scheduler_alone_how_it_is_configured() {
    let full = "schedulerConfig: {apiVersion: kubescheduler.config.k8s.io/v1, kind: \
                KubeSchedulerConfiguration, profiles: [{pluginConfig: [{name: NodeResourcesFit, \
                args: {scoringStrategy: {type: MostAllocated}}}]}]}";
    let day = |of_scheduler: &str| format!("{:?}", day(3, of_scheduler, "").timeline);
    let short = day("scoring: MostAllocated");
    assert!(day(full) == short, "the same day");
    assert!(day("") != short, "another day");
}
