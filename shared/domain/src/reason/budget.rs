//! How a NodePool's disruption budget comes to the number that it allows.

use std::fmt;

use crate::pdb::CountOrPercent;

/// How many nodes a budget allows, as a sum: `10% of 22 nodes = 3, 2 leaving or not ready, 1 taken
/// by this plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetSum {
    /// What the budget says.
    pub nodes: CountOrPercent,
    /// Whether it is known when the budget is in force; it allows none unless it is.
    pub is_window_known: bool,
    /// Nodes of the pool.
    pub total: u32,
    /// Those of them that are leaving or not ready, which a budget counts as disrupted.
    pub unavailable: u32,
    /// Nodes that the plan disrupts already.
    pub taken: u32,
}

impl fmt::Display for BudgetSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, is_window_known, total, unavailable, taken } = *self;
        if !is_window_known {
            return f.write_str(
                "nobody knows when one of them is in force: its schedule or timeZone is none",
            );
        }
        let noun = if total == 1 { "node" } else { "nodes" };
        match nodes {
            CountOrPercent::Count(count) => write!(f, "{count} of {total} {noun}")?,
            CountOrPercent::Percent(percent) => {
                write!(f, "{percent}% of {total} {noun} = {}", nodes.of(total))?;
            }
        }
        if unavailable > 0 {
            write!(f, ", {unavailable} leaving or not ready")?;
        }
        if taken > 0 {
            write!(f, ", {taken} taken by this plan")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_says_what_has_been_taken_off() {
        let sum = BudgetSum {
            nodes: CountOrPercent::Percent(10),
            is_window_known: true,
            total: 22,
            unavailable: 0,
            taken: 0,
        };
        assert_eq!(sum.to_string(), "10% of 22 nodes = 3");
        let busy = BudgetSum { unavailable: 2, taken: 1, ..sum };
        assert_eq!(
            busy.to_string(),
            "10% of 22 nodes = 3, 2 leaving or not ready, 1 taken by this plan"
        );
        let count = BudgetSum { nodes: CountOrPercent::Count(1), ..sum };
        assert_eq!(count.to_string(), "1 of 22 nodes");
        let elsewhere = BudgetSum { is_window_known: false, ..sum };
        assert_eq!(
            elsewhere.to_string(),
            "nobody knows when one of them is in force: its schedule or timeZone is none"
        );
    }
}
