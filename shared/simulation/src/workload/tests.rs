use super::*;
use crate::ec2::Supply;
use crate::testing::{daemon_set, node, pod, start, workload};
use crate::world::WorldOptions;
use domain::SignedDuration;
use domain::instance_type::InstanceTypes;
use domain::pod::PodPhase;

fn world() -> World {
    let mut world =
        World::new(WorldOptions::new(1, start()), Supply::Fixed(InstanceTypes::default()));
    world.apply(node("a").build());
    world.apply(node("b").zone("b").build());
    world
}

fn wait(world: &mut World, seconds: i64) {
    world.advance_to(world.now() + SignedDuration::from_secs(seconds));
}

fn names(world: &World) -> Vec<String> {
    world.api.list::<Pod>().map(|pod| pod.key.name.to_string()).collect()
}

fn id(kind: WorkloadKind, name: &str) -> WorkloadId {
    WorkloadId { kind, key: ObjectKey::new("default", name) }
}

#[test]
fn a_deployment_runs_its_replicas() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", 3));
    wait(&mut world, 10);
    let running = world.api.list::<Pod>().filter(|pod| pod.ready == Some(true)).count();
    assert_eq!(running, 3);
    assert_eq!(world.scale(&id(WorkloadKind::Deployment, "web"), 1), Some(3));
    wait(&mut world, 40);
    assert_eq!(names(&world).len(), 1);
    world.delete_workload(&id(WorkloadKind::Deployment, "web"));
    wait(&mut world, 40);
    assert!(names(&world).is_empty());
}

#[test]
fn scaling_down_takes_pending_pods_first_then_where_there_are_most() {
    let mut world = world();
    // Nine fit nowhere together: two nodes of 4 CPU.
    world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", 9));
    wait(&mut world, 10);
    let pending =
        |world: &World| world.api.list::<Pod>().filter(|pod| pod.node_name.is_none()).count();
    assert_eq!(pending(&world), 1);
    world.scale(&id(WorkloadKind::Deployment, "web"), 8);
    wait(&mut world, 40);
    assert_eq!((pending(&world), names(&world).len()), (0, 8));
    world.scale(&id(WorkloadKind::Deployment, "web"), 7);
    world.scale(&id(WorkloadKind::Deployment, "web"), 6);
    wait(&mut world, 40);
    let on = |name: &str| {
        world.api.list::<Pod>().filter(|pod| pod.node_name.as_deref() == Some(name)).count()
    };
    assert_eq!(on("a") + on("b"), 6);
}

#[test]
fn scaling_down_takes_the_pods_of_lowest_deletion_cost_whoever_set_it() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", 8));
    wait(&mut world, 10);
    let keys: Vec<ObjectKey> = world.api.keys::<Pod>();
    for key in &keys {
        world.api.alter::<Pod>(key, |pod| {
            let is_on_a = pod.node_name.as_deref() == Some("a");
            pod.managed_deletion_cost = if is_on_a { -2 } else { -1 };
        });
    }
    // A user wants this one to stay.
    let on = |world: &World, node: &str| {
        let pods = world.api.list::<Pod>().filter(|pod| pod.node_name.as_deref() == Some(node));
        pods.map(|pod| pod.key.clone()).collect::<Vec<_>>()
    };
    let kept = on(&world, "a")[0].clone();
    world.api.alter::<Pod>(&kept, |pod| pod.deletion_cost = Some(1));
    let there = on(&world, "b").len();
    world.scale(&id(WorkloadKind::Deployment, "web"), u32::try_from(there + 1).unwrap());
    wait(&mut world, 40);
    assert_eq!((on(&world, "a"), on(&world, "b").len()), (vec![kept], there));
}

#[test]
fn a_new_template_replaces_pods_without_dropping_below_three_quarters() {
    let mut world = world();
    world.apply(workload(pod("x").cpu(500), WorkloadKind::Deployment, "web", 4));
    wait(&mut world, 10);
    world.apply(workload(pod("x").cpu(600), WorkloadKind::Deployment, "web", 4));
    let mut least = usize::MAX;
    for _ in 0..60 {
        wait(&mut world, 1);
        let ready = |pod: &&Pod| pod.ready == Some(true) && pod.is_active();
        least = least.min(world.api.list::<Pod>().filter(ready).count());
    }
    assert!(least >= 3, "{least}");
    let cpu: Vec<i64> = world.api.list::<Pod>().map(|pod| pod.spec.requests.get("cpu")).collect();
    assert_eq!(cpu, [600; 4]);
    let sets = world.api.keys::<WorkloadObject>();
    assert_eq!(sets.iter().filter(|id| id.kind == WorkloadKind::ReplicaSet).count(), 1);
}

#[test]
fn a_stateful_set_starts_in_order_and_ends_from_the_top() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::StatefulSet, "db", 2));
    world.settle();
    assert_eq!(names(&world), ["db-0"]);
    wait(&mut world, 10);
    assert_eq!(names(&world), ["db-0", "db-1"]);
    world.scale(&id(WorkloadKind::StatefulSet, "db"), 1);
    wait(&mut world, 40);
    assert_eq!(names(&world), ["db-0"]);
}

#[test]
fn a_stateful_set_makes_its_pod_again_only_after_the_old_one_is_gone() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::StatefulSet, "db", 1));
    wait(&mut world, 10);
    let key = ObjectKey::new("default", "db-0");
    let uid = |world: &World| world.api.get::<Pod>(&key).map(|pod| pod.uid.clone());
    let first = uid(&world);
    world.delete_pod(&key, Deletion::Graceful);
    world.settle();
    assert_eq!(uid(&world), first, "it is still stopping");
    wait(&mut world, 10);
    assert!(uid(&world).is_some_and(|own| Some(own) != first));
}

#[test]
fn a_job_ends_once_its_pods_have_completed() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::Job, "batch", 2));
    wait(&mut world, 10);
    let first = ObjectKey::new("default", names(&world)[0].clone());
    world.delete_pod(&first, Deletion::Graceful);
    wait(&mut world, 400);
    let phases: Vec<PodPhase> = world.api.list::<Pod>().map(|pod| pod.phase).collect();
    assert_eq!(phases, [PodPhase::Succeeded; 2]);
}

#[test]
fn a_daemon_set_runs_on_every_node_that_it_tolerates() {
    let mut world = world();
    world.apply(daemon_set(pod("x").cpu(100), "agent"));
    world.apply(node("tainted").taint("gpu", domain::taint::TaintEffect::NoSchedule).build());
    wait(&mut world, 10);
    let nodes: Vec<_> =
        world.api.list::<Pod>().filter_map(|pod| pod.node_name.as_deref()).collect();
    assert_eq!(nodes.len(), 2, "{nodes:?}");
    assert!(!nodes.contains(&"tainted"));
    world.remove_node(&"a".into());
    wait(&mut world, 40);
    assert_eq!(names(&world).len(), 1);
}

#[test]
fn equal_seeds_give_equal_names() {
    let run = |seed| {
        let mut world =
            World::new(WorldOptions::new(seed, start()), Supply::Fixed(InstanceTypes::default()));
        world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", 3));
        world.settle();
        names(&world)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
