//! The pure core that controllers call: what to do, and whether a plan is sound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use domain::Text;
use domain::drift::DriftReason;
use domain::instance_type::InstanceTypes;
use domain::node_claim::NodeClaim;
use domain::plan::{LaunchOffering, Plan, PlannedDisruption};
use domain::pod::PodKey;
use domain::reason::NotDisruptable;
use domain::snapshot::ClusterSnapshot;

/// The decisions that controllers leave to planning, as pure functions.
///
/// They are values, so that a test of the I/O around a decision need not construct a snapshot for
/// which the real planner decides that way.
#[derive(Clone, Copy)]
pub struct Core {
    /// Schedules pending pods.
    pub schedule: fn(&ClusterSnapshot) -> Plan,
    /// Proposes nodes to disrupt.
    pub propose: fn(&ClusterSnapshot) -> Plan,
    /// Offerings of a NodeClaim that no plan created, cheapest first; empty when none is available.
    pub offerings_of_claim: fn(&NodeClaim, &InstanceTypes) -> Vec<LaunchOffering>,
    /// How claims have drifted, by claim name.
    pub drift: fn(&ClusterSnapshot) -> BTreeMap<Text, DriftReason>,
    /// Whether a disruption proposed earlier still holds, with the pods' places computed anew.
    pub validate:
        fn(&ClusterSnapshot, &PlannedDisruption) -> Result<PlannedDisruption, NotDisruptable>,
    /// Of pods about to be evicted in an order, those for whose successors another node has room
    /// when it is their turn.
    pub evictable: fn(&ClusterSnapshot, &[PodKey]) -> BTreeSet<PodKey>,
    /// Violations of a plan, as sentences; empty for a sound plan.
    pub check: fn(&ClusterSnapshot, &Plan) -> Vec<Text>,
}

impl Core {
    /// The planner and the checker.
    pub const fn standard() -> Self {
        Self {
            schedule: planning::scheduling::schedule,
            propose: planning::disruption::propose,
            offerings_of_claim: planning::scheduling::offerings_of_claim,
            drift: planning::disruption::drifted,
            validate: planning::disruption::validate,
            evictable: planning::disruption::evictable,
            check,
        }
    }
}

fn check(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<Text> {
    checker::check(snapshot, plan).iter().map(|violation| violation.to_string().into()).collect()
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
