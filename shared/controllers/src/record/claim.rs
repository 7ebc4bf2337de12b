//! Claim records: written before EC2 is called, kept until the instance has ended.

use std::sync::Arc;

use domain::label::Labels;
use domain::money::UsdPerHour;
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
    /// The NodeClaim as mirrored in the cluster, conditions and their times included.
    pub claim: NodeClaim,
    /// The request to EC2; a repeat of an attempt asks exactly the same.
    pub launch: Arc<LaunchRequest>,
    /// Failed attempts to launch, for the backoff.
    pub launch_failures: u32,
    /// End of the backoff after a failed attempt.
    pub launch_not_before: Option<Timestamp>,
    /// The instance, once there is one.
    pub instance: Option<Instance>,
    /// Pods it was planned for, sorted.
    pub pods: Vec<PodKey>,
    /// The command whose replacement it is.
    pub replaces: Option<Text>,
    /// The pods that were on its node when it was last listed; tells whether one came or went.
    pub pods_fingerprint: Option<PodsFingerprint>,
    /// Set once it is ending.
    pub ending: Option<Ending>,
}

/// A fingerprint of the pods on a node, without those of DaemonSets. Equal for equal sets of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodsFingerprint(pub Text);

/// The end of a claim, decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When it was decided.
    pub since: Timestamp,
    /// The reason.
    pub reason: EndReason,
    /// When its pods are deleted by force; `None` waits for them indefinitely.
    pub deadline: Option<Timestamp>,
}

/// Why a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// A disruption.
    Disrupted(DisruptionReason),
    /// A user deleted its NodeClaim object.
    NodeClaimDeleted,
    /// A user deleted its Node.
    NodeDeleted,
    /// No instance within five minutes.
    LaunchTimeout,
    /// Its Node did not join within fifteen minutes.
    RegistrationTimeout,
    /// Its instance is gone.
    InstanceGone,
    /// It was to replace nodes that stay.
    ReplacementNotNeeded,
}

impl EndReason {
    /// EC2 takes the instance.
    pub const INTERRUPTED: Self = Self::Disrupted(DisruptionReason::Interrupted);

    /// The word in events and logs.
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

/// The phases of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimPhase {
    /// Recorded; no instance is known yet.
    Pending,
    /// It has an instance.
    Launched,
    /// Its Node has joined.
    Registered,
    /// Its Node is ready for pods.
    Initialized,
    /// It is ending.
    Ending,
}

impl ClaimRecord {
    /// The claim's name.
    pub fn name(&self) -> &Text {
        &self.claim.name
    }

    /// What its instance costs: as launched, or as planned.
    pub fn price(&self) -> UsdPerHour {
        let launched = self.instance.as_ref().and_then(|instance| instance.price);
        let planned = || self.launch.offerings.first().map(|offering| offering.price);
        launched.or_else(planned).unwrap_or_default()
    }

    /// Its phase.
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

    /// The Node's name, or the claim's before it has a Node: what plans call it.
    pub fn node_or_claim_name(&self) -> &Text {
        self.claim.status.node_name.as_ref().unwrap_or(&self.claim.name)
    }

    /// Marks it as ending. A claim that is ending already keeps the earliest deadline, and its
    /// first reason, unless its node was to go by choice and EC2 takes it now.
    ///
    /// The deadline is the earliest of the given one and `terminationGracePeriod` from now;
    /// annotation `karpenter.sh/nodeclaim-termination-timestamp` shows it in the cluster.
    pub fn ended(mut self, now: Timestamp, reason: EndReason, deadline: Option<Timestamp>) -> Self {
        let since = self.ending.as_ref().map_or(now, |ending| ending.since);
        let reason = match self.ending.as_ref().map(|ending| ending.reason) {
            Some(EndReason::Disrupted(_)) if reason == EndReason::INTERRUPTED => reason,
            known => known.unwrap_or(reason),
        };
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

/// `time` plus a duration; `None` beyond the last timestamp.
pub(crate) fn later(time: Timestamp, by: SignedDuration) -> Option<Timestamp> {
    time.checked_add(by).ok()
}

fn set(labels: &mut Labels, key: &str, value: &str) {
    labels.insert(key.into(), value.into());
}
