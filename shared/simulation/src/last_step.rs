//! What the stand-ins for controllers remember of their last step.

use std::collections::BTreeSet;

use crate::api::OwnerKey;

/// What controllers have seen of the cluster when they last took a step.
#[derive(Debug)]
pub(crate) struct LastStep {
    /// The resource version of the latest write then.
    pub(crate) version: u64,
    /// Owners of pods for which there was something to do: what came of it is looked at again.
    pub(crate) unsettled: BTreeSet<OwnerKey>,
}
