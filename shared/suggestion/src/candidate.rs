//! A change of settings that may be worth making.

use domain::Text;
use serde_json::Value;

/// What kind of change a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateKind {
    /// A NodePool launches other nodes, or lets nodes go otherwise.
    NodePool,
    /// A NodePool may launch more.
    Limits,
    /// Capacity is there before a peak.
    Prewarm,
    /// A PodDisruptionBudget that never allowed an eviction allows some.
    Budget,
    /// Pods request less.
    Requests,
}

/// A change of settings that may be worth making.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What it is called: words of lower-case letters and digits, joined by `-` and `/`.
    pub id: Text,
    /// Of several candidates that decide one thing, only one can be followed: those have one group.
    pub group: Text,
    /// What kind of change it is.
    pub kind: CandidateKind,
    /// What it changes, in a few words.
    pub what: String,
    /// What in the recording speaks for it, in a sentence.
    pub why: String,
    /// The objects that it creates or changes, whole; of a workload only what changes.
    pub manifests: Vec<Value>,
}
