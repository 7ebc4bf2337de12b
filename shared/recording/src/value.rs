//! A recording that was read.

use std::collections::BTreeMap;

use domain::pod::Pod;
use domain::resource::Resources;
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp};
use manifests::Object;
use serde_json::Value;

use crate::document::{ClaimFact, GoneFact, Header, NodeFact};

/// What happened in a cluster between two moments.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What its first line says.
    pub header: Header,
    /// When it starts.
    pub start: Timestamp,
    /// How long it lasts.
    pub length: SignedDuration,
    /// Pods, by when they were created; of one moment, in the order written.
    pub pods: Vec<RecordedPod>,
    /// Objects that came, changed and went, by time.
    pub objects: Vec<RecordedObject>,
    /// Manifests of those that came or changed, as they are written, in the order written.
    pub manifests: Vec<Value>,
    /// Nodes that came.
    pub nodes: Vec<NodeFact>,
    /// Nodes that went.
    pub nodes_gone: Vec<GoneFact>,
    /// NodeClaims that came.
    pub claims: Vec<ClaimFact>,
    /// NodeClaims that went.
    pub claims_gone: Vec<GoneFact>,
}

/// A pod, and what became of it.
#[derive(Clone, Debug)]
pub struct RecordedPod {
    /// When it was created, from the start; negative for one that was there before.
    pub created: SignedDuration,
    /// The pod as it was created: without a node.
    pub pod: Pod,
    /// The workload whose replica it is, where that is not its owner, in the pod's namespace.
    pub workload: Option<(WorkloadKind, Text)>,
    /// When it was bound, from the start, and to which Node.
    pub bound: Option<(SignedDuration, Text)>,
    /// How it ended; `None` where it ran until the recording's end.
    pub end: Option<RecordedEnd>,
    /// The most that it used of `cpu` and `memory`, as far as that was recorded.
    pub used: Resources,
    /// What each of its containers used, by name, where containers were measured.
    pub containers: BTreeMap<Text, ContainerUse>,
}

/// What a container of a recorded pod used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUse {
    /// The most that it used of `cpu` and `memory`.
    pub used: Resources,
    /// Whether it is one of the pod's `initContainers` that goes on running.
    pub is_sidecar: bool,
}

/// How a recorded pod ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedEnd {
    /// When, from the start.
    pub at: SignedDuration,
    /// How.
    pub how: PodEnd,
}

/// How a pod's time on its node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodEnd {
    /// By itself, after it had run for so long.
    Finished(SignedDuration),
    /// Its owner or a user deleted it.
    Deleted,
    /// It was evicted or lost with its node: whoever owns it made another.
    Displaced,
}

/// What happened to another object.
#[derive(Clone, Debug)]
pub struct RecordedObject {
    /// When, from the start.
    pub at: SignedDuration,
    /// What.
    pub change: ObjectChange,
}

/// What can happen to an object.
#[derive(Clone, Debug)]
pub enum ObjectChange {
    /// It was created or changed.
    Applied(Box<Object>),
    /// It is gone.
    Gone {
        /// Its kind.
        kind: Text,
        /// Its namespace, for kinds that live in one.
        namespace: Option<Text>,
        /// Its name.
        name: Text,
    },
}
