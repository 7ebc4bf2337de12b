use std::sync::Arc;

use controllers::record::claim::Ending;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_pool::NeverOr;

use super::*;
use crate::ec2::{InstanceState, Supply};
use crate::testing::{fleet_request, instance_types, start};
use crate::world::WorldOptions;

const POOL: &str = "default";

/// A NodePool with the default budget: of up to ten nodes, one at a time.
fn node_pool() -> NodePool {
    testkit::node_pool(POOL).build()
}

fn launch_of(claim: &str) -> LaunchRequest {
    LaunchRequest {
        token: claim.into(),
        claim: claim.into(),
        node_pool: POOL.into(),
        node_class: "default".into(),
        ..LaunchRequest::default()
    }
}

/// Launches an instance; returns it as controllers know it.
fn launched(world: &mut World, claim: &str) -> controllers::ports::Instance {
    let request = fleet_request(claim, CapacityType::OnDemand);
    let id = world.launch(&request).unwrap().instance.unwrap();
    controllers::ports::Instance {
        provider_id: format!("aws:///a/{id}").into(),
        id,
        instance_type: "m5.large".into(),
        zone: "a".into(),
        capacity_type: CapacityType::OnDemand,
        reservation_id: None,
        price: None,
        image_id: "ami-1".into(),
        launched: world.now,
        state: controllers::ports::InstanceState::Running,
        claim: Some(claim.into()),
        claim_uid: Some(claim.into()),
        installation: None,
        node_pool: Some(POOL.into()),
    }
}

/// A node that consolidation drains. Returns its instance's id.
fn going(world: &mut World, claim: &str) -> Text {
    let instance = launched(world, claim);
    let id = instance.id.clone();
    let record = ClaimRecord {
        claim: testkit::node_claim(claim)
            .uid(claim)
            .created(world.now)
            .node_pool(POOL)
            .with(|claim| claim.expire_after = NeverOr::default())
            .build(),
        launch: Arc::new(launch_of(claim)),
        launch_failures: 0,
        launch_not_before: None,
        instance: Some(instance),
        pods: Vec::new(),
        replaces: None,
        pods_fingerprint: None,
        ending: Some(Ending {
            since: world.now,
            reason: EndReason::Disrupted(DisruptionReason::Underutilized),
            deadline: None,
        }),
    };
    world.store.claims.create(claim.into(), record).unwrap();
    id
}

/// How many nodes were found to go at once, where that were too many.
fn too_many(world: &mut World) -> Option<u32> {
    world.check_budget(&POOL.into(), DisruptionReason::Underutilized);
    match world.violations.pop()?.violation {
        Violation::BudgetExceeded { disrupting, .. } => Some(disrupting),
        other => panic!("{other}"),
    }
}

#[test]
fn a_node_whose_instance_has_ended_counts_against_no_budget_even_if_that_was_not_written_down() {
    let mut world = World::new(WorldOptions::new(1, start()), Supply::Fixed(instance_types()));
    world.apply(node_pool());
    let first = going(&mut world, "default-a");
    assert_eq!(too_many(&mut world), None);
    going(&mut world, "default-b");
    assert_eq!(too_many(&mut world), Some(2));
    assert!(world.ec2.set_state(&first, InstanceState::ShuttingDown));
    assert_eq!(too_many(&mut world), None);
}

/// The violations after two launches with one token, for these claims.
fn launched_with_one_token(claims: [&str; 2]) -> Vec<Violation> {
    let mut world = World::new(WorldOptions::new(1, start()), Supply::Fixed(instance_types()));
    for claim in claims {
        let mut request = fleet_request("uid-1", CapacityType::OnDemand);
        request.tags = Labels::from([(CLAIM_TAG.into(), claim.into())]);
        // With another claim's tags EC2 refuses it; that it was asked for is a violation already.
        let _answer = world.launch(&request);
    }
    world.violations.into_iter().map(|own| own.violation).collect()
}

#[test]
fn a_client_token_that_is_used_for_two_claims_is_a_violation_and_a_retry_is_none() {
    assert_eq!(launched_with_one_token(["default-a", "default-a"]), []);
    let expected = Violation::TokenReused {
        token: "uid-1".into(),
        first: "default-a".into(),
        second: "default-b".into(),
    };
    assert_eq!(launched_with_one_token(["default-a", "default-b"]), [expected]);
}

#[test]
fn a_claim_that_ends_as_if_its_instance_were_gone_is_a_violation_while_that_lives() {
    let mut world = World::new(WorldOptions::new(1, start()), Supply::Fixed(instance_types()));
    let instance = going(&mut world, "default-a");
    let ending = world.store.claims.get("default-a").unwrap().record.clone();
    let before = ClaimRecord { ending: None, ..ending.clone() };
    let gone = ending.ending.map(|own| Ending { reason: EndReason::InstanceGone, ..own });
    let after = ClaimRecord { ending: gone, ..before.clone() };
    world.note_claim_changed(&before, &after);
    let found: Vec<Violation> = world.violations.drain(..).map(|own| own.violation).collect();
    let claim: Text = "default-a".into();
    let expected = Violation::LiveInstanceGivenUp { claim, instance: instance.clone() };
    assert_eq!(found, [expected]);
    assert!(world.ec2.set_state(&instance, InstanceState::ShuttingDown));
    world.note_claim_changed(&before, &after);
    assert!(world.violations.is_empty());
}
