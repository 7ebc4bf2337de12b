//! Commands that read a live cluster, run against an API server with scripted responses.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ::aws::store::{DynamoStore, Table};
use controllers::ports::ClaimStore as _;
use controllers::record::spot::SpotRecord;
use domain::Timestamp;
use domain::spot::{OfferingHistory, SpotHistory};
use serde_json::{Value, json};

use crate::aws::{Answers, Aws};
use crate::support::{Run, Workspace};

/// Lists by the last part of their path; anything else is not installed.
fn objects(path: &str) -> Option<Vec<Value>> {
    let node = |name: &str, zone: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "uid": name, "resourceVersion": "1",
                "creationTimestamp": "2026-01-01T10:00:00Z",
                "labels": {
                    "karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot",
                    "node.kubernetes.io/instance-type": "small",
                    "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "us-east-1",
                },
            },
            "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
            "status": {
                "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "20"},
                "capacity": {"cpu": "2", "memory": "4Gi", "pods": "20"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        })
    };
    let pod = |name: &str, on: Option<&str>, cpu: &str| {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1",
                "creationTimestamp": "2026-01-01T11:00:00Z"},
            "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
            "status": {"phase": if on.is_some() { "Running" } else { "Pending" }},
        });
        if let Some(node) = on {
            pod["spec"]["nodeName"] = json!(node);
        } else {
            let waits =
                json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
            pod["status"]["conditions"] = json!([waits]);
        }
        pod
    };
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": "default", "uid": "pool", "resourceVersion": "1"},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [],
        }}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
            "lastTransitionTime": "2026-01-01T10:00:00Z"}]},
    });
    let class = json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
        "metadata": {"name": "default", "uid": "class", "resourceVersion": "1"},
        "spec": {"role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
            "lastTransitionTime": "2026-01-01T10:00:00Z"}]},
    });
    if path.starts_with("/apis/metrics.k8s.io/") {
        return Some(vec![json!({
            "metadata": {"name": "web-0", "namespace": "default"},
            "timestamp": "2026-01-01T12:00:00Z", "window": "15s",
            "containers": [{"name": "web", "usage": {"cpu": "12345678n", "memory": "1024Ki"}}],
        })]);
    }
    Some(match path.rsplit('/').next()? {
        "nodes" => vec![node("one", "us-east-1a")],
        "pods" => vec![pod("web-0", Some("one"), "500m"), pod("web-1", None, "6")],
        "nodepools" => vec![pool],
        "ec2nodeclasses" => vec![class],
        "prewarmschedules" | "scaledobjects" | "capacitybuffers" | "nodeoverlays" => return None,
        _ => Vec::new(),
    })
}

/// What a watch tells: a pod is bound, as is said twice, and another one comes; then the watch has
/// expired. That of nodes tells what nobody can read. Other watches end at once.
fn events(path: &str) -> String {
    if path.ends_with("/nodes") {
        return "not an event\n".to_owned();
    }
    if !path.ends_with("/pods") {
        return String::new();
    }
    let mut bound = objects(path).unwrap().remove(1);
    bound["metadata"]["resourceVersion"] = json!("8");
    bound["spec"]["nodeName"] = json!("one");
    bound["status"] = json!({"phase": "Running"});
    let mut other = objects(path).unwrap().remove(1);
    other["metadata"]["name"] = json!("web-2");
    other["metadata"]["uid"] = json!("web-2");
    let expired = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
    let event = |kind: &str, object: &Value| json!({"type": kind, "object": object}).to_string();
    let lines = [
        event("MODIFIED", &bound),
        event("MODIFIED", &bound),
        event("ADDED", &other),
        event("ERROR", &expired),
    ];
    lines.map(|line| line + "\n").concat()
}

/// A server that runs until the tests end, and what it was asked.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { url, asked }
    }

    /// A folder whose kubeconfig leads here.
    fn workspace(&self) -> Workspace {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "elsewhere",
            "clusters": [
                {"name": "here", "cluster": {"server": self.url}},
                {"name": "elsewhere", "cluster": {"server": "http://127.0.0.1:9"}},
            ],
            "users": [{"name": "me", "user": {"token": "secret"}}],
            "contexts": [
                {"name": "here", "context": {"cluster": "here", "user": "me"}},
                {"name": "elsewhere", "context": {"cluster": "elsewhere", "user": "me"}},
            ],
        });
        let workspace = Workspace::with(&[("kubeconfig", &kubeconfig.to_string())]);
        workspace.environment("KUBECONFIG", "kubeconfig")
    }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header == "\r\n" {
                break;
            }
        }
        asked.lock().unwrap().push(line.trim().to_owned());
        let target = line.split(' ').nth(1).unwrap();
        let path = target.split('?').next().unwrap();
        if target.contains("watch=true") {
            let lines = events(path);
            let head =
                "HTTP/1.1 200 X\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(format!("{head}{lines}").as_bytes());
            return;
        }
        let (code, body) = match objects(path) {
            Some(items) => {
                (200, json!({"kind": "List", "metadata": {"resourceVersion": "7"}, "items": items}))
            }
            None => (
                404,
                json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "none"}),
            ),
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn top_shows_the_nodes_of_the_context() {
    let server = Server::start();
    let line = "top --context here --catalog catalog.yaml --now 2026-01-01T12:00:00Z -o json";
    let run = server.workspace().run(line);
    assert_eq!(run.status, 0, "{run:?}");
    let document = run.json();
    assert_eq!(document["nodes"][0]["name"], "one");
    assert_eq!(document["nodes"][0]["hourlyUsd"], 0.031);
    assert_eq!(document["totals"]["pendingPods"], 1);
}

#[test]
fn a_plan_of_the_live_cluster_changes_nothing_in_it() {
    let server = Server::start();
    let line =
        "plan --live --context here --catalog catalog.yaml --now 2026-01-01T12:00:00Z -o json";
    let run = server.workspace().run(line);
    assert_eq!(run.status, 0, "{run:?}");
    let plan = run.json();
    assert_eq!(plan["nodeClaims"][0]["pods"], json!(["default/web-1"]), "{run:?}");
    let asked = server.asked.lock().unwrap().clone();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.starts_with("GET ")), "{asked:?}");
}

#[test]
fn a_cluster_that_does_not_answer_is_named() {
    let run = Server::start().workspace().run("top");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.starts_with("error: cannot read the cluster: "), "{run:?}");
    let run = Server::start().workspace().run("top --context nowhere");
    assert!(run.err.contains("nowhere"), "{run:?}");
}

/// A folder whose kubeconfig leads to a cluster in us-east-1, and whose credentials to a double of
/// AWS.
fn with_aws(aws: &Aws) -> Workspace {
    let workspace = Server::start().workspace();
    let cache = workspace.path("cache").display().to_string();
    workspace
        .environment("AWS_ENDPOINT_URL", &*aws.url)
        .environment("AWS_ACCESS_KEY_ID", "me")
        .environment("AWS_SECRET_ACCESS_KEY", "secret")
        .environment("AWS_EC2_METADATA_DISABLED", "true")
        .environment("AWS_CONFIG_FILE", "none")
        .environment("AWS_SHARED_CREDENTIALS_FILE", "none")
        .environment("XDG_CACHE_HOME", cache)
}

const PLAN: &str = "plan --live --context here -o json";

#[track_caller]
fn offering(run: &Run) -> Value {
    assert_eq!(run.status, 0, "{run:?}");
    run.json()["nodeClaims"][0]["offering"].clone()
}

#[test]
fn a_live_cluster_is_planned_for_at_the_prices_that_aws_says() {
    let aws = Aws::start(Answers::All);
    let workspace = with_aws(&aws);
    let run = workspace.run(PLAN);
    // The pod requests six CPUs.
    let expected = json!({"instanceType": "m7i.2xlarge", "zone": "us-east-1a",
        "capacityType": "spot", "hourlyUsd": 0.1603});
    assert_eq!(offering(&run), expected, "{run:?}");
    let plan = run.json();
    assert_eq!(plan["catalog"], "fetched");
    assert_eq!(plan["pricing"]["source"], "imported");
    assert_eq!(plan["pricing"]["spotSource"], "imported");
    let regions = plan["pricing"]["note"].as_str().unwrap();
    assert!(regions.starts_with("prices of us-east-1 (1 node says so)"), "{regions}");
    let called = aws.calls.lock().unwrap().clone();
    assert!(called.contains(&"DescribeSpotPriceHistory".to_owned()), "{called:?}");
    assert!(called.contains(&"GetProducts".to_owned()), "{called:?}");
}

#[test]
fn prices_are_kept_for_an_hour_unless_they_are_asked_for_anew() {
    let aws = Aws::start(Answers::All);
    let workspace = with_aws(&aws);
    let first = workspace.run(PLAN);
    let called = aws.called();
    assert!(called > 0);
    let second = workspace.run(PLAN);
    assert_eq!(offering(&second), offering(&first));
    assert_eq!(aws.called(), called, "nothing is asked twice within the hour");
    let third = workspace.run(&format!("{PLAN} --refresh-catalog"));
    assert_eq!(offering(&third), offering(&first));
    assert_eq!(aws.called(), 2 * called);
    let other = workspace.environment("AWS_PROFILE", "other");
    std::fs::write(other.path("config"), "[profile other]\nregion = eu-west-1\n").unwrap();
    let config = other.path("config").display().to_string();
    let run = other.environment("AWS_CONFIG_FILE", config).run(PLAN);
    assert_eq!(offering(&run), offering(&first), "the cluster says the region");
    assert_eq!(aws.called(), 3 * called, "another account has prices of its own");
}

#[test]
fn where_aws_denies_it_the_embedded_catalogue_stands_in_with_a_warning() {
    let aws = Aws::start(Answers::Nothing);
    let run = with_aws(&aws).run(PLAN);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["catalog"], "embedded");
    let warning = "warning: AWS does not say the prices of us-east-1, those of the embedded \
                   catalogue stand in: ";
    let line = run.err.lines().find(|line| line.starts_with(warning)).unwrap();
    assert!(line.contains("UnauthorizedOperation"), "{line}");
}

#[test]
fn where_aws_cannot_be_reached_the_embedded_catalogue_stands_in_with_a_warning() {
    let url = "http://127.0.0.1:9".to_owned();
    let aws = Aws { url, calls: Arc::default(), items: Arc::default() };
    let run = with_aws(&aws).run("top --context here");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.err.contains("warning: AWS does not say the prices of us-east-1"), "{run:?}");
    assert!(run.out.contains("list prices of "), "{run:?}");
}

#[test]
fn what_of_the_prices_is_denied_is_said_and_asked_for_again() {
    let aws = Aws::start(Answers::AllBut("GetProducts"));
    let workspace = with_aws(&aws);
    let run = workspace.run(PLAN);
    assert!(run.err.contains("warning: some prices of us-east-1 are not of today: "), "{run:?}");
    assert!(run.err.contains("AccessDenied"), "{run:?}");
    let pricing = &run.json()["pricing"];
    assert_eq!(
        (&pricing["source"], &pricing["spotSource"]),
        (&json!("listed"), &json!("imported"))
    );
    let called = aws.called();
    workspace.run(PLAN);
    assert!(aws.called() > called);
}

#[test]
fn a_catalogue_that_is_given_asks_aws_nothing() {
    let aws = Aws::start(Answers::All);
    let run = with_aws(&aws).run("top --context here --catalog catalog.yaml");
    assert_eq!((run.status, aws.called()), (0, 0), "{run:?}");
}

/// What a cluster of the installation has seen of an offering in `hours` node-hours, written to the
/// table as its functions do.
fn remember(aws: &Aws, cluster: &str, instance_type: &str, hours: f64, interruptions: f64) {
    let now = Timestamp::now();
    let own = OfferingHistory { node_hours: hours, interruptions, ..OfferingHistory::default() };
    let offerings = [(instance_type.into(), "us-east-1a".into(), own)];
    let record = SpotRecord { history: SpotHistory::new(now, offerings), ..SpotRecord::default() };
    let store = DynamoStore::new(Table::local(&aws.url, "outrigger"), cluster);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(store.put_spot_record(&record, None)).unwrap();
}

#[test]
fn live_commands_weigh_spot_by_what_all_clusters_of_the_table_have_seen() {
    let aws = Aws::start(Answers::All);
    let workspace = with_aws(&aws);
    let rate = |json: &Value, pointer: &str| {
        json.pointer(pointer).and_then(|own| own["interruptionsPer100NodeHours"].as_f64())
    };
    assert_eq!(rate(&workspace.run(PLAN).json(), "/nodeClaims/0/spot"), None, "nothing is known");
    remember(&aws, "shop", "m7i.2xlarge", 30.0, 20.0);
    remember(&aws, "batch", "m7i.2xlarge", 30.0, 20.0);
    let plan = workspace.run(&format!("{PLAN} --table outrigger"));
    let taken = rate(&plan.json(), "/nodeClaims/0/spot");
    assert!(taken.is_some_and(|own| own > 50.0), "{plan:?}");
    assert!(!plan.err.contains("table"), "{plan:?}");
    let run = workspace.run("explain pod web-1 --live --context here --table outrigger -o json");
    assert_eq!(rate(&run.json(), "/spot"), taken, "{run:?}");
    // The catalogue of the double has no type of the node that is there.
    let run = workspace.run("top --context here --catalog catalog.yaml --table outrigger");
    assert!(run.out.contains("TAKEN IN 100H"), "{run:?}");
    let run = workspace.run("audit --live --context here --table outrigger");
    assert_eq!(run.status, 0, "{run:?}");
    let line = "catalog m7i.2xlarge --region us-east-1 --table outrigger -o json";
    let run = workspace.run(line);
    let offerings = run.json()["spec"]["instanceTypes"][0]["offerings"].clone();
    let mut spot = offerings.as_array().unwrap().iter();
    let own = spot.find(|own| own["capacityType"] == "spot" && own["zone"] == "us-east-1a");
    assert!(own.unwrap()["interruptionsPer100NodeHours"].as_f64() > Some(50.0), "{run:?}");
}

#[test]
fn what_a_table_remembers_is_printed_as_files_take_it() {
    let aws = Aws::start(Answers::All);
    let workspace = with_aws(&aws);
    remember(&aws, "shop", "m7i.2xlarge", 30.0, 20.0);
    remember(&aws, "batch", "m7i.large", 12.5, 0.0);
    let line = "catalog spot-history --table outrigger --region us-east-1";
    let run = workspace.run(line);
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    std::fs::write(workspace.path("history.yaml"), &run.out).unwrap();
    let shown = |how: &str| workspace.run(&format!("catalog m7i.2xlarge {how}")).out;
    let of_file = shown("--region us-east-1 --spot-history history.yaml");
    assert_eq!(of_file, shown("--region us-east-1 --table outrigger"));
    assert!(of_file.contains("TAKEN IN 100H"), "{of_file}");
}

#[test]
fn a_table_that_cannot_be_read_is_named_and_so_is_an_item_that_is_left_out() {
    let aws = Aws::start(Answers::AllBut("Query"));
    let workspace = with_aws(&aws);
    let run = workspace.run(&format!("{PLAN} --table outrigger"));
    assert_eq!(run.status, 2, "{run:?}");
    let what = "error: cannot read what is remembered of spot offerings in table outrigger: ";
    assert!(run.err.contains(what) && run.err.contains("AccessDenied"), "{run:?}");

    let aws = Aws::start(Answers::All);
    let workspace = with_aws(&aws);
    let run = workspace.run(&format!("{PLAN} --table outrigger"));
    let what = "warning: table outrigger: nothing is remembered of spot offerings there yet";
    assert!(run.status == 0 && run.err.contains(what), "{run:?}");
    remember(&aws, "shop", "m7i.2xlarge", 30.0, 20.0);
    remember(&aws, "batch", "m7i.2xlarge", 30.0, 20.0);
    remember(&aws, "later", "m7i.2xlarge", 30.0, 20.0);
    {
        let mut items = aws.items.lock().unwrap();
        items[1]["body"] = json!({"S": "text"});
        items[2]["format"] = json!({"N": "99"});
    }
    let run = workspace.run(&format!("{PLAN} --table outrigger"));
    let of = |item: &str, what: &str| {
        let warning =
            format!("warning: left out of table outrigger: read {item}: not valid: {what}");
        run.err.contains(&warning)
    };
    assert!(of("spot#batch", "attribute body is missing or of another type"), "{run:?}");
    assert!(of("spot#later", "it has format 99"), "{run:?}");
    let rate = &run.json()["nodeClaims"][0]["spot"]["interruptionsPer100NodeHours"];
    assert!(rate.as_f64() > Some(30.0), "what can be read counts: {run:?}");
}

#[test]
fn a_cluster_is_recorded_and_what_it_repeats_is_recorded_once() {
    let server = Server::start();
    let workspace = server.workspace();
    let run = workspace.run("record --live --context here --for 3s --to r.jsonl --cluster shop");
    assert_eq!(run.status, 0, "{run:?}");
    let text = std::fs::read_to_string(workspace.path("r.jsonl")).unwrap();
    let facts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&facts[0]["cluster"], &facts[0]["region"]), (&json!("shop"), &json!("us-east-1")));
    let of = |kind: &str| facts.iter().filter(|own| own.get(kind).is_some()).count();
    // The list that the expired watch is begun anew from lacks web-2: it is gone, and comes again.
    let names: Vec<&str> = facts.iter().filter_map(|own| own["pod"]["name"].as_str()).collect();
    assert_eq!(&names[..3], ["web-0", "web-1", "web-2"], "{text}");
    let bound: Vec<&Value> = facts.iter().filter_map(|own| own.get("bound")).collect();
    assert_eq!(bound.len(), 2, "{text}");
    assert_eq!((of("node"), of("stopped")), (1, 1), "{text}");
    let used: Vec<&Value> = facts.iter().filter_map(|own| own.get("used")).collect();
    let [used] = used.as_slice() else { panic!("{text}") };
    assert_eq!((&used["container"], &used["cpuMillis"]), (&json!("web"), &json!(13)), "{text}");
    assert_eq!(used["memoryBytes"], 1 << 20, "{text}");
    let kinds: Vec<&Value> =
        facts.iter().filter_map(|own| own.pointer("/object/object/kind")).collect();
    assert_eq!(kinds, ["EC2NodeClass", "NodePool"], "{text}");
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|line| line.starts_with("GET ")), "{asked:?}");
    let lists = asked.iter().filter(|own| own.contains("/pods?limit")).count();
    assert!(lists >= 2, "an expired watch is begun anew: {asked:?}");

    let again = workspace.run("record --live --context here --for 1s --to r.jsonl");
    assert_eq!(again.status, 2, "a recording that is there stays: {again:?}");
    let replay = workspace.run("simulate --from r.jsonl --catalog catalog.yaml -o json");
    assert_eq!(replay.status, 0, "{replay:?}");
}

#[test]
fn an_event_that_cannot_be_read_is_said_once_and_its_kind_is_listed_anew() {
    let server = Server::start();
    let run = server.workspace().run("record --live --context here --for 3s --to r.jsonl");
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.err.matches("not an event").count(), 1, "{run:?}");
    let asked = server.asked.lock().unwrap().clone();
    let lists = asked.iter().filter(|own| own.contains("/nodes?limit")).count();
    assert!(lists >= 2, "{asked:?}");
}

#[test]
fn a_cluster_that_cannot_be_recorded_is_named() {
    let run = Server::start().workspace().run("record --live --for 1s");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.starts_with("error: list pods: "), "{run:?}");
}

#[test]
fn an_interrupt_ends_a_recording_with_a_whole_file() {
    let workspace = Server::start().workspace();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_outrigger"))
        .args(["record", "--live", "--context", "here", "--to", "r.jsonl"])
        .current_dir(workspace.path("."))
        .env("KUBECONFIG", "kubeconfig")
        .spawn()
        .unwrap();
    let path = workspace.path("r.jsonl");
    let is_begun = || std::fs::read_to_string(&path).is_ok_and(|text| text.contains("web-1"));
    for _ in 0..100 {
        if is_begun() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(is_begun(), "lines are written as things happen");
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().last().unwrap().starts_with("{\"stopped\""), "{text}");
}
