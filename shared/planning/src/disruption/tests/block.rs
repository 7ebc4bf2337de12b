//! What blocks the disruption of a node: annotations, pods, PodDisruptionBudgets.

use domain::SignedDuration;
use domain::label::DO_NOT_DISRUPT;
use domain::node_pool::NeverOr;
use domain::pdb::{CountOrPercent, PdbRefusal, PodDisruptionBudget};
use domain::pod::DoNotDisrupt;
use domain::reason::NotDisruptable;

use crate::testing::{
    Cluster, PodMaker, cluster, is_disrupted, minutes_ago, node, now, pdb, pod, pod_key,
};

/// A node whose only pod would fit on a cheaper one.
fn holding(pod: PodMaker) -> Cluster {
    cluster().node(node("n1")).pod(pod.label("app", "web").on("n1"))
}

#[track_caller]
fn check_disrupted(world: &Cluster) {
    assert!(is_disrupted(&world.plan(), "n1"), "{:?}", world.plan().blocked);
}

#[test]
fn do_not_disrupt_on_a_node_or_its_claim_blocks_it() {
    check_disrupted(&holding(pod("a")));
    let on_node =
        node("n1").with(|node| _ = node.annotations.insert(DO_NOT_DISRUPT.into(), "true".into()));
    assert_eq!(cluster().node(on_node).blocked("n1"), NotDisruptable::DoNotDisrupt);
    let on_claim = node("n1")
        .with_claim(|claim| _ = claim.annotations.insert(DO_NOT_DISRUPT.into(), "true".into()));
    assert_eq!(cluster().node(on_claim).blocked("n1"), NotDisruptable::DoNotDisrupt);
}

#[test]
fn do_not_disrupt_on_a_pod_blocks_its_node() {
    let refusing = pod("a").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
    assert_eq!(holding(refusing).blocked("n1"), NotDisruptable::PodDoNotDisrupt(pod_key("a")));
}

#[test]
fn do_not_disrupt_on_a_pod_may_end_some_time_after_its_start() {
    let refusing = |minutes| {
        let span = DoNotDisrupt::For(SignedDuration::from_mins(minutes));
        holding(pod("a").having(|pod| pod.do_not_disrupt = Some(span)))
    };
    // It started an hour ago.
    check_disrupted(&refusing(60));
    assert_eq!(refusing(61).blocked("n1"), NotDisruptable::PodDoNotDisrupt(pod_key("a")));
}

#[test]
fn a_terminal_pod_blocks_nothing() {
    let ended = holding(pod("a").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always)))
        .with(|snapshot| snapshot.objects.pods[0].phase = domain::pod::PodPhase::Succeeded);
    check_disrupted(&ended);
}

#[test]
fn a_pdb_that_allows_nothing_blocks_the_node() {
    let world = holding(pod("a"));
    check_disrupted(&world.clone().pdb(pdb("web", ("app", "web"), 1)));
    check_disrupted(&world.clone().pdb(pdb("other", ("app", "other"), 0)));
    assert_eq!(
        world.pdb(pdb("web", ("app", "web"), 0)).blocked("n1"),
        NotDisruptable::Pdb {
            pod: pod_key("a"),
            budget: "default/web".into(),
            refusal: PdbRefusal::NoneAllowed { healthy: 1, desired: 1 },
        }
    );
}

#[test]
fn a_pod_with_two_pdbs_cannot_be_evicted() {
    let world =
        holding(pod("a")).pdb(pdb("one", ("app", "web"), 1)).pdb(pdb("two", ("app", "web"), 1));
    assert_eq!(
        world.blocked("n1"),
        NotDisruptable::Pdb {
            pod: pod_key("a"),
            budget: "default/one and default/two".into(),
            refusal: PdbRefusal::Several,
        }
    );
}

#[test]
fn a_pdb_may_allow_eviction_of_a_pod_that_is_not_ready() {
    let mut lenient = pdb("web", ("app", "web"), 0);
    lenient.always_allow_unhealthy = true;
    let world = holding(pod("a")).pdb(lenient).with(|snapshot| {
        snapshot.objects.pods[0].ready = Some(false);
        snapshot.objects.pods[0].started = Some(minutes_ago(5));
    });
    check_disrupted(&world);
}

/// A budget that by its terms never lets a ready pod go, but one that is not ready.
fn never_but_unready() -> PodDisruptionBudget {
    let max_unavailable = Some(CountOrPercent::Count(0));
    let always_allow_unhealthy = true;
    PodDisruptionBudget { max_unavailable, always_allow_unhealthy, ..pdb("web", ("app", "web"), 0) }
}

#[test]
fn an_unready_pod_that_its_pdb_lets_go_gets_another_place_first() {
    let n1 = node("n1").with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(24));
    });
    let world = |is_ready| {
        cluster()
            .node(n1.clone())
            .pdb(never_but_unready())
            .pod(pod("a").label("app", "web").on("n1").having(|pod| pod.ready = Some(is_ready)))
    };
    assert_eq!(world(false).disruption().replacements.len(), 1);
    assert_eq!(world(true).disruption().replacements.len(), 0, "it stays to the end");
    let leaving = world(false).with(|snapshot| {
        snapshot.node_claims[0].expire_after = NeverOr::Never;
        snapshot.node_claims[0].deleted = Some(now());
    });
    assert_eq!(leaving.plan().node_claims.len(), 1);
}

#[test]
fn a_node_of_a_deleted_pool_is_blocked() {
    let world = cluster().node(node("n1").of_pool("gone"));
    assert_eq!(world.blocked("n1"), NotDisruptable::NoNodePool("gone".into()));
}
