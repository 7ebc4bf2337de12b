//! The disruptions of a plan, with the places that they name.

use domain::plan::PlannedDisruption;

use crate::place::PlaceId;

/// One disruption of the plan, with the places that it names as far as they are there.
pub(crate) struct DisruptionEntry<'w> {
    pub(crate) planned: &'w PlannedDisruption,
    pub(crate) places: Vec<PlaceId>,
}

impl DisruptionEntry<'_> {
    /// What messages call it.
    pub(crate) fn subject(&self) -> String {
        format!("{} {}", self.planned.reason, self.planned.nodes.join(","))
    }
}

/// All disruptions of the plan.
pub(crate) struct Disruptions<'w> {
    pub(crate) entries: Vec<DisruptionEntry<'w>>,
    /// By place, whether it is disrupted; places that the plan launches are not.
    pub(crate) disrupted: Vec<bool>,
}
