//! Pod affinity and anti-affinity, in both directions.

use domain::label::{CAPACITY_TYPE, HOSTNAME, ZONE};
use domain::plan::PlannedNodeClaim;
use domain::pod::{DoNotDisrupt, PreferredPodTerm};
use domain::reason::NodePoolUnfit;
use domain::requirement::Operator;
use domain::taint::Taint;

use crate::testing::{
    Cluster, NodeMaker, PodMaker, claim_of, cluster, instance_type, listed, near, node,
    node_pool_of, place_of, pod, pods_by_zone, requirement, spread_over, unfit,
};

const DB: (&str, &str) = ("app", "db");

#[test]
fn a_pod_follows_another_to_its_node() {
    let world =
        cluster().node(node("n1")).node(node("n2")).pod(pod("db").label(DB.0, DB.1).on("n2"));
    let plan = world.pod(pod("web").affinity(near(HOSTNAME, DB))).plan();
    assert_eq!(place_of(&plan, "web"), Some("n2"));
}

#[test]
fn a_pod_follows_another_to_its_new_node() {
    let plan = cluster()
        .pod(pod("db").label(DB.0, DB.1).cpu(1500))
        .pod(pod("web").cpu(1600).affinity(near(HOSTNAME, DB)))
        .plan();
    assert_eq!(claim_of(&plan, "web").name, claim_of(&plan, "db").name);
}

#[test]
fn a_pod_follows_another_to_its_zone() {
    let full =
        cluster().node(node("n1").in_zone("c")).pod(pod("db").label(DB.0, DB.1).cpu(4000).on("n1"));
    let plan = full.pod(pod("web").affinity(near(ZONE, DB))).plan();
    assert_eq!(listed(claim_of(&plan, "web"), ZONE), "c");
}

#[test]
fn a_pod_that_must_share_a_host_is_sent_to_a_zone_that_the_others_can_be_in() {
    const WEB: (&str, &str) = ("app", "web");
    const STORE: (&str, &str) = ("app", "store");
    // Those that wait for each other may not make do with each other: nobody would be the first.
    let plan = |first: PodMaker| {
        cluster()
            .pod(pod("store").label(STORE.0, STORE.1).on_nodes_with(ZONE, "c"))
            .pod(first.label(DB.0, DB.1))
            .pod(pod("beside").label(WEB.0, WEB.1).affinity(near(HOSTNAME, DB)))
            .pod(pod("near").label(DB.0, DB.1).affinity(near(ZONE, WEB)))
            .plan()
    };
    let bound = pod("first").on_nodes_with(ZONE, "c");
    let following = pod("first").affinity(near(ZONE, STORE));
    for plan in [plan(bound), plan(following)] {
        assert_eq!(claim_of(&plan, "beside").name, claim_of(&plan, "first").name);
        assert_eq!(listed(claim_of(&plan, "near"), ZONE), "c");
    }
}

/// The spread would send the second of two pods that must share a host to another zone than the
/// first, where only a pod that itself must be near one of them could open a host for it.
#[test]
fn pods_that_must_share_a_host_are_sent_to_the_zone_of_the_first() {
    let spread = |name: &str| {
        let pod = pod(name).label(DB.0, DB.1).affinity(near(HOSTNAME, DB));
        pod.spread(spread_over(ZONE, DB))
    };
    let beside = pod("beside").label(DB.0, DB.1).affinity(near(ZONE, DB));
    let world = cluster().pod(spread("large").cpu(3000)).pod(spread("small")).pod(beside);
    let plan = world.plan();
    let left: Vec<&str> = plan.unschedulable.iter().map(|own| &*own.pod.name).collect();
    assert_eq!(left, ["small"]);
    assert_eq!(pods_by_zone(&plan), [2]);
}

/// Whichever of the two comes later finds the other there, and must join it in its zone.
#[test]
fn pods_that_seek_each_other_by_host_and_by_zone_share_a_zone() {
    let by_zone = pod("by-zone").label(DB.0, DB.1).cpu(3000).affinity(near(ZONE, DB));
    let by_host = pod("by-host").label(DB.0, DB.1).cpu(2000).affinity(near(HOSTNAME, DB));
    let plan = cluster().pods(2, &by_zone.on_nodes_with(ZONE, "b")).pod(by_host).plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(pods_by_zone(&plan), [3]);
}

/// One pod needs one that is not of its own kind on its host, and that needs the first in its zone:
/// the third is what the first could join, and keeps off everybody.
#[test]
fn pods_that_could_only_start_beside_each_other_get_no_node() {
    const WEB: (&str, &str) = ("app", "web");
    let db = pod("db").label(DB.0, DB.1).affinity(near(HOSTNAME, WEB));
    let web = pod("web").label(WEB.0, WEB.1).affinity(near(ZONE, DB));
    let alone = pod("alone").label(WEB.0, WEB.1).anti_affinity(near(HOSTNAME, DB));
    let plan = cluster().pod(db).pod(web).pod(alone).plan();
    let left: Vec<&str> = plan.unschedulable.iter().map(|own| &*own.pod.name).collect();
    assert_eq!(left, ["db", "web"]);
    assert_eq!(plan.node_claims.len(), 1);
}

#[test]
fn the_first_of_pods_that_want_to_be_together_goes_anywhere() {
    let together = pod("db").label(DB.0, DB.1).cpu(1500).affinity(near(ZONE, DB));
    assert_eq!(pods_by_zone(&cluster().pods(4, &together).plan()), [4]);
}

#[test]
fn without_anybody_to_follow_a_pod_waits() {
    let plan = cluster().pod(pod("web").affinity(near(ZONE, DB))).plan();
    assert_eq!(
        unfit(&plan, "web", "default").to_string(),
        "the pod must share its topology.kubernetes.io/zone with a pod of app=db, and none has a place"
    );
}

#[test]
fn nobody_starts_anew_while_one_to_follow_stays_on_a_leaving_node() {
    let leaving = |refuses: Option<DoNotDisrupt>| {
        let old = node("old").with(|own| own.taints.push(Taint::disrupted()));
        let db = pod("db").label(DB.0, DB.1).on("old").having(|pod| pod.do_not_disrupt = refuses);
        let next = pod("next").label(DB.0, DB.1).affinity(near(HOSTNAME, DB));
        cluster().node(old).node(node("new")).pod(db).pod(next).plan()
    };
    let plan = leaving(Some(DoNotDisrupt::Always));
    assert_eq!(
        unfit(&plan, "next", "default").to_string(),
        "the pod must share its kubernetes.io/hostname with a pod of app=db: old has 1"
    );
    // One that is evicted makes way, and its successor is there to follow.
    let plan = leaving(None);
    assert_eq!([place_of(&plan, "db"), place_of(&plan, "next")], [Some("new"); 2]);
}

#[test]
fn a_pod_keeps_away_from_another() {
    let world = cluster().node(node("n1")).pod(pod("db").label(DB.0, DB.1).on("n1"));
    let plan = world.pod(pod("web").anti_affinity(near(HOSTNAME, DB))).plan();
    claim_of(&plan, "web");
}

#[test]
fn a_pod_that_another_keeps_away_from_keeps_away_too() {
    let world =
        cluster().node(node("n1")).pod(pod("web").anti_affinity(near(HOSTNAME, DB)).on("n1"));
    let plan = world.pod(pod("db").label(DB.0, DB.1)).plan();
    claim_of(&plan, "db");
}

#[test]
fn new_pods_keep_away_from_each_other_in_both_directions() {
    let plan = cluster()
        .pod(pod("web").anti_affinity(near(ZONE, DB)))
        .pod(pod("db").label(DB.0, DB.1))
        .plan();
    assert_ne!(listed(claim_of(&plan, "web"), ZONE), listed(claim_of(&plan, "db"), ZONE));
}

#[test]
fn one_pod_a_zone_leaves_the_fourth_waiting() {
    let apart = pod("db").label(DB.0, DB.1).anti_affinity(near(ZONE, DB));
    let plan = cluster().pods(4, &apart).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1, 1]);
    let [waiting] = plan.unschedulable.as_slice() else { panic!("{:?}", plan.unschedulable) };
    assert_eq!(
        unfit(&plan, &waiting.pod.name, "default").to_string(),
        "the pod may not share its topology.kubernetes.io/zone with a pod of app=db: a has 1, b has 1, c has 1"
    );
}

#[test]
fn other_namespaces_are_out_of_reach_unless_named() {
    let world = cluster()
        .node(node("n1"))
        .pod(pod("db").label(DB.0, DB.1).on("n1").having(|pod| pod.key.namespace = "prod".into()));
    let plan = world.clone().pod(pod("web").anti_affinity(near(HOSTNAME, DB))).plan();
    assert_eq!(place_of(&plan, "web"), Some("n1"));
    let mut named = near(HOSTNAME, DB);
    named.namespaces = vec!["prod".into()];
    claim_of(&world.pod(pod("web").anti_affinity(named)).plan(), "web");
}

#[test]
fn a_wish_to_be_near_is_kept_where_it_can_be() {
    let wish = |pod: crate::testing::PodMaker| {
        pod.with(|spec| {
            let term = near(HOSTNAME, DB);
            spec.preferred_pod_affinity.push(PreferredPodTerm { weight: 10, term });
        })
    };
    let world =
        cluster().node(node("n1")).node(node("n2")).pod(pod("db").label(DB.0, DB.1).on("n2"));
    assert_eq!(place_of(&world.pod(wish(pod("web"))).plan(), "web"), Some("n2"));
    let alone = cluster().node(node("n1")).pod(wish(pod("web"))).plan();
    assert_eq!(place_of(&alone, "web"), Some("n1"));
}

#[test]
fn pods_that_must_share_a_host_are_not_taken_apart_to_save_a_node() {
    let together = pod("db").label(DB.0, DB.1).cpu(500).affinity(near(HOSTNAME, DB));
    // Each of the others leaves room for one of them.
    let world = cluster().selling(vec![instance_type("m.large", 2, 0.10)]);
    let plan = world.pods(3, &together).pods(3, &pod("web").cpu(1300)).plan();
    assert!(plan.unschedulable.is_empty());
    let with_db =
        |claim: &&PlannedNodeClaim| claim.pods.iter().any(|pod| pod.name.starts_with("db"));
    assert_eq!(plan.node_claims.iter().filter(with_db).count(), 1);
}

#[test]
fn pods_that_must_share_a_host_get_one_that_is_large_enough_for_all_of_them() {
    let together =
        |name: &str, cpu: i64| pod(name).label(DB.0, DB.1).cpu(cpu).affinity(near(HOSTNAME, DB));
    // Others would fill the host of the first up.
    let world = cluster().pods(8, &pod("web").cpu(500));
    let pods = [together("a", 1500), together("b", 1400), together("c", 1300)];
    let plan = pods.into_iter().fold(world, Cluster::pod).plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(claim_of(&plan, "a").name, claim_of(&plan, "c").name);
}

#[test]
fn pods_that_keep_off_others_come_to_a_node_before_these() {
    // Each of a keeps off hosts with two of b, and each of b off hosts with two of c: they fill
    // four nodes if they come in this order, whatever their names.
    for [a, b, c] in [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["c", "b", "a"]] {
        let app = |name: &'static str| pod(name).label("app", name);
        let plan = cluster()
            .selling(vec![instance_type("m4", 4, 1.0)])
            .pods(4, &app(a).cpu(1500).spread(spread_over(HOSTNAME, ("app", b))))
            .pods(8, &app(b).cpu(500).spread(spread_over(HOSTNAME, ("app", c))))
            .pods(12, &app(c).cpu(300))
            .plan();
        assert_eq!(plan.node_claims.len(), 4, "{a} before {b} before {c}");
    }
}

#[test]
fn pods_that_must_share_a_host_open_it_where_most_of_them_may_go() {
    let together = |name: &str, zone: &str| {
        pod(name).label(DB.0, DB.1).on_nodes_with(ZONE, zone).affinity(near(HOSTNAME, DB))
    };
    let pods = [together("a", "a"), together("b", "b"), together("c", "b").cpu(200)];
    let plan = pods.into_iter().fold(cluster(), Cluster::pod).plan();
    assert_eq!(claim_of(&plan, "b").name, claim_of(&plan, "c").name);
}

/// `busy`, which pods try first, has room for one pod of 500 millicores, `empty` for eight.
fn with_a_full_and_an_empty_node() -> Cluster {
    cluster().node(node("busy")).node(node("empty")).pod(pod("old").cpu(3500).on("busy"))
}

#[test]
fn pods_that_must_share_a_host_open_the_one_with_room_for_most_of_them() {
    let together = pod("db").label(DB.0, DB.1).cpu(500).affinity(near(HOSTNAME, DB));
    let world = with_a_full_and_an_empty_node();
    let first = world.clone().pod(pod("web").cpu(500)).plan();
    assert_eq!(place_of(&first, "web"), Some("busy"));
    let plan = world.pods(3, &together).plan();
    assert_eq!([0, 1, 2].map(|own| place_of(&plan, &format!("db-{own}"))), [Some("empty"); 3]);
}

#[test]
fn a_pod_that_others_must_join_goes_where_they_have_room() {
    let follower = pod("web").cpu(1500).affinity(near(HOSTNAME, DB));
    let world = with_a_full_and_an_empty_node().pods(2, &pod("db").label(DB.0, DB.1).cpu(200));
    let plan = world.pods(2, &follower).plan();
    assert_eq!([0, 1].map(|own| place_of(&plan, &format!("web-{own}"))), [Some("empty"); 2]);
}

#[test]
fn of_pods_that_others_must_join_one_goes_to_each_zone_that_these_may_be_in() {
    let joining = |zone: &str| pod(zone).on_nodes_with(ZONE, zone).affinity(near(ZONE, DB));
    let leaders = cluster().pods(3, &pod("db").label(DB.0, DB.1).cpu(1500));
    let plan = leaders.pod(joining("b")).pod(joining("c")).plan();
    assert_eq!(["b", "c"].map(|own| listed(claim_of(&plan, own), ZONE)), ["b", "c"]);
}

#[test]
fn a_pod_that_is_wanted_in_a_zone_takes_the_room_that_is_there() {
    let joining = |zone: &str| pod(zone).on_nodes_with(ZONE, zone).affinity(near(ZONE, DB));
    let db = pod("db").label(DB.0, DB.1);
    let world = cluster().node(node("a1").in_zone("a")).node(node("b1").in_zone("b"));
    let plan =
        world.pods(2, &db.cpu(400)).pod(joining("a").cpu(100)).pod(joining("b").cpu(100)).plan();
    let mut places = ["db-0", "db-1", "a", "b"].map(|own| place_of(&plan, own));
    places.sort();
    assert_eq!(places, [Some("a1"), Some("a1"), Some("b1"), Some("b1")]);
}

/// Whose affinity selects its own pods, and others as well.
fn beside_both(key: &str) -> PodMaker {
    pod("web").label("app", "web").affinity(near(key, DB)).affinity(near(key, ("app", "web")))
}

#[test]
fn nobody_is_the_first_where_some_of_what_it_requires_selects_others_only() {
    for key in [HOSTNAME, ZONE] {
        let db = pod("db").label(DB.0, DB.1);
        let pending = cluster().pod(db.clone()).pod(beside_both(key)).plan();
        assert!(
            matches!(unfit(&pending, "web", "default"), NodePoolUnfit::PodAffinity { .. }),
            "{key}"
        );
        claim_of(&pending, "db");
        let running = cluster().node(node("n1")).pod(db.on("n1")).pod(beside_both(key)).plan();
        assert_eq!(place_of(&running, "web"), None, "{key}");
    }
}

#[test]
fn a_pod_that_all_it_requires_selects_is_the_first() {
    let both = pod("web").label("app", "web").label("tier", "front");
    let both = both.affinity(near(ZONE, ("app", "web"))).affinity(near(ZONE, ("tier", "front")));
    claim_of(&cluster().pod(both).plan(), "web");
}

/// A claim that is still to be launched, in one of two zones, on demand or as spot.
fn unlaunched(name: &str) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.labels.remove(ZONE);
        claim.labels.remove(CAPACITY_TYPE);
        claim.requirements = vec![
            requirement(ZONE, Operator::In, &["a", "b"]),
            requirement(CAPACITY_TYPE, Operator::In, &["on-demand", "spot"]),
        ]
        .into();
    })
}

#[test]
fn pods_keep_away_from_wherever_a_claim_in_flight_may_be() {
    let apart = pod("db").label(DB.0, DB.1).anti_affinity(near(ZONE, DB));
    let world = cluster().in_flight(unlaunched("n1")).in_flight(unlaunched("n2"));
    let plan = world.pods(3, &apart).plan();
    assert_eq!(place_of(&plan, "db-0"), Some("claim-n1"));
    assert_eq!(listed(claim_of(&plan, "db-1"), ZONE), "c");
    assert!(matches!(unfit(&plan, "db-2", "default"), NodePoolUnfit::PodAntiAffinity { .. }));
}

#[test]
fn pods_on_one_claim_in_flight_share_whatever_it_will_be() {
    for key in [ZONE, CAPACITY_TYPE] {
        let world = cluster().in_flight(unlaunched("n1")).pod(pod("db").label(DB.0, DB.1));
        let plan = world.pod(pod("web").anti_affinity(near(key, DB))).plan();
        let places = [place_of(&plan, "db"), place_of(&plan, "web")];
        assert_eq!(places.iter().flatten().count(), 1, "{key}: {places:?}");
    }
}

/// A node in zone a has room for one of them, and no node is launched there.
#[test]
fn the_first_of_pods_that_want_to_be_together_goes_where_all_of_them_can_be() {
    let together = pod("db").label(DB.0, DB.1).cpu(3000).affinity(near(ZONE, DB));
    let elsewhere = requirement(ZONE, Operator::NotIn, &["a"]);
    let plan = cluster()
        .pool(node_pool_of("default", &[elsewhere]))
        .node(node("n1").in_zone("a"))
        .pods(3, &together)
        .plan();
    assert_eq!(plan.unschedulable, []);
}
