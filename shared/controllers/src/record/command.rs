//! A disruption command: proposed in one run, validated in a later one, carried out step by step.

use domain::plan::PlannedDisruption;
use domain::{Text, Timestamp};

/// A command as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// Unique and in order of time.
    pub id: Text,
    /// What is to be done. Validation may take nodes out of a command that only removes empty ones.
    pub disruption: PlannedDisruption,
    /// The claims of its nodes, in the order of `disruption.nodes`.
    pub candidates: Vec<Text>,
    /// When it was proposed.
    pub proposed: Timestamp,
    /// How far it has come.
    pub phase: CommandPhase,
}

/// How far a command has come. `since` is the moment noted for the look at the cluster that validated it, just before
/// the cluster was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandPhase {
    /// It waits for its validation.
    Proposed,
    /// It was validated: claims of replacements are being written, nodes tainted.
    Starting {
        /// Since when.
        since: Timestamp,
    },
    /// Its replacements are on their way.
    Waiting {
        /// Since when it was started.
        since: Timestamp,
    },
    /// Its replacements are ready, and its nodes are being marked for their end.
    Ending {
        /// Since when it was started.
        since: Timestamp,
    },
}
