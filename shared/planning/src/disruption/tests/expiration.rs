//! Graceful expiration: a node past its age limit is drifted, and goes by force at its last date.

use std::sync::Arc;

use domain::drift::DriftReason;
use domain::expiration::Expiration;
use domain::node_pool::NeverOr;
use domain::pdb::CountOrPercent;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::{SignedDuration, Timestamp};

use crate::disruption;
use crate::testing::{Cluster, NodeMaker, budget, cluster, disrupted_for, node, now, pdb, pod};

/// A node that was made a day ago and expires `hours` after it was made.
fn expiring(name: &str, hours: i64) -> NodeMaker {
    node(name).with_claim(|claim| claim.expire_after = after(hours))
}

fn after(hours: i64) -> NeverOr {
    NeverOr::After(SignedDuration::from_hours(hours))
}

/// A cluster whose nodes expire gracefully after `hours` and are not consolidated.
fn graceful(hours: i64, expire_by: Option<SignedDuration>) -> Cluster {
    cluster().default_pool(|pool| {
        Arc::make_mut(&mut pool.template).expire_after = after(hours);
        pool.disruption.consolidate_after = NeverOr::Never;
        pool.options.expiration = Expiration { is_graceful: true, spread_percent: 0, expire_by };
    })
}

/// How the first node of a cluster has drifted.
fn first_drift(world: &Cluster) -> Option<DriftReason> {
    disruption::drifted(&world.0).remove(&world.0.node_claims[0].name)
}

fn without_disruptions(world: Cluster) -> Cluster {
    world.default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))])
}

#[test]
fn a_node_past_its_age_limit_is_replaced_as_drifted() {
    let world = graceful(24, None).node(expiring("n1", 24)).pod(pod("a").cpu(3000).on("n1"));
    assert_eq!(first_drift(&world), Some(DriftReason::Expired));
    let disruption = world.disruption();
    assert_eq!(disruption.reason, DisruptionReason::Drifted);
    assert_eq!(disruption.replacements.len(), 1);
}

#[test]
fn a_node_within_its_age_limit_has_not_drifted() {
    let world = graceful(25, None).node(expiring("n1", 25)).pod(pod("a").on("n1"));
    assert!(disruption::drifted(&world.0).is_empty());
    assert!(world.plan().disruptions.is_empty());
}

#[test]
fn budgets_hold_a_node_past_its_age_limit_until_its_last_date() {
    let world = |hours| {
        without_disruptions(graceful(hours, Some(SignedDuration::from_hours(2))))
            .node(expiring("n1", hours))
            .pod(pod("a").cpu(3000).on("n1"))
    };
    for hours in [24, 23] {
        assert!(
            matches!(
                world(hours).blocked("n1"),
                NotDisruptable::Budget { reason: DisruptionReason::Drifted, allowed: 0, .. }
            ),
            "{hours}"
        );
    }
    assert_eq!(disrupted_for(&world(22).plan(), DisruptionReason::Expired), ["n1"]);
}

#[test]
fn a_pod_disruption_budget_holds_a_node_past_its_age_limit() {
    let world =
        graceful(24, None).node(expiring("n1", 24)).pod(pod("a").label("app", "a").on("n1"));
    let guarded = world.with(|snapshot| {
        snapshot.objects.pod_disruption_budgets = vec![pdb("guard", ("app", "a"), 0)];
    });
    assert!(matches!(guarded.blocked("n1"), NotDisruptable::Pdb { .. }));
}

#[test]
fn pods_still_go_to_a_node_past_its_age_limit() {
    let plan =
        without_disruptions(graceful(24, None)).node(expiring("n1", 24)).pod(pod("new")).plan();
    assert!(plan.node_claims.is_empty());
    assert_eq!(&*plan.placements[0].node, "n1");
}

#[test]
fn nodes_past_their_age_limit_are_counted_where_they_expire_gracefully() {
    let world = without_disruptions(graceful(24, None)).node(expiring("n1", 24)).node(node("n2"));
    assert_eq!(world.plan().figures.past_expiry, [("default".into(), 1)].into());
    assert!(cluster().node(node("n1")).plan().figures.past_expiry.is_empty());
}

/// When fifty nodes that were made within a minute reach their age limits.
fn limits(spread_percent: u8) -> Vec<Timestamp> {
    let expiration = Expiration { is_graceful: true, spread_percent, expire_by: None };
    let born = |index: i64| {
        let claim = testkit::node_claim(format!("default-{index:05}"))
            .uid(format!("9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a{index:02}"))
            .created(now() + SignedDuration::from_secs(index))
            .with(|claim| claim.expire_after = after(720))
            .build();
        expiration.due(&claim).unwrap()
    };
    let mut limits: Vec<Timestamp> = (0..50).map(born).collect();
    limits.sort();
    limits
}

#[test]
fn a_spread_tells_nodes_apart_that_were_made_in_one_minute() {
    let last = now() + SignedDuration::from_hours(720);
    let spread = limits(10);
    let range = spread[49].duration_since(spread[0]);
    assert!(range >= SignedDuration::from_hours(60), "{range}");
    assert!(spread[0] >= last - SignedDuration::from_hours(72));
    let within = |from, to| {
        let (from, to) =
            (last - SignedDuration::from_hours(from), last - SignedDuration::from_hours(to));
        spread.iter().filter(|own| (from..to).contains(own)).count()
    };
    for (from, to) in [(72, 48), (48, 24), (24, 0)] {
        assert!((8..=26).contains(&within(from, to)), "{}", within(from, to));
    }
    let together = limits(0);
    assert!(together[49].duration_since(together[0]) < SignedDuration::from_mins(1));
}
