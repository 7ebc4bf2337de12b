//! The adapter against a real API server: `KUBECONFIG=… cargo test --test live -- --ignored`.
//!
//! `LIVE_CONTEXT` names the context of somebody who may do what `infra/kubernetes/rbac.yaml`
//! allows, and nothing more; without it the adapter is whoever the tests are: an administrator. The
//! API server needs the custom resources of `infra/kubernetes/crds`, and no other controllers: pods
//! here run where and how the tests say. Every test makes its own objects, and leaves nothing that
//! another needs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what the API server does not answer ends the test"
)]

use std::time::{Duration, Instant};

use controllers::event::{Event, EventReason, Subject};
use controllers::ports::cluster::{FinalizerChange, NodeClassUpdate, NodePatch, NodePoolUpdate};
use controllers::ports::{
    Cluster, ClusterListing, Demand, ErrorKind, Eviction, NodeRef, ObjectRef, PodRef,
};
use controllers::status::{
    NodeClassCondition, NodeClassStatus, NodePoolCondition, NodePoolStatus, ObjectCondition,
    ReservationStatus, ResolvedSecurityGroup,
};
use controllers::steps::mirror::is_up_to_date;
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_class::{ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet};
use domain::pod::PodKey;
use domain::requirement::Requirement;
use domain::resource::{CPU, MEMORY, Resources};
use domain::taint::{Taint, TaintEffect};
use domain::{SignedDuration, Timestamp};
use http::Method;
use kube::Client;
use kubernetes::{Connection, KubernetesCluster, ListMode};
use serde_json::{Value as Json, json};

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLASSES: &str = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A client for what only tests do.
struct Administrator(Client);

impl Administrator {
    async fn new() -> Self {
        Self(Client::try_default().await.unwrap())
    }

    async fn ask(&self, method: Method, path: &str, body: &Json) -> Result<Json, kube::Error> {
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(body.to_string().into_bytes())
            .unwrap();
        self.0.request(request).await
    }

    async fn create(&self, path: &str, object: &Json) -> Json {
        self.ask(Method::POST, path, object).await.unwrap()
    }

    async fn get(&self, path: &str) -> Json {
        self.ask(Method::GET, path, &Json::Null).await.unwrap()
    }

    async fn patch(&self, path: &str, patch: &Json) -> Json {
        self.ask(Method::PATCH, path, patch).await.unwrap()
    }

    /// Takes an object away, whatever holds it.
    async fn remove(&self, path: &str) {
        let no_finalizers = json!({ "metadata": { "finalizers": null } });
        let _ = self.ask(Method::PATCH, path, &no_finalizers).await;
        let now = json!({ "gracePeriodSeconds": 0 });
        let _ = self.ask(Method::DELETE, path, &now).await;
    }

    async fn node_pool(&self, name: &str) -> Json {
        self.remove(&format!("{POOLS}/{name}")).await;
        let reference =
            json!({ "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x" });
        let spec = json!({ "template": { "spec": {
            "nodeClassRef": reference,
            "requirements": [{ "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"] }],
        }}});
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": { "name": name }, "spec": spec,
        });
        self.create(POOLS, &pool).await
    }

    /// A pod that runs, as far as the API knows.
    async fn running_pod(&self, name: &str, labels: &Json) -> Json {
        self.remove(&format!("{PODS}/{name}")).await;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "labels": labels },
            "spec": { "nodeName": "nowhere", "containers": [{ "name": "c", "image": "c" }] },
        });
        self.create(PODS, &pod).await;
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        let status = json!({ "status": { "phase": "Running", "conditions": ready } });
        self.patch(&format!("{PODS}/{name}/status"), &status).await
    }
}

async fn cluster(reading: ListMode) -> KubernetesCluster {
    let context = std::env::var("LIVE_CONTEXT").ok();
    let connection = Connection::from_kubeconfig(context.as_deref()).await.unwrap();
    KubernetesCluster::new(connection, reading)
}

fn uid(object: &Json) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn version(object: &Json) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

fn pod_ref(pod: &Json) -> PodRef {
    let name = pod["metadata"]["name"].as_str().unwrap();
    PodRef { key: PodKey::new("default", name), uid: uid(pod).into() }
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn claim(name: &str, pool: &str) -> NodeClaim {
    let condition = |kind: ConditionType, status| Condition {
        kind,
        status,
        reason: kind.as_str().into(),
        message: "".into(),
        changed: Some(at("2026-01-01T12:00:00Z")),
    };
    NodeClaim {
        created: Some(at("2026-01-01T11:59:00Z")),
        labels: [("karpenter.sh/nodepool".into(), pool.into())].into(),
        annotations: [("karpenter.sh/nodepool-hash".into(), "1".into())].into(),
        requirements: vec![Requirement::is_in(
            "node.kubernetes.io/instance-type",
            ["m7i.large".into(), "m7i.xlarge".into()],
        )]
        .into(),
        requests: Resources::new().with(CPU, 1250).with(MEMORY, 3 << 30),
        taints: vec![Taint {
            key: "team".into(),
            value: "blue".into(),
            effect: TaintEffect::NoSchedule,
        }],
        termination_grace_period: Some(SignedDuration::from_mins(90)),
        status: NodeClaimStatus {
            node_name: Some("n1".into()),
            provider_id: Some("aws:///eu-west-1a/i-0123".into()),
            image_id: Some("ami-1".into()),
            capacity: Resources::new().with(CPU, 2000).with(MEMORY, 8 << 30),
            allocatable: Resources::new().with(CPU, 1930),
            last_pod_event: None,
            network: None,
            conditions: vec![
                condition(ConditionType::Launched, ConditionStatus::True),
                condition(ConditionType::Registered, ConditionStatus::Unknown),
            ],
        },
        ..testkit::node_claim(name).uid(format!("claim-of-{name}")).build()
    }
}

fn listed<'v>(listing: &'v ClusterListing, name: &str) -> &'v NodeClaim {
    let object = listing.node_claims.iter().find(|object| &*object.claim.name == name);
    &object.expect("the object is there").claim
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn a_claim_is_shown_kept_up_to_date_handed_over_and_removed() {
    let (administrator, cluster) = (Administrator::new().await, cluster(ListMode::Poll).await);
    let pool = administrator.node_pool("live-claims").await;
    let path = format!("{CLAIMS}/live-claim");
    administrator.remove(&path).await;
    let mut claim = claim("live-claim", "live-claims");

    cluster.mirror_node_claim(&claim).await.unwrap();
    let object = administrator.get(&path).await;
    assert_eq!(object["metadata"]["finalizers"], json!(["karpenter.sh/termination"]));
    assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], uid(&pool));
    let listing = cluster.observe().await.unwrap();
    let shown = listed(&listing, "live-claim");
    let expected = NodeClaim { uid: shown.uid.clone(), created: shown.created, ..claim.clone() };
    assert_eq!(*shown, expected);
    assert!(is_up_to_date(shown, &claim));
    assert!(listing.node_claims.iter().any(|it| it.belongs_to(&claim.uid)));

    cluster.mirror_node_claim(&claim).await.unwrap();
    assert_eq!(version(&administrator.get(&path).await), version(&object), "nothing to write");

    administrator
        .patch(&path, &json!({ "metadata": { "annotations": { "mine": "stays" } } }))
        .await;
    claim.labels.insert("team".into(), "blue".into());
    claim.status.conditions[1].status = ConditionStatus::True;
    cluster.mirror_node_claim(&claim).await.unwrap();
    let listing = cluster.observe().await.unwrap();
    assert!(is_up_to_date(listed(&listing, "live-claim"), &claim));
    assert_eq!(listed(&listing, "live-claim").annotations["mine"].as_ref(), "stays");

    let other = NodeClaim { uid: "somebody-elses".into(), ..claim.clone() };
    let error = cluster.mirror_node_claim(&other).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    cluster.remove_node_claim("live-claim", "somebody-elses").await.unwrap();

    cluster.release_node_claim("live-claim", &claim.uid).await.unwrap();
    let object = administrator.get(&path).await;
    assert!(object["metadata"]["annotations"]["outrigger.dev/claim-uid"].is_null());
    cluster.remove_node_claim("live-claim", &claim.uid).await.unwrap();
    administrator.get(&path).await;
    cluster.remove_node_claim("live-claim", &uid(&object)).await.unwrap();
    assert!(administrator.ask(Method::GET, &path, &Json::Null).await.is_err(), "it is gone");
    cluster.remove_node_claim("live-claim", &uid(&object)).await.unwrap();
}

fn condition<K>(kind: K, reason: &str) -> ObjectCondition<K> {
    ObjectCondition {
        kind,
        status: ConditionStatus::True,
        reason: reason.into(),
        message: "all is well".into(),
        changed: at("2026-01-01T12:00:00Z"),
        observed_generation: 1,
    }
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn status_of_pools_and_classes_is_written_as_it_is_read() {
    let (administrator, cluster) = (Administrator::new().await, cluster(ListMode::Poll).await);
    let pool = administrator.node_pool("live-status").await;
    let foreign = json!({ "status": { "conditions": [{
        "type": "SomebodyElses", "status": "True", "reason": "Theirs", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    administrator.patch(&format!("{POOLS}/live-status/status"), &foreign).await;
    let status = NodePoolStatus {
        resources: Resources::new().with(CPU, 4000).with("nodes", 1),
        nodes: 1,
        node_class_observed_generation: 2,
        conditions: vec![condition(NodePoolCondition::Ready, "Ready")],
    };
    let update = NodePoolUpdate {
        annotations: [("karpenter.sh/nodepool-hash".into(), "7".into())].into(),
        status: Some(status.clone()),
    };
    let reference = ObjectRef { name: "live-status".into(), uid: uid(&pool).into() };
    cluster.update_node_pool(&reference, &update).await.unwrap();
    let written = administrator.get(&format!("{POOLS}/live-status")).await;
    assert_eq!(written["status"]["conditions"][0]["type"], "SomebodyElses");
    cluster.update_node_pool(&reference, &update).await.unwrap();
    let again = administrator.get(&format!("{POOLS}/live-status")).await;
    assert_eq!(version(&again), version(&written), "nothing to write");
    let listing = cluster.observe().await.unwrap();
    assert_eq!(listing.node_pool_states["live-status"].status, status);

    let stranger = ObjectRef { uid: "another".into(), ..reference };
    let error = cluster.update_node_pool(&stranger, &update).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

fn class_status() -> NodeClassStatus {
    NodeClassStatus {
        subnets: vec![ResolvedSubnet {
            id: "subnet-1".into(),
            zone: "eu-west-1a".into(),
            zone_id: Some("euw1-az1".into()),
        }],
        security_groups: vec![ResolvedSecurityGroup {
            id: "sg-1".into(),
            name: Some("nodes".into()),
        }],
        amis: vec![ResolvedAmi {
            id: "ami-1".into(),
            name: Some("al2023".into()),
            is_deprecated: true,
            requirements: vec![Requirement::is_in("kubernetes.io/arch", ["arm64".into()])],
        }],
        capacity_reservations: vec![ReservationStatus {
            reservation: ResolvedCapacityReservation {
                id: "cr-0123".into(),
                instance_type: "m7i.large".into(),
                zone: "eu-west-1a".into(),
                is_expiring: false,
                reservation_type: "default".into(),
                is_interruptible: false,
            },
            owner_id: "111122223333".into(),
            match_criteria: "targeted".into(),
            end: Some(at("2027-01-01T00:00:00Z")),
        }],
        instance_profile: Some("nodes".into()),
        conditions: vec![
            condition(NodeClassCondition::AmisReady, "AMIsReady"),
            condition(NodeClassCondition::Ready, "Ready"),
        ],
    }
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn a_node_class_gets_status_and_finalizer_and_goes_once_it_is_let_go() {
    let (administrator, cluster) = (Administrator::new().await, cluster(ListMode::Poll).await);
    let path = format!("{CLASSES}/live-class");
    administrator.remove(&path).await;
    let class = json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
        "metadata": { "name": "live-class" },
        "spec": {
            "role": "nodes",
            "amiSelectorTerms": [{ "alias": "al2023@latest" }],
            "subnetSelectorTerms": [{ "tags": { "a": "b" } }],
            "securityGroupSelectorTerms": [{ "tags": { "a": "b" } }],
        },
    });
    let class = administrator.create(CLASSES, &class).await;
    let reference = ObjectRef { name: "live-class".into(), uid: uid(&class).into() };
    let update = NodeClassUpdate {
        finalizer: FinalizerChange::Add,
        status: Some(class_status()),
        ..NodeClassUpdate::default()
    };
    cluster.update_node_class(&reference, &update).await.unwrap();
    let listing = cluster.observe().await.unwrap();
    let state = &listing.node_class_states["live-class"];
    assert_eq!(state.status, class_status());
    assert!(state.has_finalizer && state.generation > 0);

    administrator.ask(Method::DELETE, &path, &Json::Null).await.unwrap();
    let mut last = class_status();
    last.instance_profile = None;
    let update = NodeClassUpdate {
        finalizer: FinalizerChange::Remove,
        status: Some(last),
        ..NodeClassUpdate::default()
    };
    cluster.update_node_class(&reference, &update).await.unwrap();
    assert!(administrator.ask(Method::GET, &path, &Json::Null).await.is_err(), "it is gone");
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn a_node_is_tainted_held_and_let_go() {
    let (administrator, cluster) = (Administrator::new().await, cluster(ListMode::Poll).await);
    let path = "/api/v1/nodes/live-node";
    administrator.remove(path).await;
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "live-node" } });
    let node = administrator.create("/api/v1/nodes", &node).await;
    let reference = NodeRef { name: "live-node".into(), uid: uid(&node).into() };
    let mark = NodePatch {
        labels: [("karpenter.sh/registered".into(), "true".into())].into(),
        annotations: [("a".into(), "b".into())].into(),
        add_taints: vec![Taint::disrupted()],
        finalizer: FinalizerChange::Add,
        owner: Some(ObjectRef { name: "c".into(), uid: "u1".into() }),
        ..NodePatch::default()
    };
    cluster.patch_node(&reference, &mark).await.unwrap();
    let marked = administrator.get(path).await;
    cluster.patch_node(&reference, &mark).await.unwrap();
    assert_eq!(version(&administrator.get(path).await), version(&marked), "nothing to write");
    let listing = cluster.observe().await.unwrap();
    let node = listing.objects.nodes.iter().find(|node| &*node.name == "live-node").unwrap();
    assert!(node.is_disrupted());

    cluster.delete_node(&NodeRef { uid: "another".into(), ..reference.clone() }).await.unwrap();
    assert!(administrator.get(path).await["metadata"]["deletionTimestamp"].is_null());
    cluster.delete_node(&reference).await.unwrap();
    cluster.delete_node(&reference).await.unwrap();
    let let_go = NodePatch { finalizer: FinalizerChange::Remove, ..NodePatch::default() };
    cluster.patch_node(&reference, &let_go).await.unwrap();
    assert!(administrator.ask(Method::GET, path, &Json::Null).await.is_err(), "it is gone");
    let error = cluster.patch_node(&reference, &let_go).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn evictions_are_accepted_blocked_by_one_budget_or_by_two_or_find_nothing() {
    let (administrator, cluster) = (Administrator::new().await, cluster(ListMode::Poll).await);
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    for name in ["live-one", "live-two"] {
        administrator.remove(&format!("{budgets}/{name}")).await;
    }
    let labels = json!({ "app": "live-guarded" });
    let guarded = administrator.running_pod("live-guarded", &labels).await;
    let free = administrator.running_pod("live-free", &json!({})).await;

    let accepted = cluster.evict_pod(&pod_ref(&free)).await.unwrap();
    assert_eq!(accepted, Eviction::Accepted);
    let successor = PodRef { uid: "another".into(), ..pod_ref(&guarded) };
    assert_eq!(cluster.evict_pod(&successor).await.unwrap(), Eviction::Gone);

    for name in ["live-one", "live-two"] {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name },
            "spec": { "minAvailable": 1, "selector": { "matchLabels": labels } },
        });
        administrator.create(budgets, &budget).await;
        let eviction = cluster.evict_pod(&pod_ref(&guarded)).await.unwrap();
        assert!(matches!(eviction, Eviction::Blocked { .. }), "{name}: {eviction:?}");
    }
    cluster.delete_pod(&pod_ref(&guarded), 1).await.unwrap();
    let going = administrator.get(&format!("{PODS}/live-guarded")).await;
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 1);
    administrator.remove(&format!("{PODS}/live-guarded")).await;
    administrator.remove(&format!("{PODS}/live-free")).await;
    assert_eq!(cluster.evict_pod(&pod_ref(&guarded)).await.unwrap(), Eviction::Gone);
    cluster.delete_pod(&pod_ref(&guarded), 1).await.unwrap();
    for name in ["live-one", "live-two"] {
        administrator.remove(&format!("{budgets}/{name}")).await;
    }
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn events_are_where_kubectl_looks_and_fold_across_processes() {
    let administrator = Administrator::new().await;
    let pod = administrator.running_pod("live-event", &json!({})).await;
    let PodRef { key, uid } = pod_ref(&pod);
    let about = Subject::Pod(key, uid.clone());
    let event = Event::new(about, EventReason::Nominated, "Pod should schedule on: nodeclaim/x");
    for _ in 0..2 {
        let process = cluster(ListMode::Poll).await;
        process.record_events(std::slice::from_ref(&event)).await.unwrap();
    }
    let selector = format!("fieldSelector=involvedObject.uid%3D{uid}");
    let events = administrator.get(&format!("/api/v1/namespaces/default/events?{selector}")).await;
    let items = events["items"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!((&items[0]["reason"], &items[0]["count"]), (&json!("Nominated"), &json!(1)));
    assert_eq!(items[0]["source"]["component"], "outrigger");
    administrator.remove(&format!("{PODS}/live-event")).await;
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn an_unschedulable_pod_wakes_within_a_moment() {
    let (administrator, cluster) =
        (Administrator::new().await, cluster(ListMode::Watch { cached_from: 500 }).await);
    let path = format!("{PODS}/live-waiting");
    administrator.remove(&path).await;
    cluster.observe().await.unwrap();
    let soon = || Timestamp::now() + SignedDuration::from_secs(10);
    let mark = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "live-waiting" },
            "spec": { "containers": [{ "name": "c", "image": "c" }] },
        });
        administrator.create(PODS, &pod).await;
        let condition =
            json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" });
        let status = json!({ "status": { "conditions": [condition] } });
        administrator.patch(&format!("{path}/status"), &status).await;
        Instant::now()
    };
    let wake = async { (cluster.demand_changed(soon()).await.unwrap(), Instant::now()) };
    let (marked, (demand, woken)) = tokio::join!(mark, wake);
    assert_eq!(demand, Demand::Changed);
    assert!(woken.saturating_duration_since(marked) < Duration::from_secs(1));
    let listing = cluster.observe().await.unwrap();
    assert!(listing.objects.pods.iter().any(|pod| &*pod.key.name == "live-waiting"));
    administrator.remove(&path).await;
}

#[tokio::test]
#[ignore = "needs a real API server"]
async fn a_cached_list_of_pods_is_as_new_as_the_listing() {
    let (administrator, cluster) =
        (Administrator::new().await, cluster(ListMode::Watch { cached_from: 500 }).await);
    let namespace = json!({ "metadata": { "name": "live-many" } });
    let _ = administrator.ask(Method::POST, "/api/v1/namespaces", &namespace).await;
    let pods = "/api/v1/namespaces/live-many/pods";
    let pod = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
            "spec": { "nodeName": "nowhere", "containers": [{ "name": "c", "image": "c" }] },
        })
    };
    for number in 0..550 {
        let _ = administrator.ask(Method::POST, pods, &pod(&format!("p{number:03}"))).await;
    }
    let has = |listing: &ClusterListing, name: &str| {
        listing.objects.pods.iter().any(|it| &*it.key.name == name)
    };
    let listing = cluster.observe().await.unwrap();
    assert!(listing.objects.pods.len() >= 550);
    for attempt in 0..3 {
        let name = format!("late-{attempt}");
        administrator.remove(&format!("{pods}/{name}")).await;
        administrator.create(pods, &pod(&name)).await;
        let start = Instant::now();
        let listing = cluster.observe().await.unwrap();
        println!("as new as the listing after {:?}", start.elapsed());
        assert!(has(&listing, &name), "what was there before the listing is in it");
        administrator.remove(&format!("{pods}/{name}")).await;
    }
    let listing = cluster.observe().await.unwrap();
    assert!(!has(&listing, "late-2"), "what was gone before the listing is not in it");
}
