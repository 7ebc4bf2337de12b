use std::collections::BTreeMap;

use domain::node_claim::ConditionType;
use pollster::block_on;

use super::*;
use crate::disruption::disrupt;
use crate::event::EventReason;
use crate::lifecycle::{LifecycleReport, advance};
use crate::ports::cluster::NodeClaimObject;
use crate::provisioning::{ProvisioningReport, provision};
use crate::record::controls::{INSTALLATION, MODE};
use crate::record::fuses::Fuse;
use crate::run::RunOutcome;
use crate::testing::world::World;
use crate::testing::{at, initialized_record, instance, node_of, pending_pod};

fn say(world: &World, key: &str, value: &str) {
    let mut controls = world.cluster.controls.borrow_mut();
    controls.as_mut().unwrap().data.insert(key.into(), value.into());
}

fn with_pods(count: usize) -> World {
    let world = World::new();
    world.cluster.add_pods((0..count).map(|index| pending_pod(&format!("web-{index}"))));
    world
}

fn provisioned(world: &World) -> RunOutcome<ProvisioningReport> {
    block_on(provision(world, &world.run("provisioning"))).unwrap()
}

#[track_caller]
fn stopped(world: &World) -> Stopped {
    let outcome = provisioned(world);
    assert!(world.store.records().is_empty(), "something was launched");
    let RunOutcome::Stopped(why) = outcome else { panic!("it ran: {outcome:?}") };
    let lifecycle = block_on(advance(world, &world.run("lifecycle"))).unwrap();
    assert_eq!(lifecycle, RunOutcome::Stopped(why.clone()));
    let disruption = block_on(disrupt(world, &world.run("disruption"))).unwrap();
    assert_eq!(disruption, RunOutcome::Stopped(why.clone()));
    why
}

#[test]
fn the_first_run_marks_the_cluster_and_later_ones_find_the_mark() {
    let world = with_pods(1);
    assert!(provisioned(&world).ran().is_some());
    let owner = world.cluster.controls.borrow().as_ref().unwrap().data["installation"].clone();
    assert_eq!(owner, world.safeguards.installation);
    assert!(provisioned(&world).ran().is_some());
}

#[test]
fn nothing_happens_in_a_cluster_of_another_installation() {
    let world = with_pods(1);
    say(&world, INSTALLATION, "theirs");
    assert_eq!(stopped(&world), Stopped::OwnedByAnother { owner: "theirs".into() });
}

#[test]
fn nothing_happens_while_karpenter_runs() {
    let world = with_pods(1);
    world.advance(3600);
    world.cluster.karpenter_renewed.set(Some(at(3550)));
    assert_eq!(stopped(&world), Stopped::KarpenterRuns { renewed: at(3550) });
    let is_marked =
        world.cluster.controls.borrow().as_ref().unwrap().data.contains_key(INSTALLATION);
    assert!(!is_marked, "it is Karpenter's cluster");
    world.cluster.karpenter_renewed.set(Some(at(3500)));
    assert!(provisioned(&world).ran().is_some(), "it has stopped");
}

#[test]
fn a_pause_in_the_config_map_or_in_the_table_stops_every_function() {
    let world = with_pods(1);
    say(&world, MODE, "paused");
    assert!(stopped(&world).is_wanted());
    say(&world, MODE, "active");
    *world.store.controls.borrow_mut() = BTreeMap::from([(MODE.into(), "paused".into())]);
    assert_eq!(stopped(&world), Stopped::Paused(Mode::Paused));
    world.store.controls.borrow_mut().clear();
    assert!(provisioned(&world).ran().is_some());
}

#[test]
fn what_cannot_be_read_stops_as_well_and_names_the_key() {
    let world = with_pods(1);
    say(&world, MODE, "paussed");
    assert!(matches!(stopped(&world), Stopped::Unreadable { error, .. } if error.key == MODE));
    *world.cluster.controls.borrow_mut() = None;
    assert_eq!(stopped(&world), Stopped::NoConfigMap);
}

#[test]
fn observing_stores_the_plan_and_changes_nothing() {
    let world = with_pods(1);
    say(&world, MODE, "observe");
    say(&world, INSTALLATION, "theirs");
    world.cluster.karpenter_renewed.set(Some(at(0)));
    let report = provisioned(&world).ran().unwrap();
    assert_eq!(report.plan.node_claims.len(), 1);
    assert!(world.store.records().is_empty() && world.cloud.instances.borrow().is_empty());
    assert!(world.cluster.listing.borrow().node_claims.is_empty());
    let _report = block_on(advance(&world, &world.run("lifecycle"))).unwrap();
    let _report = block_on(disrupt(&world, &world.run("disruption"))).unwrap();
    let observations = world.store.observations.borrow();
    assert_eq!(observations.len(), 2, "one of each function that plans");
    assert_eq!(observations[0].launches.len(), 1);
    let events = world.cluster.events.borrow();
    assert!(!events.is_empty());
    assert!(events.iter().all(|event| event.message.starts_with("observing only: ")));
}

#[test]
fn a_node_pool_that_is_only_observed_launches_nothing() {
    let world = with_pods(1);
    world.cluster.listing.borrow_mut().objects.node_pools[0]
        .annotations
        .insert(domain::label::MODE.into(), "observe".into());
    let _report = provisioned(&world);
    assert_eq!(world.store.observations.borrow()[0].launches.len(), 1);
    assert!(world.store.records().is_empty());
}

#[test]
fn while_only_interruptions_are_handled_a_node_that_a_user_deleted_stays() {
    let world = with_pods(1);
    let _report = provisioned(&world);
    world.boot();
    let live = |world: &World| -> LifecycleReport {
        world.advance(5);
        block_on(advance(world, &world.run("lifecycle"))).unwrap().ran().unwrap()
    };
    let _reports = (live(&world), live(&world), live(&world));
    assert!(world.store.only_record().claim.is(ConditionType::Initialized));
    say(&world, MODE, "paused-except-interruptions");
    let now = world.clock.now();
    world.cluster.listing.borrow_mut().node_claims[0].claim.deleted = Some(now);
    assert!(live(&world).changes.is_empty());
    assert_eq!(world.store.only_record().ending, None);
    say(&world, MODE, "active");
    assert!(!live(&world).changes.is_empty());
}

#[test]
fn a_fuse_holds_launches_back_until_the_next_tick_and_says_so() {
    let mut world = World::new();
    world.safeguards.fuses.launches_per_tick = 1;
    world.cluster.add_pods([pending_pod("web-0")]);
    assert_eq!(provisioned(&world).ran().unwrap().held_back, None);
    // Its claim is given up, and its pod is planned for again.
    world.store.delete(world.store.only_record().name());
    let held = provisioned(&world).ran().unwrap().held_back.unwrap();
    assert_eq!((held.count, held.fuse), (1, Fuse::LaunchesPerTick(1)));
    assert!(world.cluster.has_event(EventReason::HeldBackByFuse));
    assert!(world.store.records().is_empty());
    world.advance(60);
    assert_eq!(provisioned(&world).ran().unwrap().held_back, None);
    assert_eq!(world.store.records().len(), 1);
}

#[test]
fn a_fuse_holds_drains_back_and_what_it_lets_through_goes_on() {
    let world = World::new();
    let now = world.clock.now();
    for index in 0..7 {
        let record = initialized_record(&format!("web-{index}"), now);
        let mut object = record.claim.clone();
        object.deleted = Some(now);
        let object = NodeClaimObject { claim: object, mirror_of: Some(record.claim.uid.clone()) };
        let mut instance = instance(&format!("i-web-{index}"), &record, now);
        instance.claim = Some(record.name().clone());
        world.cloud.instances.borrow_mut().insert(record.name().clone(), instance);
        let mut listing = world.cluster.listing.borrow_mut();
        listing.objects.nodes.push(node_of(&record));
        listing.node_claims.push(object);
        drop(listing);
        world.store.put(record);
    }
    let run = || block_on(advance(&world, &world.run("lifecycle"))).unwrap().ran().unwrap();
    let held = run().held_back.unwrap();
    assert_eq!((held.count, held.fuse), (2, Fuse::TerminationsPerTick(20)));
    let stay = || world.cluster.listing.borrow().objects.nodes.len();
    assert_eq!(stay(), 2);
    world.advance(60);
    assert_eq!(run().held_back, None);
    assert_eq!(stay(), 0);
}
