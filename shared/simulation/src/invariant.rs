//! Invariants of a cluster that Outrigger manages, checked after every step.
//!
//! The numbers are those of the design's list. The seventh, that equal snapshots give equal
//! decisions, is a property of the planner and is tested there.

use domain::Text;
use domain::money::UsdPerHour;
use domain::pod::PodKey;
use domain::reason::DisruptionReason;

/// Something that must never happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Violation {
    /// (1) Two instances live for one claim.
    #[error("claim {claim} has instances {first} and {second}")]
    TwoInstances {
        /// The claim.
        claim: Text,
        /// One instance.
        first: Text,
        /// Another.
        second: Text,
    },
    /// (1) An instance lives that belongs to no claim, for longer than the grace period.
    #[error("instance {instance} belongs to no claim and was not ended")]
    OrphanedInstance {
        /// The instance.
        instance: Text,
    },
    /// (1) A claim was ended because its instance were gone, which lives.
    #[error("claim {claim} was ended as if its instance {instance} were gone, which lives")]
    LiveInstanceGivenUp {
        /// The claim.
        claim: Text,
        /// The instance.
        instance: Text,
    },
    /// (3) A NodePool's nodes have more than its limits allow.
    #[error("NodePool {node_pool} has {resource} {used}, its limit is {limit}")]
    LimitExceeded {
        /// The pool.
        node_pool: Text,
        /// The resource.
        resource: Text,
        /// What its instances have, in the resource's unit.
        used: i64,
        /// The limit, in the same unit.
        limit: i64,
    },
    /// (3) More nodes of a pool go at once than its budgets allow.
    #[error(
        "{disrupting} nodes of NodePool {node_pool} go at once ({reason}), its budgets allow {allowed}"
    )]
    BudgetExceeded {
        /// The pool.
        node_pool: Text,
        /// For which reason.
        reason: DisruptionReason,
        /// How many go.
        disrupting: u32,
        /// How many may.
        allowed: u32,
    },
    /// (3) A PodDisruptionBudget was passed over although no deadline forced it.
    #[error("pod {pod} was deleted past PodDisruptionBudget {budget}")]
    PdbBypassed {
        /// The pod.
        pod: PodKey,
        /// The budget.
        budget: Text,
    },
    /// (3) A node was disrupted although something on it refuses.
    #[error("node {node} was disrupted although {refuses} has karpenter.sh/do-not-disrupt")]
    DoNotDisruptIgnored {
        /// The node.
        node: Text,
        /// The pod, or the node itself.
        refuses: Text,
    },
    /// (3) A node was consolidated although a pod had come or gone a moment before.
    #[error(
        "node {node} was disrupted ({reason}) {seconds_since_event} s after a pod came or went: \
         consolidateAfter is longer"
    )]
    ConsolidatedTooSoon {
        /// The node.
        node: Text,
        /// Why it goes.
        reason: DisruptionReason,
        /// For how long no pod had come or gone.
        seconds_since_event: i64,
    },
    /// (4) A pod was evicted by choice while nothing had room for its successor.
    #[error("pod {pod} was evicted from {node} ({reason}) while no other node had room for it")]
    EvictedWithoutReplacement {
        /// The pod.
        pod: PodKey,
        /// Where it was.
        node: Text,
        /// Why its node goes.
        reason: DisruptionReason,
    },
    /// (5) The instance that EC2 chose cannot hold the pods that were planned for it.
    #[error("claim {claim} got {instance_type}, which lacks {resource} for what was planned")]
    TooSmallInstance {
        /// The claim.
        claim: Text,
        /// The type.
        instance_type: Text,
        /// What it lacks.
        resource: Text,
    },
    /// (6) One client token was used for two claims, or launched two instances.
    #[error("client token {token} was used for {first} and {second}")]
    TokenReused {
        /// The token.
        token: Text,
        /// The claim that it was used for first, or the instance that it launched first.
        first: Text,
        /// Another claim or instance.
        second: Text,
    },
    /// Consolidation replaced nodes by what costs as much or more.
    #[error("command {command} replaced {before} an hour by {after} an hour")]
    DearerReplacement {
        /// The command.
        command: Text,
        /// What its nodes cost.
        before: UsdPerHour,
        /// What its replacements cost.
        after: UsdPerHour,
    },
    /// A plan failed its check, so that nothing of it was done.
    #[error("a plan failed its check: {0}")]
    InvalidPlan(Text),
}
