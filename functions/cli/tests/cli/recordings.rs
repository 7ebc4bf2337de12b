//! `outrigger record`, and `simulate --from`.

use crate::support::{SHOP, Workspace};

const SCENARIO: &str = "\
apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {name: shop}
spec:
  duration: 20m
  seed: 7
  timeline:
  - {at: 0s, apply: [shop.yaml]}
  - {at: 5m, scale: {kind: Deployment, name: web, replicas: 6}}
";

/// The NodePool of `SHOP`, on instances that cost more.
const DEARER: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: dearer}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [r5.4xlarge]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
";

const TASKS: &str = "\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,2000,1024,0,0,,LS,Running,0,4000,0
b,500,1024,0,0,,BE,Succeeded,600,900,610
c,lots,1024,0,0,,BE,Succeeded,600,900,610
";

fn recorded() -> Workspace {
    let files = [("scenario.yaml", SCENARIO), ("shop.yaml", SHOP), ("dearer.yaml", DEARER)];
    let workspace = Workspace::with(&files);
    let run = workspace.run("simulate scenario.yaml --record run.jsonl -o json");
    assert_eq!(run.status, 0, "{run:?}");
    workspace
}

#[test]
fn a_run_is_recorded_and_replays_at_the_same_cost() {
    let workspace = recorded();
    let run = workspace.run("simulate scenario.yaml -o json").json();
    let again = workspace.run("simulate --from run.jsonl --seed 7 -o json").json();
    assert_eq!(run["cost"], again["cost"]);
    assert_eq!(run["waiting"], again["waiting"]);
}

#[test]
fn seeds_give_means_with_intervals_and_differences_to_the_first() {
    let workspace = recorded();
    let run = workspace.run("simulate --from run.jsonl --seeds 3 --compare dear=dearer.yaml");
    assert_eq!(run.status, 0, "{run:?}");
    let row = |name: &str| run.out.lines().find(|line| line.trim().starts_with(name)).unwrap();
    assert_eq!(run.err, "", "the recorded EC2NodeClass stands");
    assert!(row("as recorded").contains('±') && row("dear").matches('±').count() >= 3, "{run:?}");
    let document = workspace
        .run("simulate --from run.jsonl --seeds 3 --compare dear=dearer.yaml -o json")
        .json();
    assert_eq!(document["kind"], "SimulationSeries");
    let dear = &document["variants"][1];
    assert!(dear["costAboveFirstUsd"]["mean"].as_f64().unwrap() > 0.0, "{document}");
    assert_eq!(dear["runs"].as_array().unwrap().len(), 3);
    let page =
        workspace.run("simulate --from run.jsonl --seeds 3 --compare dear=dearer.yaml -o html");
    assert_eq!(page.status, 0, "{}", page.err);
    assert!(page.out.contains("<td class=\"name\">dear</td>"), "a row of means for each");
    assert!(page.out.contains("of 3 runs each"), "which are of all seeds");
}

#[test]
fn a_broken_line_is_named_and_the_rest_is_replayed() {
    let workspace = recorded();
    let path = workspace.path("run.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"ended\":{{\"at\":1,\n")).unwrap();
    let run = workspace.run("simulate --from run.jsonl -o json");
    assert_eq!(run.status, 2, "{run:?}");
    let line = text.lines().count() + 1;
    assert!(run.err.contains(&format!("(run.jsonl:{line})")), "{run:?}");
    assert_eq!(run.json()["kind"], "Simulation");
}

#[test]
fn a_recording_with_pseudonyms_names_no_workload() {
    let files = [("scenario.yaml", SCENARIO), ("shop.yaml", SHOP), ("key", "0123456789abcdef\n")];
    let workspace = Workspace::with(&files);
    let run = workspace.run("simulate scenario.yaml --record r.jsonl --pseudonyms key -o json");
    assert_eq!(run.status, 0, "{run:?}");
    let text = std::fs::read_to_string(workspace.path("r.jsonl")).unwrap();
    assert!(text.contains("\"pseudonymised\":true") && !text.contains("web"), "{text}");
    let short = Workspace::with(&[("scenario.yaml", SCENARIO), ("shop.yaml", SHOP), ("key", "k")]);
    let run = short.run("simulate scenario.yaml --record r.jsonl --pseudonyms key");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("the key has 1 bytes"), "{run:?}");
}

#[test]
fn a_trace_becomes_a_recording_and_needs_node_pools() {
    let workspace = Workspace::with(&[("pods.csv", TASKS), ("shop.yaml", SHOP)]);
    let run = workspace.run("record import openb --pods pods.csv --for 1h");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("cpu_milli \"lots\" is no number from 0 on (pods.csv:4)"), "{run:?}");
    std::fs::write(workspace.path("openb.jsonl"), &run.out).unwrap();
    let bare = workspace.run("simulate --from openb.jsonl");
    assert_eq!(bare.status, 2, "{bare:?}");
    assert!(bare.err.contains("openb.jsonl holds no NodePool"), "{bare:?}");
    let replay = workspace.run("simulate --from openb.jsonl -f shop.yaml -o json");
    assert_eq!(replay.status, 0, "{replay:?}");
    assert_eq!(replay.json()["waiting"]["podsBound"], 2);
}

#[test]
fn a_recording_that_is_not_there_names_the_bundled_ones() {
    let run = Workspace::with(&[]).run("simulate --from nothing");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("no bundled recording of that name: there is openb"), "{run:?}");
}

#[test]
fn a_bundled_recording_that_is_taken_for_a_scenario_says_how_it_is_replayed() {
    let run = Workspace::with(&[]).run("simulate shop");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("it is a recording"), "{run:?}");
    assert!(run.err.contains("`outrigger simulate --from shop`"), "{run:?}");
}

const AUDIT_LOG: &str = r#"{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:00:00Z","objectRef":{"resource":"pods","namespace":"default"},"responseStatus":{"code":201},"responseObject":{"metadata":{"namespace":"default","name":"web-0","uid":"u1","creationTimestamp":"2026-01-05T09:00:00Z"},"spec":{"containers":[{"name":"web","image":"x","resources":{"requests":{"cpu":"1"}}}]}}}
{"stage":"ResponseComplete","verb":"delete","stageTimestamp":"2026-01-05T09:30:00Z","objectRef":{"resource":"pods","namespace":"default","name":"web-0"},"responseStatus":{"code":200}}
"#;

#[test]
fn an_audit_log_becomes_a_recording() {
    let workspace = Workspace::with(&[("audit.log", AUDIT_LOG), ("shop.yaml", SHOP)]);
    let run = workspace.run("record -f audit.log --region us-east-1");
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    let to_file = "record -f audit.log --region us-east-1 --to r.jsonl";
    assert_eq!(workspace.run(to_file).status, 0);
    assert_eq!(std::fs::read_to_string(workspace.path("r.jsonl")).unwrap(), run.out);
    assert_eq!(workspace.run(to_file).status, 2, "the file is there");
    let replay = workspace.run("simulate --from r.jsonl -f shop.yaml -o json");
    assert_eq!(replay.status, 0, "{replay:?}");
    assert_eq!(replay.json()["waiting"]["podsBound"], 1);
    let none = workspace.run("record");
    assert_eq!(none.status, 2, "{none:?}");
}

#[test]
fn events_of_kubernetes_become_a_recording_with_the_workloads_they_name() {
    let event = |kind: &str, name: &str, reason: &str, minute: u32, message: &str| {
        format!(
            "{{\"kind\":\"Event\",\"involvedObject\":{{\"kind\":\"{kind}\",\"namespace\":\"default\",\"name\":\"{name}\"}},\
             \"reason\":\"{reason}\",\"message\":\"{message}\",\"firstTimestamp\":\"2026-01-05T09:{minute:02}:00Z\"}}\n"
        )
    };
    let events = [
        event("ReplicaSet", "web-5d9", "SuccessfulCreate", 0, "Created pod: web-5d9-a"),
        event("Pod", "web-5d9-a", "Scheduled", 1, "Successfully assigned default/web-5d9-a to n1"),
        event("Pod", "web-5d9-a", "Killing", 30, "Stopping container main"),
        event("ReplicaSet", "lone-1", "SuccessfulCreate", 40, "Created pod: lone-1-b"),
    ];
    let web = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, resources: {requests: {cpu: 500m}}}]
";
    let workspace = Workspace::with(&[
        ("events.json", &*events.concat()),
        ("web.yaml", web),
        ("shop.yaml", SHOP),
    ]);
    let line = "record import events --events events.json -f web.yaml shop.yaml";
    let run = workspace.run(line);
    assert_eq!(run.status, 2, "a pod is left out: {run:?}");
    assert!(run.err.contains("ReplicaSet default/lone-1: 1 Event of pods left out"), "{run:?}");
    std::fs::write(workspace.path("hour.jsonl"), &run.out).unwrap();
    let replay = workspace.run("simulate --from hour.jsonl -o json");
    assert_eq!(replay.status, 0, "{replay:?}");
}
