//! Waiting for demand.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use controllers::ports::{Cluster, Demand};
use domain::{SignedDuration, Timestamp};
use kubernetes::{KubernetesCluster, ListMode};
use serde_json::{Value as Json, json};

use crate::server::{Reply, Server, pod, waiting_pod};

/// A server whose watches of pods answer one after another as given, and then say nothing.
async fn watched(events: Vec<Vec<(&'static str, Json)>>) -> (Server, KubernetesCluster) {
    let watches = AtomicU32::new(0);
    let server = Server::start(move |request| {
        if !request.is_watch() {
            return Reply::list(&[], 10);
        }
        if !request.path.ends_with("/pods") {
            return Reply::events(&[], Duration::from_secs(30));
        }
        let number = watches.fetch_add(1, Ordering::Relaxed) as usize;
        match events.get(number) {
            Some(events) => Reply::events(events, Duration::from_millis(300)),
            None => Reply::events(&[], Duration::from_secs(30)),
        }
    })
    .await;
    let cluster = KubernetesCluster::new(server.connection().await, ListMode::WATCH);
    (server, cluster)
}

fn in_millis(millis: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_millis(millis)
}

#[tokio::test]
async fn demand_counts_as_changed_before_the_first_listing() {
    let (_server, cluster) = watched(vec![]).await;
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
}

#[tokio::test]
async fn an_unschedulable_pod_wakes_at_once_and_many_wake_once() {
    let pods = vec![("ADDED", waiting_pod("a", 11)), ("ADDED", waiting_pod("b", 12))];
    let (server, cluster) = watched(vec![pods]).await;
    cluster.observe().await.unwrap();
    let start = Instant::now();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(cluster.demand_changed(in_millis(200)).await.unwrap(), Demand::Unchanged);
    let unbound = |it: &crate::server::Request| it.query.contains("fieldSelector=spec.nodeName%3D");
    assert!(server.count(|it| it.is_watch() && unbound(it)) >= 1);
}

#[tokio::test]
async fn a_pod_that_needs_no_node_does_not_wake() {
    let bound = pod("bound", 11, &json!({ "spec": { "nodeName": "n1" } }));
    let new = pod("new", 12, &json!({}));
    let (_server, cluster) = watched(vec![vec![("ADDED", bound), ("ADDED", new)]]).await;
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(600)).await.unwrap(), Demand::Unchanged);
}

#[tokio::test]
async fn what_the_last_look_saw_does_not_wake() {
    let (_server, cluster) = watched(vec![vec![("MODIFIED", waiting_pod("old", 9))]]).await;
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(600)).await.unwrap(), Demand::Unchanged);
}

#[tokio::test]
async fn a_watch_that_broke_off_is_resumed_where_it_ended() {
    let first = vec![("BOOKMARK", json!({ "metadata": { "resourceVersion": "20" } }))];
    let second = vec![("ADDED", waiting_pod("late", 21))];
    let (server, cluster) = watched(vec![first, second]).await;
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    assert_eq!(server.count(|it| it.is_watch() && it.query.contains("resourceVersion=20")), 1);
}

#[tokio::test]
async fn an_expired_watch_counts_as_one_change_until_the_next_listing() {
    let gone = json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" });
    let (_server, cluster) = watched(vec![vec![("ERROR", gone)]]).await;
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    let start = Instant::now();
    assert_eq!(cluster.demand_changed(in_millis(300)).await.unwrap(), Demand::Unchanged);
    assert!(start.elapsed() >= Duration::from_millis(250), "it answered before its time");
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(200)).await.unwrap(), Demand::Unchanged);
}

#[tokio::test]
async fn a_watch_that_expired_resumes_from_the_next_listing() {
    let gone = json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" });
    let lists = AtomicU32::new(0);
    let server = Server::start(move |request| {
        if !request.is_watch() {
            let listings =
                lists.fetch_add(u32::from(request.path.ends_with("/pods")), Ordering::Relaxed);
            return Reply::list(&[], if listings == 0 { 10 } else { 20 });
        }
        if !request.path.ends_with("/pods") {
            return Reply::events(&[], Duration::from_secs(30));
        }
        if request.query.contains("resourceVersion=10") {
            return Reply::events(&[("ERROR", gone.clone())], Duration::from_millis(300));
        }
        Reply::events(&[("ADDED", waiting_pod("late", 21))], Duration::from_secs(9))
    })
    .await;
    let cluster = KubernetesCluster::new(server.connection().await, ListMode::WATCH);
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    let expired = |it: &crate::server::Request| {
        it.is_watch() && it.path.ends_with("/pods") && it.query.contains("resourceVersion=10")
    };
    assert_eq!(server.count(expired), 1, "it asked again for what is no longer known");
}

#[tokio::test]
async fn a_node_wakes_once_when_it_is_disrupted() {
    let node = |version: u32| {
        json!({
            "metadata": { "name": "n1", "uid": "u1", "resourceVersion": version.to_string() },
            "spec": { "taints": [{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }] },
        })
    };
    let server = Server::start(move |request| {
        if !request.is_watch() {
            return Reply::list(&[], 10);
        }
        let events = [("MODIFIED", node(11)), ("MODIFIED", node(12))];
        let is_first = request.query.contains("resourceVersion=10");
        let is_nodes = request.path.ends_with("/nodes");
        Reply::events(if is_nodes && is_first { &events } else { &[] }, Duration::from_secs(9))
    })
    .await;
    let cluster = KubernetesCluster::new(server.connection().await, ListMode::WATCH);
    cluster.observe().await.unwrap();
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    assert_eq!(cluster.demand_changed(in_millis(300)).await.unwrap(), Demand::Unchanged);
}

#[tokio::test]
async fn who_follows_demand_lists_it_once_and_misses_none_after() {
    let server = Server::start(|request| {
        let is_pods = request.path.ends_with("/pods");
        match (request.is_watch(), is_pods) {
            (false, true) => Reply::list(&[waiting_pod("old", 9)], 10),
            (false, false) => Reply::list(&[], 10),
            (true, true) if request.query.contains("resourceVersion=10") => {
                Reply::events(&[("ADDED", waiting_pod("new", 11))], Duration::from_secs(9))
            }
            (true, _) => Reply::events(&[], Duration::from_secs(9)),
        }
    })
    .await;
    let cluster = KubernetesCluster::new(server.connection().await, ListMode::WATCH);
    assert_eq!(cluster.follow_demand().await.unwrap(), Demand::Changed, "a pod waits already");
    assert_eq!(cluster.follow_demand().await.unwrap(), Demand::Unchanged);
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    assert_eq!(cluster.demand_changed(in_millis(300)).await.unwrap(), Demand::Unchanged);
    assert_eq!(cluster.follow_demand().await.unwrap(), Demand::Unchanged);
    assert_eq!(server.count(|it| !it.is_watch() && it.path.ends_with("/pods")), 1);
    assert_eq!(server.count(|it| !it.is_watch()), 2, "pods without a node, and Nodes");
}

#[tokio::test]
async fn who_has_lost_its_place_lists_demand_anew() {
    let gone = json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" });
    let (server, cluster) = watched(vec![vec![("ERROR", gone)]]).await;
    assert_eq!(cluster.follow_demand().await.unwrap(), Demand::Unchanged, "no pod waits");
    assert_eq!(cluster.demand_changed(in_millis(5000)).await.unwrap(), Demand::Changed);
    assert_eq!(cluster.follow_demand().await.unwrap(), Demand::Unchanged);
    assert_eq!(cluster.demand_changed(in_millis(200)).await.unwrap(), Demand::Unchanged);
    assert_eq!(server.count(|it| !it.is_watch() && it.path.ends_with("/pods")), 2);
}
