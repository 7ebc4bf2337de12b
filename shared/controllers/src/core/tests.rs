//! The real planner and checker behind the controllers: the snapshot that the controllers build
//! tells them all they need of claims and nodes.

use domain::reason::DisruptionReason;
use pollster::block_on;

use super::*;
use crate::disruption::{CommandEvent, DisruptionReport, disrupt};
use crate::lifecycle::advance;
use crate::provisioning::{ProvisioningReport, provision};
use crate::record::claim::{ClaimPhase, EndReason};
use crate::run::Run;
use crate::testing::world::World;
use crate::testing::{pending_pod, pod_on};

fn run<'a>(world: &'a World, id: &'a str) -> Run<'a> {
    Run { core: Core::standard(), ..world.run(id) }
}

fn provisioned(world: &World, id: &str) -> ProvisioningReport {
    let report = block_on(provision(world, &run(world, id))).unwrap().ran().unwrap();
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    report
}

fn disrupted(world: &World, id: &str) -> DisruptionReport {
    let report = block_on(disrupt(world, &run(world, id))).unwrap().ran().unwrap();
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    report
}

fn live(world: &World, seconds: i64) {
    for _ in 0..seconds / 5 {
        world.advance(5);
        let _report = block_on(advance(world, &run(world, "lifecycle"))).unwrap();
        world.finish_deletions();
    }
}

/// A world whose pods all have a node.
fn settled_world() -> World {
    let world = World::new();
    world.cluster.add_pods([pending_pod("web-0"), pending_pod("web-1")]);
    let report = provisioned(&world, "run-1");
    assert_eq!(report.plan.node_claims.len(), 1);
    world.boot();
    live(&world, 15);
    let node = world.node();
    let bound = ["web-0", "web-1"].map(|name| pod_on(name, &node));
    world.cluster.listing.borrow_mut().objects.pods = bound.into();
    live(&world, 60);
    assert_eq!(world.store.only_record().phase(), ClaimPhase::Initialized);
    world
}

#[test]
fn pods_that_wait_for_a_claim_in_flight_are_placed_on_it() {
    let world = World::new();
    world.cluster.add_pods([pending_pod("web-0")]);
    let _report = provisioned(&world, "run-1");
    world.advance(10);
    let again = provisioned(&world, "run-2");
    let claim = world.store.only_record().claim.name;
    assert_eq!(again.plan.placements[0].node, claim);
    assert!(again.plan.node_claims.is_empty());
}

#[test]
fn a_node_that_its_pods_left_is_removed_and_one_in_use_stays() {
    let world = settled_world();
    assert!(disrupted(&world, "run-2").changes.is_empty());
    world.cluster.listing.borrow_mut().objects.pods.clear();
    live(&world, 5);
    let proposed = disrupted(&world, "run-3");
    assert_eq!(proposed.changes[0].what, CommandEvent::Proposed);
    assert_eq!(proposed.changes[0].reason, DisruptionReason::Empty);
    live(&world, 15);
    let ended = disrupted(&world, "run-4");
    assert_eq!(ended.changes.last().unwrap().what, CommandEvent::Ended);
    let ending = world.store.only_record().ending.unwrap();
    assert_eq!(ending.reason, EndReason::Disrupted(DisruptionReason::Empty));
    live(&world, 20);
    assert!(world.store.records().is_empty());
}

#[test]
fn pods_of_an_ending_node_get_another_before_they_are_evicted() {
    let world = settled_world();
    let record = world.store.only_record();
    let reason = EndReason::Disrupted(DisruptionReason::Interrupted);
    let now = crate::ports::Clock::now(&world.clock);
    world.store.put(record.ended(now, reason, None));
    let report = provisioned(&world, "run-2");
    assert_eq!(report.plan.node_claims.len(), 1);
    assert_eq!(report.plan.node_claims[0].pods.len(), 2);
    world.advance(1);
    assert!(provisioned(&world, "run-3").plan.node_claims.is_empty(), "once is enough");
}
