//! Which moves are worth it: required savings, how many new nodes may replace how many, which move
//! comes first, and what is reported of other nodes.

use domain::instance_type::Offering;
use domain::label::{CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, RESERVATION_ID, ZONE};
use domain::node_pool::ConsolidationPolicy;
use domain::overlay::{NodeOverlay, PriceChange};
use domain::pdb::CountOrPercent;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NotDisruptable, Unconsolidatable};
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, Resources};

use crate::disruption::validate;
use crate::testing::{
    Cluster, NodeMaker, budget, cluster, disrupted_for, instance_type, is, node, node_pool_of, pdb,
    pod, pod_key, requirement, reserved, usd,
};

/// Why a node is not consolidated.
#[track_caller]
fn unconsolidatable(world: &Cluster, node: &str) -> Unconsolidatable {
    match world.blocked(node) {
        NotDisruptable::Unconsolidatable(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_of_one_price_are_never_swapped() {
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.xlarge", 4, 0.20)];
    let world = cluster().selling(sold).node(node("n1")).pod(pod("a").cpu(3000).on("n1"));
    assert_eq!(
        unconsolidatable(&world, "n1"),
        Unconsolidatable::NothingCheaper {
            pods: 1,
            instance_type: "m.xlarge".into(),
            price: usd(0.20),
            before: usd(0.20),
        }
    );
}

#[test]
fn reservations_are_not_swapped_for_less_than_prices_tell_apart() {
    let world = |price: f64| {
        let reserved_at = |price, id: &str| Offering { price: usd(price), ..reserved("a", id, 1) };
        let mut sold = [instance_type("m.xlarge", 4, 0.20), instance_type("m.large", 2, 0.10)];
        sold[0].offerings.push(reserved_at(price, "cr-1"));
        sold[1].offerings.push(reserved_at(price / 2.0, "cr-2"));
        let bought = node("n1").label(CAPACITY_TYPE, "reserved").label(RESERVATION_ID, "cr-1");
        cluster().selling(sold.into()).node(bought).pod(pod("a").cpu(1000).on("n1"))
    };
    assert_eq!(world(0.000_02).disruption().replacements.len(), 1);
    assert!(matches!(
        unconsolidatable(&world(0.000_002), "n1"),
        Unconsolidatable::TooLittle { .. }
    ));
}

#[test]
fn an_overlay_changes_what_a_node_costs_as_it_does_for_the_next() {
    let overlaid = |overlaid: &str, price: f64| {
        let sold = ["m.xlarge", "n.xlarge"].map(|name| instance_type(name, 4, 0.20));
        let overlay = NodeOverlay {
            name: "own".into(),
            requirements: vec![is(INSTANCE_TYPE, overlaid)],
            price: Some(PriceChange::Absolute(usd(price))),
            capacity: Resources::new(),
            weight: 0,
        };
        cluster()
            .selling(sold.to_vec())
            .with(|snapshot| snapshot.objects.node_overlays.push(overlay))
            .node(node("n1"))
            .pod(pod("a").cpu(3000).on("n1"))
    };
    let cheaper = overlaid("m.xlarge", 0.05);
    assert!(matches!(
        unconsolidatable(&cheaper, "n1"),
        Unconsolidatable::NothingCheaper { price, before, .. }
            if (price, before) == (usd(0.05), usd(0.05))
    ));
    assert_eq!(cheaper.plan().totals.hourly_before, usd(0.05));
    assert_eq!(overlaid("m.xlarge", 0.50).disruption().savings, usd(0.30));
    let of_another_pool = overlaid("m.xlarge", 0.50).with(|snapshot| {
        snapshot.objects.node_overlays[0].requirements.push(is(NODE_POOL, "other"));
    });
    assert_eq!(of_another_pool.plan().totals.hourly_before, usd(0.20));
}

#[test]
fn savings_below_the_cost_of_moving_are_not_taken() {
    let priced = |price| {
        let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.xlarge", 4, price)];
        cluster().selling(sold).node(node("n1")).pod(pod("a").cpu(3000).on("n1"))
    };
    // Five minutes of both nodes, and an eviction for ten minutes of what the pod costs, paid back
    // within a day: 0.21 cents per hour.
    assert!(matches!(
        unconsolidatable(&priced(0.1985), "n1"),
        Unconsolidatable::TooLittle { pods: 1, saving, needed }
            if saving == usd(0.0015) && needed > saving && needed < usd(0.0025)
    ));
    assert_eq!(priced(0.1975).disruption().savings, usd(0.0025));
}

#[test]
fn a_move_pays_for_itself_within_the_time_for_which_nothing_has_changed() {
    let changed = |minutes: i64| {
        let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.xlarge", 4, 0.15)];
        let event = crate::testing::now() - domain::SignedDuration::from_mins(minutes);
        let claim = |claim: &mut domain::node_claim::NodeClaim| {
            claim.status.last_pod_event = Some(event);
        };
        let world = cluster().selling(sold).node(node("n1").with_claim(claim));
        world.pod(pod("a").cpu(3000).on("n1")).plan().disruptions.len()
    };
    // Both nodes for five minutes cost 1.25 cents, and ten minutes of the pod 3.33: saving 5 cents
    // an hour pays them back in 55 minutes, which is too long until nothing changes any more.
    assert_eq!((changed(29), changed(30)), (0, 1));
}

/// Nodes of four CPUs with two pods each that no other node has room for, and larger nodes on sale
/// that cost a little less per CPU.
fn full(nodes: usize) -> Cluster {
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.4xlarge", 12, 0.45)];
    (0..nodes).fold(cluster().selling(sold), |world, index| {
        let name = format!("n{index}");
        let pod = pod(&format!("p{index}")).cpu(1900).on(&name);
        world.node(node(&name)).pods(2, &pod)
    })
}

#[test]
fn several_nodes_become_fewer() {
    let disruption = full(6).disruption();
    assert_eq!((disruption.nodes.len(), disruption.replacements.len()), (6, 2));
    assert_eq!(disruption.savings, usd(6.0 * 0.20 - 2.0 * 0.45));
    let placed: usize = disruption.replacements.iter().map(|claim| claim.pods.len()).sum();
    assert_eq!(placed, 12);
}

/// Six nodes that two could replace, each of two types at least, and a limit.
fn limited(cpus: i64) -> Cluster {
    let mut sold = full(6).0.instance_types.default.to_vec();
    sold.push(instance_type("o.4xlarge", 16, 0.46));
    let any = requirement(INSTANCE_TYPE, Operator::Exists, &[]);
    let two_types = Requirement { min_values: Some(2), ..any };
    full(6)
        .selling(sold)
        .pool(node_pool_of("default", &[two_types]))
        .default_pool(|pool| pool.limits = Resources::new().with(CPU, cpus * 1000))
}

#[test]
fn a_move_that_limits_leave_too_few_types_for_is_not_proposed_and_the_reason_says_so() {
    // Each new node may turn out to have sixteen CPUs: three nodes give it twelve.
    assert_eq!(limited(32).disruption().replacements.len(), 2);
    assert_eq!(limited(28).disruption().replacements.len(), 1);
    let why = unconsolidatable(&limited(27), "n0");
    assert!(matches!(why, Unconsolidatable::NothingCheaper { .. }), "{why:?}");
}

#[test]
fn a_move_that_limits_leave_too_few_types_for_by_now_is_not_valid() {
    let command = limited(32).disruption();
    let why = validate(&limited(29).0, &command).unwrap_err().to_string();
    assert!(why.contains("pods fit on no node that stays, and on no"), "{why}");
}

#[test]
fn one_node_is_never_spread_over_two() {
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.large", 2, 0.05)];
    let world = cluster().selling(sold).node(node("n1")).pods(2, &pod("a").cpu(1500).on("n1"));
    assert!(matches!(
        unconsolidatable(&world, "n1"),
        Unconsolidatable::NothingCheaper { pods: 2, .. }
    ));
}

/// Two full nodes of four pods each, of which three would fill one kind of node on sale and five
/// another.
fn unevenly_divisible(price_of_larger: f64) -> Cluster {
    let sold = vec![
        instance_type("m.xlarge", 4, 0.20),
        instance_type("o.large", 3, 0.15),
        instance_type("o.xlarge", 5, price_of_larger),
    ];
    ["n1", "n2"].into_iter().fold(cluster().selling(sold), |world, name| {
        world.node(node(name)).pods(4, &pod(&format!("{name}-pod")).cpu(900).on(name))
    })
}

#[test]
fn several_nodes_become_as_many_that_cost_less() {
    let disruption = unevenly_divisible(0.21).disruption();
    assert_eq!((disruption.nodes.len(), disruption.replacements.len()), (2, 2));
    assert_eq!(disruption.savings, usd(0.40 - 0.36));
}

#[test]
fn a_replacement_that_only_one_node_can_use_is_left_to_it() {
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("o.large", 3, 0.13)];
    let anywhere = pod("anywhere").cpu(900);
    let world = cluster()
        .selling(sold)
        .node(node("n1"))
        .node(node("n2"))
        .pods(3, &pod("in-a").cpu(900).on_nodes_with(ZONE, "a").on("n1"))
        .pods(1, &anywhere.clone().on("n1"))
        .pods(2, &anywhere.on("n2"));
    let mut command = world.disruption();
    assert_eq!((command.nodes.len(), command.replacements.len()), (2, 2));
    let name_and_pods = |own: &PlannedNodeClaim| (own.name.clone(), own.pods.clone());
    // The node for pods of any zone would do in zone a too; the other way round it would not.
    for _ in 0..2 {
        command.replacements.reverse();
        let renewed = validate(&world.0, &command).unwrap();
        let mut planned: Vec<_> = command.replacements.iter().map(name_and_pods).collect();
        planned.sort();
        let renewed: Vec<_> = renewed.replacements.iter().map(name_and_pods).collect();
        assert_eq!(renewed, planned);
    }
}

#[test]
fn new_nodes_may_be_of_a_type_that_is_removed() {
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("old.2xlarge", 6, 0.45)];
    // Next to each of the larger pods, a node of four CPUs has room for one of the smaller ones.
    let disruption = cluster()
        .selling(sold)
        .node(node("n1").of_type("m.xlarge"))
        .node(node("n2").of_type("old.2xlarge"))
        .pods(2, &pod("smaller").cpu(1500).on("n1"))
        .pods(2, &pod("larger").cpu(2500).on("n2"))
        .disruption();
    let kinds: Vec<&str> =
        disruption.replacements.iter().map(|own| &*own.offering.instance_type).collect();
    assert_eq!((disruption.nodes.len(), kinds), (2, vec!["m.xlarge", "m.xlarge"]));
    assert_eq!(disruption.savings, usd(0.65 - 2.0 * 0.20));
}

#[test]
fn a_move_to_several_new_nodes_has_to_pay_for_itself_sooner() {
    // A cent per hour would pay for one new node within a day, and for these within ten hours.
    let world = unevenly_divisible(0.24);
    assert!(world.plan().disruptions.is_empty());
}

/// A node with a pod and two smaller ones, and two remaining nodes: one has room for the larger
/// pod, the other for twice 950 m, or for 800 m beside the larger one.
fn with_room_for_each(smaller: i64) -> Cluster {
    beside_nodes_with_room(node("goes"), smaller).selling(vec![instance_type("m.xlarge", 4, 0.20)])
}

/// The nodes of [`with_room_for_each`], with the given node `goes`.
fn beside_nodes_with_room(goes: NodeMaker, smaller: i64) -> Cluster {
    cluster()
        .node(goes)
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("larger").cpu(1100).on("goes"))
        .pod(pod("small").cpu(smaller).on("goes"))
        .pod(pod("smaller").cpu(smaller).on("goes"))
        .pod(pod("a").cpu(2100).on("n1"))
        .pod(pod("b").cpu(2900).on("n2"))
}

#[test]
fn a_node_is_kept_if_kube_scheduler_would_spread_its_pods_until_one_has_no_place() {
    // The larger pod goes to the emptier node, where both of the others should go.
    assert_eq!(
        unconsolidatable(&with_room_for_each(950), "goes"),
        Unconsolidatable::SchedulerDivergence { pods: 1, saving: usd(0.20), price: usd(0.20) }
    );
    let world = with_room_for_each(800);
    assert_eq!(disrupted_for(&world.plan(), DisruptionReason::Underutilized), ["goes"]);
}

#[test]
fn pods_that_a_budget_delays_come_after_the_others() {
    // While the second large pod waits, the smaller one takes the place where it should go.
    let world = |allowed| {
        let large = pod("large").label("app", "db").cpu(1100).on("goes");
        ["goes", "n1", "n2", "n3"]
            .into_iter()
            .fold(cluster(), |world, name| world.node(node(name)))
            .selling(vec![instance_type("m.xlarge", 4, 0.20)])
            .pods(2, &large)
            .pod(pod("smaller").cpu(800).on("goes"))
            .pod(pod("a").cpu(2100).on("n1"))
            .pod(pod("b").cpu(2800).on("n2"))
            .pod(pod("c").cpu(3100).on("n3"))
            .pdb(pdb("db", ("app", "db"), allowed))
    };
    assert_eq!(disrupted_for(&world(2).plan(), DisruptionReason::Underutilized), ["goes"]);
    assert_eq!(
        unconsolidatable(&world(1), "goes"),
        Unconsolidatable::SchedulerDivergence { pods: 1, saving: usd(0.20), price: usd(0.20) }
    );
}

#[test]
fn a_new_node_has_room_for_a_pod_that_kube_scheduler_would_leave_without_a_place() {
    let sold = vec![
        instance_type("old.2xlarge", 8, 0.25),
        instance_type("m.xlarge", 4, 0.20),
        instance_type("m.large", 2, 0.13),
    ];
    let world = beside_nodes_with_room(node("goes").of_type("old.2xlarge"), 950)
        .selling(sold)
        .pod(pod("fits-nowhere").cpu(1950).on("goes"))
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(1))]);
    // A small node for one pod would save 12 cents, and another for a pod without a place would
    // cost 13.
    let disruption = world.disruption();
    assert_eq!((disruption.nodes.len(), disruption.replacements.len()), (1, 1));
    assert_eq!(disruption.savings, usd(0.25 - 0.20));
    assert_eq!(disruption.replacements[0].pods, [pod_key("fits-nowhere"), pod_key("smaller")]);
}

#[test]
fn a_node_is_kept_if_limits_forbid_the_one_that_spread_pods_would_need() {
    let world =
        with_room_for_each(950).default_pool(|pool| pool.limits = Resources::new().with(CPU, 8000));
    assert_eq!(unconsolidatable(&world, "goes"), Unconsolidatable::NoPlace(pod_key("smaller")));
}

#[test]
fn more_than_a_hundred_candidates_are_evaluated() {
    // Two hundred full nodes of a high price, and the only one whose pods fit elsewhere comes last
    // by price.
    let sold = vec![instance_type("m.large", 2, 0.10), instance_type("m.xlarge", 4, 0.20)];
    let world = (0..200).fold(cluster().selling(sold), |world, index| {
        let name = format!("full-{index:03}");
        let pod = pod(&format!("p{index}")).cpu(3600).on(&name);
        world.node(node(&name)).pod(pod)
    });
    let world = world.node(node("small").of_type("m.large")).pod(pod("s").cpu(200).on("small"));
    assert_eq!(disrupted_for(&world.plan(), DisruptionReason::Underutilized), ["small"]);
}

/// Two nodes that could be removed, and one that hosts their pods.
fn two_removable() -> Cluster {
    cluster()
        .node(node("cheap").of_type("m.large"))
        .node(node("dear"))
        .node(node("roomy").of_type("m.2xlarge"))
        .pod(pod("a").cpu(300).on("cheap"))
        .pod(pod("b").cpu(300).on("dear"))
        .pod(pod("c").cpu(6500).on("roomy"))
}

#[test]
fn the_highest_savings_per_disruption_come_first() {
    let policies = [ConsolidationPolicy::WhenEmptyOrUnderutilized, ConsolidationPolicy::Balanced];
    for policy in policies {
        let world = two_removable().default_pool(|pool| {
            pool.disruption.consolidation_policy = policy;
            pool.disruption.budgets = vec![budget(CountOrPercent::Count(1))];
        });
        assert_eq!(disrupted_for(&world.plan(), DisruptionReason::Underutilized), ["dear"]);
    }
}

#[test]
fn little_more_savings_for_much_more_disruption_come_later() {
    // Full nodes would be cheaper as a larger one, and could be replaced together with the one that
    // is nearly empty.
    let sold = vec![
        instance_type("m.xlarge", 4, 0.20),
        instance_type("m.2xlarge", 8, 0.40),
        instance_type("n.4xlarge", 12, 0.55),
    ];
    let world = ["n1", "n2", "n3"].into_iter().fold(cluster().selling(sold), |world, name| {
        world.node(node(name)).pods(8, &pod(&format!("{name}-pod")).cpu(490).on(name))
    });
    let world = world
        .node(node("dear"))
        .node(node("roomy").of_type("m.2xlarge"))
        .pod(pod("b").cpu(300).on("dear"))
        .pod(pod("c").cpu(7600).on("roomy"));
    assert_eq!(disrupted_for(&world.plan(), DisruptionReason::Underutilized), ["dear"]);
    let next = world.after(&world.plan()).disruption();
    assert_eq!(next.savings, usd(0.60 - 0.55));
}

#[test]
fn nodes_of_many_small_pods_are_removed_together_if_others_have_room_for_those() {
    // Ten nodes have more waste per disruption, but no type is cheaper than theirs.
    let sold = vec![instance_type("m.xlarge", 4, 0.20), instance_type("old.xlarge", 4, 0.22)];
    let world = (0..10).fold(cluster().selling(sold), |world, index| {
        let name = format!("stays-{index}");
        let pod = pod(&format!("large-{index}")).cpu(3600).on(&name);
        world.node(node(&name)).pod(pod)
    });
    let world = ["goes-1", "goes-2"].into_iter().fold(world, |world, name| {
        world
            .node(node(name).of_type("old.xlarge"))
            .pod(pod(&format!("{name}-middle")).cpu(1400).on(name))
            .pods(10, &pod(&format!("{name}-small")).cpu(200).on(name))
    });
    let disruption = world.disruption();
    assert_eq!(disruption.nodes, ["goes-1", "goes-2"].map(domain::Text::from));
    assert_eq!(disruption.savings, usd(2.0 * 0.22 - 0.20));
}

#[test]
fn a_node_left_for_a_later_command_says_what_it_would_save() {
    let world = two_removable()
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(1))]);
    let saving = usd(0.10);
    let later = unconsolidatable(&world, "cheap");
    let before = world.disruption().nodes;
    assert_eq!(
        later.to_string(),
        format!("it can go and would save {saving}: {} goes first", before[0])
    );
    assert_eq!(later, Unconsolidatable::Later { saving, before });
}

#[test]
fn a_balanced_pool_reports_the_score_it_refuses() {
    let world = two_removable().default_pool(|pool| {
        pool.disruption.consolidation_policy = ConsolidationPolicy::Balanced;
    });
    // A seventh of the cost for a third of the disruption.
    assert_eq!(
        unconsolidatable(&world, "cheap"),
        Unconsolidatable::Unbalanced { saving: usd(0.10), score_percent: 42 }
    );
}

#[test]
fn pods_move_to_remaining_nodes() {
    // `cheap` has room too and would be tried first by name, but is removed itself.
    let plan: Plan = two_removable().plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Underutilized), ["cheap", "dear"]);
    assert!(plan.disruptions[0].moves.iter().all(|own| &*own.node == "roomy"));
}

#[test]
fn a_run_leaves_nothing_for_the_next() {
    for world in [full(6), two_removable()] {
        let settled = world.after(&world.plan());
        let plan = settled.plan();
        assert!(plan.disruptions.is_empty(), "{:?}", plan.disruptions);
    }
}
