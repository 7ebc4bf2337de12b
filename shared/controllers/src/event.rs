//! Kubernetes events, with Karpenter's reasons.

use std::fmt;

use domain::pod::{PodKey, VirtualPodSource};
use domain::{SignedDuration, Text};

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object it is about.
    pub about: Subject,
    /// `reason`.
    pub reason: EventReason,
    /// `note`: a sentence.
    pub message: Text,
}

impl Event {
    /// An event.
    pub fn new(about: Subject, reason: EventReason, message: impl fmt::Display) -> Self {
        Self { about, reason, message: message.to_string().into() }
    }
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A pod by key and uid.
    Pod(PodKey, Text),
    /// A Node by name and uid.
    Node(Text, Text),
    /// A NodeClaim by name.
    NodeClaim(Text),
    /// A NodePool by name.
    NodePool(Text),
    /// An EC2NodeClass by name.
    NodeClass(Text),
    /// A CapacityBuffer, ScaledObject or PrewarmSchedule, by key and uid.
    Source(VirtualPodSource, Text),
    /// A ClusterLimit by name and uid.
    ClusterLimit(Text, Text),
    /// A Commitment by name and uid.
    Commitment(Text, Text),
    /// ConfigMap `kube-system/outrigger` by uid.
    Controls(Text),
}

/// `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For information.
    Normal,
    /// Somebody may want to act.
    Warning,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $severity:ident,)*) => {
        /// Reasons of events: Karpenter's (`pkg/events/reason.go`), and our own where it has none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventReason {
            $($(#[$doc])* $name,)*
        }

        impl EventReason {
            /// The reason as written in the event.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// `type` of events of this reason.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

reasons! {
    /// A node may not be disrupted.
    DisruptionBlocked Normal,
    /// A replacement is being launched.
    DisruptionLaunching Normal,
    /// A node is being terminated.
    DisruptionTerminating Normal,
    /// Replacements are not ready yet.
    DisruptionWaitingReadiness Normal,
    /// Consolidation would not reduce the cost.
    Unconsolidatable Normal,
    /// The `Balanced` policy finds that a move saves enough for what it disrupts.
    ConsolidationApproved Normal,
    /// Validation found that a consolidation no longer holds.
    ConsolidationRejected Normal,
    /// No node or NodePool can host a pod.
    FailedScheduling Warning,
    /// A place on a node is reserved for a pod.
    Nominated Normal,
    /// A node is being disrupted.
    Disrupted Normal,
    /// A pod is being evicted.
    Evicted Normal,
    /// A rollout replaces a pod whose node is being disrupted. Not in Karpenter.
    RolloutStarted Normal,
    /// A pod is evicted although its Deployment asks for rollouts. Not in Karpenter.
    RolloutNotPossible Warning,
    /// A pod may not be evicted now.
    FailedDraining Warning,
    /// An instance could not be terminated.
    FailedTermination Warning,
    /// A Node has less of a resource than its claim promised.
    FailedConsistencyCheck Warning,
    /// A node class that is being deleted is still in use.
    WaitingOnNodeClaimTermination Normal,
    /// EC2 interrupts an instance in a capacity reservation.
    CapacityReservationInstanceInterrupted Warning,
    /// No offering of a claim has capacity.
    InsufficientCapacityError Warning,
    /// A Node joined without taint `karpenter.sh/unregistered`, which keeps pods off until it is
    /// registered.
    UnregisteredTaintMissing Warning,
    /// A node class is not ready to launch from.
    NodeClassNotReady Warning,
    /// EC2 interrupts a spot instance.
    SpotInterrupted Warning,
    /// EC2 is likely to interrupt a spot instance.
    SpotRebalanceRecommendation Normal,
    /// An instance is stopping.
    InstanceStopping Warning,
    /// An instance is terminating.
    InstanceTerminating Warning,
    /// An instance is gone although nobody asked for it. Not in Karpenter.
    InstanceTerminated Warning,
    /// EC2 scheduled a maintenance event for an instance, or its status checks fail.
    InstanceUnhealthy Warning,
    /// A node is drained because its instance is interrupted.
    TerminatingOnInterruption Warning,
    /// A fuse holds launches or terminations back. Not in Karpenter.
    HeldBackByFuse Warning,
    /// Instances without a claim are not terminated, because there are suspiciously many. Not in
    /// Karpenter.
    OrphanedInstancesKept Warning,
    /// Nodes of a NodePool did not come up, and no more of them drift. Not in Karpenter.
    DriftHalted Warning,
    /// A schedule, CapacityBuffer, ClusterLimit, Commitment, or what the ConfigMap says of the
    /// scheduler, is malformed. Not in Karpenter.
    InvalidSpecification Warning,
    /// The workload of a schedule does not exist in its namespace. Not in Karpenter.
    ScaleTargetNotFound Warning,
    /// A PrewarmSchedule set the replicas of its workload. Not in Karpenter.
    ScaleTargetScaled Normal,
}

impl EventReason {
    /// Time within which an equal event is not recorded again.
    ///
    /// Source: the `DedupeTimeout` of Karpenter's events.
    pub const fn dedupe(self) -> SignedDuration {
        match self {
            Self::Unconsolidatable
            | Self::DisruptionBlocked
            | Self::HeldBackByFuse
            | Self::OrphanedInstancesKept
            | Self::InvalidSpecification
            | Self::ScaleTargetNotFound => SignedDuration::from_mins(15),
            Self::FailedScheduling => SignedDuration::from_mins(5),
            _ => SignedDuration::from_mins(2),
        }
    }
}
