//! `outrigger suggest`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::Workspace;

/// A NodePool that leaves nothing to be desired, on the two types of `catalog.yaml`.
const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {shop: '1'}}]
  securityGroupSelectorTerms: [{tags: {shop: '1'}}]
";

/// A NodePool that launches on-demand only, and another one that no pod may use.
const DEAR_POOLS: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: tainted}
spec:
  template:
    spec:
      taints: [{key: a, value: b, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
";

const BUDGET: &str = "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  maxUnavailable: 0
  selector: {matchLabels: {app: web}}
";

const HEADER: &str = "\
{\"apiVersion\":\"outrigger.dev/v1alpha1\",\"kind\":\"Recording\",\"start\":\"2026-01-05T00:00:00Z\",\"region\":\"us-east-1\"}
{\"spec\":{\"id\":1,\"labels\":{\"app\":\"web\"},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}
";

/// A Deployment of one pod, with five more for twenty minutes at nine on so many of four days.
fn recording(peaks: i64) -> String {
    let (minute, day) = (60_000, 86_400_000);
    let mut lines = HEADER.to_owned();
    let mut pod = |at: i64, until: Option<i64>, id: i64| {
        writeln!(
            lines,
            "{{\"pod\":{{\"at\":{at},\"id\":{id},\"name\":\"web-{id}\",\"spec\":1,\"owner\":\"ReplicaSet/web-5d9\",\
             \"workload\":\"Deployment/web\"}}}}"
        )
        .unwrap();
        if let Some(at) = until {
            let ended = format!("{{\"ended\":{{\"at\":{at},\"id\":{id},\"how\":\"Deleted\"}}}}");
            writeln!(lines, "{ended}").unwrap();
        }
    };
    pod(-minute, None, 1);
    for peak in 0..peaks {
        for own in 0..5 {
            let at = peak * day + 540 * minute + own * 1_000;
            pod(at, Some(at + 20 * minute), 2 + peak * 5 + own);
        }
    }
    let end = 3 * day + 600 * minute;
    writeln!(lines, "{{\"stopped\":{{\"at\":{end}}}}}").unwrap();
    lines
}

/// Four pods of a Deployment for four hours, of which none uses a quarter of what it requests.
fn with_usage() -> String {
    let hour = 3_600_000;
    let mut lines = HEADER.to_owned();
    for id in 1..=4 {
        let facts = [
            format!(
                "{{\"pod\":{{\"at\":{id},\"id\":{id},\"name\":\"web-{id}\",\"spec\":1,\"owner\":\"ReplicaSet/web-5d9\",\
                 \"workload\":\"Deployment/web\"}}}}"
            ),
            format!("{{\"bound\":{{\"at\":60000,\"id\":{id},\"node\":\"n1\"}}}}"),
            format!(
                "{{\"used\":{{\"at\":90000,\"id\":{id},\"container\":\"main\",\"cpuMillis\":200,\"memoryBytes\":0}}}}"
            ),
        ];
        for fact in facts {
            writeln!(lines, "{fact}").unwrap();
        }
    }
    writeln!(lines, "{{\"stopped\":{{\"at\":{}}}}}", 4 * hour).unwrap();
    lines
}

const WITH: &str = "--catalog catalog.yaml --seeds 2";

fn ids(document: &Value) -> Vec<&str> {
    let suggestions = document["suggestions"].as_array().unwrap();
    suggestions.iter().map(|own| own["id"].as_str().unwrap()).collect()
}

#[test]
fn a_peak_gets_a_schedule_whose_replay_is_what_was_shown() {
    let files = [("r.jsonl", &*recording(4)), ("pool.yaml", POOL)];
    let workspace = Workspace::with(&files);
    let document = workspace.run(&format!("suggest r.jsonl -f pool.yaml {WITH} -o json")).json();
    assert_eq!(ids(&document), ["prewarm-0900-workdays"], "{document}");
    let own = &document["suggestions"][0];
    assert_eq!(own["code"], "PrewarmSchedule");
    assert!(own["change"]["totalWaitSeconds"]["mean"].as_f64().unwrap() < -60.0, "{own}");
    assert!(own["change"]["costUsd"]["mean"].as_f64().unwrap() > 0.0, "it costs something: {own}");

    let yaml = workspace.run(&format!("suggest r.jsonl -f pool.yaml {WITH} -o yaml"));
    assert!(yaml.out.starts_with("apiVersion: outrigger.dev/v1alpha1\n"), "{yaml:?}");
    std::fs::write(workspace.path("suggested.yaml"), &yaml.out).unwrap();
    let replayed = workspace
        .run(&format!("simulate --from r.jsonl -f pool.yaml suggested.yaml {WITH} -o json"))
        .json();
    let variant = &replayed["variants"][0];
    assert_eq!(variant["costUsd"], own["after"]["costUsd"]);
    assert_eq!(variant["meanWaitSeconds"], own["after"]["meanWaitSeconds"]);
}

#[test]
fn where_there_is_nothing_to_suggest_it_says_why_once() {
    let files = [("r.jsonl", &*recording(1)), ("pool.yaml", POOL)];
    let run = Workspace::with(&files).run(&format!("suggest r.jsonl -f pool.yaml {WITH}"));
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    assert_eq!(run.out.matches("Nothing to suggest: there was nothing to try.").count(), 1);
    for note in ["no peak: no workload", "no PodDisruptionBudget", "no usage is recorded"] {
        assert_eq!(run.out.matches(note).count(), 1, "{note}: {run:?}");
    }
}

#[test]
fn a_node_pool_and_a_budget_are_named_and_hold_together() {
    let files = [
        ("r.jsonl", &*recording(1)),
        ("class.yaml", POOL),
        ("pools.yaml", DEAR_POOLS),
        ("budget.yaml", BUDGET),
    ];
    let workspace = Workspace::with(&files);
    let given = "-f class.yaml pools.yaml budget.yaml";
    let document = workspace.run(&format!("suggest r.jsonl {given} {WITH} -o json")).json();
    assert_eq!(ids(&document), ["nodepool-default-capacity", "budget-default/web"], "{document}");
    let together = &document["together"];
    assert!(together["change"]["costUsd"]["mean"].as_f64().unwrap() < 0.0, "{document}");
    assert_eq!(together["unchanged"][0]["metadata"]["name"], "tainted");

    let yaml = workspace.run(&format!("suggest r.jsonl {given} {WITH} -o yaml")).out;
    std::fs::write(workspace.path("suggested.yaml"), &yaml).unwrap();
    let line = format!("simulate --from r.jsonl {given} suggested.yaml {WITH} -o json");
    let replayed = workspace.run(&line).json();
    assert_eq!(replayed["variants"][0]["costUsd"], together["after"]["costUsd"]);

    let text = workspace.run(&format!("suggest r.jsonl {given} {WITH} --only budget-default/web"));
    assert!(text.out.contains("maxUnavailable: 0 of never more than 6 pods allows no eviction"));
    let unknown = workspace.run(&format!("suggest r.jsonl {given} {WITH} --only budget"));
    assert_eq!(unknown.status, 2, "{unknown:?}");
    assert!(unknown.err.contains("nodepool-default-capacity"), "{unknown:?}");
}

#[test]
fn what_cannot_be_replayed_or_told_is_an_error() {
    let files = [("r.jsonl", &*recording(1)), ("pool.yaml", POOL)];
    let workspace = Workspace::with(&files);
    let bare = workspace.run("suggest r.jsonl");
    assert_eq!(bare.status, 2, "{bare:?}");
    assert!(bare.err.contains("holds no NodePool"), "{bare:?}");
    let zone = workspace.run("suggest r.jsonl -f pool.yaml --timezone Mars/Base");
    assert_eq!(zone.status, 2, "{zone:?}");
    assert!(zone.err.contains("--timezone"), "{zone:?}");
}

#[test]
fn requests_that_containers_never_used_get_a_manifest_whose_replay_is_what_was_shown() {
    let text = with_usage();
    let workspace = Workspace::with(&[("r.jsonl", &text), ("pool.yaml", POOL)]);
    let document = workspace.run(&format!("suggest r.jsonl -f pool.yaml {WITH} -o json")).json();
    assert_eq!(ids(&document), ["requests-default/web"], "{document}");
    let own = &document["suggestions"][0];
    let containers = &own["manifests"][0]["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers[0]["resources"]["requests"]["cpu"], "230m", "{own}");
    assert!(own["change"]["costUsd"]["mean"].as_f64().unwrap() < 0.0, "{own}");

    let yaml = workspace.run(&format!("suggest r.jsonl -f pool.yaml {WITH} -o yaml")).out;
    std::fs::write(workspace.path("suggested.yaml"), &yaml).unwrap();
    let line = format!("simulate --from r.jsonl -f pool.yaml suggested.yaml {WITH} -o json");
    let replayed = workspace.run(&line);
    assert_eq!((replayed.status, &*replayed.err), (0, ""), "{replayed:?}");
    assert_eq!(replayed.json()["variants"][0]["costUsd"], own["after"]["costUsd"]);

    let unknown = yaml.replace("name: web\n", "name: other\n");
    std::fs::write(workspace.path("other.yaml"), unknown).unwrap();
    let run =
        workspace.run("simulate --from r.jsonl -f pool.yaml other.yaml --catalog catalog.yaml");
    assert!(run.err.contains("Deployment default/other changes nothing"), "{run:?}");
}

#[test]
fn a_node_pool_whose_limits_keep_pods_waiting_may_launch_more() {
    let limited = POOL.replacen("spec:\n", "spec:\n  limits: {cpu: '4'}\n", 1);
    let files = [("r.jsonl", &*recording(1)), ("pool.yaml", &*limited)];
    let workspace = Workspace::with(&files);
    let document = workspace.run(&format!("suggest r.jsonl -f pool.yaml {WITH} -o json")).json();
    assert_eq!(ids(&document), ["nodepool-default-limits"], "{document}");
    let own = &document["suggestions"][0];
    assert_eq!(own["manifests"][0]["spec"]["limits"]["cpu"], "8", "{own}");
    assert_eq!(own["why"], "pods waited since its limits are cpu 4", "{own}");
}
