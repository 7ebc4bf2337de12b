//! What a lifecycle run did.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::pod::{ObjectKey, PodKey};
use domain::rollout::RolloutObstacle;
use domain::{SignedDuration, Text};

use crate::lease::Report;
use crate::ports::FunctionName;
use crate::ports::cloud::InstanceEnd;
use crate::ports::cluster::WarnedObject;
use crate::record::claim::EndReason;
use crate::record::fuses::HeldBack;
use crate::run::Problems;

/// What a lifecycle run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct LifecycleReport {
    /// Changes of claims, in the order in which they happened.
    pub changes: Vec<ClaimChange>,
    /// Objects and instances that belonged to no claim and were removed.
    pub orphans: Vec<Orphan>,
    /// Instances that seem to belong to no claim, and were not terminated.
    pub held_orphans: Option<HeldOrphans>,
    /// Claims whose instances are gone although nobody asked for it, and why.
    pub instance_ends: Vec<(Text, InstanceEnd)>,
    /// Claims whose end a fuse holds back.
    pub held_back: Option<HeldBack>,
    /// Instances of the cluster when the run began, by instance type and capacity type.
    pub instances: BTreeMap<(Text, CapacityType), usize>,
    /// Warnings about NodePools and EC2NodeClasses that are in use, counted by object.
    pub object_warnings: BTreeMap<WarnedObject, usize>,
    /// Pods that kube-scheduler bound to another Node than the one launched for them; each once.
    pub bound_elsewhere: usize,
    /// For how long spot instances have run since that was counted last, by instance type and zone.
    pub spot_uptime: BTreeMap<(Text, Text), SignedDuration>,
    /// When to run again; `None` when no work is in flight.
    pub requeue_after: Option<SignedDuration>,
    /// Fencing token of the lease under which it ran; 0 where others held it.
    pub token: u64,
    /// Whether disruption awaits nodes that joined or are gone.
    pub is_awaited: bool,
    /// Claims left to the next run because the deadline was near.
    pub left: usize,
    /// Calls that failed without stopping the run.
    pub problems: Problems,
}

/// A change of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// The claim.
    pub claim: Text,
    /// The change.
    pub what: Change,
}

/// Ways in which a claim changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A NodeClaim that another controller or a user created was adopted.
    Adopted,
    /// Its record was lost, and rebuilt from what the cluster says.
    Restored,
    /// Its instance was found; the response to its launch had been lost.
    InstanceFound(Text),
    /// Its Node joined the cluster.
    Registered(Text),
    /// Its Node is ready for pods.
    Initialized(Text),
    /// It is marked as ending.
    Ending(EndReason),
    /// A pod is being evicted.
    Evicted(PodKey),
    /// A pod may not be evicted now, and the API server's message.
    EvictionBlocked(PodKey, Text),
    /// A rollout was asked for, of the Deployment with this key, in place of evictions.
    RolloutStarted(ObjectKey),
    /// A pod is evicted although its Deployment asks for rollouts, and why.
    RolloutNotPossible(PodKey, RolloutObstacle),
    /// A pod with `karpenter.sh/do-not-disrupt` blocks the drain.
    PodProtected(PodKey),
    /// A pod was deleted with this grace period in seconds, the most that the deadline allows.
    Forced(PodKey, u32),
    /// Its pods are gone.
    Drained,
    /// This many volumes are still attached.
    WaitingForVolumes(usize),
    /// Its instance is shutting down.
    Terminating(Text),
    /// It is deleted, and so are its Node and instance.
    Ended(EndReason),
}

/// Something that belonged to no claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orphan {
    /// An instance with this cluster's tags, terminated.
    Instance(Text),
    /// A NodeClaim object whose claim is gone.
    NodeClaim(Text),
    /// A Node whose instance is gone.
    Node(Text),
}

/// Instances that seem to belong to no claim, and are left alone all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldOrphans {
    /// Their ids, sorted.
    pub instances: Vec<Text>,
    /// Why.
    pub why: WhyHeld,
}

/// Why orphaned instances are left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyHeld {
    /// There is no record at all, and the cluster has nodes: the table is another one, or was
    /// lost.
    #[error("the table has no record of any claim, while the cluster has {nodes} nodes")]
    NoRecords {
        /// Nodes that claims launched.
        nodes: usize,
    },
    /// Another installation launched some of them.
    #[error("installation {installation} launched them")]
    OfAnother {
        /// Its id.
        installation: Text,
    },
    /// So many cannot come from launches that went wrong: the table may be an older copy.
    #[error("{orphans} of the cluster's {instances} instances have no claim")]
    TooMany {
        /// Instances without a claim.
        orphans: usize,
        /// Instances of the cluster.
        instances: usize,
    },
}

impl Report for LifecycleReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }

    fn set_token(&mut self, token: u64) {
        self.token = token;
    }

    fn concerns(&self) -> Option<FunctionName> {
        let is_news =
            |own: &ClaimChange| matches!(own.what, Change::Initialized(_) | Change::Ended(_));
        let has_news = self.is_awaited && self.changes.iter().any(is_news);
        has_news.then_some(FunctionName::Disruption)
    }
}
