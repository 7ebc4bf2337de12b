//! What became of every node and every pod of a run, and what the cluster cost and needed on the
//! way. Plain values: a run collects them only where somebody asks for them.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};
pub use recording::document::HowEnded;

/// The lives of nodes and pods, and figures of the cluster over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Nodes and instances, in the order in which they came.
    pub nodes: Vec<NodeLife>,
    /// Pods, in the order in which they were made. One made again under its name is another.
    pub pods: Vec<PodLife>,
    /// The cluster, whenever one of these figures changed.
    pub samples: Vec<Sample>,
    /// The least that the pods of a moment cost, when it was worked out; in order of time.
    pub bounds: Vec<Bound>,
    /// How much time passes at least between two bounds.
    pub bound_interval: SignedDuration,
}

/// A node from its launch to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLife {
    /// The Node; the NodeClaim's name where it never joined.
    pub name: Text,
    /// Its NodeClaim, where one was made in the run.
    pub claim: Option<Text>,
    /// The NodePool; `None` for nodes that no pool manages.
    pub node_pool: Option<Text>,
    /// The instance type; empty where the node does not say.
    pub instance_type: Text,
    /// The zone; empty where the node does not say.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: Option<CapacityType>,
    /// Its price; `None` where it is not known.
    pub price: Option<UsdPerHour>,
    /// CPU that pods may use, in millicores.
    pub cpu: i64,
    /// Memory that pods may use, in bytes.
    pub memory: i64,
    /// When its instance was launched, or its Node made; before the run for nodes that were there.
    pub launched: Timestamp,
    /// When its Node joined.
    pub joined: Option<Timestamp>,
    /// When it was first ready for pods.
    pub ready: Option<Timestamp>,
    /// Since when it takes no more pods because it goes.
    pub draining: Option<Timestamp>,
    /// When it was gone.
    pub gone: Option<Timestamp>,
    /// Why it came.
    pub came: Came,
    /// Why it went or goes, in a few words.
    pub went: Option<Text>,
}

/// Why a node came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// Somebody applied it: it was there.
    Applied,
    /// Pods waited, so many.
    ForPods(usize),
    /// Other nodes go: these, for this reason.
    Replaces(Vec<Text>, Text),
    /// Nothing says why.
    Unknown,
}

/// A pod from when it was made to when it was gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLife {
    /// The pod.
    pub key: PodKey,
    /// Whether it is a DaemonSet's.
    pub is_daemon: bool,
    /// CPU that it requests, in millicores.
    pub cpu: i64,
    /// Memory that it requests, in bytes.
    pub memory: i64,
    /// When it was made; before the run for pods that were there.
    pub created: Timestamp,
    /// When it was seen on a node, and the node's place in [`History::nodes`].
    pub bound: Option<(Timestamp, usize)>,
    /// When it was gone, and how it went.
    pub ended: Option<(Timestamp, HowEnded)>,
    /// Why nothing could host it, as an event said last.
    pub unschedulable: Option<Text>,
}

/// The cluster from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// All instances an hour.
    pub hourly: UsdPerHour,
    /// Pods without a node, those of DaemonSets left out.
    pub pending: usize,
    /// Pods on nodes, those of DaemonSets left out.
    pub bound: usize,
}

/// What the pods of a moment cost at least, by the planner's lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// When.
    pub at: Timestamp,
    /// An hour.
    pub hourly: UsdPerHour,
}
