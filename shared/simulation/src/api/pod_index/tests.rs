use super::*;
use crate::api::ApiServer;
use crate::seed::Seed;
use crate::testing::{pod, start};
use domain::pod::PodPhase;

/// All that an index knows, but not when it changed.
fn shown(index: &PodIndex) -> Vec<String> {
    let keys = |pods: Vec<&Arc<Pod>>| {
        let mut keys: Vec<String> = pods.iter().map(|pod| pod.key.to_string()).collect();
        keys.sort();
        keys.join(" ")
    };
    let unbound = format!("unbound: {}", keys(index.unbound().collect()));
    let mut lines = vec![unbound, format!("running: {}", index.running())];
    for (node, load) in &index.by_node {
        let (pods, terms) =
            (keys(load.pods.iter().collect()), keys(load.with_pod_terms.iter().collect()));
        let used = load.used.clone().without_zeros();
        let ports: Vec<u16> = load.host_ports.iter().map(|own| own.port).collect();
        lines.push(format!("on {node}: {pods} ({terms}) {used:?} {:?} {ports:?}", load.counted));
    }
    for (node, pods) in &index.nominated {
        lines.push(format!("nominated to {node}: {}", keys(pods.values().collect())));
    }
    for (owner, own) in index.by_owner.iter().filter(|(_, own)| !own.pods.is_empty()) {
        lines.push(format!("of {owner:?}: {}", keys(own.pods.values().collect())));
    }
    for (key, group) in index.by_labels.iter().filter(|(_, group)| !group.owners.is_empty()) {
        lines.push(format!("like {key:?}: {} {:?}", group.healthy, group.owners));
    }
    lines.sort();
    lines
}

/// An index of the pods that are there, made anew.
fn made_anew(api: &ApiServer) -> PodIndex {
    let mut index = PodIndex::default();
    for pod in api.list::<Pod>() {
        index.note_write(None, Some(&Arc::new(pod.clone())), 1);
    }
    index
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// Pods of a ReplicaSet, of a DaemonSet and of nobody.
fn server() -> ApiServer {
    let mut api = ApiServer::new(Seed::new(1));
    let web = |name: &str| pod(name).label("app", "web").owned_by(OwnerKind::ReplicaSet, "web");
    let pods = [
        web("web-a").apart_from(("app", "web"), "zone"),
        web("web-b"),
        pod("agent").host_port(80).owned_by(OwnerKind::DaemonSet, "agent"),
        pod("lone").host_port(80),
    ];
    for pod in pods {
        api.create(pod.build(), start()).unwrap();
    }
    api
}

#[test]
fn an_index_that_follows_writes_is_that_of_the_pods_that_are_there() {
    type Change = fn(&mut Pod);
    let changes: [(&str, Change); 10] = [
        ("web-a", |pod| pod.nominated_node_name = Some("one".into())),
        ("web-a", |pod| pod.node_name = Some("one".into())),
        ("web-a", |pod| pod.nominated_node_name = None),
        ("web-a", |pod| (pod.phase, pod.ready) = (PodPhase::Running, Some(true))),
        ("web-b", |pod| pod.node_name = Some("one".into())),
        ("agent", |pod| pod.node_name = Some("one".into())),
        ("lone", |pod| pod.node_name = Some("two".into())),
        ("web-b", |pod| Arc::make_mut(&mut pod.labels).clear()),
        ("lone", |pod| pod.phase = PodPhase::Succeeded),
        ("web-a", |pod| pod.deleted = Some(start())),
    ];
    let mut api = server();
    for (name, change) in changes {
        api.update::<Pod>(&key(name), None, change).unwrap();
        assert_eq!(shown(api.pods()), shown(&made_anew(&api)), "after a change of {name}");
    }
    for name in ["web-b", "web-a", "agent", "lone"] {
        api.remove::<Pod>(&key(name)).unwrap();
        assert_eq!(shown(api.pods()), shown(&made_anew(&api)), "without {name}");
    }
}

#[test]
fn owners_whose_last_pod_went_have_changed() {
    let mut api = server();
    let before = api.revision();
    let changed = |api: &ApiServer| -> Vec<String> {
        let owners = api.pods().owners_changed_after(before);
        owners.map(|(_, key)| key.name.to_string()).collect()
    };
    assert!(changed(&api).is_empty());
    api.remove::<Pod>(&key("agent")).unwrap();
    assert_eq!(changed(&api), ["agent"]);
}
