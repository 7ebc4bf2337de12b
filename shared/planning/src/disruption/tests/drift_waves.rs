//! Drift in waves that halt (`outrigger.dev/drift-waves`).

use domain::drift::DriftReason;
use domain::drift_waves::{DriftFailure, DriftFailures, DriftHalt, DriftWaves};
use domain::expiration::Expiration;
use domain::node::NodeCondition;
use domain::node_claim::{ConditionStatus, ConditionType};
use domain::node_pool::NeverOr;
use domain::pdb::CountOrPercent;
use domain::reason::{DisruptionReason, NotDisruptable};

use crate::testing::{Cluster, NodeMaker, cluster, disrupted_for, minutes_ago, node, now, pod};

fn waves() -> DriftWaves {
    DriftWaves {
        sizes: vec![CountOrPercent::Count(1), CountOrPercent::Percent(50)],
        halt_after: Some(2),
        ..DriftWaves::default()
    }
}

fn of_image(name: &str, image: &str) -> NodeMaker {
    let image = image.into();
    node(name).with_claim(|claim| claim.status.image_id = Some(image))
}

fn old(name: &str) -> NodeMaker {
    of_image(name, "ami-old")
}

/// Of the new image, and initialized so many minutes ago.
fn new(name: &str, minutes: i64) -> NodeMaker {
    of_image(name, "ami-new").with_claim(|claim| {
        let own = claim.status.conditions.iter_mut();
        own.filter(|own| own.kind == ConditionType::Initialized)
            .for_each(|own| own.changed = Some(minutes_ago(minutes)));
    })
}

/// A class of the new image, and a pool without budgets that drifts in waves.
fn drifting(waves: DriftWaves) -> Cluster {
    let mut class = testkit::node_class("default");
    class.status.amis = vec![testkit::ami("ami-new")];
    cluster()
        .default_pool(|pool| {
            pool.disruption.budgets = Vec::new();
            // Nothing but drift takes a node.
            pool.disruption.consolidate_after = NeverOr::Never;
            pool.options.drift_waves = Some(waves);
        })
        .with(|snapshot| snapshot.objects.node_classes.push(class))
}

fn drifted(world: &Cluster) -> Vec<String> {
    let plan = world.plan();
    disrupted_for(&plan, DisruptionReason::Drifted).iter().map(ToString::to_string).collect()
}

#[test]
fn as_many_empty_nodes_drift_as_the_wave_allows() {
    let world = drifting(waves()).node(old("n1")).node(old("n2")).node(old("n3")).node(old("n4"));
    assert_eq!(drifted(&world), ["n1"]);
    let NotDisruptable::DriftWave { drift, wave } = world.blocked("n2") else {
        panic!("{:?}", world.blocked("n2"))
    };
    assert_eq!((drift, wave.number, wave.of, wave.size), (DriftReason::AmiDrift, 1, 3, 1));
    let second = world.node(new("n0", 10));
    assert_eq!(drifted(&second), ["n1", "n2"], "half of five nodes is three");
}

#[test]
fn the_next_wave_waits_until_the_last_has_soaked() {
    let world =
        |of: NodeMaker| drifting(waves()).node(of).node(old("n1")).pod(pod("a").cpu(3000).on("n1"));
    assert_eq!(drifted(&world(new("n0", 10))), ["n1"]);
    let waits = world(new("n0", 9));
    assert!(drifted(&waits).is_empty());
    let reason = waits.blocked("n1").to_string();
    assert_eq!(
        reason,
        "it has drifted (AMIDrift): wave 1 of 2 ends at 1 of 2 nodes, 0 are replaced and have been \
         ready for 10m, 1 have not yet (outrigger.dev/drift-waves)"
    );
    let went_away = world(new("n0", 60).with(|node| {
        node.conditions = vec![NodeCondition {
            kind: "Ready".into(),
            status: ConditionStatus::True,
            changed: Some(minutes_ago(5)),
        }];
    }));
    assert!(drifted(&went_away).is_empty(), "it was not ready five minutes ago");
    let in_flight = drifting(waves()).node(old("n1")).pod(pod("a").cpu(3000).on("n1"));
    assert!(drifted(&in_flight.in_flight(new("n0", 60))).is_empty());
}

#[test]
fn a_node_that_failed_is_none_of_the_wave() {
    let failure = DriftFailure { claim: "claim-n0".into(), created: now(), is_settled: false };
    let failures = DriftFailures { target: "".into(), claims: vec![failure] };
    let own = DriftWaves { failures, ..waves() };
    let world = drifting(own).node(old("n1")).pod(pod("a").cpu(3000).on("n1"));
    assert_eq!(drifted(&world.in_flight(new("n0", 60))), ["n1"]);
}

#[test]
fn nothing_drifts_while_that_is_halted_but_what_has_expired() {
    let halt = DriftHalt { target: None, cause: "image ami-new: claim-x did not join".into() };
    let world = drifting(DriftWaves { halted: Some(halt), ..waves() })
        .default_pool(|pool| {
            pool.options.expiration = Expiration { is_graceful: true, ..Expiration::default() };
        })
        .node(old("n1"));
    assert_eq!(
        world.blocked("n1").to_string(),
        "it has drifted (AMIDrift), and drift of NodePool default is halted: image ami-new: \
         claim-x did not join (outrigger.dev/drift-halted)"
    );
    let figures = world.plan().figures.drift["default"];
    assert!(figures.is_halted && figures.wave == 1, "{figures:?}");
    let aged = world.node(new("n2", 60).with_claim(|claim| {
        claim.created = Some(minutes_ago(721 * 60));
    }));
    assert_eq!(drifted(&aged), ["n2"]);
}

#[test]
fn a_node_does_not_go_for_a_cheaper_one_of_what_drift_is_halted_for() {
    let world = |halted: Option<DriftHalt>| {
        drifting(DriftWaves { halted, ..waves() })
            .default_pool(|pool| pool.disruption.consolidate_after = NeverOr::default())
            .node(old("n1").of_type("m.2xlarge"))
            .pod(pod("a").cpu(500).on("n1"))
    };
    let goes = world(None).plan().disruptions;
    assert!(!goes.is_empty());
    let halt = DriftHalt { target: None, cause: "ami-new does not join".into() };
    let halted = world(Some(halt));
    assert!(matches!(halted.blocked("n1"), NotDisruptable::DriftHalted { .. }));
}

#[test]
fn a_halt_for_one_image_does_not_hold_another() {
    let halt = DriftHalt { target: Some("0123456789abcdef".into()), cause: "ami-bad".into() };
    let world = drifting(DriftWaves { halted: Some(halt), ..waves() }).node(old("n1"));
    assert_eq!(drifted(&world), ["n1"]);
}

#[test]
fn nodes_of_a_static_pool_drift_in_waves_too() {
    let world = drifting(waves())
        .default_pool(|pool| pool.replicas = Some(3))
        .with(|snapshot| snapshot.settings.feature_gates.static_capacity = true)
        .node(old("n1"))
        .node(old("n2"))
        .node(old("n3"));
    assert_eq!(drifted(&world), ["n1"]);
}
