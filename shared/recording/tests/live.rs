//! Recordings of clusters that are watched.

#![expect(clippy::unwrap_used, reason = "what cannot be written or read ends the test")]

use domain::pod::ObjectKey;
use domain::resource::{CPU, MEMORY};
use domain::{SignedDuration, Timestamp};
use recording::document::Header;
use recording::live::{LiveRecorder, region_of};
use recording::{PodEnd, Recording, Sample};
use serde_json::{Value, json};

fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

fn live() -> LiveRecorder {
    LiveRecorder::new(at(0), Header::default(), None)
}

fn pod(name: &str, uid: &str, created: i64) -> Value {
    json!({
        "apiVersion": "v1",
        "metadata": {
            "namespace": "shop", "name": name, "uid": uid, "resourceVersion": "7",
            "creationTimestamp": at(created).to_string(),
            "labels": {"app": "web", "pod-template-hash": "5d9"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9", "uid": "r", "controller": true,
            }],
        },
        "spec": {"containers": [{
            "name": "web", "image": "example.com/web",
            "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        }]},
        "status": {"phase": "Pending"},
    })
}

fn bound(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] = json!({"phase": "Running"});
    pod
}

fn evicted(mut pod: Value, reason: &str) -> Value {
    pod["status"]["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": reason}]);
    pod
}

#[track_caller]
fn read(mut live: LiveRecorder, end: i64) -> (String, Recording) {
    live.stop(at(end));
    assert_eq!(live.problems(), Vec::<String>::new());
    let lines = live.take().unwrap();
    let read = recording::read("live", &lines).unwrap();
    assert_eq!(read.problems, [], "{lines}");
    (lines, read.recording)
}

#[test]
fn a_pod_is_recorded_from_its_creation_to_its_end_however_often_it_is_told_of() {
    let mut live = live();
    live.listed(at(0), "Pod", vec![pod("web-1", "a", -30)]);
    live.applied(at(5), "Pod", pod("web-2", "b", 4));
    for _ in 0..3 {
        live.applied(at(7), "Pod", bound(pod("web-2", "b", 4), "n1"));
    }
    live.listed(at(8), "Pod", vec![pod("web-1", "a", -30), bound(pod("web-2", "b", 4), "n1")]);
    live.gone(at(60), "Pod", &bound(pod("web-2", "b", 4), "n1"));
    live.gone(at(60), "Pod", &bound(pod("web-2", "b", 4), "n1"));
    let (lines, recording) = read(live, 90);
    assert_eq!(lines.lines().filter(|line| line.starts_with("{\"pod\"")).count(), 2, "{lines}");
    assert!(!lines.contains("example.com"), "{lines}");
    let [first, second] = recording.pods.as_slice() else { panic!("{lines}") };
    assert_eq!(first.created, SignedDuration::from_secs(-30));
    assert_eq!(second.created, SignedDuration::from_secs(4));
    assert_eq!(second.bound, Some((SignedDuration::from_secs(7), "n1".into())));
    assert_eq!(second.end.map(|end| (end.at.as_secs(), end.how)), Some((60, PodEnd::Deleted)));
    assert_eq!(second.workload.as_ref().map(|(_, name)| &**name), Some("web"));
    assert_eq!(first.end, None);
}

#[test]
fn an_eviction_is_told_from_a_deletion_by_what_the_pod_says() {
    let mut live = live();
    for (name, reason) in [("a", "EvictionByEvictionAPI"), ("b", "DeletionByPodGC"), ("c", "")] {
        let own = bound(pod(name, name, 1), "n1");
        live.applied(at(2), "Pod", own.clone());
        let mut going = evicted(own, reason);
        going["metadata"]["deletionTimestamp"] = json!(at(40).to_string());
        live.applied(at(10), "Pod", going);
    }
    let (_, recording) = read(live, 90);
    let ends: Vec<_> = recording.pods.iter().map(|own| own.end.unwrap().how).collect();
    assert_eq!(ends, [PodEnd::Displaced, PodEnd::Displaced, PodEnd::Deleted]);
}

#[test]
fn what_a_list_lacks_is_gone_and_what_it_has_anew_is_new() {
    let mut live = live();
    live.listed(at(0), "Pod", vec![pod("a", "a", -9), pod("b", "b", -9)]);
    // The watch was lost, and the list comes anew: a is gone, and b is another b.
    live.listed(at(50), "Pod", vec![pod("b", "b2", 40), pod("c", "c", 45)]);
    let (lines, recording) = read(live, 90);
    let lives: Vec<_> = recording
        .pods
        .iter()
        .map(|own| (&*own.pod.key.name, own.created.as_secs(), own.end.map(|end| end.at.as_secs())))
        .collect();
    assert_eq!(
        lives,
        [("a", -9, Some(50)), ("b", -9, Some(50)), ("b", 40, None), ("c", 45, None)],
        "{lines}"
    );
}

#[test]
fn nodes_and_claims_come_and_go_and_their_heartbeats_are_no_news() {
    let node = |heartbeat: i64, pool: Option<&str>| {
        let mut own = json!({
            "apiVersion": "v1",
            "metadata": {"name": "n1", "uid": "n", "creationTimestamp": at(3).to_string(),
                "labels": {"topology.kubernetes.io/region": "eu-west-1"}},
            "status": {
                "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "20"},
                "conditions": [{"type": "Ready", "status": "True",
                    "lastHeartbeatTime": at(heartbeat).to_string()}],
            },
        });
        if let Some(pool) = pool {
            own["metadata"]["labels"]["karpenter.sh/nodepool"] = json!(pool);
        }
        own
    };
    assert_eq!(region_of(&[node(1, None)]).as_deref(), Some("eu-west-1"));
    let claim = json!({
        "apiVersion": "karpenter.sh/v1",
        "metadata": {"name": "default-x7k2p", "uid": "c", "labels": {"karpenter.sh/nodepool": "default"}},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": []},
    });
    let mut live = live();
    live.applied(at(2), "NodeClaim", claim.clone());
    for heartbeat in [5, 15, 25] {
        live.applied(at(heartbeat), "Node", node(heartbeat, Some("default")));
        live.applied(at(heartbeat), "NodeClaim", claim.clone());
    }
    live.gone(at(30), "Node", &node(25, Some("default")));
    live.gone(at(31), "NodeClaim", &claim);
    let (lines, recording) = read(live, 90);
    assert_eq!(lines.lines().count(), 6, "header, two that come, two that go, the end: {lines}");
    assert_eq!(recording.claims[0].name, "default-x7k2p");
    assert_eq!(recording.nodes_gone[0].at, 30_000);

    let mut foreign = self::live();
    for heartbeat in [5, 15, 25] {
        foreign.applied(at(heartbeat), "Node", node(heartbeat, None));
    }
    let (lines, recording) = read(foreign, 90);
    assert_eq!(recording.objects.len(), 1, "a replay has it too, once: {lines}");
}

#[test]
fn objects_are_written_when_they_change_and_statuses_are_no_change() {
    let pool = |cpu: &str, nodes: u32| {
        json!({
            "apiVersion": "karpenter.sh/v1",
            "metadata": {"name": "default", "uid": "p", "resourceVersion": nodes.to_string(), "managedFields": []},
            "spec": {
                "limits": {"cpu": cpu},
                "template": {"spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [],
                }},
            },
            "status": {"nodes": nodes},
        })
    };
    let mut live = live();
    live.listed(at(0), "NodePool", vec![pool("10", 1)]);
    live.applied(at(1), "NodePool", pool("10", 2));
    live.applied(at(2), "NodePool", pool("20", 2));
    live.gone(at(3), "NodePool", &pool("20", 2));
    let (lines, recording) = read(live, 90);
    let moments: Vec<_> = recording.objects.iter().map(|own| own.at.as_secs()).collect();
    assert_eq!(moments, [0, 2, 3], "{lines}");
}

#[test]
fn an_object_that_cannot_be_read_is_reported_once() {
    let mut live = live();
    for second in 1..4 {
        let mut own = pod("web-1", "a", 0);
        own["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("lots");
        live.applied(at(second), "Pod", own);
    }
    let problems = live.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("Pod shop/web-1 is left out: "), "{problems:?}");
}

/// A day of 100,000 pods fits in tens of megabytes: what one takes, from its creation to its end.
#[test]
fn a_pod_takes_a_few_hundred_bytes() {
    const PODS: usize = 2000;
    let mut live = live();
    for index in 0..PODS {
        let (name, uid) = (format!("web-5d9-{index:05}"), format!("{index}"));
        let second = i64::try_from(index).unwrap() * 40;
        let own = || pod(&name, &uid, second);
        live.applied(at(second), "Pod", own());
        live.applied(
            at(second + 1),
            "Pod",
            bound(own(), "ip-10-20-30-40.eu-west-1.compute.internal"),
        );
        live.gone(at(second + 600), "Pod", &bound(own(), "n"));
    }
    live.stop(at(100_000));
    let bytes = live.take().unwrap().len() / PODS;
    assert!((150..300).contains(&bytes), "{bytes} bytes a pod");
}

#[test]
fn what_containers_used_takes_a_line_where_it_grew_by_a_tenth_and_one_at_the_end() {
    let mut live = live();
    let mut own = pod("web-1", "a", 1);
    own["spec"]["initContainers"] = json!([{"name": "proxy", "restartPolicy": "Always"}]);
    live.applied(at(1), "Pod", own.clone());
    let key = ObjectKey::new("shop", "web-1");
    for (second, cpu_millis) in [(60, 200), (120, 205), (180, 90), (240, 300), (300, 310)] {
        live.used(at(second), &key, "web", Sample { cpu_millis, memory_bytes: 64 << 20 });
    }
    live.used(at(300), &key, "proxy", Sample { cpu_millis: 5, memory_bytes: 8 << 20 });
    let daemon = ObjectKey::new("kube-system", "kube-proxy-x");
    live.used(at(300), &daemon, "kube-proxy", Sample { cpu_millis: 9, memory_bytes: 1 });
    live.gone(at(400), "Pod", &own);
    let (lines, recording) = read(live, 500);
    assert_eq!(lines.lines().filter(|line| line.starts_with("{\"used\"")).count(), 4, "{lines}");
    let [pod] = recording.pods.as_slice() else { panic!("{lines}") };
    assert_eq!((pod.used.get(CPU), pod.used.get(MEMORY)), (315, 72 << 20), "{lines}");
    let containers: Vec<_> = pod.containers.iter().collect();
    let [(proxy, of_proxy), (web, of_web)] = containers.as_slice() else { panic!("{lines}") };
    assert_eq!((&***proxy, of_proxy.is_sidecar), ("proxy", true));
    assert_eq!((&***web, of_web.is_sidecar, of_web.used.get(CPU)), ("web", false, 310));
}
