//! The key of a replicated workload.

use std::fmt;

use domain::pod::ObjectKey;
use domain::workload::WorkloadKind;

/// A replicated workload's kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadId {
    /// The kind.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.key)
    }
}
