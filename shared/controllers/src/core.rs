//! The pure core that the controllers ask: what to do, and whether an answer is sound.

use std::collections::BTreeMap;
use std::fmt;

use domain::Text;
use domain::drift::DriftReason;
use domain::plan::{Plan, PlannedDisruption};
use domain::reason::NotDisruptable;
use domain::snapshot::ClusterSnapshot;

/// The decisions that controllers do not take themselves, as pure functions.
///
/// They are values so that a test of a conversation with the outside need not find a snapshot that
/// makes the real planner say what the conversation is about.
#[derive(Clone, Copy)]
pub struct Core {
    /// Where pending pods go.
    pub schedule: fn(&ClusterSnapshot) -> Plan,
    /// Which nodes should go.
    pub propose: fn(&ClusterSnapshot) -> Plan,
    /// Which claims have drifted, by name, and how.
    pub drift: fn(&ClusterSnapshot) -> BTreeMap<Text, DriftReason>,
    /// Whether nodes that were proposed earlier should still go, and where their pods go by now.
    pub validate:
        fn(&ClusterSnapshot, &PlannedDisruption) -> Result<PlannedDisruption, NotDisruptable>,
    /// What is wrong with a plan, in sentences; empty for a sound one.
    pub check: fn(&ClusterSnapshot, &Plan) -> Vec<Text>,
}

impl Core {
    /// The planner and the checker.
    pub const fn standard() -> Self {
        Self {
            schedule: planning::scheduling::schedule,
            propose: planning::disruption::propose,
            drift: planning::disruption::drifted,
            validate: planning::disruption::validate,
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
