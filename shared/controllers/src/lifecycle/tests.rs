use std::collections::BTreeSet;
use std::sync::Arc;

use domain::label::PODS_ROLLING;
use domain::node_claim::{ConditionStatus, ConditionType};
use domain::node_pool::NeverOr;
use domain::pod::{DoNotDisrupt, Owner, OwnerKind};
use domain::resource::{CPU, Resources};
use domain::rollout::{Deployment, EvictBy, RolloutObstacle, RolloutSpec, RolloutStatus};
use domain::taint::DISRUPTED;
use pollster::block_on;

use super::*;
use crate::core::Core;
use crate::event::EventReason;
use crate::ports::cloud::{InstanceEnd, InstanceState};
use crate::ports::cluster::{NodeClaimObject, VolumeAttachment};
use crate::provisioning::provision;
use crate::record::claim::ClaimPhase;
use crate::testing::world::World;
use crate::testing::{
    at, initialized_record, instance, launched_record, node_of, pending_pod, pod_on, record,
};

#[track_caller]
fn run_once(world: &World) -> LifecycleReport {
    let outcome = block_on(advance(world, &world.run("lifecycle"))).unwrap();
    outcome.ran().expect("no other run holds the lease")
}

/// Runs lifecycle every five seconds; whatever is being deleted is gone at once.
fn live(world: &World, seconds: i64) {
    for _ in 0..seconds / 5 {
        world.advance(5);
        let _report = run_once(world);
        world.finish_deletions();
    }
}

/// A world with a claim that was launched for one pod.
fn launched_world() -> World {
    let world = World::new();
    world.cluster.add_pods([pending_pod("web-0")]);
    let _report = block_on(provision(&world, &world.run("provisioning"))).unwrap();
    world
}

/// A world with an initialized claim and one pod on its node.
fn initialized_world() -> World {
    let world = launched_world();
    world.boot();
    live(&world, 15);
    let bound = pod_on("web-0", &world.node());
    world.cluster.listing.borrow_mut().objects.pods = vec![bound].into();
    live(&world, 5);
    assert_eq!(world.store.only_record().phase(), ClaimPhase::Initialized);
    world
}

/// A user deletes the NodeClaim object.
fn delete_object(world: &World) {
    let now = crate::ports::Clock::now(&world.clock);
    world.cluster.listing.borrow_mut().node_claims[0].claim.deleted = Some(now);
}

fn with_grace_period(world: &World, seconds: i64) {
    let mut record = world.store.only_record();
    record.claim.termination_grace_period = Some(SignedDuration::from_secs(seconds));
    world.store.put(record);
}

fn has_instance(world: &World) -> bool {
    world.cloud.instances.borrow().values().any(|instance| instance.state.is_alive())
}

#[test]
fn a_claim_goes_from_launched_to_registered_to_initialized() {
    let world = launched_world();
    world.advance(5);
    assert!(run_once(&world).changes.is_empty(), "the Node has not joined yet");
    world.boot();
    let report = run_once(&world);
    assert!(matches!(report.changes[0].what, Change::Registered(_)));
    assert!(world.node().taints.is_empty(), "pods may come now");
    let report = run_once(&world);
    assert!(matches!(report.changes[0].what, Change::Initialized(_)));
    let record = world.store.only_record();
    assert!(record.claim.is(ConditionType::Ready));
    let nominations = world.store.nominations.borrow();
    assert!(nominations.iter().any(|nomination| nomination.node == world.node().name));
    let object = world.cluster.listing.borrow().node_claims[0].clone();
    assert_eq!(object.claim.status, record.claim.status);
}

#[test]
fn a_nomination_that_kube_scheduler_clears_is_made_again_before_the_node_takes_pods() {
    let world = launched_world();
    world.boot();
    world.cluster.nominations_cleared.set(1);
    let report = run_once(&world);
    assert!(matches!(report.changes[0].what, Change::Registered(_)));
    let nominated = world.cluster.listing.borrow().objects.pods[0].nominated_node_name.clone();
    assert_eq!(nominated, Some(world.node().name));
}

/// A world with an initialized claim and so many pods of a ReplicaSet on its node.
fn world_of_replicas(count: usize) -> World {
    let world = initialized_world();
    let node = world.node();
    let owner = Owner { kind: OwnerKind::ReplicaSet, name: "web".into(), uid: "uid-web".into() };
    let pods = (0..count).map(|number| Pod {
        owner: Some(owner.clone()),
        ..pod_on(&format!("web-{number:04}"), &node)
    });
    world.cluster.listing.borrow_mut().objects.pods = pods.collect();
    world
}

fn pods_with_a_deletion_cost(world: &World) -> usize {
    let listing = world.cluster.listing.borrow();
    listing.objects.pods.iter().filter(|pod| pod.managed_deletion_cost != 0).count()
}

/// A run that writes deletion costs.
fn run_with_deletion_costs(world: &World) -> LifecycleReport {
    let mut settings = world.run("").settings.clone();
    settings.feature_gates.pod_deletion_cost_management = true;
    let run = Run { settings: &settings, ..world.run("lifecycle") };
    let outcome = block_on(advance(world, &run)).unwrap();
    outcome.ran().expect("no other run holds the lease")
}

#[test]
fn pods_get_deletion_costs_five_hundred_in_a_run() {
    let world = world_of_replicas(600);
    assert!(run_with_deletion_costs(&world).problems.0.is_empty());
    assert_eq!(pods_with_a_deletion_cost(&world), 500);
    assert!(run_with_deletion_costs(&world).problems.0.is_empty());
    assert_eq!(pods_with_a_deletion_cost(&world), 600);
}

#[test]
fn without_the_feature_gate_no_deletion_cost_is_written() {
    let world = world_of_replicas(1);
    assert!(run_once(&world).problems.0.is_empty());
    assert_eq!(pods_with_a_deletion_cost(&world), 0);
}

#[test]
fn that_deletion_costs_may_not_be_written_is_said_once() {
    let said = |kind| {
        let world = world_of_replicas(40);
        world.cluster.deletion_costs_refused.set(Some(kind));
        run_with_deletion_costs(&world).problems.0.len()
    };
    assert_eq!(said(ErrorKind::Denied), 1);
    assert_eq!(said(ErrorKind::Throttled), 40);
    // Somebody else has set it, or the pod is gone: the next run sees that.
    assert_eq!(said(ErrorKind::Conflict) + said(ErrorKind::NotFound), 0);
}

#[test]
fn a_step_taken_twice_changes_nothing_more() {
    let world = initialized_world();
    live(&world, 60);
    let before = world.store.records();
    let report = run_once(&world);
    assert!(report.changes.is_empty() && report.orphans.is_empty());
    assert_eq!((world.store.records(), report.requeue_after), (before, None));
}

#[test]
fn an_instance_that_never_joins_is_ended_after_fifteen_minutes() {
    let world = launched_world();
    live(&world, 14 * 60 + 55);
    assert!(has_instance(&world));
    live(&world, 15);
    assert!(!has_instance(&world));
    assert!(world.store.records().is_empty());
    assert!(world.cluster.listing.borrow().node_claims.is_empty());
}

#[test]
fn a_claim_without_an_instance_is_given_up_after_five_minutes() {
    let world = World::new();
    world.store.put(record("web-1"));
    live(&world, 4 * 60 + 55);
    assert_eq!(world.store.records().len(), 1);
    live(&world, 5);
    assert!(world.store.records().is_empty());
}

#[test]
fn a_claim_that_is_given_up_beside_the_run_that_shows_it_leaves_no_object() {
    let world = World::new();
    world.store.put(record("web-1"));
    let _report = run_once(&world);
    assert_eq!(world.cluster.listing.borrow().node_claims.len(), 1, "its launch is not over");
    world.store.put(record("web-2"));
    world.store.deletes_what_is_read.set(true);
    let _report = run_once(&world);
    let left = world.cluster.listing.borrow().node_claims.clone();
    let left: Vec<&str> = left.iter().map(|object| &*object.claim.name).collect();
    assert_eq!(left, ["web-1"], "the run that gave it up removes an object that was there");
}

#[test]
fn an_instance_whose_launch_was_never_answered_finds_its_claim() {
    let world = World::new();
    let lost = record("web-1");
    let own = instance("i-1", &lost, at(0));
    world.cloud.instances.borrow_mut().insert(lost.launch.token.clone(), own);
    world.store.put(lost);
    world.advance(120);
    let report = run_once(&world);
    assert_eq!(report.changes[0].what, Change::InstanceFound("i-1".into()));
    assert!(report.orphans.is_empty() && has_instance(&world));
    assert_eq!(world.store.only_record().phase(), ClaimPhase::Launched);
}

#[test]
fn instances_are_counted_by_type_and_capacity_type() {
    let world = launched_world();
    let instance = world.store.only_record().instance.unwrap();
    let counted = run_once(&world).instances;
    assert_eq!(counted, [((instance.instance_type, instance.capacity_type), 1)].into());
}

#[test]
fn an_instance_without_a_claim_is_ended_after_a_while() {
    let world = World::new();
    let stranger = instance("i-1", &record("gone"), at(0));
    world.cloud.instances.borrow_mut().insert("token".into(), stranger);
    world.advance(90);
    assert!(run_once(&world).orphans.is_empty());
    world.advance(1);
    assert_eq!(run_once(&world).orphans, [Orphan::Instance("i-1".into())]);
    assert!(!has_instance(&world));
}

/// The table is lost: no record of any claim is left.
fn lose_the_table(world: &World) {
    for record in world.store.records() {
        world.store.delete(record.name());
    }
}

fn restored(report: &LifecycleReport) -> usize {
    report.changes.iter().filter(|change| change.what == Change::Restored).count()
}

#[test]
fn a_lost_table_ends_no_node_and_its_claims_are_back_in_the_next_run() {
    let world = initialized_world();
    let before = world.store.only_record();
    lose_the_table(&world);
    world.advance(3600);
    let report = run_once(&world);
    assert_eq!((restored(&report), report.orphans.len()), (1, 0));
    live(&world, 60);
    let after = world.store.only_record();
    assert!(has_instance(&world));
    assert_eq!((after.claim.uid, after.instance), (before.claim.uid, before.instance));
    assert_eq!(after.ending, None);
    assert_eq!(world.node().deleted, None);
}

#[test]
fn a_claim_whose_object_is_gone_too_is_rebuilt_from_its_node() {
    let world = initialized_world();
    world.cluster.change_node(|node| {
        node.labels.insert(domain::label::NODE_CLASS.into(), "default".into());
    });
    lose_the_table(&world);
    world.cluster.listing.borrow_mut().node_claims.clear();
    world.advance(3600);
    let report = run_once(&world);
    assert_eq!((restored(&report), report.orphans.len()), (1, 0));
    assert_eq!(world.store.only_record().phase(), ClaimPhase::Initialized);
    assert_eq!(world.cluster.listing.borrow().node_claims.len(), 1, "it is mirrored again");
}

#[test]
fn a_drain_that_was_under_way_goes_on_after_the_table_was_lost() {
    let world = initialized_world();
    delete_object(&world);
    let _report = run_once(&world);
    lose_the_table(&world);
    assert_eq!(restored(&run_once(&world)), 1);
    live(&world, 60);
    assert!(!has_instance(&world) && world.store.records().is_empty());
}

#[test]
fn an_instance_that_only_a_node_names_is_no_orphan() {
    let world = initialized_world();
    lose_the_table(&world);
    world.cluster.listing.borrow_mut().node_claims.clear();
    world.cluster.change_node(|node| node.labels.clear());
    world.advance(3600);
    let report = run_once(&world);
    assert!(report.orphans.is_empty() && world.store.records().is_empty());
    assert!(has_instance(&world));
}

#[test]
fn an_instance_whose_claim_went_as_it_was_launched_ends_once_its_node_cannot_register_any_more() {
    let world = launched_world();
    world.boot();
    lose_the_table(&world);
    world.cluster.listing.borrow_mut().node_claims.clear();
    world.advance(15 * 60);
    assert!(run_once(&world).orphans.is_empty(), "its claim may be about to be seen");
    world.advance(1);
    assert!(matches!(run_once(&world).orphans[..], [Orphan::Instance(_)]));
    assert!(!has_instance(&world));
}

#[test]
fn a_claim_that_ends_while_ec2_may_be_launching_for_it_stays_until_its_instance_would_have_shown() {
    for is_launched in [true, false] {
        let world = World::new();
        let ending = record("web-1").ended(at(0), EndReason::LaunchTimeout, None);
        let mut launching = ending.clone();
        Arc::make_mut(&mut launching.launch).attempt.since = at(0);
        world.store.put(launching);
        let report = run_once(&world);
        assert_eq!(report.requeue_after, Some(SignedDuration::from_secs(90)));
        if is_launched {
            let late = instance("i-late", &ending, at(20));
            world.cloud.instances.borrow_mut().insert(ending.claim.uid.clone(), late);
            live(&world, 30);
            assert!(!has_instance(&world), "it ends with the claim that it was launched for");
        }
        live(&world, 90);
        assert!(world.store.records().is_empty());
    }
}

#[test]
fn a_node_without_claim_and_instance_is_removed_only_if_an_ec2_node_class_is_behind_it() {
    for (class, removed) in [(Some("default"), 1), (None, 0)] {
        let world = World::new();
        let mut node = node_of(&launched_record("gone", at(0)));
        node.labels.insert(domain::label::REGISTERED.into(), "true".into());
        node.labels.remove(domain::label::NODE_CLASS);
        let class = class.map(|class| (domain::label::NODE_CLASS.into(), class.into()));
        node.labels.extend(class);
        node.conditions[0].status = ConditionStatus::Unknown;
        world.cluster.listing.borrow_mut().objects.nodes.push(node);
        world.advance(3600);
        assert_eq!(run_once(&world).orphans.len(), removed);
    }
}

/// Instances without claim, Node or object, beside those of the world.
fn add_strangers(world: &World, count: usize) {
    for index in 0..count {
        let stranger = instance(&format!("i-{index:02}"), &record("gone"), at(0));
        let stranger = Instance { claim_uid: None, ..stranger };
        world.cloud.instances.borrow_mut().insert(format!("token-{index}").into(), stranger);
    }
}

#[test]
fn of_two_instances_of_a_claim_one_ends_although_its_node_has_come() {
    let world = initialized_world();
    let record = world.store.only_record();
    let surplus = instance("i-surplus", &record, at(0));
    let mut node = node_of(&record);
    (node.name, node.uid) = ("surplus".into(), "surplus".into());
    node.provider_id = Some(surplus.provider_id.clone());
    world.cluster.listing.borrow_mut().objects.nodes.push(node);
    world.cloud.instances.borrow_mut().insert("surplus".into(), surplus);
    world.advance(3600);
    assert_eq!(run_once(&world).orphans, [Orphan::Instance("i-surplus".into())]);
    assert_eq!(world.store.only_record().ending, None);
}

#[test]
fn of_several_orphans_a_few_end_at_a_time() {
    let world = initialized_world();
    add_strangers(&world, 5);
    world.advance(3600);
    assert_eq!(run_once(&world).orphans.len(), 5);
}

#[test]
fn suspiciously_many_orphans_stay_and_an_event_says_why() {
    let world = initialized_world();
    add_strangers(&world, 6);
    world.advance(3600);
    let report = run_once(&world);
    assert!(report.orphans.is_empty());
    let held = report.held_orphans.unwrap();
    assert_eq!(held.instances.len(), 6);
    assert_eq!(held.why, WhyHeld::TooMany { orphans: 6, instances: 7 });
    assert!(world.cluster.has_event(EventReason::OrphanedInstancesKept));
}

#[test]
fn what_another_installation_launched_stays() {
    let world = initialized_world();
    add_strangers(&world, 1);
    let theirs = Some("theirs".into());
    for instance in world.cloud.instances.borrow_mut().values_mut() {
        instance.installation.clone_from(&theirs);
    }
    world.advance(3600);
    let held = run_once(&world).held_orphans.unwrap();
    assert_eq!(held.why, WhyHeld::OfAnother { installation: "theirs".into() });
}

#[test]
fn orphans_that_an_operator_confirmed_end_a_few_at_a_time() {
    let world = initialized_world();
    add_strangers(&world, 9);
    world.advance(3600);
    assert!(run_once(&world).held_orphans.is_some());
    let until = crate::ports::Clock::now(&world.clock) + SignedDuration::from_hours(1);
    let key = crate::record::controls::END_ORPHANS_UNTIL;
    world.store.controls.borrow_mut().insert(key.into(), until.to_string().into());
    assert_eq!(run_once(&world).orphans.len(), 5);
    assert!(run_once(&world).orphans.is_empty(), "the fuse holds the others back for a minute");
    world.advance(60);
    assert_eq!(run_once(&world).orphans.len(), 4);
}

#[test]
fn without_any_record_nothing_ends_while_the_cluster_has_nodes() {
    let world = initialized_world();
    add_strangers(&world, 1);
    lose_the_table(&world);
    world.advance(3600);
    let held = run_once(&world).held_orphans.unwrap();
    assert_eq!(held.why, WhyHeld::NoRecords { nodes: 1 });
    assert!(run_once(&world).held_orphans.is_none(), "its claim is back");
}

#[test]
fn what_belongs_to_a_claim_that_cannot_be_read_is_no_orphan() {
    let world = World::new();
    let unread = record("unread");
    let own = instance("i-1", &unread, at(0));
    world.cloud.instances.borrow_mut().insert("token".into(), own);
    let mirror = NodeClaimObject { claim: unread.claim.clone(), mirror_of: Some(unread.claim.uid) };
    world.cluster.listing.borrow_mut().node_claims.push(mirror);
    world.store.unreadable.borrow_mut().push("unread".into());
    world.advance(60);
    assert!(run_once(&world).orphans.is_empty());
    assert!(has_instance(&world));
    assert_eq!(world.cluster.listing.borrow().node_claims.len(), 1);
}

#[test]
fn deleting_the_node_claim_drains_the_node_and_ends_everything() {
    let world = initialized_world();
    delete_object(&world);
    world.advance(5);
    let report = run_once(&world);
    assert_eq!(report.changes[0].what, Change::Ending(EndReason::NodeClaimDeleted));
    assert!(world.node().is_disrupted() && world.node().deleted.is_some());
    assert_eq!(*world.cluster.evicted.borrow(), ["web-0".into()]);
    assert!(has_instance(&world), "a pod is still ending");
    assert_eq!(report.requeue_after, Some(SignedDuration::from_secs(1)));
    world.finish_deletions();
    live(&world, 5);
    assert!(!has_instance(&world));
    live(&world, 5);
    assert!(world.store.records().is_empty());
    let listing = world.cluster.listing.borrow();
    assert!(listing.node_claims.is_empty() && listing.objects.nodes.is_empty());
}

#[test]
fn a_claim_stays_while_ec2_does_not_know_its_new_instance_yet() {
    let world = initialized_world();
    world.cluster.listing.borrow_mut().objects.pods.clear();
    delete_object(&world);
    let hidden = std::mem::take(&mut *world.cloud.instances.borrow_mut());
    live(&world, 15);
    assert_eq!(world.store.records().len(), 1, "the instance may be there all the same");
    *world.cloud.instances.borrow_mut() = hidden;
    live(&world, 15);
    assert!(world.store.records().is_empty() && !has_instance(&world));
}

#[test]
fn a_claim_ends_once_ec2_has_had_time_to_show_its_instance_and_does_not() {
    let world = initialized_world();
    world.cluster.listing.borrow_mut().objects.pods.clear();
    delete_object(&world);
    world.cloud.instances.borrow_mut().clear();
    live(&world, 90);
    assert!(world.store.records().is_empty());
}

#[test]
fn deleting_the_node_ends_the_claim_as_well() {
    let world = initialized_world();
    world.cluster.change_node(|node| node.deleted = Some(at(100)));
    live(&world, 20);
    assert!(world.store.records().is_empty() && !has_instance(&world));
    assert!(world.cluster.listing.borrow().objects.nodes.is_empty());
}

#[test]
fn even_an_empty_node_is_drained_for_five_seconds() {
    let world = initialized_world();
    world.cluster.listing.borrow_mut().objects.pods.clear();
    delete_object(&world);
    let _report = run_once(&world);
    world.advance(4);
    let _report = run_once(&world);
    assert!(has_instance(&world));
    world.advance(1);
    let _report = run_once(&world);
    assert!(!has_instance(&world));
}

#[test]
fn a_refused_eviction_is_tried_again_and_forced_once_the_deadline_is_near() {
    let world = initialized_world();
    with_grace_period(&world, 120);
    world.cluster.blocks_evictions.set(true);
    delete_object(&world);
    live(&world, 90);
    assert!(world.cluster.has_event(EventReason::FailedDraining));
    assert!(has_instance(&world) && world.cluster.forced.borrow().is_empty());
    live(&world, 10);
    assert_eq!(*world.cluster.forced.borrow(), [("web-0".into(), 25)], "25 of its 30 s are left");
    live(&world, 15);
    assert!(world.store.records().is_empty());
}

#[test]
fn a_drain_that_takes_long_is_looked_at_less_often_unless_its_deadline_is_near() {
    let seconds_until_the_next_look = |world: &World| {
        world.cluster.blocks_evictions.set(true);
        delete_object(world);
        [0, 30, 60, 900].map(|past| {
            world.advance(past);
            run_once(world).requeue_after.unwrap().as_secs()
        })
    };
    let world = initialized_world();
    assert_eq!(seconds_until_the_next_look(&world), [1, 3, 9, 10]);
    let hurried = initialized_world();
    with_grace_period(&hurried, 1500);
    assert_eq!(seconds_until_the_next_look(&hurried), [1, 3, 9, 1]);
}

/// Two nodes that end, with a small and a middle-sized pod on one and a large one on the other.
fn two_drains() -> World {
    let world = World::new();
    let nodes = ["web-1", "web-2"].map(|name| {
        let record = initialized_record(name, at(0));
        let instance = record.instance.as_ref().map(|own| instance(&own.id, &record, at(0)));
        world.cloud.instances.borrow_mut().extend(instance.map(|own| (name.into(), own)));
        let node = node_of(&record);
        world.cluster.finalizers.borrow_mut().push(node.name.clone());
        world.cluster.listing.borrow_mut().objects.nodes.push(node.clone());
        world.store.put(record.ended(at(0), EndReason::NodeClaimDeleted, None));
        node
    });
    let sized = |name: &str, node: &Node, millis: i64| {
        let mut pod = pod_on(name, node);
        Arc::make_mut(&mut pod.spec).requests = Resources::new().with(CPU, millis);
        pod
    };
    let [first, second] = &nodes;
    let pods =
        [sized("small", first, 100), sized("middle", first, 500), sized("large", second, 900)];
    world.cluster.add_pods(pods);
    world
}

#[test]
fn the_largest_pods_of_all_drains_are_evicted_first() {
    let world = two_drains();
    let _report = run_once(&world);
    assert_eq!(*world.cluster.evicted.borrow(), ["large", "middle", "small"].map(Text::from));
}

#[test]
fn a_pod_stays_on_a_node_that_goes_by_choice_until_another_has_room_for_it() {
    let evicted_for = |reason: EndReason, minutes: i64| {
        let world = initialized_world();
        let mut record = world.store.records().remove(0);
        record = record.ended(at(0), reason, None);
        world.store.put(record);
        world.advance(60 * minutes);
        let core = Core { evictable: |_, _| BTreeSet::new(), ..crate::testing::core::core() };
        let run = Run { core, ..world.run("r") };
        let _report = block_on(advance(&world, &run)).unwrap();
        world.cluster.evicted.borrow().len()
    };
    let by_choice = EndReason::Disrupted(DisruptionReason::Underutilized);
    assert_eq!(evicted_for(by_choice, 1), 0);
    assert_eq!(evicted_for(by_choice, 11), 1, "not for good");
    assert_eq!(evicted_for(EndReason::NodeClaimDeleted, 1), 1, "a user wants it gone");
}

#[test]
fn a_run_past_its_deadline_evicts_no_more_pods_and_leaves_drains_to_the_next() {
    let world = two_drains();
    // The run has a minute.
    world.cluster.eviction_takes.set(40);
    let report = run_once(&world);
    assert_eq!(*world.cluster.evicted.borrow(), ["large", "middle"].map(Text::from));
    assert_eq!((report.left, report.requeue_after), (2, Some(SignedDuration::ZERO)));
    world.cluster.eviction_takes.set(0);
    let report = run_once(&world);
    assert_eq!(*world.cluster.evicted.borrow(), ["large", "middle", "small"].map(Text::from));
    assert_eq!(report.left, 0);
}

#[test]
fn a_protected_pod_is_waited_for_without_a_deadline() {
    let world = initialized_world();
    world.cluster.listing.borrow_mut().objects.pods[0].do_not_disrupt = Some(DoNotDisrupt::Always);
    delete_object(&world);
    live(&world, 3600);
    assert!(has_instance(&world));
    assert!(world.cluster.evicted.borrow().is_empty());
    world.cluster.listing.borrow_mut().objects.pods[0].do_not_disrupt = None;
    live(&world, 20);
    assert!(world.store.records().is_empty());
}

#[test]
fn the_instance_waits_until_volumes_are_detached() {
    let world = initialized_world();
    world.cluster.attachments.borrow_mut().push(VolumeAttachment {
        name: "csi-1".into(),
        node: world.node().name,
        persistent_volume: Some("pv-1".into()),
    });
    delete_object(&world);
    live(&world, 60);
    assert!(has_instance(&world));
    let record = world.store.only_record();
    assert!(record.claim.is(ConditionType::Drained));
    assert!(!record.claim.is(ConditionType::VolumesDetached));
    world.cluster.attachments.borrow_mut().clear();
    live(&world, 10);
    assert!(world.store.records().is_empty());
}

#[test]
fn a_claim_whose_instance_is_gone_ends_at_once_when_its_node_is_not_ready() {
    let world = initialized_world();
    live(&world, 30);
    world.cloud.instances.borrow_mut().clear();
    live(&world, 60);
    assert_eq!(world.store.records().len(), 1, "its Node says that it is ready");
    world.cluster.change_node(|node| node.conditions[0].status = ConditionStatus::Unknown);
    live(&world, 5);
    assert!(world.store.records().is_empty());
    assert!(world.cluster.listing.borrow().objects.nodes.is_empty());
    assert!(world.cluster.evicted.borrow().is_empty(), "no kubelet is left to end pods");
}

#[test]
fn an_instance_that_died_early_says_why_and_its_offering_is_left_alone() {
    let world = launched_world();
    let instance = world.store.only_record().instance.unwrap();
    world.cloud.instances.borrow_mut().clear();
    let code = "Server.InsufficientInstanceCapacity";
    let end = InstanceEnd { code: code.into(), message: "no room".into() };
    world.cloud.ends.borrow_mut().insert(instance.id.clone(), end.clone());
    world.advance(91);
    let report = run_once(&world);
    assert_eq!(report.instance_ends.iter().map(|(_, end)| end).collect::<Vec<_>>(), [&end]);
    assert!(world.cluster.has_event(EventReason::InstanceTerminated));
    let unavailable = world.store.unavailable.borrow();
    assert_eq!(unavailable.len(), 1);
    assert_eq!((&*unavailable[0].code, &unavailable[0].zone), (code, &instance.zone));
}

#[test]
fn an_early_death_that_was_announced_first_says_why_all_the_same() {
    for state in [None, Some(InstanceState::ShuttingDown)] {
        let world = launched_world();
        let record = world.store.only_record();
        let instance = record.instance.clone().unwrap();
        let now = crate::ports::Clock::now(&world.clock);
        world.store.put(record.ended(now, EndReason::INTERRUPTED, Some(now)));
        match state {
            None => world.cloud.instances.borrow_mut().clear(),
            Some(state) => {
                for own in world.cloud.instances.borrow_mut().values_mut() {
                    own.state = state;
                }
            }
        }
        let code = "Server.InsufficientInstanceCapacity";
        let end = InstanceEnd { code: code.into(), message: "no room".into() };
        world.cloud.ends.borrow_mut().insert(instance.id.clone(), end);
        world.advance(5);
        assert_eq!(run_once(&world).instance_ends.len(), 1, "{state:?}");
        assert_eq!(&*world.store.unavailable.borrow()[0].code, code);
        world.advance(5);
        assert_eq!(run_once(&world).instance_ends, [], "it is asked for once: {state:?}");
    }
}

#[test]
fn an_instance_that_ec2_shuts_down_by_itself_is_no_reason_to_ask_again() {
    let world = initialized_world();
    delete_object(&world);
    for instance in world.cloud.instances.borrow_mut().values_mut() {
        instance.state = InstanceState::ShuttingDown;
    }
    world.cluster.change_node(|node| node.conditions[0].status = ConditionStatus::Unknown);
    world.advance(5);
    let _report = run_once(&world);
    assert!(world.store.only_record().claim.is(ConditionType::InstanceTerminating));
    live(&world, 10);
    assert!(world.store.records().is_empty());
}

#[test]
fn consolidation_waits_from_the_last_pod_that_came_or_went() {
    let world = initialized_world();
    let after = NeverOr::After(SignedDuration::from_secs(30));
    let pool = |listing: &mut crate::ports::ClusterListing| {
        listing.objects.node_pools[0].disruption.consolidate_after = after;
    };
    pool(&mut world.cluster.listing.borrow_mut());
    live(&world, 30);
    assert!(world.store.only_record().claim.is(ConditionType::Consolidatable));
    world.cluster.listing.borrow_mut().objects.pods.clear();
    live(&world, 25);
    assert!(!world.store.only_record().claim.is(ConditionType::Consolidatable));
    live(&world, 15);
    assert!(world.store.only_record().claim.is(ConditionType::Consolidatable));
}

#[test]
fn the_object_of_a_claim_that_is_gone_is_removed() {
    let world = World::new();
    let claim = record("gone").claim;
    let object = NodeClaimObject { mirror_of: Some(claim.uid.clone()), claim };
    world.cluster.listing.borrow_mut().node_claims.push(object);
    world.advance(90);
    assert!(run_once(&world).orphans.is_empty(), "EC2's list may lack its instance");
    world.advance(1);
    assert_eq!(run_once(&world).orphans, [Orphan::NodeClaim("gone".into())]);
    assert!(world.cluster.listing.borrow().node_claims.is_empty());
}

#[test]
fn a_node_claim_that_a_user_created_is_adopted_and_launched() {
    let world = World::new();
    let object = NodeClaimObject { claim: record("mine").claim, mirror_of: None };
    world.cluster.listing.borrow_mut().node_claims.push(object);
    assert_eq!(run_once(&world).changes[0].what, Change::Adopted);
    let _report = block_on(provision(&world, &world.run("provisioning"))).unwrap();
    assert!(world.store.only_record().instance.is_some());
    let listing = world.cluster.listing.borrow();
    assert_eq!(listing.node_claims.len(), 1, "it is its own mirror");
    assert!(listing.node_claims[0].claim.status.provider_id.is_some());
}

#[test]
fn an_instance_that_another_autoscaler_launched_is_taken_over_with_its_node_claim() {
    let world = World::new();
    let theirs = launched_record("theirs", at(0));
    let own = Instance { claim_uid: None, ..instance("i-theirs", &theirs, at(0)) };
    world.cloud.instances.borrow_mut().insert("token".into(), own);
    let object = NodeClaimObject { claim: theirs.claim, mirror_of: None };
    world.cluster.listing.borrow_mut().node_claims.push(object);
    world.advance(3600);
    let report = run_once(&world);
    assert_eq!(report.changes.last().unwrap().what, Change::Adopted);
    assert!(report.orphans.is_empty() && has_instance(&world));
    assert_eq!(&*world.store.only_record().instance.unwrap().id, "i-theirs");
}

#[test]
fn a_run_past_its_deadline_leaves_claims_to_the_next() {
    let world = launched_world();
    world.boot();
    let run = Run { deadline: domain::Timestamp::UNIX_EPOCH, ..world.run("lifecycle") };
    let report = block_on(advance(&world, &run)).unwrap().ran().unwrap();
    assert_eq!((report.left, report.changes.len()), (1, 0));
    assert_eq!(report.requeue_after, Some(SignedDuration::ZERO));
}

#[test]
fn a_node_that_is_not_ours_is_left_alone() {
    let world = initialized_world();
    world.cluster.change_node(|node| node.provider_id = Some("aws:///a/i-other".into()));
    let before = world.node();
    world.cluster.change_node(|node| node.labels.clear());
    let _report = run_once(&world);
    assert!(world.node().taints.iter().all(|taint| &*taint.key != DISRUPTED));
    assert_eq!(world.node().deleted, before.deleted);
}

/// A pod of Deployment `web`, which asks for rollouts, on a node that goes by choice.
fn rolling_world() -> World {
    let world = initialized_world();
    let record = world.store.records().remove(0);
    let reason = EndReason::Disrupted(DisruptionReason::Drifted);
    world.store.put(record.ended(at(0), reason, None));
    for pod in &mut world.cluster.listing.borrow_mut().objects.pods {
        let owner = Owner { kind: OwnerKind::ReplicaSet, name: "web-1".into(), uid: "r".into() };
        pod.owner = Some(owner);
        pod.created = Some(at(0));
    }
    let spec = RolloutSpec { evict_by: Some(EvictBy::Rollout), ..RolloutSpec::default() };
    let status =
        RolloutStatus { is_observed: true, replicas: 1, updated: 1, available: 1, is_stuck: false };
    let deployment = Deployment {
        key: domain::pod::ObjectKey::new("default", "web"),
        uid: "d".into(),
        resource_version: "1".into(),
        replicas: 1,
        spec,
        status,
    };
    world.cluster.deployments.borrow_mut().insert("web-1".into(), deployment);
    world
}

fn run_with_rollouts(world: &World) -> LifecycleReport {
    let mut settings = domain::settings::Settings::default();
    settings.feature_gates.rollout_eviction = true;
    let run = Run { settings: &settings, ..world.run("lifecycle") };
    block_on(advance(world, &run)).unwrap().ran().unwrap()
}

#[test]
fn a_pod_whose_deployment_asks_for_it_leaves_by_a_rollout_that_is_asked_for_once() {
    let world = rolling_world();
    let report = run_with_rollouts(&world);
    let started = |own: &ClaimChange| matches!(own.what, Change::RolloutStarted(_));
    assert_eq!(report.changes.iter().filter(|own| started(own)).count(), 1);
    let rolling = || {
        let record = world.store.records().remove(0);
        record.claim.annotations.get(PODS_ROLLING).cloned()
    };
    assert_eq!(rolling().as_deref(), Some("default/web-0"));
    let _report = run_with_rollouts(&world);
    assert!(world.cluster.evicted.borrow().is_empty());
    assert_eq!(world.cluster.restarts.get(), 1);
    // Its controller gives up.
    for own in world.cluster.deployments.borrow_mut().values_mut() {
        own.status = RolloutStatus { is_observed: true, updated: 0, is_stuck: true, ..own.status };
    }
    let report = run_with_rollouts(&world);
    let why = Change::RolloutNotPossible(
        domain::pod::ObjectKey::new("default", "web-0"),
        RolloutObstacle::DeadlinePassed,
    );
    assert!(report.changes.iter().any(|own| own.what == why), "{:?}", report.changes);
    assert!(world.cluster.has_event(EventReason::RolloutNotPossible));
    assert_eq!(*world.cluster.evicted.borrow(), ["web-0".into()]);
    assert_eq!(rolling().as_deref(), Some(""));
}

#[test]
fn no_deployment_is_read_while_the_gate_is_off_or_a_node_does_not_go_by_choice() {
    let world = rolling_world();
    let _report = run_once(&world);
    assert_eq!((world.cluster.restarts.get(), world.cluster.evicted.borrow().len()), (0, 1));
    let world = rolling_world();
    let mut record = world.store.records().remove(0);
    record.ending = None;
    world.store.put(record.ended(at(0), EndReason::Disrupted(DisruptionReason::Interrupted), None));
    world.advance(60 * 11);
    let _report = run_with_rollouts(&world);
    assert_eq!((world.cluster.restarts.get(), world.cluster.evicted.borrow().len()), (0, 1));
}
