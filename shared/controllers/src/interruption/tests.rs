use std::rc::Rc;

use domain::label::REBALANCE_RECOMMENDED;
use domain::reason::DisruptionReason;
use domain::taint::DISRUPTED;
use futures_util::FutureExt as _;
use pollster::block_on;

use super::*;
use crate::event::EventReason;
use crate::lifecycle::advance;
use crate::ports::cloud::{InstanceStatus, StatusCheck};
use crate::ports::{Clock as _, FunctionName};
use crate::provisioning::provision;
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::controls::{INSTALLATION, MODE};
use crate::run::Problems;
use crate::testing::world::{Launch, World, Worlds, crash};
use crate::testing::{at, initialized_record, node_of, pending_pod, pod_on};
use domain::{SignedDuration, node::Node, pod::PodKey};

/// A cluster with these claims, their Nodes, and a pod on each Node.
fn world_with(claims: &[&str]) -> Rc<World> {
    let world = World::new();
    for name in claims {
        let record = initialized_record(name, at(0));
        let instance = record.instance.clone().unwrap();
        world.cloud.instances.borrow_mut().insert(record.claim.uid.clone(), instance);
        world.cluster.finalizers.borrow_mut().push(node_of(&record).name);
        world.store.put(record);
    }
    world.boot();
    let nodes: Vec<Node> = world.cluster.listing.borrow().objects.nodes.to_vec();
    world.cluster.add_pods(nodes.iter().map(|node| pod_on(&format!("pod-{}", node.name), node)));
    world.advance(100);
    Rc::new(world)
}

fn one(world: &Rc<World>) -> Worlds {
    Worlds([("one".into(), Rc::clone(world))].into())
}

fn notice_of(instance: &str, kind: NoticeKind) -> Notice {
    Notice { instance_id: instance.into(), at: at(95), kind }
}

fn notice(kind: NoticeKind) -> Notice {
    notice_of("i-web-1", kind)
}

fn all_handled(worlds: &Worlds, notices: &[Notice]) -> InterruptionReport {
    let world = worlds.0.values().next().unwrap();
    block_on(handle(worlds, &world.terms("run"), notices))
}

#[track_caller]
fn handled(world: &Rc<World>, notice: &Notice) -> NoticeOutcome {
    let mut report = all_handled(&one(world), std::slice::from_ref(notice));
    for cluster in &report.clusters {
        assert_eq!(cluster.problems, Problems::default());
    }
    report.outcomes.remove(0).unwrap()
}

#[track_caller]
fn deadline(outcome: &NoticeOutcome) -> Option<Timestamp> {
    let NoticeOutcome::Ending { deadline, .. } = outcome else { panic!("it stays: {outcome:?}") };
    *deadline
}

const SPOT: NoticeKind = NoticeKind::SpotInterruption;

#[test]
fn a_spot_interruption_ends_the_claim_within_the_notice_and_avoids_its_offering() {
    let world = world_with(&["web-1"]);
    let outcome = handled(&world, &notice(SPOT));
    assert_eq!(deadline(&outcome), Some(at(95 + 120)));
    let record = world.store.only_record();
    assert!(record.claim.annotations.contains_key(domain::label::TERMINATION_TIMESTAMP));
    let avoided = world.store.unavailable.borrow()[0].clone();
    assert_eq!((&*avoided.instance_type, &*avoided.zone), ("m5.large", "a"));
    assert!(world.cluster.has_event(EventReason::SpotInterrupted));
    assert!(world.cluster.has_event(EventReason::TerminatingOnInterruption));
}

#[test]
fn the_node_is_tainted_at_once_and_its_pods_stay_until_a_replacement_is_ready() {
    let world = world_with(&["web-1"]);
    let report = all_handled(&one(&world), &[notice(SPOT)]);
    assert_eq!(report.clusters[0].tainted, [world.node().name]);
    assert!(report.clusters[0].provisioning.is_some() && report.clusters[0].lifecycle.is_some());
    let node = world.node();
    assert!(node.taints.iter().any(|taint| &*taint.key == DISRUPTED));
    assert!(node.labels.contains_key("node.kubernetes.io/exclude-from-external-load-balancers"));
    assert!(world.cluster.evicted.borrow().is_empty(), "nothing hosts its pod yet");
    // 30 s of grace: evicted 33 s before the deadline, whether or not a replacement is ready.
    world.advance(81);
    let _report = block_on(advance(&*world, &world.run("lifecycle"))).unwrap();
    assert!(world.cluster.evicted.borrow().is_empty());
    world.advance(1);
    let _report = block_on(advance(&*world, &world.run("lifecycle"))).unwrap();
    assert_eq!(world.cluster.evicted.borrow().len(), 1);
}

#[test]
fn a_notice_that_comes_twice_or_late_changes_nothing_more() {
    let world = world_with(&["web-1"]);
    let _outcome = handled(&world, &notice(SPOT));
    let ending = world.store.only_record().ending;
    let events = world.cluster.events.borrow().len();
    world.advance(30);
    let NoticeOutcome::Ending { is_news, .. } = handled(&world, &notice(SPOT)) else {
        panic!("it ends still")
    };
    assert!(!is_news);
    assert_eq!(world.store.only_record().ending, ending);
    assert_eq!(world.cluster.events.borrow().len(), events);
}

#[test]
fn what_is_remembered_of_an_offering_counts_each_interruption_once_and_only_of_own_instances() {
    let world = world_with(&["web-1"]);
    let remembered = || -> f64 {
        let own = world.store.spot.borrow();
        let offerings = own.iter().flat_map(|own| own.record.history.iter());
        offerings.map(|(_, _, own)| own.interruptions).sum()
    };
    let all = [notice(SPOT), notice_of("i-other", SPOT), notice(SPOT)];
    let counted = |report: &InterruptionReport| -> u32 {
        report.clusters.iter().flat_map(|own| own.spot_interruptions.values()).sum()
    };
    let report = all_handled(&one(&world), &all);
    assert_eq!(counted(&report), 1);
    assert!((remembered() - 1.0).abs() < 0.01, "{}", remembered());
    // The queue delivers it again, and says it of the past.
    world.advance(60);
    let late = Notice { at: at(10), ..notice(SPOT) };
    for again in [notice(SPOT), late] {
        assert_eq!(counted(&all_handled(&one(&world), &[again])), 0);
    }
    assert!((remembered() - 1.0).abs() < 0.01, "{}", remembered());
}

#[test]
fn a_later_notice_may_bring_the_deadline_forward() {
    let world = world_with(&["web-1"]);
    let starts = Some(at(3600));
    let outcome = handled(&world, &notice(NoticeKind::ScheduledChange { starts }));
    assert_eq!(deadline(&outcome), Some(at(3600)), "it is drained ahead of the date");
    let _outcome = handled(&world, &notice(SPOT));
    let ending = world.store.only_record().ending.unwrap();
    assert_eq!((ending.since, ending.deadline), (at(100), Some(at(215))));
}

#[test]
fn a_change_whose_date_is_past_or_unknown_forces_nothing() {
    for starts in [None, Some(at(50))] {
        let world = world_with(&["web-1"]);
        let outcome = handled(&world, &notice(NoticeKind::ScheduledChange { starts }));
        assert_eq!(deadline(&outcome), None);
    }
}

#[test]
fn a_reservation_that_is_taken_back_ends_its_claim_by_then_and_is_not_tried() {
    let world = world_with(&["web-1"]);
    let mut record = world.store.only_record();
    let instance = record.instance.as_mut().unwrap();
    instance.capacity_type = domain::instance_type::CapacityType::Reserved;
    world.store.put(record);
    let kind = NoticeKind::ReservationInterruption { ends: Some(at(200)) };
    assert_eq!(deadline(&handled(&world, &notice(kind))), Some(at(200)));
    let avoided = world.store.unavailable.borrow()[0].capacity_type;
    assert_eq!(avoided, domain::instance_type::CapacityType::Reserved);
}

#[test]
fn an_instance_that_has_ended_is_cleaned_up_at_once() {
    let world = world_with(&["web-1"]);
    world.cloud.instances.borrow_mut().clear();
    let outcome = handled(&world, &notice(NoticeKind::Terminated));
    assert_eq!(deadline(&outcome), Some(at(100)));
    assert!(world.store.records().is_empty(), "the claim is gone");
    assert!(world.cluster.listing.borrow().objects.nodes.is_empty(), "its Node is gone");
    assert!(world.cluster.has_event(EventReason::InstanceTerminating));
}

#[test]
fn the_end_of_an_instance_that_we_ended_ourselves_is_no_news() {
    let world = world_with(&["web-1"]);
    let mut record = world.store.only_record();
    record = record.ended(at(90), crate::record::claim::EndReason::NodeClaimDeleted, None);
    let kind = domain::node_claim::ConditionType::InstanceTerminating;
    crate::steps::condition::set_true(&mut record.claim, kind, at(90));
    world.store.put(record.clone());
    let report = all_handled(&one(&world), &[notice(NoticeKind::Terminated)]);
    assert!(matches!(report.outcomes[0], Ok(NoticeOutcome::AlreadyGone(_))));
    assert!(report.clusters.is_empty(), "the cluster is not listed");
    assert_eq!(world.store.only_record(), record);
}

#[test]
fn a_rebalance_recommendation_is_recorded_as_event_and_annotation() {
    let world = world_with(&["web-1"]);
    let outcome = handled(&world, &notice(NoticeKind::RebalanceRecommendation));
    assert!(matches!(outcome, NoticeOutcome::Noted(_)));
    let record = world.store.only_record();
    assert!(record.ending.is_none());
    assert_eq!(record.claim.annotations[REBALANCE_RECOMMENDED], at(95).to_string().into());
    assert!(world.cluster.has_event(EventReason::SpotRebalanceRecommendation));
    assert!(world.node().taints.iter().all(|taint| &*taint.key != DISRUPTED));
}

#[test]
fn notices_about_instances_without_a_claim_are_ignored() {
    let world = world_with(&["web-1"]);
    assert_eq!(handled(&world, &notice_of("i-other", SPOT)), NoticeOutcome::NotOurs);
    assert!(world.cluster.events.borrow().is_empty());
}

fn say(world: &World, key: &str, value: &str) {
    let mut controls = world.cluster.controls.borrow_mut();
    controls.as_mut().unwrap().data.insert(key.into(), value.into());
}

#[test]
fn in_a_cluster_of_another_installation_nothing_is_written_not_even_an_event() {
    let world = world_with(&["web-1"]);
    say(&world, INSTALLATION, "theirs");
    for kind in [NoticeKind::RebalanceRecommendation, SPOT] {
        let report = all_handled(&one(&world), &[notice(kind)]);
        assert!(report.clusters[0].stopped.is_some());
    }
    assert!(world.cluster.events.borrow().is_empty());
    assert!(world.node().taints.iter().all(|taint| &*taint.key != DISRUPTED));
    assert_eq!(world.store.records().len(), 1, "nothing was launched");
}

#[test]
fn while_all_else_is_paused_a_pod_that_waits_gets_no_node_beside_the_replacement() {
    let world = world_with(&["web-1"]);
    world.cluster.add_pods([pending_pod("waits")]);
    say(&world, MODE, "paused-except-interruptions");
    let _report = all_handled(&one(&world), &[notice(SPOT)]);
    let records = world.store.records();
    let waits = |pod: &PodKey| &*pod.name == "waits";
    assert!(records.iter().all(|own| !own.pods.iter().any(waits)), "{records:?}");
    say(&world, MODE, "active");
    let _report = block_on(provision(&*world, &world.run("provisioning"))).unwrap();
    assert!(world.store.records().iter().any(|own| own.pods.iter().any(waits)));
}

#[test]
fn notices_for_several_clusters_are_handled_together_and_each_cluster_plans_once() {
    let (first, second) = (world_with(&["a-1", "a-2"]), world_with(&["b-1"]));
    let worlds = Worlds([("a".into(), Rc::clone(&first)), ("b".into(), Rc::clone(&second))].into());
    let notices = ["i-a-1", "i-b-1", "i-a-2", "i-a-1"].map(|id| notice_of(id, SPOT));
    let report = all_handled(&worlds, &notices);
    assert!(
        report.outcomes.iter().all(|outcome| matches!(outcome, Ok(NoticeOutcome::Ending { .. })))
    );
    let reported: Vec<_> =
        report.clusters.iter().map(|own| (&*own.cluster, own.tainted.len())).collect();
    assert_eq!(reported, [("a", 2), ("b", 1)]);
    assert!(report.clusters.iter().all(|own| own.provisioning.is_some()));
}

#[test]
fn an_unreachable_cluster_fails_no_other_and_its_claims_end_all_the_same() {
    let (first, second) = (world_with(&["a-1"]), world_with(&["b-1"]));
    first.is_closed.set(true);
    let worlds = Worlds([("a".into(), Rc::clone(&first)), ("b".into(), Rc::clone(&second))].into());
    let report = all_handled(&worlds, &["i-a-1", "i-b-1"].map(|id| notice_of(id, SPOT)));
    assert!(report.outcomes.iter().all(Result::is_ok));
    assert!(first.store.only_record().ending.is_some());
    assert_eq!(report.clusters[0].problems.0.len(), 1);
    assert_eq!(report.clusters[1].tainted.len(), 1);
}

#[test]
fn while_another_run_holds_the_lease_nodes_are_tainted_and_the_plan_waits_for_it() {
    let world = world_with(&["web-1"]);
    let held = SignedDuration::from_secs(2);
    let acquired =
        world.store.acquire_lease(FunctionName::Provisioning, "other", world.clock.now(), held);
    let _lease = block_on(acquired).unwrap();
    let report = all_handled(&one(&world), &[notice(SPOT)]);
    assert_eq!(report.clusters[0].tainted.len(), 1);
    assert!(report.clusters[0].provisioning.is_some(), "the other's term was over");

    let world = world_with(&["web-1"]);
    let held = SignedDuration::from_secs(60);
    let acquired =
        world.store.acquire_lease(FunctionName::Provisioning, "other", world.clock.now(), held);
    let _lease = block_on(acquired).unwrap();
    let report = all_handled(&one(&world), &[notice(SPOT)]);
    assert_eq!((report.clusters[0].tainted.len(), report.outcomes[0].is_ok()), (1, true));
    assert!(report.clusters[0].provisioning.is_none(), "it is left to the holder of the lease");
}

#[test]
fn an_invocation_that_dies_after_the_mark_is_made_good_by_the_message_that_comes_again() {
    let world = world_with(&["web-1"]);
    let mut waiting = pod_on("waits", &world.node());
    waiting.node_name = None;
    world.cluster.add_pods([waiting]);
    world.cloud.next(Launch::Hangs);
    let worlds = one(&world);
    let (terms, notices) = (world.terms("first"), [notice(SPOT)]);
    crash(handle(&worlds, &terms, &notices));
    assert!(world.store.records().iter().any(|record| record.ending.is_some()));
    world.advance(80);
    let report = all_handled(&worlds, &notices);
    assert!(report.outcomes[0].is_ok());
    let provisioning = report.clusters[0].provisioning.as_ref().unwrap();
    assert_eq!(provisioning.resumed.launches.len(), 1, "the launch is requested again");
}

fn impaired(seconds: i64) -> InstanceStatus {
    InstanceStatus {
        instance_id: "i-web-1".into(),
        impaired: vec![(StatusCheck::System, at(seconds))],
        scheduled: Vec::new(),
    }
}

fn checked(world: &World) -> HealthReport {
    let report = block_on(check_health(world, &world.run("health"))).unwrap();
    assert_eq!(report.acted.problems, Problems::default());
    report
}

#[test]
fn a_check_that_has_failed_for_two_minutes_ends_the_node_by_force() {
    let world = world_with(&["web-1"]);
    world.cloud.statuses.borrow_mut().push(impaired(0));
    assert_eq!(
        checked(&world),
        HealthReport {
            acted: ClusterReport { cluster: "test".into(), ..ClusterReport::default() },
            ..HealthReport::default()
        }
    );
    world.advance(20);
    let report = checked(&world);
    assert_eq!(report.unhealthy[0].category, "SystemStatus");
    assert_eq!(world.store.only_record().ending.unwrap().deadline, Some(at(120)));
    assert_eq!(world.cluster.forced.borrow().len(), 1, "its pod is not evicted");
    assert!(world.cluster.has_event(EventReason::InstanceUnhealthy));
    assert!(checked(&world).unhealthy.is_empty(), "it is reported once");
}

const EIGHT: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn checks_that_fail_everywhere_at_once_end_no_more_nodes_a_minute_than_the_fuse_lets_go() {
    let world = world_with(&EIGHT);
    let impaired = EIGHT.map(|name| {
        let instance_id = format!("i-{name}").into();
        InstanceStatus { instance_id, ..impaired(-60) }
    });
    world.cloud.statuses.borrow_mut().extend(impaired);
    assert_eq!(checked(&world).unhealthy.len(), 8);
    assert_eq!(world.cluster.forced.borrow().len(), 5);
    world.advance(60);
    let _report = block_on(advance(&*world, &world.run("lifecycle"))).unwrap();
    assert_eq!(world.cluster.forced.borrow().len(), 8);
}

#[test]
fn what_ec2_takes_in_minutes_no_fuse_holds_back_whatever_it_was_to_go_for_before() {
    let world = world_with(&EIGHT);
    let _checked = checked(&world);
    for record in world.store.records() {
        let drifted = EndReason::Disrupted(DisruptionReason::Drifted);
        world.store.put(record.ended(at(90), drifted, None));
    }
    let notices = EIGHT.map(|name| notice_of(&format!("i-{name}"), SPOT));
    let report = all_handled(&one(&world), &notices);
    let lifecycle = report.clusters[0].lifecycle.as_ref().unwrap();
    assert!(lifecycle.held_back.is_none());
    let reason = |record: ClaimRecord| record.ending.unwrap().reason;
    assert!(world.store.records().into_iter().map(reason).all(|own| own == EndReason::INTERRUPTED));
}

#[test]
fn maintenance_that_is_days_off_ends_no_more_nodes_a_minute_than_the_fuse_lets_go() {
    let world = world_with(&EIGHT);
    let starts = Some(at(86_400));
    let kind = NoticeKind::ScheduledChange { starts };
    let notices = EIGHT.map(|name| notice_of(&format!("i-{name}"), kind));
    let report = all_handled(&one(&world), &notices);
    let held = report.clusters[0].lifecycle.as_ref().unwrap().held_back.as_ref().unwrap();
    assert_eq!(held.count, 3);
}

#[test]
fn an_event_that_is_scheduled_drains_the_node_ahead_of_its_date() {
    let world = world_with(&["web-1"]);
    let scheduled = vec![None, Some(at(9000)), Some(at(7200))];
    let status = InstanceStatus { scheduled, impaired: Vec::new(), ..impaired(0) };
    world.cloud.statuses.borrow_mut().push(status);
    assert_eq!(checked(&world).unhealthy[0].category, "EventStatus");
    assert_eq!(world.store.only_record().ending.unwrap().deadline, Some(at(7200)));
}

#[test]
fn instances_of_others_may_be_as_impaired_as_they_like() {
    let world = world_with(&["web-1"]);
    let other = InstanceStatus { instance_id: "i-other".into(), ..impaired(-500) };
    world.cloud.statuses.borrow_mut().push(other);
    assert!(checked(&world).unhealthy.is_empty());
}

#[test]
fn a_cluster_that_does_not_answer_keeps_no_notices_of_others_waiting() {
    let (silent, other) = (world_with(&["web-1"]), world_with(&["web-2"]));
    let mut waiting = pod_on("waits", &silent.node());
    waiting.node_name = None;
    silent.cluster.add_pods([waiting]);
    silent.cloud.next(Launch::Hangs);
    silent.is_time_up.set(true);
    let worlds = Worlds([("one".into(), silent), ("two".into(), Rc::clone(&other))].into());
    let terms = other.terms("run");
    let notices = [notice_of("i-web-1", SPOT), notice_of("i-web-2", SPOT)];
    let report = handle(&worlds, &terms, &notices).now_or_never().expect("time is up");
    assert!(report.outcomes.iter().all(Result::is_ok), "both are stored: {:?}", report.outcomes);
    let problems: Vec<usize> = report.clusters.iter().map(|own| own.problems.0.len()).collect();
    assert_eq!(problems, [1, 0]);
    assert_eq!(report.clusters[1].tainted.len(), 1);
}
