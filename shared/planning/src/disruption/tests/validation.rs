//! Validation of a command against a fresh snapshot.

use domain::SignedDuration;
use domain::label::DO_NOT_DISRUPT;
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pdb::{CountOrPercent, PdbRefusal};
use domain::plan::PlannedDisruption;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::resource::CPU;
use domain::taint::Taint;

use crate::disruption::validate;
use crate::testing::{
    Cluster, budget, cluster, instance_type, is, minutes_ago, node, node_pool_with, pdb, pod,
    pod_key, usd,
};

/// A node that a cheaper one could replace, and the command that does it.
fn replacing() -> (Cluster, PlannedDisruption) {
    let world = cluster().node(node("n1")).pod(pod("a").cpu(1500).on("n1"));
    let command = world.disruption();
    assert_eq!(command.replacements.len(), 1);
    (world, command)
}

/// Two nodes of which one is removed, its pods moving to the other, and the command.
fn moving() -> (Cluster, PlannedDisruption) {
    let world = cluster()
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("a").cpu(500).on("n1"))
        .pod(pod("b").cpu(3000).on("n2"));
    let command = world.disruption();
    assert!(command.replacements.is_empty());
    (world, command)
}

fn is_valid(world: &Cluster, command: &PlannedDisruption) -> bool {
    validate(&world.0, command).is_ok()
}

/// Checks that the command is refused with this text.
#[track_caller]
fn check(world: &Cluster, command: &PlannedDisruption, text: &str) {
    assert_eq!(validate(&world.0, command).unwrap_err().to_string(), text);
}

#[test]
fn what_was_just_proposed_is_valid() {
    for (world, command) in [replacing(), moving()] {
        assert_eq!(validate(&world.0, &command).as_ref(), Ok(&command));
    }
}

#[test]
fn pods_whose_place_was_taken_meanwhile_get_another() {
    let (world, command) = moving();
    let world = world.node(node("n3")).pod(pod("d").cpu(1000).on("n3"));
    let place = |command: &PlannedDisruption| command.moves[0].node.to_string();
    assert_eq!(place(&command), "n2");
    let taken = world.pod(pod("c").cpu(800).on("n2"));
    assert_eq!(place(&validate(&taken.0, &command).unwrap()), "n3");
}

#[test]
fn a_pod_that_arrived_on_the_node_meanwhile_moves_with_the_others() {
    let (world, command) = replacing();
    let world = world.pod(pod("b").cpu(100).on("n1"));
    let renewed = validate(&world.0, &command).unwrap();
    assert_eq!(renewed.pods, [pod_key("a"), pod_key("b")]);
    assert_eq!(renewed.replacements[0].pods, renewed.pods);
    assert_eq!(renewed.replacements[0].requests.get(CPU), 1600);
}

#[test]
fn what_is_launched_is_chosen_at_the_prices_of_the_moment() {
    let world = |first: f64, second: f64| {
        let sold = vec![
            instance_type("m.xlarge", 4, 0.20),
            instance_type("n.large", 2, first),
            instance_type("o.large", 2, second),
        ];
        cluster().selling(sold).node(node("n1")).pod(pod("a").cpu(1500).on("n1"))
    };
    let command = world(0.08, 0.09).disruption();
    let renewed = validate(&world(0.10, 0.09).0, &command).unwrap();
    let (planned, fresh) = (&command.replacements[0], &renewed.replacements[0]);
    assert_eq!(fresh.name, planned.name);
    assert_eq!(&*planned.offering.instance_type, "n.large");
    assert_eq!(&*fresh.offering.instance_type, "o.large");
    assert_eq!(&*fresh.instance_types[0], "o.large");
}

#[test]
fn a_command_stays_valid_though_something_better_would_be_proposed_now() {
    let (world, command) = moving();
    // A dearer node now could go as well, and comes first.
    let world = world.node(node("n0").of_type("m.2xlarge")).pod(pod("c").cpu(400).on("n0"));
    assert_ne!(world.disruption().nodes, command.nodes);
    assert!(is_valid(&world, &command));
}

#[test]
fn a_command_for_several_nodes_is_valid_as_a_whole_or_not_at_all() {
    let world = cluster()
        .node(node("n1").of_type("m.2xlarge"))
        .node(node("n2").of_type("m.2xlarge"))
        .pod(pod("a").cpu(1500).on("n1"))
        .pod(pod("b").cpu(1500).label("app", "web").on("n2"));
    let command = world.disruption();
    assert_eq!(command.nodes.len(), 2);
    assert!(is_valid(&world, &command));
    // The fresh plan still takes the other.
    let blocked = world.pdb(pdb("web", ("app", "web"), 0));
    assert_eq!(blocked.disruption().nodes, [command.nodes[0].clone()]);
    assert_eq!(
        validate(&blocked.0, &command),
        Err(NotDisruptable::Pdb {
            pod: pod_key("b"),
            budget: "default/web".into(),
            refusal: PdbRefusal::NoneAllowed { healthy: 1, desired: 1 },
        })
    );
}

#[test]
fn a_node_that_is_deleted_or_being_deleted_invalidates_the_command() {
    let (world, command) = replacing();
    let text = "node n1 is gone or already going";
    check(&world.clone().with(|snapshot| snapshot.objects.nodes.clear()), &command, text);
    let tainted = world.with(|snapshot| snapshot.objects.nodes[0].taints.push(Taint::disrupted()));
    check(&tainted, &command, text);
}

#[test]
fn what_blocks_a_node_now_is_the_reason() {
    let (world, command) = moving();
    let refusing = world.clone().with(|snapshot| {
        snapshot.objects.nodes[0].annotations.insert(DO_NOT_DISRUPT.into(), "true".into());
    });
    assert_eq!(validate(&refusing.0, &command), Err(NotDisruptable::DoNotDisrupt));
    let nominated = world.clone().with(|snapshot| {
        snapshot.nominations.insert("n1".into(), Vec::new());
    });
    assert_eq!(validate(&nominated.0, &command), Err(NotDisruptable::Nominated));
    let pending = world.clone().pod(pod("new").cpu(3000));
    assert_eq!(validate(&pending.0, &command), Err(NotDisruptable::Nominated));
    let busy = world.with(|snapshot| {
        snapshot.objects.node_pools[0].disruption.consolidate_after =
            NeverOr::After(SignedDuration::from_mins(5));
        snapshot.node_claims[0].status.last_pod_event = Some(minutes_ago(1));
    });
    let (wait, left) = (SignedDuration::from_mins(5), SignedDuration::from_mins(4));
    let waits = NotDisruptable::ConsolidateAfter { wait, left };
    assert_eq!(
        waits.to_string(),
        "consolidateAfter is 5m, and since a pod came or went 4m of it are left"
    );
    assert_eq!(validate(&busy.0, &command), Err(waits));
}

#[test]
fn an_exhausted_budget_invalidates_the_command() {
    let (world, command) = moving();
    let shut = world.default_pool(|pool| {
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))];
    });
    assert!(matches!(validate(&shut.0, &command), Err(NotDisruptable::Budget { .. })));
}

#[test]
fn a_policy_that_has_changed_invalidates_the_command() {
    let (world, command) = moving();
    let changed = world.default_pool(|pool| {
        pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty;
    });
    check(
        &changed,
        &command,
        "NodePool default does not consolidate it: it consolidates only empty nodes",
    );
}

#[test]
fn a_node_that_is_no_longer_empty_is_kept() {
    let world = cluster().node(node("n1")).node(node("n2"));
    let command = world.disruption();
    assert_eq!(command.reason, DisruptionReason::Empty);
    assert!(is_valid(&world, &command));
    check(&world.pod(pod("a").on("n2")), &command, "node n2 is not empty any more");
}

#[test]
fn pods_that_fit_nowhere_else_any_more_invalidate_the_command() {
    let (world, command) = moving();
    // What would hold them is full, and a new node was not planned.
    let full = world.clone().pod(pod("c").cpu(900).on("n2"));
    check(&full, &command, "its pods need 1 new nodes now, 0 planned");
    let nothing_sold = full.default_pool(|pool| pool.ready = Some(false));
    check(&nothing_sold, &command, "pod default/a finds no other place");
}

#[test]
fn a_replacement_that_is_not_needed_any_more_invalidates_the_command() {
    let (world, command) = replacing();
    let roomy = world.node(node("n2")).pod(pod("b").cpu(100).on("n2"));
    check(&roomy, &command, "its pods need only 0 new nodes now, 1 planned");
}

#[test]
fn a_planned_type_that_is_too_small_or_too_expensive_now_invalidates_the_command() {
    let (world, command) = replacing();
    let grown = world.clone().pod(pod("b").cpu(800).on("n1"));
    let dearer = "2 of its pods would need a new node: the cheapest, m.xlarge, costs $0.2000/h, \
                  and $0.2000/h would be saved";
    check(&grown, &command, dearer);
    let dear = vec![
        instance_type("m.large", 2, 0.25),
        instance_type("n.large", 2, 0.12),
        instance_type("m.xlarge", 4, 0.20),
    ];
    let name = &command.replacements[0].name;
    check(
        &world.clone().selling(dear),
        &command,
        &format!("replacement {name} could not be m.large any more"),
    );
    // It may cost more than planned, as long as something is saved.
    let mut sold = world.0.instance_types.default.to_vec();
    for offering in sold.iter_mut().flat_map(|own| &mut own.offerings) {
        if offering.price == usd(0.10) {
            offering.price = usd(0.15);
        }
    }
    assert!(is_valid(&world.selling(sold), &command));
}

#[test]
fn a_replacement_must_do_in_every_zone_it_may_come_up_in() {
    let (world, command) = replacing();
    let pinned = world.pod(pod("b").cpu(100).on_nodes_with(domain::label::ZONE, "a").on("n1"));
    let name = &command.replacements[0].name;
    check(
        &pinned,
        &command,
        &format!("replacement {name} could not have topology.kubernetes.io/zone b any more"),
    );
}

#[test]
fn a_replacement_must_have_the_labels_that_pods_require_now() {
    let pool = node_pool_with("default", |template| {
        template.requirements =
            vec![domain::requirement::Requirement::is_in("team", ["blue", "red"].map(Into::into))];
    });
    let world =
        cluster().pool(pool).node(node("n1").label("team", "red")).pod(pod("a").cpu(1500).on("n1"));
    let command = world.disruption();
    assert!(is_valid(&world, &command));
    let named = world.pod(pod("b").cpu(100).requiring(is("team", "red")).on("n1"));
    let name = &command.replacements[0].name;
    check(&named, &command, &format!("replacement {name} could not have team blue any more"));
}

#[test]
fn a_replacement_of_another_pool_is_another_command() {
    let (world, command) = replacing();
    let mut heavier = node_pool_with("heavy", |_| {});
    heavier.weight = 10;
    let name = &command.replacements[0].name;
    check(
        &world.pool(heavier),
        &command,
        &format!("replacement {name} would be of NodePool heavy"),
    );
}

#[test]
fn drift_that_was_undone_invalidates_the_command() {
    let undone = cluster()
        .default_pool(|pool| pool.disruption.consolidate_after = NeverOr::Never)
        .node(node("n1"))
        .pod(pod("a").cpu(3000).on("n1"));
    let drifted = undone.clone().with(|snapshot| {
        let template = std::sync::Arc::make_mut(&mut snapshot.objects.node_pools[0].template);
        template.labels.insert("a".into(), "b".into());
    });
    let command = drifted.disruption();
    assert_eq!(command.reason, DisruptionReason::Drifted);
    assert!(is_valid(&drifted, &command));
    check(&undone, &command, "node n1 has not drifted any more");
}

#[test]
fn expiration_is_valid_whatever_blocks_the_node_and_invalid_once_postponed() {
    let expired = |hours| {
        cluster()
            .node(node("n1").with_claim(|claim| {
                claim.expire_after = NeverOr::After(SignedDuration::from_hours(hours));
            }))
            .pod(pod("a").cpu(3000).label("app", "web").on("n1"))
            .pdb(pdb("web", ("app", "web"), 0))
    };
    let command = expired(24).disruption();
    assert_eq!(command.reason, DisruptionReason::Expired);
    assert!(is_valid(&expired(24), &command));
    // Less is needed than planned: it goes all the same.
    assert!(is_valid(&expired(24).node(node("n2")), &command));
    check(&expired(48), &command, "node n1 is not Expired any more");
}

#[test]
fn a_node_that_is_disrupted_in_any_case_invalidates_the_voluntary_command() {
    let (world, command) = moving();
    let expired = world.with(|snapshot| {
        snapshot.node_claims[0].expire_after = NeverOr::After(SignedDuration::from_hours(1));
    });
    check(&expired, &command, "node n1 goes as Expired now");
}

#[test]
fn an_interruption_stays_valid() {
    let (world, command) = moving();
    let interrupted = PlannedDisruption { reason: DisruptionReason::Interrupted, ..command };
    assert!(is_valid(&world, &interrupted));
}
