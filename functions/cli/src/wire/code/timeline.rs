//! Codes of what happens in a simulated run.

use schemars::JsonSchema;
use serde::Serialize;
use simulation::report::Happening;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum TimelineCode {
    /// The scenario applied objects.
    ObjectsApplied,
    /// The scenario deleted an object.
    ObjectDeleted,
    /// The scenario scaled a workload.
    WorkloadScaled,
    /// A moment that expectations compare with.
    MomentMarked,
    /// EC2 ran out of offerings.
    CapacityRanOut,
    /// EC2 has an offering again.
    CapacityReturned,
    /// Pods found no node.
    PodsPending,
    /// No NodePool can host pods.
    PodsUnschedulable,
    /// A NodeClaim was written.
    NodeClaimCreated,
    /// EC2 launched an instance.
    InstanceLaunched,
    /// EC2 refused a launch.
    LaunchFailed,
    /// The Node of a claim joined the cluster.
    NodeJoined,
    /// A Node became ready for pods.
    NodeInitialized,
    /// Pods were bound to a Node.
    PodsBound,
    /// Nodes are to go.
    NodesDisrupted,
    /// EC2 announced that it takes an instance back.
    InterruptionWarning,
    /// AWS announced something else of an instance.
    InstanceAnnouncement,
    /// A Node takes no more pods, and its pods are being moved.
    NodeDraining,
    /// Pods were evicted from a Node.
    PodsEvicted,
    /// Outrigger asked for a rollout of a Deployment, in place of evictions.
    RolloutStarted,
    /// An eviction was refused.
    EvictionRefused,
    /// Pods were lost with their instance.
    PodsLost,
    /// A Node left the cluster.
    NodeRemoved,
    /// An instance ended whose Node never joined.
    InstanceEnded,
    /// As many pods of a Job have succeeded as it wants.
    JobCompleted,
    /// More pods of a Job have failed than it allows.
    JobFailed,
    /// What the scenario acts on is not there: nothing happens.
    NothingThere,
    /// A fault was injected, or a call was refused in passing.
    Fault,
    /// A controller could not do its work this time.
    ControllerFailed,
}

impl From<&Happening> for TimelineCode {
    fn from(what: &Happening) -> Self {
        match what {
            Happening::Applied(_) => Self::ObjectsApplied,
            Happening::Deleted(_) => Self::ObjectDeleted,
            Happening::Scaled { .. } => Self::WorkloadScaled,
            Happening::Marked(_) => Self::MomentMarked,
            Happening::CapacityRanOut(_) => Self::CapacityRanOut,
            Happening::CapacityReturned(_) => Self::CapacityReturned,
            Happening::PodsPending(_) => Self::PodsPending,
            Happening::PodsUnschedulable(_) => Self::PodsUnschedulable,
            Happening::NodeClaimCreated { .. } => Self::NodeClaimCreated,
            Happening::Launched { .. } => Self::InstanceLaunched,
            Happening::LaunchFailed { .. } => Self::LaunchFailed,
            Happening::NodeJoined { .. } => Self::NodeJoined,
            Happening::NodeInitialized(_) => Self::NodeInitialized,
            Happening::PodsBound { .. } => Self::PodsBound,
            Happening::Disrupting { .. } => Self::NodesDisrupted,
            Happening::InterruptionWarning { .. } => Self::InterruptionWarning,
            Happening::Announced { .. } => Self::InstanceAnnouncement,
            Happening::Draining(_) => Self::NodeDraining,
            Happening::PodsEvicted { .. } => Self::PodsEvicted,
            Happening::RolloutStarted { .. } => Self::RolloutStarted,
            Happening::EvictionRefused(_) => Self::EvictionRefused,
            Happening::PodsLost { .. } => Self::PodsLost,
            Happening::NodeRemoved { .. } => Self::NodeRemoved,
            Happening::InstanceEnded { .. } => Self::InstanceEnded,
            Happening::JobCompleted { .. } => Self::JobCompleted,
            Happening::JobFailed { .. } => Self::JobFailed,
            Happening::NothingThere { .. } => Self::NothingThere,
            Happening::Fault(_) => Self::Fault,
            Happening::ControllerFailed { .. } => Self::ControllerFailed,
        }
    }
}
