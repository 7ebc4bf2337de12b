use domain::buffer::BufferSource;
use pollster::block_on;

use super::*;
use crate::launch::LaunchResult;
use crate::ports::Clock;
use crate::steps::launch_outcome::GiveUp;
use crate::testing::core::refusing_core;
use crate::testing::scheduled_scaling::{
    capacity_buffer, minutes_trigger, pod_template, prewarm_schedule, workload,
};
use crate::testing::world::{Launch, World, crash};
use crate::testing::{at, pending_pod};

fn world_with_a_pending_pod() -> World {
    let world = World::new();
    world.cluster.add_pods([pending_pod("web-0")]);
    world
}

#[track_caller]
fn provision_once(world: &World, id: &str) -> ProvisioningReport {
    let outcome = block_on(provision(world, &world.run(id))).unwrap();
    outcome.ran().expect("no other run holds the lease")
}

/// A Deployment without replicas that a schedule sets to three from the 1st to the 3rd minute of
/// every hour.
fn world_with_a_schedule() -> World {
    let world = World::new();
    let mut listing = world.cluster.listing.borrow_mut();
    listing.objects.workloads.push(workload("web", 0));
    listing.objects.prewarm_schedules.push(prewarm_schedule("web", minutes_trigger(1, 3, 3)));
    drop(listing);
    world
}

fn replicas(world: &World) -> u32 {
    world.cluster.listing.borrow().objects.workloads[0].replicas
}

#[test]
fn a_schedule_scales_its_workload_once_and_says_so() {
    let world = world_with_a_schedule();
    let before = provision_once(&world, "run-1");
    assert_eq!((replicas(&world), before.scaled.len()), (0, 0));
    assert_eq!(before.requeue_after, Some(SignedDuration::from_mins(1)), "the window opens then");
    world.advance(60);
    let report = provision_once(&world, "run-2");
    assert_eq!((replicas(&world), report.scaled.len()), (3, 1));
    assert!(world.cluster.has_event(EventReason::ScaleTargetScaled));
    assert_eq!(provision_once(&world, "run-3").scaled, []);
}

#[test]
fn a_tick_that_was_missed_is_made_good_by_the_next() {
    let world = world_with_a_schedule();
    world.advance(150);
    pass(&world, "run-1");
    assert_eq!(replicas(&world), 3, "the start was missed");
    world.advance(3000);
    pass(&world, "run-2");
    assert_eq!(replicas(&world), 0, "so was the end");
}

#[test]
fn a_schedule_without_its_workload_is_reported_and_stops_nothing() {
    let world = world_with_a_schedule();
    world.cluster.listing.borrow_mut().objects.workloads.clear();
    world.cluster.add_pods([pending_pod("other-0")]);
    world.advance(60);
    let report = provision_once(&world, "run-1");
    assert!(world.cluster.has_event(EventReason::ScaleTargetNotFound));
    assert_eq!(report.launched.launches.len(), 1);
    assert_eq!(report.problems, Problems::default());
}

#[test]
fn the_status_of_a_buffer_is_written_once() {
    let world = World::new();
    let source = BufferSource::PodTemplate("chunk".into());
    world
        .cluster
        .listing
        .borrow_mut()
        .objects
        .capacity_buffers
        .push(capacity_buffer("spare", source));
    for (run, template) in [("run-1", false), ("run-2", false), ("run-3", true), ("run-4", true)] {
        if template && world.cluster.listing.borrow().objects.pod_templates.is_empty() {
            world.cluster.listing.borrow_mut().objects.pod_templates.push(pod_template("chunk", 1));
        }
        pass(&world, run);
        world.advance(60);
    }
    assert_eq!(world.cluster.buffers_written.get(), 2, "once without the template, once with it");
    let listing = world.cluster.listing.borrow();
    let status = &listing.capacity_buffer_states.values().next().unwrap().status;
    assert_eq!(&*status.conditions[0].reason, "Resolved");
}

/// Runs provisioning and drops the report.
#[track_caller]
fn pass(world: &World, id: &str) {
    let _report = provision_once(world, id);
}

#[test]
fn a_pending_pod_gets_an_instance_a_claim_and_its_mirror() {
    let world = world_with_a_pending_pod();
    let report = provision_once(&world, "run-1");
    let record = world.store.only_record();
    let instance = record.instance.as_ref().unwrap();
    assert_eq!(&*instance.instance_type, "m5.large", "the cheaper of two");
    assert!(instance.price.is_some(), "EC2 does not report it, the offering has it");
    assert!(matches!(report.launched.launches[0].result, LaunchResult::Launched(_)));
    assert!(world.cluster.listing.borrow().node_claims[0].belongs_to(&record.claim.uid));
    assert!(world.cluster.has_event(EventReason::Nominated));
    assert_eq!(world.store.nominations.borrow()[0].pods, record.pods);
    assert_eq!(report.problems, Problems::default());
}

#[test]
fn pods_that_a_claim_in_flight_has_room_for_are_not_launched_for_again() {
    let world = world_with_a_pending_pod();
    pass(&world, "run-1");
    world.advance(60);
    let again = provision_once(&world, "run-2");
    assert_eq!(again.plan.placements.len(), 1);
    let waited = again.longest_wait.expect("the pod waits for the node to come");
    assert!(waited >= SignedDuration::from_secs(60), "{waited}");
    assert_eq!(world.cloud.instances.borrow().len(), 1);
}

#[test]
fn a_run_that_dies_after_writing_its_claim_is_made_good_with_the_same_token() {
    for death in [Launch::Hangs, Launch::LaunchesAndHangs] {
        let world = world_with_a_pending_pod();
        world.cloud.next(death);
        crash(provision(&world, &world.run("run-1")));
        let token = world.store.only_record().launch.token.clone();
        // The dead run's lease lasts until its deadline and a margin.
        assert!(block_on(provision(&world, &world.run("run-2"))).unwrap().ran().is_none());
        world.advance(71);
        let report = provision_once(&world, "run-3");
        assert_eq!(report.resumed.launches.len(), 1);
        assert_eq!(*world.cloud.tokens.borrow(), [token.clone(), token], "{death:?}");
        assert_eq!(world.cloud.instances.borrow().len(), 1, "{death:?}");
        assert!(world.store.only_record().instance.is_some());
    }
}

#[test]
fn a_lost_response_is_requested_again_and_returns_the_same_instance() {
    let world = world_with_a_pending_pod();
    world.cloud.next(Launch::LaunchesAndTimesOut);
    let report = provision_once(&world, "run-1");
    assert!(matches!(report.launched.launches[0].result, LaunchResult::WillRetry(_)));
    world.advance(2);
    pass(&world, "run-2");
    assert_eq!(world.cloud.instances.borrow().len(), 1);
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn an_instance_is_waited_for_from_the_last_call_without_an_answer() {
    let world = world_with_a_pending_pod();
    let since = || world.store.only_record().launch.attempt.since;
    world.cloud.next(Launch::Throttles);
    pass(&world, "run-1");
    world.advance(40);
    world.cloud.next(Launch::Throttles);
    pass(&world, "run-2");
    assert_eq!(since(), at(40), "that call may have launched one");
    world.advance(40);
    world.cloud.next(Launch::IsNotShown);
    pass(&world, "run-3");
    assert_eq!(since(), at(40), "this one did not");
    let unavailable: Vec<_> =
        world.store.unavailable.borrow().iter().map(|own| own.until).collect();
    assert_eq!(unavailable, [at(80 + 180); 2], "what it said of pools counts for other claims");
    assert_eq!(world.store.only_record().launch_failures, 3);
    assert_eq!(*world.cloud.repeats.borrow(), [false, true, true]);
    let tokens = world.cloud.tokens.borrow();
    assert!(tokens.iter().all(|own| *own == tokens[0]), "{tokens:?}");
}

#[test]
fn a_throttled_launch_keeps_its_claim_and_backs_off() {
    let world = world_with_a_pending_pod();
    world.cloud.next(Launch::Throttles);
    pass(&world, "run-1");
    assert_eq!(world.store.only_record().launch_failures, 1);
    let at_once = provision_once(&world, "run-2");
    assert!(at_once.resumed.launches.is_empty() && at_once.launched.launches.is_empty());
    world.advance(1);
    let later = provision_once(&world, "run-3");
    assert!(matches!(later.resumed.launches[0].result, LaunchResult::Launched(_)));
}

#[test]
fn an_attempt_that_ec2_refused_is_followed_by_one_with_another_token() {
    let world = world_with_a_pending_pod();
    world.cloud.next(Launch::Refuses { is_mended: false });
    pass(&world, "run-1");
    let record = world.store.only_record();
    let attempt = &record.launch.attempt;
    assert_eq!((attempt.number, attempt.is_over, record.launch_failures), (1, true, 1));
    world.advance(1);
    pass(&world, "run-2");
    let second = &world.store.only_record().launch.attempt;
    assert_eq!((second.number, second.since, second.is_over), (2, at(1), false));
    assert!(second.choices.is_some(), "it is recorded before it is made");
    let uid = record.claim.uid;
    let second: domain::Text = format!("{uid}-2").into();
    assert_eq!(*world.cloud.tokens.borrow(), [uid, second]);
    assert_eq!(*world.cloud.repeats.borrow(), [false; 2]);
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn an_attempt_whose_fault_was_mended_is_followed_at_once_but_not_for_ever() {
    let world = world_with_a_pending_pod();
    for _ in 0..3 {
        world.cloud.next(Launch::Refuses { is_mended: true });
    }
    let report = provision_once(&world, "run-1");
    assert_eq!(world.cloud.tokens.borrow().len(), 3);
    assert_eq!(*world.cloud.repeats.borrow(), [false; 3]);
    let [launch] = report.launched.launches.as_slice() else { panic!("one claim, one result") };
    assert!(matches!(launch.result, LaunchResult::WillRetry(_)));
    assert_eq!(world.store.only_record().launch_failures, 1, "the third backs off");
    pass(&world, "run-2");
    assert!(world.store.only_record().instance.is_none());
    world.advance(1);
    pass(&world, "run-3");
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn capacity_that_runs_out_is_not_tried_for_three_minutes_and_the_pods_are_planned_for_again() {
    let world = world_with_a_pending_pod();
    world.cloud.next(Launch::HasNone);
    let report = provision_once(&world, "run-1");
    let result = &report.launched.launches[0].result;
    assert_eq!(*result, LaunchResult::GaveUp(GiveUp::NoCapacity(2)));
    assert!(
        world.store.records().is_empty() && world.cluster.listing.borrow().node_claims.is_empty()
    );
    assert!(world.cluster.has_event(EventReason::InsufficientCapacityError));
    world.advance(179);
    assert_eq!(provision_once(&world, "run-2").plan.unschedulable.len(), 1);
    assert!(world.cluster.has_event(EventReason::FailedScheduling));
    world.advance(1);
    pass(&world, "run-3");
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn a_claim_whose_record_cannot_be_deleted_keeps_its_object_and_is_launched_again() {
    let world = world_with_a_pending_pod();
    world.cloud.next(Launch::Throttles);
    pass(&world, "run-1");
    let claim = world.store.only_record().claim;
    block_on(crate::ports::Cluster::mirror_node_claim(&world.cluster, &claim)).unwrap();
    world.advance(2);
    world.cloud.next(Launch::HasNone);
    world.store.loses_next_race.set(true);
    pass(&world, "run-2");
    assert_eq!(world.store.only_record().claim.uid, claim.uid);
    assert_eq!(world.cluster.listing.borrow().node_claims.len(), 1);
    world.advance(2);
    pass(&world, "run-3");
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn a_plan_that_fails_its_check_is_not_carried_out() {
    let world = world_with_a_pending_pod();
    let run = Run { core: refusing_core(), ..world.run("run-1") };
    let report = block_on(provision(&world, &run)).unwrap().ran().unwrap();
    assert_eq!(report.refused.len(), 1);
    assert!(world.store.records().is_empty() && world.cloud.tokens.borrow().is_empty());
}

#[test]
fn a_run_past_its_deadline_leaves_launches_to_the_next() {
    let world = world_with_a_pending_pod();
    let run = Run { deadline: domain::Timestamp::UNIX_EPOCH, ..world.run("run-1") };
    let report = block_on(provision(&world, &run)).unwrap().ran().unwrap();
    assert_eq!(report.launched.left, 1);
    pass(&world, "run-2");
    assert!(world.store.only_record().instance.is_some());
}

#[test]
fn a_record_that_was_changed_concurrently_is_changed_anew() {
    let world = world_with_a_pending_pod();
    world.store.loses_next_race.set(true);
    pass(&world, "run-1");
    assert!(world.store.only_record().instance.is_some());
}

/// When a watching invocation of a minute provisioned, for pods marked unschedulable at `demand`;
/// all in milliseconds.
fn runs(world: &World, demand: &[i64]) -> Vec<i128> {
    let moment = |millis: &i64| at(0) + SignedDuration::from_millis(*millis);
    world.cluster.demand.borrow_mut().extend(demand.iter().map(moment));
    let mut runs = Vec::new();
    let report = |outcome: Result<RunOutcome<ProvisioningReport>, PortError>| {
        assert!(outcome.unwrap().ran().is_some());
        runs.push(world.clock.now().duration_since(at(0)).as_millis());
    };
    block_on(watch::watch(world, &world.run("run"), report));
    runs
}

#[test]
fn a_watching_invocation_acts_soon_after_the_last_pod_of_a_batch() {
    assert_eq!(runs(&World::new(), &[]), [0]);
    assert_eq!(runs(&World::new(), &[20_000]), [0, 20_300]);
    assert_eq!(runs(&World::new(), &[20_000, 20_000, 20_100, 40_000]), [0, 20_500, 40_300]);
}

#[test]
fn a_failed_watch_is_reported_and_the_cluster_listed_a_second_later() {
    let world = World::new();
    world.cluster.watch_fails.set(true);
    let mut reported = Vec::new();
    let report = |outcome: Result<RunOutcome<ProvisioningReport>, PortError>| {
        reported.push((world.clock.now().duration_since(at(0)).as_secs(), outcome.is_ok()));
    };
    block_on(watch::watch(&world, &world.run("run"), report));
    assert_eq!(reported, [(0, true), (0, false), (1, true)]);
}

#[test]
fn a_stream_of_pods_is_acted_on_for_its_first_pod_and_then_every_ten_seconds() {
    let stream: Vec<i64> = (0..=50).map(|step| 5_000 + step * 500).collect();
    let runs = runs(&World::new(), &stream);
    assert_eq!(runs[..3], [0, 5_300, 15_500]);
}

#[test]
fn while_pods_are_pending_a_watching_invocation_runs_every_ten_seconds() {
    let every_ten_seconds = [0, 10_000, 20_000, 30_000, 40_000, 50_000];
    assert_eq!(runs(&world_with_a_pending_pod(), &[]), every_ten_seconds);
}

#[test]
fn a_pod_that_no_node_pool_can_ever_host_does_not_count_as_waiting() {
    use domain::plan::UnschedulablePod;
    use domain::reason::{NodePoolUnfit, PodUnschedulable};

    let world = World::new();
    world.cluster.add_pods([pending_pod("web-0")]);
    world.advance(60);
    let lease = crate::ports::Lease {
        function: FunctionName::Provisioning,
        holder: "run".into(),
        token: 1,
        until: at(120),
    };
    let observed = block_on(observe(&world, &lease)).unwrap();
    let wait = |reason| {
        let pod = observed.listing.objects.pods[0].key.clone();
        let reason = PodUnschedulable::NodePool { node_pool: "default".into(), reason };
        let unschedulable = vec![UnschedulablePod { pod, reasons: vec![reason] }];
        longest_wait(&Plan { unschedulable, ..Plan::default() }, &observed)
    };
    assert_eq!(wait(NodePoolUnfit::Static), None);
    assert_eq!(wait(NodePoolUnfit::Expendable { priority: -1, below: 0 }), None);
    assert!(wait(NodePoolUnfit::NoOffering).is_some());
}
