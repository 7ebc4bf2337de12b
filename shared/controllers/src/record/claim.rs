//! A claim: the wish for one node, written before EC2 is asked, kept until its instance has ended.

use std::sync::Arc;

use domain::label::Labels;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;
use domain::{SignedDuration, Text, Timestamp};

use super::launch::LaunchRequest;
use crate::ports::cloud::Instance;

/// A claim as stored.
///
/// Invariants: `claim.uid` never changes and is the token of `launch`; `instance`, once set, never
/// changes; `ending`, once set, is only ever made more urgent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRecord {
    /// The NodeClaim as it is shown in the cluster, its conditions and their times included.
    pub claim: NodeClaim,
    /// What EC2 is asked for; a retry asks exactly the same.
    pub launch: Arc<LaunchRequest>,
    /// Failed attempts to launch, for the pause between them.
    pub launch_failures: u32,
    /// Not to be launched before this, after a failed attempt.
    pub launch_not_before: Option<Timestamp>,
    /// The instance, once there is one.
    pub instance: Option<Instance>,
    /// Pods it was planned for, sorted.
    pub pods: Vec<PodKey>,
    /// The command whose replacement it is.
    pub replaces: Option<Text>,
    /// Which pods were on its node when it was last looked at; tells whether one came or went.
    pub pods_seen: Option<PodsSeen>,
    /// Set once it is to end.
    pub ending: Option<Ending>,
}

/// A fingerprint of the pods on a node, DaemonSets' left out. Equal for equal sets of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodsSeen(pub Text);

/// That a claim is to end, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When that was decided.
    pub since: Timestamp,
    /// Why.
    pub reason: EndReason,
    /// When its pods are ended by force; `None` waits for them however long.
    pub deadline: Option<Timestamp>,
}

/// Why a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// A disruption.
    Disrupted(DisruptionReason),
    /// Somebody deleted its NodeClaim object.
    NodeClaimDeleted,
    /// Somebody deleted its Node.
    NodeDeleted,
    /// No instance within five minutes.
    LaunchTimeout,
    /// Its Node did not join within fifteen minutes.
    RegistrationTimeout,
    /// Its instance is gone.
    InstanceGone,
    /// It was to replace nodes that stay after all.
    ReplacementNotNeeded,
}

impl EndReason {
    /// A word for events and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disrupted(reason) => reason.as_str(),
            Self::NodeClaimDeleted => "NodeClaimDeleted",
            Self::NodeDeleted => "NodeDeleted",
            Self::LaunchTimeout => "LaunchTimeout",
            Self::RegistrationTimeout => "RegistrationTimeout",
            Self::InstanceGone => "InstanceGone",
            Self::ReplacementNotNeeded => "ReplacementNotNeeded",
        }
    }
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimPhase {
    /// Written; no instance is known yet.
    Pending,
    /// There is an instance.
    Launched,
    /// Its Node has joined.
    Registered,
    /// Its Node is ready for pods.
    Initialized,
    /// It is to end.
    Ending,
}

impl ClaimRecord {
    /// The claim's name.
    pub fn name(&self) -> &Text {
        &self.claim.name
    }

    /// How far it has come.
    pub fn phase(&self) -> ClaimPhase {
        if self.ending.is_some() {
            ClaimPhase::Ending
        } else if self.claim.is(ConditionType::Initialized) {
            ClaimPhase::Initialized
        } else if self.claim.is(ConditionType::Registered) {
            ClaimPhase::Registered
        } else if self.instance.is_some() {
            ClaimPhase::Launched
        } else {
            ClaimPhase::Pending
        }
    }

    /// The Node's name once it has one, the claim's until then: what plans call it.
    pub fn node_or_claim_name(&self) -> &Text {
        self.claim.status.node_name.as_ref().unwrap_or(&self.claim.name)
    }

    /// With its end decided. A claim that is ending keeps its first reason and the earlier deadline.
    ///
    /// The deadline is the earliest of the one given and `terminationGracePeriod` from now; annotation
    /// `karpenter.sh/nodeclaim-termination-timestamp` tells the cluster.
    pub fn ended(mut self, now: Timestamp, reason: EndReason, deadline: Option<Timestamp>) -> Self {
        let since = self.ending.as_ref().map_or(now, |ending| ending.since);
        let reason = self.ending.as_ref().map_or(reason, |ending| ending.reason);
        let by_grace = self.claim.termination_grace_period.and_then(|grace| later(since, grace));
        let earlier = self.ending.as_ref().and_then(|ending| ending.deadline);
        let deadline = [deadline, by_grace, earlier].into_iter().flatten().min();
        self.claim.deleted.get_or_insert(since);
        if let Some(deadline) = deadline {
            set(
                &mut self.claim.annotations,
                domain::label::TERMINATION_TIMESTAMP,
                &deadline.to_string(),
            );
        }
        self.ending = Some(Ending { since, reason, deadline });
        self
    }
}

/// A moment and a while after it; `None` beyond the end of time.
pub(crate) fn later(time: Timestamp, by: SignedDuration) -> Option<Timestamp> {
    time.checked_add(by).ok()
}

fn set(labels: &mut Labels, key: &str, value: &str) {
    labels.insert(key.into(), value.into());
}
