//! A disruption command: proposed in one run, validated in a later one, carried out step by step.

use domain::plan::PlannedDisruption;
use domain::{Text, Timestamp};

/// A disruption command as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// Unique and ascending in time.
    pub id: Text,
    /// The disruption. Validation may remove nodes from a command that only removes empty ones.
    pub disruption: PlannedDisruption,
    /// The claims of its nodes, in the order of `disruption.nodes`.
    pub candidates: Vec<Text>,
    /// Since when it has been planned: since it was proposed, or since before that, where all its
    /// nodes were marked as the next to go by then.
    pub proposed: Timestamp,
    /// Its phase.
    pub phase: CommandPhase,
}

/// The phases of a command. `since` is the time of the list of the cluster that validated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandPhase {
    /// It awaits its validation.
    Proposed,
    /// It was validated: claims of replacements are being created, nodes tainted.
    Starting {
        /// When it was validated.
        since: Timestamp,
    },
    /// It awaits its replacements.
    Waiting {
        /// When it was validated.
        since: Timestamp,
    },
    /// Its replacements are ready; its claims are being marked as ending.
    Ending {
        /// When it was validated.
        since: Timestamp,
    },
}
