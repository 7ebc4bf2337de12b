use super::*;
use crate::ec2::Supply;
use crate::testing::{instance_types, start};
use crate::world::WorldOptions;
use domain::SignedDuration;
use manifests::{Source, read};

fn world() -> World {
    World::new(WorldOptions::new(1, start()), Supply::Fixed(instance_types()))
}

fn objects(text: &str) -> Vec<Object> {
    let read = read(&[Source::new("dump.yaml", text)]);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    read.objects.into_iter().map(|own| own.value).collect()
}

const NODE: &str = "\
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: 8, memory: 32Gi, pods: 58}, conditions: [{type: Ready, status: \"True\"}]}
---
";

/// A pod that runs on the node, owned by something of a kind and name.
fn pod(name: &str, owner: (&str, &str), labels: &str) -> String {
    let (kind, of) = owner;
    format!(
        "apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: default
  uid: {name}
  creationTimestamp: 2026-01-05T08:00:00Z
  labels: {{{labels}}}
  ownerReferences: [{{apiVersion: v1, kind: {kind}, name: {of}, uid: u-{of}, controller: true}}]
spec: {{nodeName: a, containers: [{{name: c, image: x, resources: {{requests: {{cpu: 100m}}}}}}]}}
status: {{phase: Running, conditions: [{{type: Ready, status: \"True\"}}]}}
---
"
    )
}

fn deployment(replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: default, uid: d}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: 100m}}}}}}]}}
---
"
    )
}

fn web_pod(name: &str) -> String {
    pod(name, ("ReplicaSet", "web-7d4b9"), "app: web, pod-template-hash: 7d4b9")
}

fn settled(world: &mut World) -> Vec<String> {
    world.advance_to(world.now() + SignedDuration::from_mins(1));
    world.api().list::<Pod>().map(|pod| pod.key.name.to_string()).collect()
}

#[test]
fn pods_of_a_deployment_whose_replica_set_is_missing_are_its_pods() {
    let mut world = world();
    let dump = [NODE, &deployment(2), &web_pod("web-7d4b9-x"), &web_pod("web-7d4b9-y")].concat();
    assert_eq!(world.apply_objects(&objects(&dump)), [] as [Text; 0]);
    assert_eq!(settled(&mut world), ["web-7d4b9-x", "web-7d4b9-y"]);
}

#[test]
fn pods_that_a_deployment_lacks_are_added_beside_those_that_are_there() {
    let mut world = world();
    let dump = [NODE, &deployment(3), &web_pod("web-7d4b9-x"), &web_pod("web-7d4b9-y")].concat();
    world.apply_objects(&objects(&dump));
    let names = settled(&mut world);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("web-7d4b9-")), "{names:?}");
}

#[test]
fn a_replica_set_of_the_dump_with_its_hash_label_is_the_deployments_own() {
    let replica_set = "\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-7d4b9
  namespace: default
  uid: u-web-7d4b9
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]
spec:
  replicas: 1
  selector: {matchLabels: {app: web, pod-template-hash: 7d4b9}}
  template:
    metadata: {labels: {app: web, pod-template-hash: 7d4b9}}
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 100m}}}]}
---
";
    let mut world = world();
    let dump = [NODE, &deployment(1), replica_set, &web_pod("web-7d4b9-x")].concat();
    world.apply_objects(&objects(&dump));
    assert_eq!(settled(&mut world), ["web-7d4b9-x"]);
}

#[test]
fn a_pod_without_its_deployment_stays_and_is_made_again_when_it_goes() {
    let mut world = world();
    let dump = [NODE, &web_pod("web-7d4b9-x")].concat();
    let stand_ins = world.apply_objects(&objects(&dump));
    assert_eq!(stand_ins, [Text::from("ReplicaSet default/web-7d4b9")]);
    assert_eq!(settled(&mut world), ["web-7d4b9-x"]);
    world.delete_pod(&ObjectKey::new("default", "web-7d4b9-x"), crate::world::Deletion::Graceful);
    let names = settled(&mut world);
    assert!(names.len() == 1 && names[0] != "web-7d4b9-x", "{names:?}");
}

#[test]
fn a_running_pod_of_a_missing_job_completes_and_a_daemons_pod_is_followed_on_new_nodes() {
    let mut world = world();
    let dump = [
        NODE,
        &pod("batch-x", ("Job", "batch"), "job-name: batch"),
        &pod("agent-x", ("DaemonSet", "agent"), "app: agent"),
    ]
    .concat();
    let stand_ins = world.apply_objects(&objects(&dump));
    assert_eq!(stand_ins, [Text::from("Job default/batch"), "DaemonSet default/agent".into()]);
    assert_eq!(settled(&mut world), ["agent-x", "batch-x"]);
    world.apply_objects(&objects(&NODE.replace("name: a", "name: b")));
    world.advance_to(world.now() + SignedDuration::from_mins(10));
    let phase =
        |name: &str| world.api().get::<Pod>(&ObjectKey::new("default", name)).map(|pod| pod.phase);
    assert_eq!(phase("batch-x"), Some(PodPhase::Succeeded));
    let agents = world.api().list::<Pod>().filter(|pod| pod.is_daemon()).count();
    assert_eq!(agents, 2);
}
