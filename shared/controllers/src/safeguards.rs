//! What keeps functions from doing harm in a cluster: whose it is, whether they act, and how much
//! they may do.

use domain::{Text, Timestamp};

use crate::record::controls::{Mode, UnreadableControl};
use crate::record::fuses::{Fuses, Urgency};

/// What holds for an installation unless an operator has said something else of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safeguards {
    /// The installation's id, as NAME/UUID of its stack: clusters and instances bear it.
    pub installation: Text,
    /// Whether functions act.
    pub mode: Mode,
    /// How much they may do.
    pub fuses: Fuses,
}

/// That a run may take place, and within which bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// What it may change.
    pub scope: Scope,
    /// How much it may do.
    pub fuses: Fuses,
    /// Instances without a claim are terminated however many there are: an operator has confirmed
    /// that they are orphans.
    pub ends_orphans: bool,
}

/// What a run may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything that it is for.
    All,
    /// What replaces and drains nodes that EC2 interrupts.
    Interruptions,
    /// Nothing: it plans, and writes events and the plan.
    Nothing,
}

/// Why functions do nothing in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// An operator paused it.
    #[error("the cluster is {0}: `outrigger resume` ends that")]
    Paused(Mode),
    /// The cluster bears the mark of another installation.
    #[error("the cluster belongs to installation {owner}: `outrigger take-over` would change that")]
    OwnedByAnother {
        /// Its id.
        owner: Text,
    },
    /// Karpenter runs in the cluster.
    #[error("Karpenter runs in the cluster, and renewed its lease at {renewed}: stop it first")]
    KarpenterRuns {
        /// When.
        renewed: Timestamp,
    },
    /// The ConfigMap is missing.
    #[error("ConfigMap kube-system/outrigger is missing: apply infra/kubernetes")]
    NoConfigMap,
    /// What an operator said cannot be read.
    #[error("{place}: {error}")]
    Unreadable {
        /// The table, or the ConfigMap.
        place: &'static str,
        /// Which value.
        error: UnreadableControl,
    },
}

impl Stopped {
    /// Whether an operator wants it so, and no alarm is due.
    pub const fn is_wanted(&self) -> bool {
        matches!(self, Self::Paused(_))
    }
}

impl Admission {
    /// Whether launches may be made at all, and how urgent they are.
    pub(crate) const fn launches(&self, urgency: Urgency) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Interruptions => matches!(urgency, Urgency::Interruption),
            Scope::Nothing => false,
        }
    }
}
