//! Writes, and the answers they get.

use std::sync::atomic::{AtomicU32, Ordering};

use controllers::event::{Event, EventReason, Subject};
use controllers::ports::cluster::{NamespacedRef, NodePatch, WorkloadRef};
use controllers::ports::{Cluster, ErrorKind, Eviction, NodeRef, PodRef};
use controllers::status::{CapacityBufferCondition, CapacityBufferStatus, ObjectCondition};
use domain::node_claim::ConditionStatus;
use domain::pod::{ObjectKey, PodKey, VirtualPodSource};
use domain::workload::WorkloadKind;
use kubernetes::{KubernetesCluster, ListMode};
use serde_json::json;

use crate::server::{Reply, Request, Server};

async fn cluster(server: &Server) -> KubernetesCluster {
    KubernetesCluster::new(server.connection().await, ListMode::Poll)
}

fn node() -> NodeRef {
    NodeRef { name: "n1".into(), uid: "u1".into() }
}

fn pod() -> PodRef {
    PodRef { key: PodKey::new("shop", "web-0"), uid: "p1".into() }
}

fn labelled() -> NodePatch {
    NodePatch { labels: [("a".into(), "1".into())].into(), ..NodePatch::default() }
}

#[tokio::test]
async fn a_patch_is_made_anew_where_somebody_else_was_faster() {
    let reads = AtomicU32::new(0);
    let server = Server::start(move |request| match &*request.method {
        "GET" => {
            let version = reads.fetch_add(1, Ordering::Relaxed).to_string();
            Reply::json(&json!({ "metadata": {
                "name": "n1", "uid": "u1", "resourceVersion": version,
            }}))
        }
        _ if request.body["metadata"]["resourceVersion"] == "0" => {
            Reply::status(409, "Conflict", "the object has been modified")
        }
        _ => Reply::json(&json!({ "metadata": {} })),
    })
    .await;
    cluster(&server).await.patch_node(&node(), &labelled()).await.unwrap();
    let written = server.asked().pop().unwrap();
    assert_eq!(
        written.body,
        json!({ "metadata": { "labels": { "a": "1" }, "resourceVersion": "1" } })
    );
    assert!(written.query.contains("fieldManager=outrigger"));
}

#[tokio::test]
async fn a_successor_of_the_same_name_is_never_touched() {
    let server = Server::start(|request| match &*request.method {
        "GET" => Reply::json(&json!({ "metadata": { "name": "n1", "uid": "another" } })),
        "DELETE" => Reply::status(409, "Conflict", "Precondition failed: UID in precondition: u1"),
        _ => Reply::status(500, "InternalError", "nothing was to be written"),
    })
    .await;
    let cluster = cluster(&server).await;
    let error = cluster.patch_node(&node(), &labelled()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    cluster.delete_node(&node()).await.unwrap();
    let deletion = server.asked().pop().unwrap();
    assert_eq!(deletion.body, json!({ "preconditions": { "uid": "u1" } }));
}

async fn evicted(answer: Reply) -> (Result<Eviction, ErrorKind>, usize) {
    let server = Server::start(move |_| answer.clone()).await;
    let eviction = cluster(&server).await.evict_pod(&pod()).await;
    (eviction.map_err(|error| error.kind), server.count(|_| true))
}

#[tokio::test]
async fn the_eviction_api_says_yes_gone_or_not_now() {
    let yes = Reply::json(&json!({ "kind": "Status", "status": "Success" }));
    assert_eq!(evicted(yes).await, (Ok(Eviction::Accepted), 1));
    for code in [404, 409] {
        assert_eq!(evicted(Reply::status(code, "", "")).await, (Ok(Eviction::Gone), 1));
    }
    let several = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    let budget =
        Reply::status(429, "TooManyRequests", "Cannot evict pod").with_cause("DisruptionBudget");
    let ending = Reply::status(403, "Forbidden", "going").with_cause("NamespaceTerminating");
    let webhook = "admission webhook \"guard.example.com\" denied the request: it is protected";
    let policy = "pods \"web-0\" is forbidden: ValidatingAdmissionPolicy 'guard' with binding 'all' denied request: it is protected";
    let by_admission = [(403, webhook), (400, webhook), (429, webhook), (422, policy)];
    let by_admission = by_admission.map(|(code, why)| Reply::status(code, "", why));
    let answers = [budget, Reply::status(500, "InternalError", several), ending];
    for answer in answers.into_iter().chain(by_admission) {
        let (eviction, asked) = evicted(answer).await;
        assert!(matches!(eviction, Ok(Eviction::Blocked { .. })), "{eviction:?}");
        assert_eq!(asked, 1, "an answer is not asked for again");
    }
}

#[tokio::test]
async fn a_right_that_is_missing_is_no_answer_about_the_pod() {
    let denied =
        "pods \"web-0\" is forbidden: User \"outrigger\" cannot create resource \"pods/eviction\"";
    let (eviction, _) = evicted(Reply::status(403, "Forbidden", denied)).await;
    assert_eq!(eviction, Err(ErrorKind::Denied));
}

#[tokio::test]
async fn a_busy_server_is_no_budget() {
    let (eviction, asked) =
        evicted(Reply::status(429, "TooManyRequests", "too many requests")).await;
    assert_eq!(eviction, Err(ErrorKind::Throttled));
    assert_eq!(asked, 5);
}

#[tokio::test]
async fn a_forced_deletion_leaves_at_least_a_second() {
    let server = Server::start(|_| Reply::json(&json!({}))).await;
    cluster(&server).await.delete_pod(&pod(), 0).await.unwrap();
    let deletion = server.asked().pop().unwrap();
    assert_eq!(deletion.path, "/api/v1/namespaces/shop/pods/web-0");
    assert_eq!(deletion.body, json!({ "gracePeriodSeconds": 1, "preconditions": { "uid": "p1" } }));
}

fn nominated() -> Event {
    let about = Subject::Pod(PodKey::new("shop", "web-0"), "p1".into());
    Event::new(about, EventReason::Nominated, "Pod should schedule on: nodeclaim/web-abcde")
}

#[tokio::test]
async fn an_event_is_written_once_by_one_process() {
    let server = Server::start(|_| Reply::json(&json!({}))).await;
    let cluster = cluster(&server).await;
    cluster.record_events(&[nominated(), nominated()]).await.unwrap();
    cluster.record_events(&[nominated()]).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    let event = &asked[0].body;
    assert_eq!(asked[0].path, "/api/v1/namespaces/shop/events");
    assert_eq!(
        event["involvedObject"],
        json!({ "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "p1" })
    );
    assert_eq!((&event["type"], &event["reason"]), (&json!("Normal"), &json!("Nominated")));
}

/// A server on which another process recorded the same event at a time.
async fn recorded_before(at: &'static str) -> Server {
    Server::start(move |request: &Request| match &*request.method {
        "POST" => Reply::status(409, "AlreadyExists", "events \"x\" already exists"),
        "GET" => Reply::json(&json!({
            "metadata": { "resourceVersion": "7" }, "count": 2, "lastTimestamp": at,
        })),
        _ => Reply::json(&json!({})),
    })
    .await
}

#[tokio::test]
async fn an_event_of_another_process_is_counted_once_its_time_is_over() {
    let server = recorded_before("2026-01-01T12:00:00Z").await;
    cluster(&server).await.record_events(&[nominated()]).await.unwrap();
    let patch = server.asked().pop().unwrap();
    assert_eq!((&*patch.method, &patch.body["count"]), ("PATCH", &json!(3)));
    let server = recorded_before("2999-01-01T12:00:00Z").await;
    cluster(&server).await.record_events(&[nominated()]).await.unwrap();
    assert_eq!(server.count(|it| it.method == "PATCH"), 0);
}

#[tokio::test]
async fn an_event_names_the_uid_that_kubectl_looks_for() {
    let server = Server::start(|request| match &*request.method {
        "GET" => Reply::json(&json!({ "metadata": { "name": "web", "uid": "pool-1" } })),
        _ => Reply::json(&json!({})),
    })
    .await;
    let about = Subject::NodePool("web".into());
    let event = Event::new(about, EventReason::Unconsolidatable, "none");
    cluster(&server).await.record_events(&[event]).await.unwrap();
    let written = server.asked().pop().unwrap();
    assert_eq!(written.path, "/api/v1/namespaces/default/events");
    assert_eq!(written.body["involvedObject"]["uid"], "pool-1");
    assert_eq!(written.body["involvedObject"]["apiVersion"], "karpenter.sh/v1");
}

#[tokio::test]
async fn a_workload_is_scaled_by_its_scale_subresource() {
    let server = Server::start(|_| Reply::json(&json!({ "kind": "Scale" }))).await;
    let key = ObjectKey::new("shop", "web");
    let web = WorkloadRef { kind: WorkloadKind::Deployment, key };
    cluster(&server).await.scale_workload(&web, 5).await.unwrap();
    let [asked] = server.asked().try_into().unwrap();
    assert_eq!(
        (&*asked.method, &*asked.path),
        ("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale")
    );
    assert_eq!(asked.body, json!({ "spec": { "replicas": 5 } }));
    let empty = Server::start(|_| Reply::status(404, "NotFound", "no such deployment")).await;
    let error = cluster(&empty).await.scale_workload(&web, 5).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_deployment_is_found_by_a_pods_replica_set_and_rolled_out_as_kubectl_does() {
    let server = Server::start(|request| {
        let metadata = json!({ "name": "web", "namespace": "shop", "uid": "d1",
            "resourceVersion": "7", "generation": 1 });
        let spec = json!({ "selector": {}, "template": { "spec": { "containers": [] } } });
        match (&*request.method, &*request.path) {
            ("GET", "/apis/apps/v1/namespaces/shop/replicasets/web-1") => Reply::json(&json!({
                "metadata": { "name": "web-1", "namespace": "shop", "uid": "r1",
                    "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "Deployment",
                        "name": "web", "uid": "d1", "controller": true }] },
                "spec": spec,
            })),
            ("GET", "/apis/apps/v1/namespaces/shop/deployments/web") => {
                Reply::json(&json!({ "metadata": metadata, "spec": spec }))
            }
            ("PATCH", _) => Reply::json(&json!({ "metadata": metadata })),
            _ => Reply::status(404, "NotFound", "not there"),
        }
    })
    .await;
    let cluster = cluster(&server).await;
    let of = |name: &str, uid: &str| NamespacedRef {
        key: ObjectKey::new("shop", name),
        uid: uid.into(),
    };
    assert_eq!(cluster.deployment_of(&of("gone", "r1")).await.unwrap(), None);
    assert_eq!(cluster.deployment_of(&of("web-1", "r2")).await.unwrap(), None, "a successor");
    let found = cluster.deployment_of(&of("web-1", "r1")).await.unwrap().unwrap();
    assert_eq!((&*found.uid, &*found.resource_version, found.replicas), ("d1", "7", 1));
    let at = "2026-01-05T09:00:00Z".parse().unwrap();
    cluster.restart_deployment(&found, at).await.unwrap();
    let written = server.asked().pop().unwrap();
    assert_eq!(written.path, "/apis/apps/v1/namespaces/shop/deployments/web");
    assert_eq!(
        written.body,
        json!({
            "metadata": {
                "resourceVersion": "7",
                "annotations": { "outrigger.dev/restarted-at": "2026-01-05T09:00:00Z" },
            },
            "spec": { "template": { "metadata": { "annotations": {
                "kubectl.kubernetes.io/restartedAt": "2026-01-05T09:00:00Z",
            } } } },
        })
    );
}

fn buffer_status() -> CapacityBufferStatus {
    CapacityBufferStatus {
        pod_template: Some("chunk".into()),
        pod_template_generation: Some(2),
        replicas: Some(4),
        provisioning_strategy: "buffer.x-k8s.io/active-capacity".into(),
        conditions: vec![ObjectCondition {
            kind: CapacityBufferCondition::Provisioning,
            status: ConditionStatus::True,
            reason: "FitsExistingCapacity".into(),
            message: "".into(),
            changed: "2026-01-01T12:00:00Z".parse().unwrap(),
            observed_generation: 1,
        }],
    }
}

#[tokio::test]
async fn a_buffer_gets_its_status_and_keeps_conditions_of_others() {
    let quotas = json!({ "type": "LimitedByQuotas", "status": "False", "reason": "NotLimited" });
    let known = json!({
        "metadata": { "name": "spare", "namespace": "shop", "uid": "b1", "resourceVersion": "7" },
        "status": { "replicas": 1, "conditions": [quotas] },
    });
    let server = Server::start(move |_| Reply::json(&known)).await;
    let buffer =
        |uid: &str| NamespacedRef { key: ObjectKey::new("shop", "spare"), uid: uid.into() };
    let cluster = cluster(&server).await;
    cluster.update_capacity_buffer(&buffer("b1"), &buffer_status()).await.unwrap();
    let written = server.asked().pop().unwrap();
    assert_eq!(
        written.path,
        "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/shop/capacitybuffers/spare/status"
    );
    let status = &written.body["status"];
    assert_eq!(status["podTemplateRef"], json!({ "name": "chunk" }));
    assert_eq!((&status["replicas"], &status["podTemplateGeneration"]), (&json!(4), &json!(2)));
    assert_eq!(status["conditions"][0]["type"], "LimitedByQuotas");
    assert_eq!(status["conditions"][1]["reason"], "FitsExistingCapacity");
    assert_eq!(written.body["metadata"]["resourceVersion"], "7");
    let error = cluster.update_capacity_buffer(&buffer("b2"), &buffer_status()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "a successor of the same name");
}

#[tokio::test]
async fn an_event_about_a_schedule_stands_in_its_namespace() {
    let server = Server::start(|_| Reply::json(&json!({}))).await;
    let source = VirtualPodSource::PrewarmSchedule(ObjectKey::new("shop", "noon"));
    let about = Subject::Source(source, "s1".into());
    let event = Event::new(about, EventReason::ScaleTargetNotFound, "it is not there");
    let cluster = cluster(&server).await;
    cluster.record_events(&[event.clone(), event]).await.unwrap();
    let [asked] = server.asked().try_into().unwrap();
    assert_eq!(asked.path, "/api/v1/namespaces/shop/events");
    assert_eq!(
        asked.body["involvedObject"],
        json!({
            "apiVersion": "outrigger.dev/v1alpha1", "kind": "PrewarmSchedule",
            "namespace": "shop", "name": "noon", "uid": "s1",
        })
    );
    assert_eq!(asked.body["type"], "Warning");
}
