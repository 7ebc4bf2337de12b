//! Consolidation beside Commitments: a covered node costs nothing to keep, and room that is paid
//! for takes pods off nodes that cost something.

use domain::SignedDuration;
use domain::commitment::Commitment;
use domain::instance_type::CapacityType;
use domain::label;
use domain::money::UsdPerHour;
use domain::node_pool::NeverOr;
use domain::plan::PlannedDisruption;
use domain::reason::{NotDisruptable, Unconsolidatable};

use crate::disruption::validate;
use crate::testing::{
    Cluster, NodeMaker, cluster, instance_type, node, pod, savings_plan, usd, with_spot,
};

fn world(commitments: &[Commitment]) -> Cluster {
    let sold = vec![with_spot(instance_type("m.xlarge", 4, 0.20), 0.06)];
    cluster().selling(sold).with(|snapshot| snapshot.objects.commitments = commitments.to_vec())
}

fn spot(name: &str) -> NodeMaker {
    node(name).label(label::CAPACITY_TYPE, "spot")
}

fn moved(world: &Cluster) -> PlannedDisruption {
    let disruption = world.disruption();
    assert_eq!(validate(&world.0, &disruption).as_ref(), Ok(&disruption));
    disruption
}

#[test]
fn a_node_that_a_commitment_covers_is_not_replaced_by_spot() {
    let on_demand = |world: Cluster| world.node(node("n")).pod(pod("a").cpu(3000).on("n"));
    assert_eq!(on_demand(world(&[])).disruption().savings, usd(0.14));
    let kept = on_demand(world(&[savings_plan(0.10)]));
    assert!(
        matches!(
            kept.blocked("n"),
            NotDisruptable::Unconsolidatable(Unconsolidatable::NothingCheaper { before, .. })
                if before == UsdPerHour::ZERO
        ),
        "{:?}",
        kept.blocked("n")
    );
}

#[test]
fn what_a_commitment_does_not_cover_is_worth_replacing() {
    let two = (0..2).fold(world(&[savings_plan(0.10)]), |world, index| {
        let name = format!("n{index}");
        world.node(node(&name)).pod(pod(&format!("p{index}")).cpu(3000).on(&name))
    });
    let disruption = moved(&two);
    assert_eq!((disruption.nodes.len(), disruption.savings), (1, usd(0.14)));
    assert!(two.after(&two.plan()).plan().disruptions.is_empty(), "the other is covered");
}

#[test]
fn pods_move_from_spot_to_a_commitment_that_is_not_used() {
    let world = world(&[savings_plan(0.10)]).node(spot("n")).pod(pod("a").cpu(3000).on("n"));
    let disruption = moved(&world);
    let [replacement] = &disruption.replacements[..] else { panic!("{disruption:?}") };
    assert_eq!(replacement.offering.capacity_type, CapacityType::OnDemand);
    assert_eq!(disruption.savings, usd(0.06));
    let plan = world.plan();
    let committed = plan.committed.as_ref().unwrap();
    assert_eq!(plan.totals.hourly_after - committed.after.covered, UsdPerHour::ZERO);
    assert_eq!(plan.totals.hourly_after, usd(0.20));
    assert!(world.after(&plan).plan().disruptions.is_empty(), "and stay there");
}

#[test]
fn pods_stay_on_spot_where_a_commitment_is_used_up() {
    let world = world(&[savings_plan(0.10)])
        .node(node("covered"))
        .pod(pod("b").cpu(3000).on("covered"))
        .node(spot("n"))
        .pod(pod("a").cpu(3000).on("n"));
    assert!(world.plan().disruptions.is_empty());
}

#[test]
fn an_expired_node_is_replaced_by_what_its_commitment_covers() {
    let expired = node("n").with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(1));
    });
    let world = world(&[savings_plan(0.10)]).node(expired).pod(pod("a").cpu(3000).on("n"));
    let disruption = world.disruption();
    let [replacement] = &disruption.replacements[..] else { panic!("{disruption:?}") };
    assert_eq!(replacement.offering.capacity_type, CapacityType::OnDemand);
}
