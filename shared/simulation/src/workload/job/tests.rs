use super::*;
use crate::ec2::Supply;
use crate::testing::{node, pod, start, workload};
use crate::world::WorldOptions;
use domain::SignedDuration;
use domain::instance_type::InstanceTypes;
use domain::pod::{ObjectKey, PodPhase};
use manifests::JobSpec;

const NAME: &str = "batch";

fn world(job: JobSpec) -> World {
    let mut world =
        World::new(WorldOptions::new(1, start()), Supply::Fixed(InstanceTypes::default()));
    world.apply(node("a").build());
    world.apply(node("b").build());
    world.apply(object(job));
    world
}

fn object(job: JobSpec) -> WorkloadObject {
    let job = Some(job);
    WorkloadObject { job, ..workload(pod("x").cpu(100), WorkloadKind::Job, NAME, 0) }
}

fn spec(completions: Option<u32>, parallelism: u32) -> JobSpec {
    JobSpec {
        completions,
        parallelism,
        backoff_limit: JobSpec::DEFAULT_BACKOFF_LIMIT,
        is_indexed: false,
        is_suspended: false,
        ttl_after_finished: None,
        succeeded: 0,
        is_finished: false,
    }
}

/// Lets so many minutes pass; a pod works for five, and starts within seconds.
fn wait(world: &mut World, minutes: i64) {
    world.advance_to(world.now() + SignedDuration::from_mins(minutes));
}

fn names(world: &World, phase: PodPhase) -> Vec<String> {
    let is_meant = |pod: &&Pod| pod.phase == phase && pod.deleted.is_none();
    world.api().list::<Pod>().filter(is_meant).map(|pod| pod.key.name.to_string()).collect()
}

fn count(world: &World, phase: PodPhase) -> usize {
    names(world, phase).len()
}

fn timeline(world: &World) -> Vec<String> {
    world.journal.entries().iter().map(|entry| entry.what.to_string()).collect()
}

#[test]
fn pods_run_side_by_side_until_as_many_have_succeeded_as_are_to() {
    let mut world = world(spec(Some(5), 2));
    wait(&mut world, 1);
    assert_eq!(count(&world, PodPhase::Running), 2);
    wait(&mut world, 6);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (2, 2));
    wait(&mut world, 6);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (4, 1));
    wait(&mut world, 30);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (5, 0));
    assert!(timeline(&world).contains(&"Job default/batch is complete: 5 pods succeeded".into()));
}

#[test]
fn a_pod_that_goes_with_its_node_is_made_again_and_one_that_had_succeeded_is_not() {
    let mut world = world(spec(Some(2), 1));
    wait(&mut world, 6);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (1, 1));
    for name in ["a", "b"] {
        world.remove_node(&name.into());
    }
    world.apply(node("c").build());
    wait(&mut world, 1);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (0, 1));
    wait(&mut world, 30);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (1, 0));
    assert!(timeline(&world).contains(&"Job default/batch is complete: 2 pods succeeded".into()));
}

#[test]
fn a_job_fails_once_more_pods_have_failed_than_its_limit() {
    let mut world = world(JobSpec { backoff_limit: 1, ..spec(Some(3), 1) });
    for _ in 0..2 {
        wait(&mut world, 1);
        let running = names(&world, PodPhase::Running);
        world.delete_pod(&ObjectKey::new("default", running[0].clone()), Deletion::Graceful);
    }
    wait(&mut world, 30);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (0, 0));
    assert!(timeline(&world).contains(&"Job default/batch has failed: 2 pods failed".into()));
}

#[test]
fn without_completions_the_first_success_ends_the_making_of_pods() {
    let mut world = world(spec(None, 3));
    wait(&mut world, 1);
    let running = names(&world, PodPhase::Running);
    world.delete_pod(&ObjectKey::new("default", running[0].clone()), Deletion::Graceful);
    wait(&mut world, 1);
    assert_eq!(count(&world, PodPhase::Running), 3, "none has succeeded yet");
    wait(&mut world, 30);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (3, 0));
}

#[test]
fn each_index_of_an_indexed_job_succeeds_once() {
    let mut world = world(JobSpec { is_indexed: true, ..spec(Some(3), 2) });
    let indexes = |world: &World, phase| -> Vec<String> {
        let of_name = |name: String| name.split('-').nth(1).unwrap().to_owned();
        names(world, phase).into_iter().map(of_name).collect()
    };
    wait(&mut world, 1);
    assert_eq!(indexes(&world, PodPhase::Running), ["0", "1"]);
    let first = names(&world, PodPhase::Running)[0].clone();
    world.delete_pod(&ObjectKey::new("default", first), Deletion::Graceful);
    wait(&mut world, 30);
    assert_eq!(indexes(&world, PodPhase::Succeeded), ["0", "1", "2"]);
}

#[test]
fn a_suspended_job_has_no_pods_and_goes_on_where_it_left_off() {
    let mut world = world(spec(Some(3), 1));
    wait(&mut world, 6);
    world.apply(object(JobSpec { is_suspended: true, ..spec(Some(3), 1) }));
    wait(&mut world, 10);
    assert_eq!((count(&world, PodPhase::Succeeded), count(&world, PodPhase::Running)), (1, 0));
    world.apply(object(spec(Some(3), 1)));
    wait(&mut world, 30);
    assert_eq!(count(&world, PodPhase::Succeeded), 3);
    assert!(!timeline(&world).iter().any(|line| line.contains("failed")));
}

#[test]
fn a_job_goes_with_its_pods_once_its_time_to_live_is_over() {
    let ttl_after_finished = Some(SignedDuration::from_mins(2));
    let mut world = world(JobSpec { ttl_after_finished, ..spec(Some(1), 1) });
    wait(&mut world, 6);
    assert_eq!(count(&world, PodPhase::Succeeded), 1);
    wait(&mut world, 3);
    assert_eq!(world.api().list::<Pod>().count(), 0);
    assert_eq!(world.api().list::<WorkloadObject>().count(), 0);
}
