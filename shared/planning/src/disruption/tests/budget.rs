//! Disruption budgets of NodePools.

use domain::SignedDuration;
use domain::budget::{Budget, BudgetWindow, WindowZone};
use domain::pdb::CountOrPercent::{Count, Percent};
use domain::reason::{BudgetSum, DisruptionReason, NotDisruptable};
use domain::taint::Taint;

use crate::testing::{Cluster, budget, cluster, disrupted_for, node, node_pool_with, pod};

/// `count` empty nodes.
fn empty_nodes(count: usize, budgets: &[Budget]) -> Cluster {
    let world = cluster().default_pool(|pool| pool.disruption.budgets = budgets.to_vec());
    (0..count).fold(world, |world, index| world.node(node(&format!("n{index}"))))
}

#[track_caller]
fn check(count: usize, budgets: &[Budget], expected: usize) {
    let plan = empty_nodes(count, budgets).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Empty).len(), expected);
}

#[test]
fn without_budgets_all_are_disrupted() {
    check(5, &[], 5);
}

#[test]
fn a_budget_allows_its_number_of_nodes() {
    check(5, &[budget(Count(2))], 2);
    check(5, &[budget(Count(0))], 0);
}

#[test]
fn percentages_are_of_the_pools_nodes_rounded_up() {
    check(5, &[budget(Percent(10))], 1);
    check(11, &[budget(Percent(10))], 2);
    check(5, &[budget(Percent(0))], 0);
    check(5, &[budget(Percent(100))], 5);
}

#[test]
fn the_strictest_budget_counts() {
    check(5, &[budget(Count(3)), budget(Percent(20))], 1);
}

#[test]
fn a_budget_applies_to_its_reasons() {
    let drifted = Budget { reasons: Some(vec![DisruptionReason::Drifted]), ..budget(Count(0)) };
    check(5, &[drifted], 5);
    let empty = Budget { reasons: Some(vec![DisruptionReason::Empty]), ..budget(Count(1)) };
    check(5, &[empty], 1);
}

#[test]
fn a_budget_applies_in_its_window() {
    let window = |schedule: &str| Budget {
        window: Some(BudgetWindow {
            schedule: schedule.parse().unwrap(),
            duration: SignedDuration::from_hours(2),
            zone: WindowZone::default(),
        }),
        ..budget(Count(0))
    };
    check(5, &[window("0 11 * * *")], 0);
    check(5, &[window("0 9 * * *")], 5);
}

#[test]
fn nodes_that_are_already_being_disrupted_count() {
    let leaving = node("leaving").with(|node| node.taints.push(Taint::disrupted()));
    let plan = empty_nodes(4, &[budget(Count(2))]).node(leaving).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Empty).len(), 1);
}

#[test]
fn what_a_budget_blocks_is_reported() {
    let world = empty_nodes(2, &[budget(Count(1))]);
    assert_eq!(
        world.blocked("n1"),
        NotDisruptable::Budget {
            node_pool: "default".into(),
            reason: DisruptionReason::Empty,
            allowed: 1,
            sum: Some(BudgetSum {
                nodes: Count(1),
                is_window_known: true,
                total: 2,
                unavailable: 0,
                taken: 1,
            }),
        }
    );
}

#[test]
fn what_a_budget_allows_is_said_as_a_sum() {
    let leaving = node("leaving").with(|node| node.taints.push(Taint::disrupted()));
    let world = empty_nodes(21, &[budget(Percent(10))]).node(leaving);
    assert_eq!(
        world.blocked("n5").to_string(),
        "the budgets of NodePool default allow 2 Empty disruptions now: 10% of 22 nodes = 3, 1 \
         leaving or not ready, 2 taken by this plan"
    );
}

#[test]
fn a_node_that_goes_for_one_reason_is_not_kept_for_another() {
    let of_empty = Budget { reasons: Some(vec![DisruptionReason::Empty]), ..budget(Count(0)) };
    let relabelled =
        node_pool_with("default", |template| _ = template.labels.insert("a".into(), "b".into()));
    let world = empty_nodes(1, &[]).pool(relabelled).default_pool(|pool| {
        pool.disruption.budgets = vec![of_empty];
    });
    let plan = world.plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Drifted).len(), 1);
    assert_eq!(plan.blocked, [], "budgets keep it from going as empty, and it goes as drifted");
}

#[test]
fn what_budgets_allow_and_what_could_go_is_counted_before_the_plan() {
    let of_empty = Budget { reasons: Some(vec![DisruptionReason::Empty]), ..budget(Count(2)) };
    let busy = pod("p").cpu(3900).on("busy");
    let figures = empty_nodes(5, &[of_empty]).node(node("busy")).pod(busy).plan().figures;
    let allowed = |reason| figures.allowed_disruptions[&("default".into(), reason)];
    assert_eq!(allowed(DisruptionReason::Empty), 2);
    assert_eq!(allowed(DisruptionReason::Drifted), 6, "no budget applies: all nodes of the pool");
    assert_eq!(figures.eligible_nodes[&DisruptionReason::Empty], 5);
    assert_eq!(figures.eligible_nodes[&DisruptionReason::Underutilized], 1);
    assert_eq!(figures.eligible_nodes[&DisruptionReason::Drifted], 0);
}
