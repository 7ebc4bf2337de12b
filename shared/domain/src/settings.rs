//! Settings that Karpenter's users know.

/// How scheduling and disruption behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `--preference-policy`.
    pub preference_policy: PreferencePolicy,
    /// `--min-values-policy`.
    pub min_values_policy: MinValuesPolicy,
    /// `--feature-gates`.
    pub feature_gates: FeatureGates,
    /// `--search-effort`.
    pub search_effort: SearchEffort,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            preference_policy: PreferencePolicy::Respect,
            min_values_policy: MinValuesPolicy::Strict,
            feature_gates: FeatureGates::default(),
            search_effort: SearchEffort::Full,
        }
    }
}

/// What becomes of preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreferencePolicy {
    /// Treated as required until they cannot be met.
    Respect,
    /// Left out from the start.
    Ignore,
}

/// What happens where `minValues` cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinValuesPolicy {
    /// The NodePool cannot serve the pod.
    Strict,
    /// As many as there are.
    BestEffort,
}

/// How much work a plan may take to become cheaper, and to prove how cheap any plan could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEffort {
    /// So much that an answer comes at once: no patterns are looked for among many different pods.
    Quick,
    /// As much as pays off for nodes that run for hours; what the functions take.
    Full,
}

/// Features that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "feature gates are switches, by name")]
pub struct FeatureGates {
    /// `SpotToSpotConsolidation`: off, as upstream.
    pub spot_to_spot_consolidation: bool,
    /// `NodeRepair`: off, as upstream.
    pub node_repair: bool,
    /// `ReservedCapacity`.
    pub reserved_capacity: bool,
    /// `NodeOverlay`.
    pub node_overlay: bool,
    /// `StaticCapacity`.
    pub static_capacity: bool,
    /// `CapacityBuffer`.
    pub capacity_buffer: bool,
    /// `RolloutEviction`: pods of Deployments that ask for it leave nodes that go by choice by a
    /// rollout (`outrigger.dev/evict-by`). Off: it needs the right to change Deployments. Karpenter
    /// has no such gate.
    pub rollout_eviction: bool,
    /// `PodNomination`: pods are nominated to the nodes that were planned for them. Karpenter has
    /// no such gate.
    pub pod_nomination: bool,
    /// `PodDeletionCostManagement`: pods of ReplicaSets bear a deletion cost by their nodes, so
    /// that ReplicaSets that shrink lose pods of the same nodes. Off: what is left of a ReplicaSet
    /// then runs on fewer nodes. Upstream has proposed a gate of that name.
    pub pod_deletion_cost_management: bool,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            spot_to_spot_consolidation: false,
            node_repair: false,
            reserved_capacity: true,
            node_overlay: true,
            static_capacity: true,
            capacity_buffer: true,
            rollout_eviction: false,
            pod_nomination: true,
            pod_deletion_cost_management: false,
        }
    }
}

/// Why a text does not say which features to switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// No feature has this name.
    #[error(
        "{0:?} is no feature gate: they are SpotToSpotConsolidation, NodeRepair, ReservedCapacity, NodeOverlay, StaticCapacity, CapacityBuffer, RolloutEviction, PodNomination, PodDeletionCostManagement"
    )]
    Unknown(String),
    /// The value is neither true nor false.
    #[error("feature gate {0} needs =true or =false")]
    NotSwitch(String),
}

impl FeatureGates {
    /// With switches set from `NAME=true,NAME=false`.
    pub fn with(mut self, text: &str) -> Result<Self, FeatureGateError> {
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) =
                item.split_once('=').ok_or_else(|| FeatureGateError::NotSwitch(item.to_owned()))?;
            let gate = match name.trim() {
                "SpotToSpotConsolidation" => &mut self.spot_to_spot_consolidation,
                "NodeRepair" => &mut self.node_repair,
                "ReservedCapacity" => &mut self.reserved_capacity,
                "NodeOverlay" => &mut self.node_overlay,
                "StaticCapacity" => &mut self.static_capacity,
                "CapacityBuffer" => &mut self.capacity_buffer,
                "RolloutEviction" => &mut self.rollout_eviction,
                "PodNomination" => &mut self.pod_nomination,
                "PodDeletionCostManagement" => &mut self.pod_deletion_cost_management,
                other => return Err(FeatureGateError::Unknown(other.to_owned())),
            };
            *gate = value
                .trim()
                .parse()
                .map_err(|_| FeatureGateError::NotSwitch(name.trim().to_owned()))?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_switched_by_name() {
        let gates = FeatureGates::default().with("NodeRepair=true, NodeOverlay=false").unwrap();
        assert!(gates.node_repair && !gates.node_overlay && gates.capacity_buffer);
        assert!(FeatureGates::default().with("Nonsense=true").is_err());
        assert!(FeatureGates::default().with("NodeRepair=maybe").is_err());
    }
}
