//! Listing a cluster, and what keeps it from being listed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use controllers::ports::{Cluster, ErrorKind};
use domain::instance_type::InstanceTypes;
use domain::settings::Settings;
use kubernetes::{KubernetesCluster, ListMode};
use manifests::{Source, documents};
use serde_json::{Value as Json, json};

use crate::server::{Reply, Request, Server, pod};

/// Answers lists that a test has nothing to say about.
fn nothing(request: &Request) -> Reply {
    if request.path.contains("karpenter") || request.path.contains("keda.sh") {
        return Reply::status(404, "NotFound", "the server could not find the requested resource");
    }
    Reply::list(&[], 1)
}

async fn cluster(server: &Server, reading: ListMode) -> KubernetesCluster {
    KubernetesCluster::new(server.connection().await, reading)
}

fn names(pods: &[domain::pod::Pod]) -> Vec<&str> {
    pods.iter().map(|pod| &*pod.key.name).collect()
}

#[tokio::test]
async fn pages_are_read_to_the_last() {
    let server = Server::start(|request| match request {
        list if list.is_list_of("pods") && list.query.contains("continue=two") => {
            Reply::list(&[pod("b", 2, &json!({}))], 9)
        }
        list if list.is_list_of("pods") => Reply::page(&[pod("a", 1, &json!({}))], 9, "two"),
        other => nothing(other),
    })
    .await;
    let listing = cluster(&server, ListMode::Poll).await.observe().await.unwrap();
    assert_eq!(names(&listing.objects.pods), ["a", "b"]);
    let asked = server.asked();
    let mut lists = asked.iter().filter(|request| !request.path.ends_with("/configmaps/outrigger"));
    assert!(lists.all(|request| request.query.contains("limit=500")));
}

#[tokio::test]
async fn a_list_whose_end_expired_is_begun_anew() {
    let ends = AtomicU32::new(0);
    let server = Server::start(move |request| match request {
        list if list.is_list_of("pods") && list.query.contains("continue=two") => {
            if ends.fetch_add(1, Ordering::Relaxed) == 0 {
                return Reply::status(410, "Expired", "the provided continue parameter is too old");
            }
            Reply::list(&[pod("b", 2, &json!({}))], 12)
        }
        list if list.is_list_of("pods") => Reply::page(&[pod("a", 1, &json!({}))], 9, "two"),
        other => nothing(other),
    })
    .await;
    let listing = cluster(&server, ListMode::Poll).await.observe().await.unwrap();
    assert_eq!(names(&listing.objects.pods), ["a", "b"], "each once");
}

#[tokio::test]
async fn a_kind_that_is_not_installed_is_empty_and_an_older_version_of_it_is_read() {
    let buffer = json!({
        "metadata": { "name": "spare", "namespace": "shop" },
        "spec": { "podTemplateRef": { "name": "web" }, "replicas": 2 },
    });
    let server = Server::start(move |request| match &*request.path {
        "/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers" => Reply::status(404, "NotFound", ""),
        "/apis/autoscaling.x-k8s.io/v1alpha1/capacitybuffers" => {
            Reply::list(std::slice::from_ref(&buffer), 3)
        }
        _ => nothing(request),
    })
    .await;
    let listing = cluster(&server, ListMode::Poll).await.observe().await.unwrap();
    assert!(listing.objects.node_pools.is_empty() && listing.objects.node_overlays.is_empty());
    assert_eq!(listing.objects.capacity_buffers.len(), 1);
    assert_eq!(server.count(|it| it.is_list_of("podtemplates")), 1, "a buffer names one");
    assert_eq!(server.count(|it| it.is_list_of("deployments")), 0, "nobody names one");
}

#[tokio::test]
async fn what_rbac_withholds_is_named_also_for_kinds_that_may_be_missing() {
    let server = Server::start(|request| {
        if request.is_list_of("nodeoverlays") {
            let message = "nodeoverlays.karpenter.sh is forbidden: User \"x\" cannot list resource";
            return Reply::status(403, "Forbidden", message);
        }
        nothing(request)
    })
    .await;
    let error = cluster(&server, ListMode::Poll).await.observe().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.to_string().contains("RBAC does not let us list nodeoverlays.karpenter.sh"));
}

#[tokio::test]
async fn one_bad_object_is_reported_and_costs_nothing_else() {
    let server = Server::start(|request| {
        if request.is_list_of("pods") {
            let bad = json!({ "spec": { "nodeSelector": "zone-a" } });
            return Reply::list(&[pod("good", 1, &json!({})), pod("bad", 2, &bad)], 3);
        }
        nothing(request)
    })
    .await;
    let listed = cluster(&server, ListMode::Poll).await.list().await.unwrap();
    assert_eq!(names(&listed.listing.objects.pods), ["good"]);
    let messages: Vec<_> = listed.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "Pod default/bad is left out: spec.nodeSelector: expected an object, found the string \"zone-a\""
        ]
    );
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_replaced_once() {
    let server = Server::start(|request| match &*request.bearer {
        "Bearer token-1" => Reply::status(401, "Unauthorized", "Unauthorized"),
        _ => Reply::json(&json!({ "gitVersion": "v1.34.0" })),
    })
    .await;
    server.connection().await.warm_up().await.unwrap();
    let refusing = Server::start(|_| Reply::status(401, "Unauthorized", "Unauthorized")).await;
    let error = refusing.connection().await.warm_up().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.to_string().contains("access entry"), "{error}");
    assert!(refusing.count(|_| true) <= 8, "two attempts a connection");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_after_the_pause_it_wants() {
    let asked = AtomicU32::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0..4 => Reply::status(429, "TooManyRequests", "slow down").with_header("retry-after", "1"),
        _ => Reply::json(&json!({})),
    })
    .await;
    let start = std::time::Instant::now();
    server.connection().await.warm_up().await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    let failing = Server::start(|_| Reply::status(503, "ServiceUnavailable", "no")).await;
    let error = failing.connection().await.warm_up().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_long_list_is_cached_and_brought_up_to_date_by_a_watch() {
    let first_page = AtomicU32::new(0);
    let server = Server::start(move |request| {
        if request.path.ends_with("/pods") && request.is_watch() {
            assert!(request.query.contains("resourceVersion=9"));
            let events = [
                ("MODIFIED", pod("a", 11, &json!({ "spec": { "nodeName": "n1" } }))),
                ("DELETED", pod("b", 12, &json!({}))),
                ("BOOKMARK", json!({ "metadata": { "resourceVersion": "20" } })),
            ];
            return Reply::events(&events, Duration::from_secs(3));
        }
        if request.is_list_of("pods") && request.query.contains("fieldSelector") {
            return Reply::list(&[], 20);
        }
        if request.is_list_of("pods") {
            return match first_page.fetch_add(1, Ordering::Relaxed) {
                0 => Reply::page(&[pod("a", 1, &json!({}))], 9, "two"),
                1 => Reply::list(&[pod("b", 2, &json!({}))], 9),
                _ => Reply::status(500, "InternalError", "it was to be kept"),
            };
        }
        nothing(request)
    })
    .await;
    let cluster = cluster(&server, ListMode::Watch { cached_from: 2 }).await;
    assert_eq!(names(&cluster.observe().await.unwrap().objects.pods), ["a", "b"]);
    let listing = cluster.observe().await.unwrap();
    assert_eq!(names(&listing.objects.pods), ["a"]);
    assert_eq!(listing.objects.pods[0].node_name.as_deref(), Some("n1"));
}

#[tokio::test]
async fn a_cached_list_whose_watch_expired_is_listed_again() {
    let lists = AtomicU32::new(0);
    let server = Server::start(move |request| {
        if request.path.ends_with("/pods") && request.is_watch() {
            return Reply::status(410, "Expired", "too old resource version: 9 (4000)");
        }
        if request.is_list_of("pods") && request.query.contains("fieldSelector") {
            return Reply::list(&[], 4000);
        }
        if request.is_list_of("pods") {
            return match lists.fetch_add(1, Ordering::Relaxed) {
                0 => Reply::page(&[pod("a", 1, &json!({}))], 9, "two"),
                1 => Reply::list(&[pod("b", 2, &json!({}))], 9),
                _ => Reply::list(&[pod("new", 3999, &json!({}))], 4000),
            };
        }
        nothing(request)
    })
    .await;
    let cluster = cluster(&server, ListMode::Watch { cached_from: 2 }).await;
    cluster.observe().await.unwrap();
    assert_eq!(names(&cluster.observe().await.unwrap().objects.pods), ["new"]);
}

/// Objects of every kind that lean on each other, as a file has them.
const OBJECTS: &str = include_str!("objects.yaml");

/// The path under which the API has objects of a kind.
fn plural_of(object: &Json) -> String {
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    if kind.ends_with("class") { format!("{kind}es") } else { format!("{kind}s") }
}

#[tokio::test]
async fn the_same_objects_are_the_same_whether_from_a_file_or_an_api_server() {
    let source = Source::new("objects.yaml", OBJECTS);
    let objects: Vec<Json> =
        documents(&source).into_iter().map(|document| document.unwrap().value.to_json()).collect();
    let read = manifests::read(std::slice::from_ref(&source));
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let (expected, _) =
        manifests::snapshot(read, now, Settings::default(), InstanceTypes::default());

    let server = Server::start(move |request| {
        let is_its = |object: &&Json| request.path.ends_with(&format!("/{}", plural_of(object)));
        let mut items: Vec<Json> = objects.iter().filter(is_its).cloned().collect();
        for (item, version) in items.iter_mut().zip(10..) {
            item["metadata"]["resourceVersion"] = Json::from(format!("{version}"));
            item["metadata"]["managedFields"] = json!([{ "manager": "kubectl" }]);
            // Items of a list do not say what they are.
            let item = item.as_object_mut().unwrap();
            item.remove("kind");
            item.remove("apiVersion");
        }
        Reply::list(&items, 100)
    })
    .await;
    let listing = cluster(&server, ListMode::Poll).await.observe().await.unwrap();

    assert_eq!(listing.objects.pods, expected.objects.pods);
    assert_eq!(listing.objects.nodes, expected.objects.nodes);
    assert_eq!(listing.objects.node_pools, expected.objects.node_pools);
    assert_eq!(listing.objects.node_classes, expected.objects.node_classes);
    assert_eq!(listing.objects.node_overlays, expected.objects.node_overlays);
    let claims: Vec<_> = listing.node_claims.into_iter().map(|object| object.claim).collect();
    assert_eq!(claims, expected.node_claims);
    assert_eq!(listing.objects.daemon_sets, expected.objects.daemon_sets);
    assert_eq!(listing.objects.workloads, expected.objects.workloads);
    assert_eq!(listing.objects.pod_templates, expected.objects.pod_templates);
    // An API server says what Kubernetes has written; for manifests it is worked out.
    let mut budgets = listing.objects.pod_disruption_budgets;
    for budget in &mut budgets {
        budget.complete_status(&expected.objects.pods);
    }
    assert_eq!(budgets, expected.objects.pod_disruption_budgets);
    assert_eq!(listing.objects.persistent_volume_claims, expected.objects.persistent_volume_claims);
    assert_eq!(listing.objects.persistent_volumes, expected.objects.persistent_volumes);
    assert_eq!(listing.objects.storage_classes, expected.objects.storage_classes);
    assert_eq!(listing.objects.csi_nodes, expected.objects.csi_nodes);
    assert_eq!(listing.objects.namespaces, expected.objects.namespaces);
    assert_eq!(listing.objects.capacity_buffers, expected.objects.capacity_buffers);
    assert_eq!(listing.objects.scaled_objects, expected.objects.scaled_objects);
    let lengths = [
        listing.objects.pods.len(),
        listing.objects.daemon_sets.len(),
        listing.objects.workloads.len(),
    ];
    assert!(lengths.into_iter().all(|length| length > 0), "{lengths:?}");
}

/// A server whose ConfigMap has default constraints, and which answers lists of Services so.
async fn with_default_constraints(services: impl Fn() -> Reply + Send + Sync + 'static) -> Server {
    let config = "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: \
                  topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}";
    let object = json!({
        "metadata": { "name": "outrigger", "uid": "u1", "resourceVersion": "5" },
        "data": { "scheduler-config": config },
    });
    Server::start(move |request| match request {
        own if own.path.ends_with("/configmaps/outrigger") => Reply::json(&object),
        own if own.is_list_of("services") => services(),
        other => nothing(other),
    })
    .await
}

#[tokio::test]
async fn services_are_listed_only_where_the_scheduler_has_default_constraints() {
    let service = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "selector": { "app": "web" } },
    });
    let server =
        with_default_constraints(move || Reply::list(std::slice::from_ref(&service), 3)).await;
    let listing = cluster(&server, ListMode::Poll).await.observe().await.unwrap();
    assert_eq!(&*listing.objects.services[0].key.name, "web");
    let plain = Server::start(nothing).await;
    cluster(&plain, ListMode::Poll).await.observe().await.unwrap();
    assert_eq!(plain.count(|it| it.is_list_of("services")), 0);
}

#[tokio::test]
async fn services_that_may_not_be_listed_are_said_and_cost_nothing_else() {
    let denied = || Reply::status(403, "Forbidden", "services is forbidden");
    let server = with_default_constraints(denied).await;
    let listed = cluster(&server, ListMode::Poll).await.list().await.unwrap();
    assert!(listed.listing.objects.services.is_empty());
    assert!(listed.listing.objects.scheduler.has_default_constraints());
    let messages: Vec<_> = listed.problems.iter().map(ToString::to_string).collect();
    assert!(messages[0].starts_with("Services: list services: not allowed"), "{messages:?}");
    assert!(messages[0].contains("no default constraints"), "{messages:?}");
}
