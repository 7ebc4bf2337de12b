use super::*;
use crate::ports::Cluster as _;
use crate::record::claim::EndReason;
use crate::run::{Problems, RunOutcome};
use crate::testing::world::World;
use crate::testing::{at, initialized_record, node_of, record};
use domain::{SignedDuration, Text};
use pollster::block_on;

fn hand_back_once(world: &World) -> HandBackReport {
    block_on(hand_back(world, &world.run("run"))).unwrap().ran().unwrap()
}

/// A world with a node whose claim is initialized and mirrored.
fn world() -> World {
    let world = World::new();
    let record = initialized_record("web-1", at(0));
    let mut node = node_of(&record);
    node.taints.clear();
    node.name = "node-web-1".into();
    world.cluster.listing.borrow_mut().objects.nodes.push(node);
    world
        .cloud
        .instances
        .borrow_mut()
        .insert(record.launch.token.clone(), record.instance.clone().unwrap());
    block_on(world.cluster.mirror_node_claim(&record.claim)).unwrap();
    world.store.put(record);
    world
}

#[test]
fn a_node_that_is_handed_back_keeps_its_node_claim_and_its_instance() {
    let world = world();
    let report = hand_back_once(&world);
    assert_eq!(report.handed_back, ["web-1".into()] as [Text; 1]);
    assert!(report.is_complete() && report.problems == Problems::default());
    assert!(world.store.records().is_empty());
    let listing = world.cluster.listing.borrow();
    assert_eq!(listing.node_claims.len(), 1);
    assert_eq!(listing.node_claims[0].mirror_of, None, "it mirrors no claim any more");
    assert!(
        listing.objects.nodes[0].deleted.is_none() && listing.objects.nodes[0].taints.is_empty()
    );
    assert_eq!(world.cloud.instances.borrow().len(), 1);
}

#[test]
fn no_function_does_anything_in_a_cluster_that_was_handed_back() {
    let world = world();
    let _report = hand_back_once(&world);
    world.advance(3600);
    let run = world.run("lifecycle");
    let RunOutcome::Held(lease) = block_on(crate::lifecycle::advance(&world, &run)).unwrap() else {
        unreachable!("lifecycle ran")
    };
    assert!(is_of_hand_back(&lease));
    let provisioned = block_on(crate::provisioning::provision(&world, &run)).unwrap();
    assert!(matches!(provisioned, RunOutcome::Held(lease) if is_of_hand_back(&lease)));
    let disrupted = block_on(crate::disruption::disrupt(&world, &run)).unwrap();
    assert!(matches!(disrupted, RunOutcome::Held(lease) if is_of_hand_back(&lease)));
    assert!(block_on(is_handed_back(&world)).unwrap() && world.store.records().is_empty());
}

#[test]
fn what_was_handed_back_can_be_taken_over_again() {
    let world = world();
    let _report = hand_back_once(&world);
    world.advance(60);
    assert!(block_on(take_back(&world)).unwrap());
    assert!(!block_on(is_handed_back(&world)).unwrap());
    let _report = block_on(crate::lifecycle::advance(&world, &world.run("next"))).unwrap();
    let record = world.store.only_record();
    assert_eq!(record.phase(), crate::record::claim::ClaimPhase::Initialized);
    assert!(record.ending.is_none() && record.instance.is_some());
    assert!(!block_on(take_back(&world)).unwrap(), "it is managed already");
}

#[test]
fn a_call_that_died_before_the_record_was_gone_is_finished_by_the_next() {
    let world = world();
    let record = world.store.only_record();
    let _report = hand_back_once(&world);
    world.store.put(record);
    let report = hand_back_once(&world);
    assert!(report.is_complete() && report.problems == Problems::default(), "{report:?}");
    assert!(world.store.records().is_empty());
    assert_eq!(world.cloud.instances.borrow().len(), 1);
    assert_eq!(world.cluster.listing.borrow().node_claims[0].mirror_of, None);
}

#[test]
fn a_claim_that_ends_is_ended_before_the_rest_is_complete() {
    let world = world();
    let record = world.store.only_record();
    world.store.put(record.ended(at(0), EndReason::NodeDeleted, None));
    let report = hand_back_once(&world);
    assert!(report.left.iter().any(|left| left.why.contains("NodeDeleted")), "{report:?}");
    for _ in 0..10 {
        world.clock.0.set(world.clock.0.get() + SignedDuration::from_secs(10));
        world.finish_deletions();
        if hand_back_once(&world).is_complete() {
            assert!(world.store.records().is_empty());
            assert!(world.cloud.instances.borrow().is_empty());
            return;
        }
    }
    unreachable!("it does not end");
}

#[test]
fn a_claim_without_an_instance_is_left_and_says_why() {
    let world = world();
    let mut waiting = record("web-2");
    waiting.claim.created = Some(world.clock.0.get());
    world.store.put(waiting);
    let report = hand_back_once(&world);
    assert_eq!(report.handed_back, ["web-1".into()] as [Text; 1]);
    let left: Vec<_> = report.left.iter().map(|left| (&*left.claim, &*left.why)).collect();
    assert!(matches!(left.as_slice(), [("web-2", why)] if why.contains("no instance")), "{left:?}");
}

#[test]
fn a_lease_that_another_run_will_not_give_back_is_waited_for_and_then_reported() {
    let world = world();
    let now = world.clock.0.get();
    let term = SignedDuration::from_hours(1);
    let store = &world.store;
    block_on(store.acquire_lease(FunctionName::Provisioning, "other", now, term)).unwrap();
    let outcome = block_on(hand_back(&world, &world.run("run"))).unwrap();
    assert!(matches!(outcome, RunOutcome::Held(lease) if &*lease.holder == "other"));
    assert!(!block_on(is_handed_back(&world)).unwrap(), "nothing has changed");
    assert!(block_on(store.lease(FunctionName::Disruption)).unwrap().is_none());
    assert_eq!(world.store.records().len(), 1);
}
