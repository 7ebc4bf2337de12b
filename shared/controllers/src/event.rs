//! Events that users see with `kubectl describe`, by Karpenter's reasons.

use std::fmt;

use domain::pod::{PodKey, VirtualPodSource};
use domain::{SignedDuration, Text};

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub about: Subject,
    /// Its reason.
    pub reason: EventReason,
    /// A sentence.
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
    /// A pod and its uid.
    Pod(PodKey, Text),
    /// A Node by name and uid.
    Node(Text, Text),
    /// A NodeClaim by name.
    NodeClaim(Text),
    /// A NodePool by name.
    NodePool(Text),
    /// An EC2NodeClass by name.
    NodeClass(Text),
    /// A CapacityBuffer, ScaledObject or PrewarmSchedule, and its uid.
    Source(VirtualPodSource, Text),
}

/// Normal or Warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For information.
    Normal,
    /// Somebody may want to act.
    Warning,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $severity:ident,)*) => {
        /// Reasons of events, as Karpenter words them (reference E11.3), and ours where it has none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventReason {
            $($(#[$doc])* $name,)*
        }

        impl EventReason {
            /// The word of the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Normal or Warning.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

reasons! {
    /// A node cannot be disrupted.
    DisruptionBlocked Normal,
    /// A replacement is being launched.
    DisruptionLaunching Normal,
    /// A node is being ended.
    DisruptionTerminating Normal,
    /// Replacements are not ready yet.
    DisruptionWaitingReadiness Normal,
    /// Consolidation would not help.
    Unconsolidatable Normal,
    /// Validation found that consolidation no longer is right.
    ConsolidationRejected Normal,
    /// Validation confirmed a consolidation.
    ConsolidationApproved Normal,
    /// Nothing can host a pod.
    FailedScheduling Warning,
    /// A pod has a place.
    Nominated Normal,
    /// A node is being disrupted.
    Disrupted Normal,
    /// A pod is being moved away.
    Evicted Normal,
    /// A pod may not be moved now.
    FailedDraining Warning,
    /// A drain ends by force soon.
    TerminationGracePeriodExpiring Warning,
    /// An instance could not be ended.
    FailedTermination Warning,
    /// A Node has less of something than its claim was to bring.
    FailedConsistencyCheck Warning,
    /// A node class that is being deleted is still used.
    WaitingOnNodeClaimTermination Normal,
    /// EC2 takes back a capacity reservation that an instance runs in.
    CapacityReservationInstanceInterrupted Warning,
    /// Too many nodes of a pool are unhealthy for one of them to be replaced.
    NodeRepairBlocked Warning,
    /// No instance type meets the requirements of a NodePool.
    NoCompatibleInstanceTypes Warning,
    /// EC2 has none left of what a claim may use.
    InsufficientCapacityError Warning,
    /// A Node joined without the taint that keeps pods off until it is registered.
    UnregisteredTaintMissing Warning,
    /// A node class cannot be launched from.
    NodeClassNotReady Warning,
    /// EC2 takes a spot instance back.
    SpotInterrupted Warning,
    /// EC2 may take a spot instance back.
    SpotRebalanceRecommendation Normal,
    /// An instance stops.
    InstanceStopping Warning,
    /// An instance ends.
    InstanceTerminating Warning,
    /// EC2 announced maintenance of an instance.
    InstanceUnhealthy Warning,
    /// A node ends because EC2 takes its instance.
    TerminatingOnInterruption Warning,
    /// A schedule or a CapacityBuffer cannot be read. Ours.
    InvalidSpecification Warning,
    /// A schedule's workload is not in its namespace. Ours.
    ScaleTargetNotFound Warning,
    /// A PrewarmSchedule set its workload's replicas. Ours.
    ScaleTargetScaled Normal,
}

impl EventReason {
    /// Within how long an equal event is not recorded again.
    ///
    /// Source: Karpenter (reference E11.4).
    pub const fn dedupe(self) -> SignedDuration {
        match self {
            Self::Unconsolidatable
            | Self::DisruptionBlocked
            | Self::InvalidSpecification
            | Self::ScaleTargetNotFound => SignedDuration::from_mins(15),
            Self::FailedScheduling => SignedDuration::from_mins(5),
            _ => SignedDuration::from_mins(2),
        }
    }
}
