//! The scoring strategies of kube-scheduler's plugin NodeResourcesFit.
//!
//! Source: `pkg/scheduler/framework/plugins/noderesources` of Kubernetes.

use crate::Text;
use crate::resource::{CPU, MEMORY};

/// Every plugin's scores end between 0 and this.
pub const SCORE_MAX: i64 = 100;

/// The most that a point of [`ScoringType::RequestedToCapacityRatio`] scores.
pub const POINT_SCORE_MAX: i64 = 10;

/// How nodes are scored by what is requested of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringStrategy {
    /// Which nodes score higher.
    pub kind: ScoringType,
    /// The resources that count, each once.
    pub resources: Vec<ResourceWeight>,
}

impl Default for ScoringStrategy {
    /// kube-scheduler's default: LeastAllocated over CPU and memory, both alike.
    fn default() -> Self {
        let weight = |name: &str| ResourceWeight { name: name.into(), weight: 1 };
        Self { kind: ScoringType::default(), resources: vec![weight(CPU), weight(MEMORY)] }
    }
}

/// A resource that a strategy counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// Its name.
    pub name: Text,
    /// How much it counts beside others, 1 to 100.
    pub weight: i64,
}

/// Which nodes score higher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScoringType {
    /// Nodes with the most room left: kube-scheduler's default, and what EKS runs.
    #[default]
    LeastAllocated,
    /// Nodes with the least room left.
    MostAllocated,
    /// Nodes by a function of their utilization: straight lines between these points, which are
    /// sorted by utilization.
    RequestedToCapacityRatio(Vec<UtilizationPoint>),
}

/// A point of the function that [`ScoringType::RequestedToCapacityRatio`] scores by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilizationPoint {
    /// In percent, 0 to 100.
    pub utilization: i64,
    /// 0 to [`POINT_SCORE_MAX`].
    pub score: i64,
}

/// What would be requested of one resource of a node, and what there is of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// Requested by its pods and the one that is scheduled.
    pub requested: i64,
    /// Allocatable; a resource without any does not count.
    pub allocatable: i64,
    /// How much the resource counts beside others.
    pub weight: i64,
}

impl ScoringType {
    /// The score of a node, 0 to [`SCORE_MAX`], by the resources that count.
    pub fn score(&self, uses: impl IntoIterator<Item = ResourceUse>) -> i64 {
        let (mut total, mut weights) = (0, 0);
        for own in uses.into_iter().filter(|own| own.allocatable > 0) {
            let score = self.score_of(own.requested, own.allocatable);
            // As upstream: what a function scores zero does not count at all.
            let counts = !matches!(self, Self::RequestedToCapacityRatio(_)) || score > 0;
            if counts {
                total += score * own.weight;
                weights += own.weight;
            }
        }
        match self {
            _ if weights == 0 => 0,
            Self::LeastAllocated | Self::MostAllocated => total / weights,
            // Rounded, where the others cut off.
            Self::RequestedToCapacityRatio(_) => (2 * total + weights) / (2 * weights),
        }
    }

    fn score_of(&self, requested: i64, allocatable: i64) -> i64 {
        match self {
            Self::LeastAllocated if requested > allocatable => 0,
            Self::LeastAllocated => (allocatable - requested) * SCORE_MAX / allocatable,
            Self::MostAllocated => requested.min(allocatable) * SCORE_MAX / allocatable,
            Self::RequestedToCapacityRatio(points) => {
                function(points, requested.min(allocatable) * 100 / allocatable)
            }
        }
    }
}

/// The function's value, 0 to [`SCORE_MAX`]: that of the first point before it, and of the last
/// one beyond it.
fn function(points: &[UtilizationPoint], utilization: i64) -> i64 {
    let scaled = |point: &UtilizationPoint| point.score * (SCORE_MAX / POINT_SCORE_MAX);
    let next = points.partition_point(|point| point.utilization < utilization);
    match (next.checked_sub(1).and_then(|index| points.get(index)), points.get(next)) {
        (None, None) => 0,
        (None, Some(only)) | (Some(only), None) => scaled(only),
        (Some(before), Some(after)) => {
            let rise = scaled(after) - scaled(before);
            scaled(before)
                + rise * (utilization - before.utilization)
                    / (after.utilization - before.utilization)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(all: &[(i64, i64, i64)]) -> Vec<ResourceUse> {
        let one = |&(requested, allocatable, weight): &(i64, i64, i64)| ResourceUse {
            requested,
            allocatable,
            weight,
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn room_that_is_left_and_room_that_is_used_score_by_weight() {
        let all = [(250, 1000, 3), (900, 1000, 1)];
        // (75 × 3 + 10) ÷ 4 and (25 × 3 + 90) ÷ 4, cut off.
        assert_eq!(ScoringType::LeastAllocated.score(uses(&all)), 58);
        assert_eq!(ScoringType::MostAllocated.score(uses(&all)), 41);
    }

    #[test]
    fn more_than_there_is_scores_as_all_of_it_and_nothing_does_not_count() {
        let all = [(2000, 1000, 1), (5, 0, 1)];
        assert_eq!(ScoringType::LeastAllocated.score(uses(&all)), 0);
        assert_eq!(ScoringType::MostAllocated.score(uses(&all)), 100);
        assert_eq!(ScoringType::MostAllocated.score([]), 0);
    }

    #[test]
    fn a_function_of_utilization_runs_straight_between_its_points() {
        let point = |utilization, score| UtilizationPoint { utilization, score };
        let kind =
            ScoringType::RequestedToCapacityRatio(vec![point(20, 0), point(60, 10), point(90, 4)]);
        let score = |percent| kind.score(uses(&[(percent, 100, 1)]));
        assert_eq!(
            [0, 20, 40, 60, 75, 90, 100].map(score),
            [0, 0, 50, 100, 70, 40, 40],
            "flat beyond both ends"
        );
        // What scores zero does not count: the mean is of the other alone.
        assert_eq!(kind.score(uses(&[(10, 100, 50), (40, 100, 1)])), 50);
    }
}
