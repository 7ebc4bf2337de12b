//! Static NodePools: surplus nodes are removed, and drifted ones are replaced one for one.

use domain::SignedDuration;
use domain::cluster_limit::ClusterLimit;
use domain::drift::DriftReason;
use domain::label::{DO_NOT_DISRUPT, INSTANCE_TYPE, ZONE};
use domain::node_pool::{NeverOr, NodePool};
use domain::pdb::CountOrPercent;
use domain::plan::Plan;
use domain::pod::DoNotDisrupt;
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable};
use domain::requirement::Operator;
use domain::resource::{NODES, Resources};
use domain::taint::Taint;

use crate::testing::{
    Cluster, NodeMaker, budget, cluster, daemon_set, disrupted_for, is_disrupted, listed,
    minutes_ago, node, node_pool, node_pool_of, now, pdb, pod, pod_key, requirement, spread_over,
};

/// Pool `default` is static and its budgets allow no disruption.
fn static_pool(replicas: u32) -> Cluster {
    cluster().default_pool(|pool| {
        pool.replicas = Some(replicas);
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))];
    })
}

fn scaled_down(world: &Cluster) -> Vec<String> {
    let plan = world.plan();
    disrupted_for(&plan, DisruptionReason::ScaledDown).into_iter().map(str::to_owned).collect()
}

#[test]
fn surplus_nodes_are_removed_whatever_budgets_say() {
    let three = |replicas| static_pool(replicas).node(node("a")).node(node("b")).node(node("c"));
    assert_eq!(scaled_down(&three(3)).len(), 0);
    assert_eq!(scaled_down(&three(2)).len(), 1);
    assert_eq!(scaled_down(&three(0)).len(), 3);
}

#[test]
fn a_pool_without_replicas_has_no_surplus() {
    let world = cluster().node(node("a")).pod(pod("p").cpu(3500).on("a"));
    assert_eq!(scaled_down(&world).len(), 0);
}

#[test]
fn surplus_nodes_are_ranked_by_what_losing_them_means() {
    let on = |name: &str, node: &str| pod(name).cpu(300).on(node);
    let protected = pod("p").cpu(300).on("protected").having(|pod| {
        pod.do_not_disrupt = Some(DoNotDisrupt::Always);
    });
    let never_launched = node("unlaunched").with_claim(|claim| claim.status.provider_id = None);
    let world = |replicas| {
        static_pool(replicas)
            .node(node("a-protected-1").with(|node| {
                _ = node.annotations.insert(DO_NOT_DISRUPT.into(), "true".into());
            }))
            .node(node("b-busy"))
            .node(node("c-calm"))
            .node(node("empty"))
            .node(node("protected"))
            .in_flight(never_launched.clone())
            .pod(on("b1", "b-busy"))
            .pod(on("b2", "b-busy"))
            .pod(on("c1", "c-calm"))
            .pod(protected.clone())
    };
    let gone = |replicas| scaled_down(&world(replicas));
    assert_eq!(gone(5), ["claim-unlaunched"]);
    assert_eq!(gone(4), ["claim-unlaunched", "empty"]);
    assert_eq!(gone(3), ["c-calm", "claim-unlaunched", "empty"]);
    assert_eq!(gone(2), ["b-busy", "c-calm", "claim-unlaunched", "empty"]);
    assert_eq!(gone(0).len(), 6, "in the end do-not-disrupt holds nothing");
}

#[test]
fn nodes_being_deleted_are_not_removed_twice() {
    let tainted = node("a").with(|node| node.taints.push(Taint::disrupted()));
    assert_eq!(scaled_down(&static_pool(1).node(tainted).node(node("b"))).len(), 0);
    let deleted = node("a").with(|node| node.deleted = Some(now()));
    assert_eq!(scaled_down(&static_pool(1).node(deleted).node(node("b"))).len(), 0);
}

#[test]
fn an_expired_node_counts_as_surplus() {
    let expired = node("a")
        .with_claim(|claim| claim.expire_after = NeverOr::After(SignedDuration::from_hours(24)));
    let plan = static_pool(1).node(expired).node(node("b")).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Expired), ["a"]);
    assert_eq!(disrupted_for(&plan, DisruptionReason::ScaledDown).len(), 0);
}

#[test]
fn a_claim_in_flight_is_removed_though_it_has_expired() {
    let overdue = node("late").with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(1));
        claim.status.provider_id = None;
    });
    assert_eq!(scaled_down(&static_pool(1).in_flight(overdue).node(node("b"))), ["claim-late"]);
}

#[test]
fn a_node_that_pods_are_expected_on_is_kept_until_they_arrive() {
    let only_here = pod("waits").on_nodes_with("kubernetes.io/hostname", "a");
    let world = static_pool(0).node(node("a")).node(node("b")).pod(only_here);
    assert_eq!(scaled_down(&world), ["b"]);
}

#[test]
fn pods_of_a_surplus_node_get_places_first_and_never_in_its_own_pool() {
    let elsewhere =
        static_pool(0).pool(node_pool("other")).node(node("a")).pod(pod("p").cpu(900).on("a"));
    let disruption = elsewhere.disruption();
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(&*disruption.replacements[0].node_pool, "other");
    assert_eq!(disruption.replacements[0].pods, [pod_key("p")]);
    let nowhere = static_pool(0).node(node("a")).pod(pod("p").cpu(900).on("a"));
    assert_eq!(nowhere.disruption().replacements, [], "the user asked for it all the same");
}

#[test]
fn pods_of_surplus_nodes_do_not_move_to_other_surplus_nodes() {
    let world = static_pool(1)
        .node(node("a"))
        .node(node("b"))
        .node(node("c"))
        .pod(pod("pa").cpu(300).on("a"))
        .pod(pod("pb").cpu(300).on("b"))
        .pod(pod("pc").cpu(900).on("c"))
        .pod(pod("pd").cpu(900).on("c"));
    let plan = world.plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::ScaledDown), ["a", "b"]);
    let moves = plan.disruptions.iter().flat_map(|own| &own.moves);
    assert!(moves.clone().all(|own| &*own.node == "c"), "{:?}", moves.collect::<Vec<_>>());
}

#[test]
fn static_pools_are_left_alone_if_the_gate_is_off() {
    let world = |gate| {
        drifted(2)
            .default_pool(|pool| pool.replicas = Some(1))
            .with(|snapshot| snapshot.settings.feature_gates.static_capacity = gate)
    };
    assert_eq!(world(true).plan().disruptions.len(), 1);
    assert_eq!(world(false).plan().disruptions.len(), 0);
}

/// A static pool that requires `m.2xlarge` and has `nodes` nodes of type `m.xlarge`, drifted one
/// after the other, `n0` first. It has no budgets.
fn drifted(nodes: u32) -> Cluster {
    let wanted = requirement(INSTANCE_TYPE, Operator::In, &["m.2xlarge"]);
    let pool = NodePool { replicas: Some(nodes), ..node_pool_of("default", &[wanted]) };
    (0..nodes).fold(cluster().pool(pool), |world, index| {
        world.node(drifted_for(&format!("n{index}"), 60 - i64::from(index)))
    })
}

fn drifted_for(name: &str, minutes: i64) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.status.conditions.push(domain::node_claim::Condition {
            kind: domain::node_claim::ConditionType::Drifted,
            status: domain::node_claim::ConditionStatus::True,
            reason: "".into(),
            message: "".into(),
            changed: Some(minutes_ago(minutes)),
        });
    })
}

fn with_budget(world: Cluster, nodes: u32) -> Cluster {
    world.default_pool(|pool| {
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(nodes))];
    })
}

fn replaced(plan: &Plan) -> Vec<&str> {
    disrupted_for(plan, DisruptionReason::Drifted)
}

#[test]
fn a_drifted_node_is_replaced_by_one_of_its_pool_even_if_it_is_empty() {
    let disruption = drifted(1).disruption();
    assert_eq!(disruption.reason, DisruptionReason::Drifted);
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(&*disruption.replacements[0].node_pool, "default");
    assert_eq!(&*disruption.replacements[0].offering.instance_type, "m.2xlarge");
}

#[test]
fn budgets_limit_how_many_are_replaced_at_once() {
    let world = with_budget(drifted(3), 2);
    let plan = world.plan();
    assert_eq!(replaced(&plan), ["n0", "n1"], "those that drifted first");
    assert_eq!(plan.disruptions.len(), 2, "each is a command of its own");
    assert!(matches!(world.blocked("n2"), NotDisruptable::Budget { allowed: 2, .. }));
}

#[test]
fn its_pods_move_to_the_replacement_if_no_other_node_has_room() {
    let world = drifted(1).pod(pod("a").cpu(1500).on("n0")).pod(pod("b").cpu(1500).on("n0"));
    let disruption = world.disruption();
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(disruption.replacements[0].pods, [pod_key("a"), pod_key("b")]);
}

#[test]
fn its_pods_do_not_move_to_the_next_node_that_is_replaced() {
    let plan = drifted(2).pod(pod("a").on("n0")).pod(pod("b").on("n1")).plan();
    assert_eq!(replaced(&plan), ["n0", "n1"]);
    for disruption in &plan.disruptions {
        assert_eq!(disruption.moves, []);
        assert_eq!(disruption.replacements[0].pods, disruption.pods);
    }
}

/// Static pools `default` and `other`, each with one drifted node, `n0` and `m0`.
fn two_drifted() -> Cluster {
    let wanted = requirement(INSTANCE_TYPE, Operator::In, &["m.2xlarge"]);
    let other = NodePool { replicas: Some(1), ..node_pool_of("other", &[wanted]) };
    drifted(1).pool(other).node(drifted_for("m0", 10).of_pool("other"))
}

#[test]
fn pods_do_not_move_to_drifted_nodes_of_other_static_pools() {
    let world = two_drifted().pod(pod("a").on("n0")).pod(pod("b").on("m0"));
    let plan = world.plan();
    assert_eq!(replaced(&plan), ["m0", "n0"]);
    assert!(plan.disruptions.iter().all(|own| own.moves.is_empty()), "{:?}", plan.disruptions);
    for proposed in &plan.disruptions {
        assert_eq!(crate::disruption::validate(&world.0, proposed), Ok(proposed.clone()));
    }
}

#[test]
fn pods_of_two_static_pools_do_not_take_the_same_room() {
    let plan = two_drifted()
        .pool(node_pool("rest"))
        .node(node("n9").of_pool("rest"))
        .pod(pod("there").cpu(2000).on("n9"))
        .pod(pod("a").cpu(1500).on("n0"))
        .pod(pod("b").cpu(1500).on("m0"))
        .plan();
    assert_eq!(replaced(&plan), ["m0", "n0"]);
    let moves = plan.disruptions.iter().flat_map(|own| &own.moves);
    assert_eq!(moves.count(), 1, "there is room for one of them on n9");
}

#[test]
fn pods_of_two_static_pools_are_spread_together() {
    let spread =
        |name: &str| pod(name).label("app", "web").spread(spread_over(ZONE, ("app", "web")));
    let plan = two_drifted().pod(spread("a").on("n0")).pod(spread("b").on("m0")).plan();
    let zones = plan.disruptions.iter().map(|own| listed(&own.replacements[0], ZONE));
    let zones: Vec<String> = zones.collect();
    assert_eq!(zones.len(), 2);
    assert_ne!(zones[0], zones[1]);
}

#[test]
fn the_replacement_keeps_pods_spread_from_those_that_get_a_new_node() {
    let wanted = requirement(INSTANCE_TYPE, Operator::In, &["m.2xlarge"]);
    let pool = NodePool { replicas: Some(1), ..node_pool_of("default", &[wanted]) };
    let moved = pod("a").label("app", "web").spread(spread_over(ZONE, ("app", "web"))).on("n0");
    let plan = cluster()
        .pool(pool)
        .pool(node_pool("rest"))
        .node(drifted_for("n0", 60).in_zone("c"))
        .pod(pod("waiting").label("app", "web").on_nodes_with(ZONE, "a"))
        .pod(moved)
        .plan();
    assert_eq!(replaced(&plan), ["n0"]);
    assert_ne!(listed(&plan.disruptions[0].replacements[0], ZONE), "a");
}

#[test]
fn one_limit_holds_for_the_replacements_of_two_static_pools() {
    let limit = |nodes| {
        let limits = Resources::new().with(NODES, nodes);
        let limit = ClusterLimit::new("all", limits);
        two_drifted().with(|snapshot| snapshot.objects.cluster_limits.push(limit))
    };
    assert_eq!(replaced(&limit(4).plan()).len(), 2);
    assert_eq!(replaced(&limit(3).plan()).len(), 1);
}

#[test]
fn the_replacement_has_room_for_its_daemons_if_any_type_has() {
    let replacement = |millis| {
        let world = drifted(1).default_pool(|pool| {
            let wanted = requirement(INSTANCE_TYPE, Operator::In, &["m.large", "m.2xlarge"]);
            std::sync::Arc::make_mut(&mut pool.template).requirements = vec![wanted];
        });
        let disruption = world.daemon_set(daemon_set("agent", millis)).disruption();
        disruption.replacements[0].instance_types.iter().map(ToString::to_string).collect()
    };
    let types: Vec<String> = replacement(3000);
    assert_eq!(types, ["m.2xlarge"]);
    let types: Vec<String> = replacement(9000);
    assert_eq!(types[0], "m.large");
}

#[test]
fn no_other_pool_launches_for_it() {
    let world = drifted(1).pool(node_pool("cheap")).pod(pod("a").cpu(1500).on("n0"));
    assert_eq!(&*world.disruption().replacements[0].node_pool, "default");
}

#[test]
fn a_pod_that_the_replacement_cannot_host_blocks_it() {
    let world =
        drifted(1).pod(pod("a").cpu(1500).on_nodes_with(INSTANCE_TYPE, "m.xlarge").on("n0"));
    assert_eq!(
        world.blocked("n0"),
        NotDisruptable::DriftWithoutPlace {
            drift: DriftReason::RequirementsDrifted(INSTANCE_TYPE.into()),
            pod: pod_key("a"),
        }
    );
}

#[test]
fn pods_that_no_single_node_of_the_pool_hosts_block_it() {
    let small = requirement(INSTANCE_TYPE, Operator::In, &["m.large"]);
    let pool = NodePool { replicas: Some(1), ..node_pool_of("default", &[small]) };
    let world = cluster()
        .pool(pool)
        .node(node("n0"))
        .pod(pod("a").cpu(1800).on("n0"))
        .pod(pod("b").cpu(1800).on("n0"));
    assert!(matches!(world.blocked("n0"), NotDisruptable::DriftWithoutPlace { .. }));
}

#[test]
fn the_replacement_keeps_pods_spread() {
    let spread = |name: &str, node: &str| {
        pod(name).cpu(1500).label("app", "web").spread(spread_over(ZONE, ("app", "web"))).on(node)
    };
    let world = drifted(1)
        .pool(node_pool("other"))
        .node(node("b").in_zone("b").of_pool("other"))
        .node(node("c").in_zone("c").of_pool("other"))
        .pod(spread("in-a", "n0"))
        .pod(spread("in-b", "b"))
        .pod(spread("in-c", "c"));
    let plan = world.plan();
    let disruption = plan.disruptions.iter().find(|own| own.reason == DisruptionReason::Drifted);
    assert_eq!(listed(&disruption.unwrap().replacements[0], ZONE), "a");
}

#[test]
fn the_limit_on_nodes_must_leave_room_for_the_replacement() {
    let limited =
        |nodes| drifted(2).default_pool(|pool| pool.limits = Resources::new().with(NODES, nodes));
    assert_eq!(replaced(&limited(4).plan()), ["n0", "n1"]);
    assert_eq!(replaced(&limited(3).plan()), ["n0"]);
    assert_eq!(
        limited(2).blocked("n0"),
        NotDisruptable::DriftWithoutReplacement {
            drift: DriftReason::RequirementsDrifted(INSTANCE_TYPE.into()),
            unfit: NodePoolUnfit::Limit { resource: NODES.into(), limit: 2, used: 2 },
        }
    );
}

#[test]
fn while_one_is_being_replaced_the_next_waits() {
    let replaced = node("old").with(|node| node.taints.push(Taint::disrupted()));
    let world = drifted(2)
        .default_pool(|pool| pool.replicas = Some(3))
        .node(replaced)
        .in_flight(node("replacement").of_type("m.2xlarge"));
    assert_eq!(world.plan().disruptions, []);
    let text = world.blocked("n0").to_string();
    assert!(text.ends_with("one node is replaced at a time, and old comes first"), "{text}");
}

#[test]
fn surplus_is_removed_before_anything_is_replaced() {
    let plan = drifted(2).default_pool(|pool| pool.replicas = Some(1)).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::ScaledDown).len(), 1);
    assert_eq!(replaced(&plan).len(), 0);
}

#[test]
fn a_pod_disruption_budget_blocks_it() {
    let world =
        drifted(1).pod(pod("a").label("app", "db").on("n0")).pdb(pdb("db", ("app", "db"), 0));
    assert!(matches!(world.blocked("n0"), NotDisruptable::Pdb { .. }));
}

#[test]
fn empty_nodes_of_other_pools_come_first() {
    let plan = drifted(1).pool(node_pool("other")).node(node("idle").of_pool("other")).plan();
    assert!(is_disrupted(&plan, "idle") && !is_disrupted(&plan, "n0"));
}

#[test]
fn drifted_nodes_of_other_pools_come_later() {
    let wanted = requirement(INSTANCE_TYPE, Operator::In, &["m.2xlarge"]);
    let plan = drifted(1)
        .pool(node_pool_of("other", &[wanted]))
        .node(node("other").of_pool("other"))
        .pod(pod("a").cpu(3000).on("other"))
        .plan();
    assert_eq!(replaced(&plan), ["n0"]);
}

#[test]
fn one_run_later_the_pool_has_settled() {
    let world = drifted(2).pod(pod("a").cpu(1500).on("n0")).pod(pod("b").cpu(1500).on("n1"));
    let settled = world.after(&world.plan());
    let plan = settled.plan();
    assert!(plan.disruptions.is_empty() && plan.node_claims.is_empty(), "{plan:?}");
}

#[test]
fn what_was_proposed_stays_valid_until_something_changes() {
    let world = drifted(1).pod(pod("a").cpu(1500).on("n0"));
    let proposed = world.disruption();
    assert_eq!(crate::disruption::validate(&world.0, &proposed), Ok(proposed.clone()));
    let other = requirement(INSTANCE_TYPE, Operator::In, &["m.xlarge"]);
    let as_it_was = world.pool(NodePool { replicas: Some(1), ..node_pool_of("default", &[other]) });
    assert!(crate::disruption::validate(&as_it_was.0, &proposed).is_err());
    let surplus = static_pool(0).node(node("n1"));
    let proposed = surplus.disruption();
    assert_eq!(crate::disruption::validate(&surplus.0, &proposed), Ok(proposed.clone()));
    let wanted = surplus.default_pool(|pool| pool.replicas = Some(1));
    assert!(crate::disruption::validate(&wanted.0, &proposed).is_err());
}
