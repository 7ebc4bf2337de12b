//! How the cluster's scheduler is configured: by `--scheduler-config`, and by the ConfigMap.

use crate::support::{Run, SHOP, Workspace};

const SPREADING: &str = "\
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
";

/// The ConfigMap with a configuration, as a document of its own.
fn config_map(config: &str) -> String {
    let lines: Vec<String> = config.lines().map(|line| format!("    {line}\n")).collect();
    let lines = lines.concat();
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: outrigger, namespace: kube-system}}\n\
         data:\n  mode: active\n  scheduler-config: |\n{lines}"
    )
}

const ZONES: &str = "\n      - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, \
                     us-east-1b, us-east-1c]}";

/// A plan from the embedded catalogue, for twenty pods that may go to three zones.
fn plan(files: &[(&str, &str)], options: &str) -> Run {
    let shop = SHOP.replace("replicas: 3", "replicas: 20").replacen(
        "values: [spot, on-demand]}",
        &format!("values: [spot, on-demand]}}{ZONES}"),
        1,
    );
    let mut all = vec![("shop.yaml", shop.as_str())];
    all.extend(files);
    Workspace::with(&all)
        .run(&format!("plan --now 2026-01-01T12:00:00Z -o json -f shop.yaml {options}"))
}

/// How many zones nodes are launched in.
fn zones(run: &Run) -> usize {
    let json = run.json();
    let claims = json["nodeClaims"].as_array().unwrap();
    let zone = |claim: &serde_json::Value| claim["offering"]["zone"].as_str().map(str::to_owned);
    let zones: std::collections::BTreeSet<_> = claims.iter().map(zone).collect();
    zones.len()
}

#[test]
fn a_file_and_the_config_map_give_twenty_pods_nodes_in_three_zones() {
    let plain = plan(&[], "");
    assert_eq!((plain.status, zones(&plain)), (0, 1), "{plain:?}");
    let by_file = plan(&[("scheduler.yaml", SPREADING)], "--scheduler-config scheduler.yaml");
    assert_eq!((by_file.status, zones(&by_file), &*by_file.err), (0, 3, ""), "{by_file:?}");
    let by_map = plan(&[("map.yaml", &config_map(SPREADING))], "map.yaml");
    assert_eq!((&by_map.out, &*by_map.err), (&by_file.out, ""));
}

#[test]
fn a_file_counts_instead_of_the_config_map() {
    let map = config_map(SPREADING);
    let files = [("map.yaml", map.as_str()), ("none.yaml", "nodeResourcesFit: {}\n")];
    let run = plan(&files, "map.yaml --scheduler-config none.yaml");
    assert_eq!(run.out, plan(&[], "").out);
}

#[test]
fn what_is_wrong_names_file_and_field() {
    let wrong = SPREADING.replace("maxSkew: 1", "maxSkew: 0");
    let run = plan(&[("scheduler.yaml", &wrong)], "--scheduler-config scheduler.yaml");
    assert_eq!((run.status, &*run.out), (2, ""), "{run:?}");
    assert_eq!(
        run.err,
        "error: scheduler.yaml is no usable scheduler configuration: it must be at least 1 \
         (scheduler.yaml:3, field podTopologySpread.defaultConstraints[0].maxSkew)\n"
    );
    let missing = plan(&[], "--scheduler-config absent.yaml");
    assert!(missing.status == 2 && missing.err.contains("absent.yaml"), "{missing:?}");
}

#[test]
fn a_config_map_that_is_wrong_costs_nothing_else() {
    let wrong = SPREADING.replace("DoNotSchedule", "Never");
    let run = plan(&[("map.yaml", &config_map(&wrong))], "map.yaml");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(
        run.err.contains("object kube-system/outrigger, field data.scheduler-config"),
        "{run:?}"
    );
    assert_eq!(zones(&run), 1, "by the defaults");
}

#[test]
fn a_simulated_cluster_has_the_scheduler_of_the_file() {
    let workspace = Workspace::with(&[
        ("packing.yaml", "nodeResourcesFit: {scoringStrategy: {type: MostAllocated}}\n"),
        ("wrong.yaml", "nodeResourcesFit: {scoringStrategy: {type: Most}}\n"),
    ]);
    let simulated = |options: &str| workspace.run(&format!("simulate inflate -o json {options}"));
    let packed = simulated("--scheduler-config packing.yaml");
    assert_eq!(packed.status, 0, "{packed:?}");
    let applied = packed.json()["timeline"].to_string().contains("ConfigMap kube-system/outrigger");
    assert!(applied, "{packed:?}");
    let wrong = simulated("--scheduler-config wrong.yaml");
    assert_eq!((wrong.status, &*wrong.out), (2, ""), "{wrong:?}");
    assert!(wrong.err.contains("field nodeResourcesFit.scoringStrategy.type"), "{wrong:?}");
}
