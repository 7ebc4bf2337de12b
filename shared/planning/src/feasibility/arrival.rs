//! In which order pods may come: those that carry a spread before those that it only counts.
//!
//! A spread looks at the pods that are there when a pod that carries it comes, so whoever it counts
//! and does not carry it may go anywhere afterwards. kube-scheduler takes pods by priority; among
//! equals, planning chooses.

use super::topology::{Rule, Topology};
use crate::ids::{GroupIx, ShapeIx};

impl Topology {
    /// Whether where pods of the shape go bears on pods that carry the group, which selects them. A
    /// spread lets them come last, unless some of those that carry it have a lower priority.
    pub(crate) fn is_ahead_of(&self, shape: ShapeIx, group: GroupIx) -> bool {
        !matches!(self.groups[group].rule, Rule::Spread { .. })
            || self.constraints[shape].priority > self.least_priority[group]
    }

    /// Whether some waiting pod is selected by the group without carrying it.
    pub(crate) fn selects_others(&self, group: GroupIx) -> bool {
        self.selects_others[group]
    }

    /// Whether pods of the shape prefer to be near pods of other shapes, or away from them.
    pub(crate) fn minds_others(&self, shape: ShapeIx) -> bool {
        self.constraints[shape].owned.iter().any(|owned| {
            let is_spread = matches!(self.groups[owned.group].rule, Rule::Spread { .. });
            owned.weight > 0 && !is_spread && !owned.selects_itself
        })
    }

    /// Whether pods of the shape must keep a spread that counts other waiting pods too, which had
    /// better come later.
    pub(crate) fn leads(&self, shape: ShapeIx) -> bool {
        self.constraints[shape].owned.iter().any(|owned| {
            let is_spread = matches!(self.groups[owned.group].rule, Rule::Spread { .. });
            owned.weight == 0 && is_spread && self.selects_others[owned.group]
        })
    }
}
