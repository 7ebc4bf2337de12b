//! `outrigger.dev/off-schedule`: hours in which a NodePool has no nodes.

use domain::SignedDuration;
use domain::budget::{Budget, BudgetWindow, WindowZone};
use domain::off_hours::OffHours;
use domain::pdb::CountOrPercent;
use domain::pod::DoNotDisrupt;
use domain::reason::{DisruptionReason, NodePoolUnfit};

use crate::testing::{Cluster, cluster, disrupted_for, node, node_pool_of, now, pod, unfit};

/// Off for an hour from every minute on.
fn always() -> OffHours {
    OffHours {
        window: BudgetWindow {
            schedule: "* * * * *".parse().unwrap(),
            duration: SignedDuration::from_hours(1),
            zone: WindowZone::default(),
        },
        grace: None,
        awake_until: None,
    }
}

fn off(own: OffHours) -> Cluster {
    cluster().default_pool(move |pool| {
        pool.disruption.budgets =
            vec![Budget { nodes: CountOrPercent::Count(0), ..Budget::default_budget() }];
        pool.options.off_hours = Some(own);
    })
}

#[test]
fn nodes_of_a_pool_that_is_off_go_past_budgets_with_all_their_pods() {
    let busy = pod("a").cpu(3000).on("n1");
    let busy = busy.having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
    let plan = off(always()).node(node("n1")).node(node("n2")).pod(busy).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::OffHours), ["n1", "n2"]);
    assert!(plan.disruptions.iter().all(|own| own.replacements.is_empty()));
    assert_eq!(plan.figures.off, [("default".into(), true)].into());
}

#[test]
fn a_pod_of_a_pool_that_is_off_waits_and_is_told_until_when() {
    let plan = off(always()).pod(pod("a")).plan();
    assert!(plan.node_claims.is_empty());
    let reason = unfit(&plan, "a", "default");
    let NodePoolUnfit::OffHours { until } = reason else { panic!("{reason:?}") };
    assert!(until > now());
    assert!(plan.unschedulable[0].awaits_off_pool());
}

#[test]
fn no_pod_is_put_where_all_have_to_go() {
    let plan = off(always()).node(node("n1")).pod(pod("a")).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::OffHours), ["n1"]);
    assert!(plan.placements.is_empty(), "{plan:?}");
    assert!(plan.unschedulable[0].awaits_off_pool(), "{plan:?}");
}

#[test]
fn nodes_of_other_pools_stay_and_take_what_may_go_there() {
    let world = off(always()).pool(node_pool_of("other", &[])).node(node("n1"));
    let plan = world.pod(pod("a").cpu(3000).on("n1")).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::OffHours), ["n1"]);
    let replacements = &plan.disruptions[0].replacements;
    assert_eq!(replacements.len(), 1);
    assert_eq!(&*replacements[0].node_pool, "other");
}

#[test]
fn whoever_works_late_keeps_the_pool_awake() {
    let awake = OffHours { awake_until: Some(now() + SignedDuration::from_mins(1)), ..always() };
    let plan = off(awake).node(node("n1")).pod(pod("a").cpu(3000).on("n1")).plan();
    assert!(plan.disruptions.is_empty(), "{plan:?}");
    assert_eq!(plan.figures.off, [("default".into(), false)].into());
}
