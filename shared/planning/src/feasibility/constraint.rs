//! The rule of topology spread, pod affinity and pod anti-affinity: how many of the pods that a
//! constraint counts a domain may hold for one more pod to be allowed there.
//!
//! Whoever places a pod, chooses the domain of its new node, puts pods on one new node, or says why
//! a pod waits asks [`Topology::owned_constraint`] and [`Topology::repelling`], and nobody else
//! knows the rule.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>
//! and <https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/>.

use super::topology::{Owned, Rule, Topology};
use crate::ids::{GroupIx, ShapeIx};

/// How many counted pods a domain may hold, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountRange {
    least: i64,
    most: i64,
}

impl CountRange {
    const NONE: Self = Self { least: 0, most: 0 };
    const ANY: Self = Self { least: 0, most: i64::MAX };
    const SOME: Self = Self { least: 1, most: i64::MAX };

    const fn up_to(most: i64) -> Self {
        Self { least: 0, most }
    }

    /// Whether a domain that holds so many counted pods is within the range.
    pub(crate) fn contains(self, count: u32) -> bool {
        (self.least..=self.most).contains(&i64::from(count))
    }

    /// How many more pods may join a domain that holds `count`. `adds_up`: each of them is counted
    /// for the next.
    pub(crate) fn room(self, count: u32, adds_up: bool) -> u32 {
        if !self.contains(count) {
            return 0;
        }
        if !adds_up {
            return u32::MAX;
        }
        let room = self.most.saturating_sub(i64::from(count)).saturating_add(1);
        u32::try_from(room).unwrap_or(u32::MAX)
    }
}

/// Which pods of a group are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Those that the group selects.
    Selected,
    /// Those that carry the group's anti-affinity.
    Owners,
}

/// What the range of a group depends on besides the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupancy {
    /// No pod that the group selects is anywhere.
    pub(crate) is_unmatched: bool,
    /// Selected pods in the eligible domain that holds the fewest; 0 for rules other than spread.
    pub(crate) least: i64,
}

/// A constraint as it stands for the next pod of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    /// The group.
    pub(crate) group: GroupIx,
    /// 0 for a requirement, else how much keeping it is worth.
    pub(crate) weight: i32,
    /// Which pods are counted.
    pub(crate) counted: Counted,
    /// How many of them a domain may hold.
    pub(crate) allowed: CountRange,
    /// Whether a node without the label is allowed.
    pub(crate) allows_unlabelled: bool,
    /// Whether the pod is counted itself, once it is there.
    pub(crate) adds_up: bool,
}

impl Constraint {
    /// Whether no pod may break it.
    pub(crate) fn is_required(&self) -> bool {
        self.weight == 0
    }
}

impl Topology {
    /// A constraint that a shape carries, as it stands for the next of its pods.
    pub(crate) fn owned_constraint(&self, owned: &Owned, occupancy: Occupancy) -> Constraint {
        let Owned { group, weight, selects_itself, may_be_first } = *owned;
        let rule = self.groups[group].rule;
        // Where nobody is there to join, a preference can be kept nowhere and so is broken nowhere.
        let is_moot = rule == Rule::Affinity && occupancy.is_unmatched && weight > 0;
        let allowed = match rule {
            Rule::Affinity if is_moot => CountRange::ANY,
            // The first pod of a group that selects itself opens a domain.
            Rule::Affinity if occupancy.is_unmatched && may_be_first => CountRange::ANY,
            Rule::Affinity => CountRange::SOME,
            Rule::AntiAffinity => CountRange::NONE,
            Rule::Spread { max_skew, .. } => {
                let most = i64::from(max_skew) + occupancy.least - i64::from(selects_itself);
                CountRange::up_to(most)
            }
        };
        Constraint {
            group,
            weight,
            counted: Counted::Selected,
            allowed,
            allows_unlabelled: rule == Rule::AntiAffinity || is_moot && !selects_itself,
            adds_up: selects_itself,
        }
    }

    /// Required anti-affinity of other pods that keeps pods of the shape away from its owners.
    pub(crate) fn repelling(&self, shape: ShapeIx) -> impl Iterator<Item = Constraint> {
        let groups = self.constraints[shape].selected_by.iter().copied();
        groups.filter(|group| self.groups[*group].rule == Rule::AntiAffinity).map(|group| {
            Constraint {
                group,
                weight: 0,
                counted: Counted::Owners,
                allowed: CountRange::NONE,
                allows_unlabelled: true,
                adds_up: false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_leaves_room_up_to_its_skew() {
        let range = CountRange::up_to(2);
        assert_eq!(range.room(0, true), 3);
        assert_eq!(range.room(2, true), 1);
        assert_eq!(range.room(3, true), 0);
        assert_eq!(range.room(2, false), u32::MAX);
    }

    #[test]
    fn anti_affinity_admits_one_pod_that_repels_itself() {
        assert_eq!(CountRange::NONE.room(0, true), 1);
        assert_eq!(CountRange::NONE.room(0, false), u32::MAX);
        assert_eq!(CountRange::NONE.room(1, false), 0);
    }

    #[test]
    fn affinity_admits_any_number_beside_a_match() {
        assert_eq!(CountRange::SOME.room(1, true), u32::MAX);
        assert_eq!(CountRange::SOME.room(0, true), 0);
        assert_eq!(CountRange::ANY.room(0, true), u32::MAX);
    }
}
