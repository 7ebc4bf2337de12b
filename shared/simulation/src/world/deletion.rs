//! How pods are deleted.

/// How a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// With its own grace period.
    Graceful,
    /// With a grace period in seconds.
    Within(u32),
    /// At once: its node is gone.
    Immediate,
}
