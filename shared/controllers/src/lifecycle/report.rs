//! What a lifecycle run did.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::pod::PodKey;
use domain::{SignedDuration, Text};

use crate::lease::Report;
use crate::record::claim::EndReason;
use crate::run::Problems;

/// What a lifecycle run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct LifecycleReport {
    /// What happened to claims, in order.
    pub changes: Vec<ClaimChange>,
    /// What belonged to no claim and was removed.
    pub orphans: Vec<Orphan>,
    /// Instances of the cluster when the run began, by type and by how they are bought.
    pub instances: BTreeMap<(Text, CapacityType), usize>,
    /// Work is in flight: come back after so long. `None` when nothing waits.
    pub requeue_after: Option<SignedDuration>,
    /// Claims that were not looked at, the deadline being near.
    pub left: usize,
    /// What did not work.
    pub problems: Problems,
}

/// Something that happened to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// The claim.
    pub claim: Text,
    /// What.
    pub what: Change,
}

/// What can happen to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A NodeClaim that somebody else made is looked after from now on.
    Adopted,
    /// Its instance was found: the answer to its launch had been lost.
    InstanceFound(Text),
    /// Its Node joined.
    Registered(Text),
    /// Its Node takes pods.
    Initialized(Text),
    /// It is to end.
    Ending(EndReason),
    /// A pod is being evicted.
    Evicted(PodKey),
    /// A pod may not be evicted now, and why.
    EvictionBlocked(PodKey, Text),
    /// A pod keeps the drain waiting with `karpenter.sh/do-not-disrupt`.
    PodProtected(PodKey),
    /// A pod was deleted with so many seconds of grace: the deadline leaves no more.
    Forced(PodKey, u32),
    /// Its pods are gone.
    Drained,
    /// Volumes are attached still: so many.
    WaitingForVolumes(usize),
    /// Its instance is shutting down.
    Terminating(Text),
    /// It is gone, its Node and instance with it.
    Ended(EndReason),
}

/// Something that belonged to no claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orphan {
    /// An instance with our tags, ended.
    Instance(Text),
    /// A NodeClaim object that showed a claim which is gone.
    NodeClaim(Text),
    /// A Node whose instance is gone.
    Node(Text),
}

impl Report for LifecycleReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }
}
