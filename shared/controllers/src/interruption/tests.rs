use pollster::block_on;

use super::*;
use crate::testing::world::World;
use crate::testing::{at, initialized_record};

fn world_with_a_node() -> World {
    let world = World::new();
    world.store.put(initialized_record("web-1", at(0)));
    world.advance(100);
    world
}

fn notice(kind: NoticeKind) -> Notice {
    Notice { instance_id: "i-web-1".into(), at: at(95), kind }
}

#[track_caller]
fn handled(world: &World, notice: &Notice) -> NoticeOutcome {
    let report = block_on(handle(world, notice)).unwrap();
    assert_eq!(report.problems, Problems::default());
    report.outcome
}

#[test]
fn a_spot_interruption_ends_the_claim_within_the_notice_and_avoids_its_offering() {
    let world = world_with_a_node();
    let outcome = handled(&world, &notice(NoticeKind::SpotInterruption));
    let deadline = Some(at(95 + 120));
    assert_eq!(outcome, NoticeOutcome::Ending { claim: "web-1".into(), deadline });
    let record = world.store.only_record();
    assert!(record.claim.annotations.contains_key(domain::label::TERMINATION_TIMESTAMP));
    let avoided = world.store.unavailable.borrow()[0].clone();
    assert_eq!((&*avoided.instance_type, &*avoided.zone), ("m5.large", "a"));
    assert!(world.cluster.has_event(EventReason::SpotInterrupted));
}

#[test]
fn a_notice_that_comes_twice_or_late_changes_nothing_more() {
    let world = world_with_a_node();
    let _outcome = handled(&world, &notice(NoticeKind::SpotInterruption));
    let before = world.store.only_record();
    world.advance(30);
    let _outcome = handled(&world, &notice(NoticeKind::SpotInterruption));
    let _outcome = handled(&world, &notice(NoticeKind::Terminated));
    assert_eq!(world.store.only_record(), before);
}

#[test]
fn a_later_notice_may_bring_the_deadline_forward() {
    let world = world_with_a_node();
    let outcome = handled(&world, &notice(NoticeKind::ScheduledChange));
    assert_eq!(outcome, NoticeOutcome::Ending { claim: "web-1".into(), deadline: None });
    let _outcome = handled(&world, &notice(NoticeKind::SpotInterruption));
    let ending = world.store.only_record().ending.unwrap();
    assert_eq!((ending.since, ending.deadline), (at(100), Some(at(215))));
}

#[test]
fn a_rebalance_recommendation_is_only_told() {
    let world = world_with_a_node();
    let outcome = handled(&world, &notice(NoticeKind::RebalanceRecommendation));
    assert_eq!(outcome, NoticeOutcome::Noted { claim: "web-1".into() });
    assert!(world.store.only_record().ending.is_none());
    assert!(world.cluster.has_event(EventReason::SpotRebalanceRecommendation));
}

#[test]
fn an_instance_of_somebody_else_is_none_of_our_business() {
    let world = world_with_a_node();
    let stranger = Notice { instance_id: "i-other".into(), ..notice(NoticeKind::SpotInterruption) };
    assert_eq!(handled(&world, &stranger), NoticeOutcome::NotOurs);
    assert!(world.cluster.events.borrow().is_empty());
}
