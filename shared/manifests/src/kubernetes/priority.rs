//! Priorities of pods.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/>.

use domain::Text;

use super::metadata::Metadata;
use crate::field::Field;

/// A PriorityClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    /// The name.
    pub name: Text,
    /// The priority of its pods.
    pub value: i32,
    /// Pods that name no class get it.
    pub is_global_default: bool,
}

/// Classes that every cluster has.
pub(crate) const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// Whether pods of the class are drained last.
pub(crate) fn is_critical(class: &str) -> bool {
    SYSTEM_CLASSES.iter().any(|(name, _)| *name == class)
}

/// What a pod's priority hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorityRef {
    /// `spec.priority`, which the API server has filled in on pods of a cluster.
    pub own: Option<i32>,
    /// `spec.priorityClassName`.
    pub class: Option<Text>,
}

impl PriorityRef {
    pub(crate) fn of(spec: Field<'_>) -> Self {
        Self {
            own: spec.get("priority").int32(),
            class: spec.get("priorityClassName").text().filter(|class| !class.is_empty()),
        }
    }
}

pub(super) fn read(root: Field<'_>) -> Option<PriorityClass> {
    Some(PriorityClass {
        name: Metadata::of(root).name,
        value: root.get("value").required().int32()?,
        is_global_default: root.get("globalDefault").bool().unwrap_or_default(),
    })
}
