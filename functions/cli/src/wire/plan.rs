//! A plan as JSON: `kind: Plan`.

use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{
    BlockedNode, Placement, Plan, PlannedDisruption, PlannedVirtualPod, Totals, UnschedulablePod,
};
use domain::pod::{ObjectKey, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use serde::Serialize;

use super::API_VERSION;
use super::claim::ClaimDocument;
use super::node::NodeDocument;
use super::pricing::PricingDocument;
use crate::view::node_row::{self, NodeState};
use crate::view::pricing::PriceNote;

/// The document that `plan -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanDocument {
    api_version: &'static str,
    kind: &'static str,
    node_claims: Vec<ClaimDocument>,
    placements: Vec<PlacementDocument>,
    unschedulable: Vec<UnschedulableDocument>,
    disruptions: Vec<DisruptionDocument>,
    blocked: Vec<BlockedDocument>,
    virtual_pods: Vec<VirtualPodDocument>,
    totals: TotalsDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// The moment that is planned for, RFC 3339.
    now: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// The file of `--catalog`, or `fetched` (from AWS), or `embedded`.
    catalog: String,
    pricing: PricingDocument,
    existing_nodes: Vec<NodeDocument>,
    /// Nodes that no price is known of: they are in none of the totals.
    left_out: Vec<Text>,
    warnings: Vec<String>,
    violations: Vec<String>,
}

/// What stands in a plan's document beside the plan.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// `--cluster`.
    pub(crate) cluster: Option<String>,
    /// What is planned with; `None` for the embedded catalogue.
    pub(crate) catalog: Option<String>,
    /// What is to be said beside dollars.
    pub(crate) prices: PriceNote,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Rules that the plan breaks, as found by the checker; a defect of the planner.
    pub(crate) violations: Vec<String>,
}

impl PlanDocument {
    /// The document of a plan.
    pub(crate) fn new(snapshot: &ClusterSnapshot, plan: &Plan, remarks: Remarks) -> Self {
        let Plan {
            node_claims,
            placements,
            unschedulable,
            disruptions,
            blocked,
            awaiting_budget: _,
            candidates: _,
            virtual_pods,
            totals,
            figures: _,
        } = plan;
        let Remarks { cluster, catalog, prices, warnings, violations } = remarks;
        let rows = node_row::rows(snapshot, plan);
        let existing = || rows.iter().filter(|row| row.state != NodeState::Planned);
        Self {
            api_version: API_VERSION,
            kind: "Plan",
            node_claims: node_claims.iter().map(ClaimDocument::from).collect(),
            placements: placements.iter().map(PlacementDocument::from).collect(),
            unschedulable: unschedulable.iter().map(UnschedulableDocument::from).collect(),
            disruptions: disruptions.iter().map(DisruptionDocument::from).collect(),
            blocked: blocked.iter().map(BlockedDocument::from).collect(),
            virtual_pods: virtual_pods.iter().map(VirtualPodDocument::from).collect(),
            totals: totals.into(),
            cluster,
            now: snapshot.now.to_string(),
            region: prices.region.clone(),
            catalog: catalog.unwrap_or_else(|| "embedded".to_owned()),
            pricing: (&prices).into(),
            existing_nodes: existing().map(NodeDocument::from).collect(),
            left_out: existing()
                .filter(|row| row.price.is_none())
                .map(|row| row.name.clone())
                .collect(),
            warnings,
            violations,
        }
    }
}

#[derive(Debug, Serialize)]
struct PlacementDocument {
    pod: String,
    node: Text,
}

impl From<&Placement> for PlacementDocument {
    fn from(placement: &Placement) -> Self {
        let Placement { pod, node } = placement;
        Self { pod: pod.to_string(), node: node.clone() }
    }
}

#[derive(Debug, Serialize)]
struct UnschedulableDocument {
    pod: String,
    reasons: Vec<String>,
}

impl From<&UnschedulablePod> for UnschedulableDocument {
    fn from(unschedulable: &UnschedulablePod) -> Self {
        let UnschedulablePod { pod, reasons } = unschedulable;
        Self { pod: pod.to_string(), reasons: reasons.iter().map(ToString::to_string).collect() }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DisruptionDocument {
    reason: &'static str,
    nodes: Vec<Text>,
    pods: Vec<String>,
    replacements: Vec<ClaimDocument>,
    moves: Vec<PlacementDocument>,
    savings_hourly_usd: f64,
}

impl From<&PlannedDisruption> for DisruptionDocument {
    fn from(disruption: &PlannedDisruption) -> Self {
        let PlannedDisruption { reason, nodes, pods, replacements, moves, savings } = disruption;
        Self {
            reason: reason.as_str(),
            nodes: nodes.clone(),
            pods: pods.iter().map(ToString::to_string).collect(),
            replacements: replacements.iter().map(ClaimDocument::from).collect(),
            moves: moves.iter().map(PlacementDocument::from).collect(),
            savings_hourly_usd: savings.to_f64(),
        }
    }
}

#[derive(Debug, Serialize)]
struct BlockedDocument {
    node: Text,
    reason: String,
}

impl From<&BlockedNode> for BlockedDocument {
    fn from(blocked: &BlockedNode) -> Self {
        let BlockedNode { node, reason } = blocked;
        Self { node: node.clone(), reason: reason.to_string() }
    }
}

/// Room for a pod that is not there yet.
#[derive(Debug, Serialize)]
struct VirtualPodDocument {
    pod: String,
    /// What wants the room.
    #[serde(rename = "for")]
    source: SourceDocument,
    /// Where it is; absent where nothing can host it.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Text>,
}

impl From<&PlannedVirtualPod> for VirtualPodDocument {
    fn from(planned: &PlannedVirtualPod) -> Self {
        let PlannedVirtualPod { pod, source, place } = planned;
        Self { pod: pod.to_string(), source: source.into(), node: place.clone() }
    }
}

/// The object that a virtual pod stands for.
#[derive(Debug, Serialize)]
pub(super) struct SourceDocument {
    kind: &'static str,
    namespace: Text,
    name: Text,
}

impl From<&VirtualPodSource> for SourceDocument {
    fn from(source: &VirtualPodSource) -> Self {
        let ObjectKey { namespace, name } = source.key().clone();
        Self { kind: source.kind(), namespace, name }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TotalsDocument {
    pending_pods: u32,
    hourly_usd_before: f64,
    hourly_usd_after: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bound_hourly_usd: Option<f64>,
}

impl From<&Totals> for TotalsDocument {
    fn from(totals: &Totals) -> Self {
        let Totals { pending_pods, hourly_before, hourly_after, lower_bound } = totals;
        Self {
            pending_pods: *pending_pods,
            hourly_usd_before: hourly_before.to_f64(),
            hourly_usd_after: hourly_after.to_f64(),
            lower_bound_hourly_usd: lower_bound.map(UsdPerHour::to_f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn remarks() -> Remarks {
        Remarks {
            cluster: None,
            catalog: None,
            prices: testing::price_note(),
            warnings: Vec::new(),
            violations: Vec::new(),
        }
    }

    #[test]
    fn the_document_is_as_the_contract_fixes_it() {
        let document = PlanDocument::new(&testing::snapshot(), &testing::plan(), remarks());
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn room_for_pods_to_come_stands_apart() {
        let document =
            PlanDocument::new(&testing::snapshot(), &testing::plan_with_virtual_pods(), remarks());
        let document = serde_json::to_value(document).unwrap();
        let [spare, without, ..] = document["virtualPods"].as_array().unwrap().as_slice() else {
            panic!("{document}")
        };
        let expected = serde_json::json!({
            "pod": "default/capacity-buffer-spare-0",
            "for": {"kind": "CapacityBuffer", "namespace": "default", "name": "spare"},
            "node": "default-x7k2p",
        });
        assert_eq!(*spare, expected);
        assert_eq!(without.get("node"), None);
        assert_eq!(document["nodeClaims"][0]["pods"], serde_json::json!(["default/api-0"]));
    }

    #[test]
    fn prices_keep_every_digit() {
        let mut plan = testing::plan();
        plan.totals.hourly_before = UsdPerHour::from_nanos(829_497_123);
        let document =
            serde_json::to_value(PlanDocument::new(&testing::snapshot(), &plan, remarks()))
                .unwrap();
        assert_eq!(document["totals"]["hourlyUsdBefore"].to_string(), "0.829497123");
    }

    #[test]
    fn a_bound_that_was_not_computed_is_absent() {
        let mut plan = testing::plan();
        plan.totals.lower_bound = None;
        let document =
            serde_json::to_value(PlanDocument::new(&testing::snapshot(), &plan, remarks()))
                .unwrap();
        assert_eq!(document["totals"].get("lowerBoundHourlyUsd"), None);
    }
}
