//! What a simulated run was like: what happened and why, the nodes, the cost, and whether it was as
//! expected. Plain values; the command line renders them.

use std::collections::BTreeSet;
use std::fmt;

use domain::instance_type::{CapacityType, Pricing};
use domain::money::{HOURS_PER_MONTH, UsdPerHour};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;
use domain::{SignedDuration, Text, Timestamp};

use crate::invariant::Violation;
use crate::region::SaidBy;

/// A whole run.
#[derive(Clone, Debug)]
#[must_use = "the report is the only result of a run"]
pub struct Report {
    /// The scenario's name.
    pub scenario: Text,
    /// What the scenario is about, in its author's words.
    pub about: Text,
    /// The seed of everything random in it.
    pub seed: u64,
    /// When simulated time began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Whether recorded pods came and left.
    pub is_replay: bool,
    /// What happened, in order.
    pub timeline: Vec<Entry>,
    /// The nodes after the first step of the timeline, at the dearest moment and at the end.
    pub views: Vec<View>,
    /// The region that it ran in, where the catalogue says one.
    pub region: Option<Text>,
    /// What says that it is this one.
    pub region_said_by: SaidBy,
    /// Where prices come from.
    pub pricing: Pricing,
    /// What it cost.
    pub cost: Cost,
    /// What came of spot instances that EC2 took back.
    pub interruptions: Interruptions,
    /// What its pods needed at least; where the scenario expects something of that.
    pub needed: Option<Needed>,
    /// How long pods waited.
    pub waiting: Waiting,
    /// What was expected, and whether it came so.
    pub expectations: Vec<ExpectationOutcome>,
    /// What must never happen and did.
    pub violations: Vec<Occurrence>,
}

impl Report {
    /// Every expectation holds, and nothing happened that must never happen.
    pub fn is_as_expected(&self) -> bool {
        self.violations.is_empty() && self.expectations.iter().all(ExpectationOutcome::holds)
    }

    /// Names of nodes that no price is known of, in any view: no dollar figure counts them.
    pub fn without_price(&self) -> BTreeSet<&Text> {
        let rows = self.views.iter().flat_map(|view| &view.nodes);
        rows.filter(|row| row.price.is_none()).map(|row| &row.name).collect()
    }

    /// The view of a moment.
    pub fn view(&self, moment: Moment) -> Option<&View> {
        self.views.iter().find(|view| view.moment == moment)
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Happening,
    /// Why, in a sentence, where there is more to say than the event itself.
    pub why: Option<Text>,
}

/// What can happen. Each prints as one line without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The scenario applied objects: `Deployment default/web`, ….
    Applied(Vec<Text>),
    /// The scenario deleted an object.
    Deleted(Text),
    /// The scenario scaled a workload.
    Scaled {
        /// `Deployment default/web`.
        workload: Text,
        /// Replicas before.
        from: u32,
        /// Replicas after.
        to: u32,
    },
    /// A moment that expectations compare with.
    Marked(Text),
    /// EC2 ran out of offerings: `m5.large spot us-east-1a`, ….
    CapacityRanOut(Vec<Text>),
    /// EC2 has an offering again.
    CapacityReturned(Text),
    /// Pods found no node.
    PodsPending(Vec<PodKey>),
    /// Nothing can host pods.
    PodsUnschedulable(Vec<PodKey>),
    /// A NodeClaim was written.
    NodeClaimCreated {
        /// Its name.
        claim: Text,
        /// Its NodePool.
        node_pool: Text,
        /// Pods that it was planned for, where that is known.
        pods: usize,
        /// How many instance types EC2 may choose from.
        instance_types: usize,
    },
    /// EC2 launched an instance.
    Launched {
        /// The claim.
        claim: Text,
        /// The instance's id.
        instance: Text,
        /// Its type.
        instance_type: Text,
        /// Its zone.
        zone: Text,
        /// How it is bought.
        capacity_type: CapacityType,
        /// Its price.
        price: UsdPerHour,
    },
    /// EC2 refused a launch.
    LaunchFailed {
        /// The claim.
        claim: Text,
    },
    /// The Node of a claim joined the cluster.
    NodeJoined {
        /// The Node.
        node: Text,
        /// How long after its launch.
        after: SignedDuration,
    },
    /// A Node became ready for pods.
    NodeInitialized(Text),
    /// Pods were bound to a Node.
    PodsBound {
        /// The Node.
        node: Text,
        /// The pods.
        pods: Vec<PodKey>,
    },
    /// A Node is to go, or several together.
    Disrupting {
        /// Why.
        reason: DisruptionReason,
        /// The Nodes.
        nodes: Vec<Text>,
        /// Claims that replace them.
        replacements: Vec<Text>,
    },
    /// EC2 announced that it takes an instance back.
    InterruptionWarning {
        /// Its Node, or the instance's id before it joined.
        node: Text,
        /// When it goes.
        gone_in: SignedDuration,
    },
    /// AWS announced something else of an instance.
    Announced {
        /// Its Node, or the instance's id before it joined.
        node: Text,
        /// What, before the Node's name.
        what: Text,
    },
    /// A Node takes no more pods and its pods are being moved.
    Draining(Text),
    /// Pods were evicted from a Node.
    PodsEvicted {
        /// The Node.
        node: Text,
        /// The pods.
        pods: Vec<PodKey>,
    },
    /// Outrigger asked for a rollout of a Deployment, in place of evictions.
    RolloutStarted {
        /// `Deployment shop/web`.
        workload: Text,
    },
    /// An eviction was refused.
    EvictionRefused(PodKey),
    /// Pods were lost with their instance.
    PodsLost {
        /// The Node.
        node: Text,
        /// The pods.
        pods: Vec<PodKey>,
    },
    /// A Node left the cluster.
    NodeRemoved {
        /// The Node.
        node: Text,
        /// Its price.
        price: UsdPerHour,
        /// How long it lived.
        lived: SignedDuration,
    },
    /// An instance ended whose Node never joined.
    InstanceEnded {
        /// The instance's id.
        instance: Text,
        /// Its claim.
        claim: Text,
    },
    /// As many pods of a Job have succeeded as were to.
    JobCompleted {
        /// `Job default/batch`.
        job: Text,
        /// Pods that have succeeded.
        succeeded: u32,
    },
    /// More pods of a Job have failed than its `backoffLimit` allows.
    JobFailed {
        /// `Job default/batch`.
        job: Text,
        /// Pods that have failed.
        failed: u32,
    },
    /// The scenario would have something happen to instances or offerings, and there are none.
    NothingThere {
        /// What it would have done: `interrupt`.
        action: Text,
        /// To what: `instance with capacityType spot`.
        what: Text,
    },
    /// A fault was injected, or a call was refused in passing.
    Fault(Text),
    /// A controller could not do its work this time.
    ControllerFailed {
        /// Which one.
        controller: Text,
    },
}

fn count_of(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn count_of_u32(count: u32, noun: &str) -> String {
    count_of(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

fn joined(names: &[Text]) -> String {
    const SHOWN_MAX: usize = 6;
    if names.len() <= SHOWN_MAX {
        return names.join(", ");
    }
    format!("{}, and {} more", names[..SHOWN_MAX].join(", "), names.len() - SHOWN_MAX)
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied(objects) => write!(f, "apply {}", joined(objects)),
            Self::Deleted(object) => write!(f, "delete {object}"),
            Self::Scaled { workload, from, to } => {
                write!(f, "scale {workload} from {from} to {to}")
            }
            Self::Marked(name) => write!(f, "mark {name}"),
            Self::CapacityRanOut(offerings) => write!(f, "EC2 has no {} left", joined(offerings)),
            Self::CapacityReturned(offering) => write!(f, "EC2 has {offering} again"),
            Self::PodsPending(pods) => write!(f, "{} pending", count_of(pods.len(), "pod")),
            Self::PodsUnschedulable(pods) => {
                write!(f, "{} cannot be hosted by any NodePool", count_of(pods.len(), "pod"))
            }
            Self::NodeClaimCreated { claim, node_pool, pods, instance_types } => write!(
                f,
                "claim {claim} of NodePool {node_pool} for {}, any of {}",
                count_of(*pods, "pod"),
                count_of(*instance_types, "instance type")
            ),
            Self::Launched { claim, instance_type, zone, capacity_type, price, instance } => {
                write!(
                    f,
                    "launch {instance_type} {capacity_type} in {zone} at {price} for claim {claim} ({instance})"
                )
            }
            Self::LaunchFailed { claim } => write!(f, "no instance for claim {claim}"),
            Self::NodeJoined { node, after } => {
                write!(f, "node {node} joined {} s after its launch", after.as_secs())
            }
            Self::NodeInitialized(node) => write!(f, "node {node} is ready for pods"),
            Self::PodsBound { node, pods } => {
                write!(f, "{} bound to {node}", count_of(pods.len(), "pod"))
            }
            Self::Disrupting { reason, nodes, replacements } => {
                write!(f, "disrupt {} ({reason})", joined(nodes))?;
                if !replacements.is_empty() {
                    write!(f, ", replaced by {}", joined(replacements))?;
                }
                Ok(())
            }
            Self::InterruptionWarning { node, gone_in } => {
                write!(f, "EC2 takes {node} back in {} s", gone_in.as_secs())
            }
            Self::Announced { node, what } => write!(f, "{what} {node}"),
            Self::Draining(node) => write!(f, "drain {node}"),
            Self::PodsEvicted { node, pods } => pods_and(f, pods, "evicted from", node),
            Self::RolloutStarted { workload } => write!(f, "roll out {workload}"),
            Self::EvictionRefused(pod) => write!(f, "eviction of {pod} refused"),
            Self::PodsLost { node, pods } => pods_and(f, pods, "lost with", node),
            Self::NodeRemoved { node, price, lived } => {
                write!(f, "node {node} is gone after {} min: {price} less", lived.as_mins())
            }
            Self::InstanceEnded { instance, claim } => {
                write!(f, "instance {instance} of claim {claim} ended before it joined")
            }
            Self::JobCompleted { job, succeeded } => {
                write!(f, "{job} is complete: {} succeeded", count_of_u32(*succeeded, "pod"))
            }
            Self::JobFailed { job, failed } => {
                write!(f, "{job} has failed: {} failed", count_of_u32(*failed, "pod"))
            }
            Self::NothingThere { action, what } => {
                write!(f, "{action}: there is no {what}, nothing happens")
            }
            Self::Fault(what) => write!(f, "fault: {what}"),
            Self::ControllerFailed { controller } => write!(f, "{controller} failed this time"),
        }
    }
}

/// `2 pods evicted from NODE`.
fn pods_and(f: &mut fmt::Formatter<'_>, pods: &[PodKey], verb: &str, node: &str) -> fmt::Result {
    write!(f, "{} {verb} {node}", count_of(pods.len(), "pod"))
}

/// Which moment a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// After the first step of the timeline.
    Start,
    /// The dearest moment; of equally dear ones that with the most pods running, then the earliest.
    Peak,
    /// The end.
    End,
}

/// The cluster at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Which moment.
    pub moment: Moment,
    /// When.
    pub at: Timestamp,
    /// Nodes and instances on their way, by name.
    pub nodes: Vec<NodeRow>,
    /// All of them an hour.
    pub hourly: UsdPerHour,
    /// Pods that run.
    pub pods_running: usize,
    /// Pods without a node.
    pub pods_pending: usize,
}

impl View {
    /// The price of a month at this moment.
    pub fn monthly(&self) -> MonthlyUsd {
        MonthlyUsd::of(self.hourly)
    }
}

/// Requested and allocatable amount of one resource: millicores or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What pods ask for.
    pub used: i64,
    /// What pods may use.
    pub allocatable: i64,
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its instance boots.
    Launching,
    /// It has joined and is not ready for pods yet.
    Joining,
    /// It takes pods.
    Ready,
    /// It reports no readiness.
    NotReady,
    /// It is going away.
    Draining,
}

impl NodeState {
    /// One word for tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Launching => "launching",
            Self::Joining => "joining",
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Draining => "draining",
        }
    }
}

/// A row of the node table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The Node; the NodeClaim's name before it joined.
    pub name: Text,
    /// How far it is.
    pub state: NodeState,
    /// The NodePool; `None` for nodes that no pool manages.
    pub node_pool: Option<Text>,
    /// The instance type; empty where the node does not say.
    pub instance_type: Text,
    /// The zone; empty where the node does not say.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: Option<CapacityType>,
    /// CPU in millicores.
    pub cpu: Usage,
    /// Memory in bytes.
    pub memory: Usage,
    /// Pods on it, DaemonSets' among them, of its pod slots.
    pub pods: Usage,
    /// Since when it has been there.
    pub age: SignedDuration,
    /// The price; `None` where it is not known.
    pub price: Option<UsdPerHour>,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of all instances over the whole run, in billionths of a US dollar.
    pub total_nano_usd: i128,
    /// How much of that commitments covered; `None` where none ever covered anything.
    pub covered_nano_usd: Option<i128>,
    /// At the dearest moment.
    pub peak_hourly: UsdPerHour,
    /// At the end.
    pub final_hourly: UsdPerHour,
    /// In percent of the least that the pods need, rounded up; where the scenario expects something
    /// of it, when that was judged last.
    pub percent_of_bound: Option<u32>,
}

/// What spot interruptions of a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interruptions {
    /// How many instances EC2 announced to take back.
    pub count: u32,
    /// What those cost an hour, all together.
    pub hourly: UsdPerHour,
    /// What that cost by what their NodePools say that an interruption costs, in billionths of a US
    /// dollar; nothing where they say nothing.
    pub nano_usd: i128,
}

impl Interruptions {
    /// The cost in dollars, for output only.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn usd(&self) -> f64 {
        self.nano_usd as f64 / 1e9
    }
}

/// What the pods of a run needed at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// What the cheapest nodes for the pods of each stretch between two steps of the timeline cost,
    /// in billionths of a US dollar: a lower bound, which knows what is to come and moves pods at
    /// once and for nothing.
    pub nano_usd: i128,
    /// The time of all pods, without those of DaemonSets: two pods for an hour are two hours.
    pub pod_time: SignedDuration,
}

impl Needed {
    /// The cost in dollars, for output only.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn least_usd(&self) -> f64 {
        self.nano_usd as f64 / 1e9
    }
}

impl Cost {
    /// The total in dollars, for output only.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn total_usd(&self) -> f64 {
        self.total_nano_usd as f64 / 1e9
    }

    /// How much of that commitments covered, in dollars, for output only.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn covered_usd(&self) -> Option<f64> {
        self.covered_nano_usd.map(|covered| covered as f64 / 1e9)
    }

    /// A month at the dearest moment's price.
    pub fn peak_monthly(&self) -> MonthlyUsd {
        MonthlyUsd::of(self.peak_hourly)
    }

    /// A month at the price of the end.
    pub fn final_monthly(&self) -> MonthlyUsd {
        MonthlyUsd::of(self.final_hourly)
    }
}

/// US dollars a month of 730 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonthlyUsd {
    nanos: i128,
}

impl MonthlyUsd {
    /// From an hourly price.
    pub fn of(hourly: UsdPerHour) -> Self {
        Self { nanos: i128::from(hourly.nanos()) * i128::from(HOURS_PER_MONTH) }
    }

    /// As a decimal figure, for output only.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn to_f64(self) -> f64 {
        self.nanos as f64 / 1e9
    }
}

impl fmt::Display for MonthlyUsd {
    /// `$1234.56/month`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.2}/month", self.to_f64())
    }
}

/// How long pods waited for a node. DaemonSets' pods and pods that nothing can host do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Pods that were bound.
    pub pods_bound: usize,
    /// How long those waited together.
    pub total: SignedDuration,
    /// The longest wait of one that was bound.
    pub longest: SignedDuration,
    /// Half of the pods that were bound waited no longer.
    pub median: SignedDuration,
    /// Nineteen of twenty pods that were bound waited no longer.
    pub percentile_95: SignedDuration,
    /// The longest time between a pod's leaving a node and its successor's being bound, during
    /// voluntary disruption.
    pub longest_after_eviction: SignedDuration,
}

impl Waiting {
    /// How long a pod that was bound waited on average.
    pub fn mean(&self) -> SignedDuration {
        let pods = i128::try_from(self.pods_bound.max(1)).unwrap_or(i128::MAX);
        SignedDuration::from_millis_i128(self.total.as_millis() / pods)
    }
}

/// An expectation, and how it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectationOutcome {
    /// The moment it was held against the world.
    pub at: Timestamp,
    /// What was expected, in words.
    pub expected: Text,
    /// What was found instead; `None` where it holds.
    pub found: Option<Text>,
}

impl ExpectationOutcome {
    /// Whether it came as expected.
    pub fn holds(&self) -> bool {
        self.found.is_none()
    }
}

/// A violation of what must always be true, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When it was seen.
    pub at: Timestamp,
    /// What.
    pub violation: Violation,
}
