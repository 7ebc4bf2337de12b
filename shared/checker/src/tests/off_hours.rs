//! NodePools that are off (`outrigger.dev/off-schedule`).

use domain::SignedDuration;
use domain::budget::{BudgetWindow, WindowZone};
use domain::node_pool::NodePool;
use domain::off_hours::OffHours;
use domain::plan::PlannedDisruption;
use domain::reason::DisruptionReason;

use crate::Rule;
use crate::testing::*;

/// A NodePool that is always off, or never.
fn pool_that_is(off: bool) -> NodePool {
    let mut own = pool();
    own.disruption.budgets = Vec::new();
    own.options.off_hours = off.then(|| OffHours {
        window: BudgetWindow {
            schedule: "* * * * *".parse().unwrap(),
            duration: SignedDuration::from_hours(1),
            zone: WindowZone::default(),
        },
        grace: None,
        awake_until: None,
    });
    own
}

#[test]
fn nothing_is_launched_in_a_pool_that_is_off() {
    let launched = plan([claim("n", &["p"])]);
    let world = |off| cluster([pod("p")]).with_node_pools([pool_that_is(off)]);
    allows(&world(false), &launched);
    breaks(&world(true), &launched, &[Rule::OffHours]);
}

#[test]
fn nodes_go_for_off_hours_only_where_their_pool_is_off() {
    let gone = disruption(DisruptionReason::OffHours, &["e"]);
    // A small node costs five cents.
    let going = disrupting([PlannedDisruption { savings: usd(0.05), ..gone }]);
    let world = |off| {
        let nodes = [node("e", "small", "a")];
        cluster([]).with_node_pools([pool_that_is(off)]).with_nodes(nodes)
    };
    allows(&world(true), &going);
    breaks(&world(false), &going, &[Rule::OffHours]);
}
