//! What holds the pods of nodes that are being drained.

use domain::SignedDuration;
use domain::drain::{Drain, DrainHold, drains};
use domain::label;
use domain::money::UsdPerHour;
use domain::node_claim::{Condition, ConditionStatus, ConditionType};
use domain::pdb::PdbRefusal;
use domain::plan::StuckDrains;
use domain::pod::{DoNotDisrupt, OwnerKind};

use crate::testing::{Cluster, NodeMaker, cluster, minutes_ago, node, now, pdb, pod};

/// A node that has been drained for so many minutes.
fn draining(name: &str, minutes: i64) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.deleted = Some(minutes_ago(minutes));
        let condition = testkit::condition(ConditionType::Drained);
        let changed = Some(minutes_ago(minutes));
        let status = ConditionStatus::Unknown;
        claim.status.conditions.push(Condition { status, changed, ..condition });
    })
}

fn drain_of(world: &Cluster) -> Drain {
    let mut all = drains(&world.0);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn hold(drain: &Drain, pod: &str) -> DrainHold {
    let held = drain.holds.iter().find(|(key, _)| &*key.name == pod);
    held.unwrap_or_else(|| panic!("{drain:?} names {pod}")).1.clone()
}

#[test]
fn each_pod_of_a_drain_has_what_holds_it() {
    let world = cluster()
        .node(draining("n", 30))
        .node(node("other"))
        .pod(pod("free").on("n"))
        .pod(pod("guarded").label("app", "db").on("n"))
        .pdb(pdb("none", ("app", "db"), 0))
        .pod(pod("job").on("n").having(|own| own.do_not_disrupt = Some(DoNotDisrupt::Always)))
        .pod(pod("hour").on("n").having(|own| {
            own.do_not_disrupt = Some(DoNotDisrupt::For(SignedDuration::from_hours(1)));
            own.started = Some(minutes_ago(20));
        }))
        .pod(pod("ending").on("n").having(|own| own.deleted = Some(minutes_ago(-2))))
        .pod(pod("agent").on("n").owned_by(OwnerKind::DaemonSet))
        .pod(pod("elsewhere").on("other"));
    let drain = drain_of(&world);
    assert_eq!(drain.lasted(now()), Some(SignedDuration::from_mins(30)));
    assert!(drain.is_stuck(now()));
    assert_eq!(hold(&drain, "free"), DrainHold::Room);
    assert_eq!(hold(&drain, "job"), DrainHold::DoNotDisrupt { until: None });
    assert_eq!(hold(&drain, "hour"), DrainHold::DoNotDisrupt { until: Some(minutes_ago(-40)) });
    assert_eq!(hold(&drain, "ending"), DrainHold::Terminating { until: minutes_ago(-2) });
    assert_eq!(hold(&drain, "agent"), DrainHold::InTurn, "DaemonSets go last");
    let DrainHold::PodDisruptionBudget { budget, refusal, .. } = hold(&drain, "guarded") else {
        panic!("{drain:?}")
    };
    assert!(budget.ends_with("/none"), "{budget}");
    assert!(matches!(refusal, PdbRefusal::NoneAllowed { .. }), "{refusal:?}");
    assert_eq!(drain.holds.len(), 6);
}

#[test]
fn pods_that_a_rollout_ends_are_told_apart() {
    let world = cluster()
        .node(draining("n", 1).with_claim(|claim| {
            claim.annotations.insert(label::PODS_ROLLING.into(), "default/web".into());
        }))
        .pod(pod("web").on("n"));
    let drain = drain_of(&world);
    assert_eq!(hold(&drain, "web"), DrainHold::Rollout);
    assert!(!drain.is_stuck(now()));
}

#[test]
fn once_pods_are_gone_volumes_are_what_it_waits_for() {
    let world = cluster().node(draining("n", 12).with_claim(|claim| {
        claim.status.conditions.retain(|own| own.kind != ConditionType::Drained);
        claim.status.conditions.push(Condition {
            status: ConditionStatus::Unknown,
            message: "2 volumes are attached".into(),
            ..testkit::condition(ConditionType::VolumesDetached)
        });
        claim.termination_grace_period = Some(SignedDuration::from_mins(60));
    }));
    let drain = drain_of(&world);
    assert_eq!(drain.volumes.as_deref(), Some("2 volumes are attached"));
    assert_eq!(drain.forced, Some(minutes_ago(-48)));
    assert_eq!(drain.lasted(now()), Some(SignedDuration::from_mins(12)));
}

#[test]
fn nodes_that_stay_are_no_drains() {
    assert!(drains(&cluster().node(node("n")).pod(pod("p").on("n")).0).is_empty());
}

#[test]
fn nodes_whose_drain_is_stuck_are_counted_with_what_they_cost() {
    let held = |name: &str, on: &str| pod(name).label("app", "db").on(on);
    let world = |minutes| {
        cluster()
            .node(draining("large", minutes).of_type("m.2xlarge"))
            .node(draining("small", minutes).of_type("m.large"))
            .node(draining("fresh", 9))
            .node(node("stays"))
            .pod(held("a", "large"))
            .pod(held("b", "small"))
            .pod(held("c", "fresh"))
            .pdb(pdb("none", ("app", "db"), 0))
    };
    // Five cents for each of eight and two CPUs.
    let hourly = UsdPerHour::from_nanos(500_000_000);
    assert_eq!(world(11).plan().figures.stuck_drains, StuckDrains { nodes: 2, hourly });
    assert_eq!(world(9).plan().figures.stuck_drains, StuckDrains::default());
    assert_eq!(cluster().node(node("n")).plan().figures.stuck_drains, StuckDrains::default());
}
