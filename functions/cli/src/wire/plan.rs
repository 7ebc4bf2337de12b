//! A plan as JSON: `kind: Plan`.

use checker::Violation;
use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{
    BlockedNode, Placement, Plan, PlannedDisruption, PlannedNodeClaim, PlannedVirtualPod, Totals,
    UnschedulablePod,
};
use domain::pod::{ObjectKey, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::basis::{BasisDocument, BasisOptions};
use super::claim::ClaimDocument;
use super::code::{BlockedCode, DisruptionCode, UnschedulableCode, ViolationCode};
use super::committed::CommittedDocument;
use super::node::NodeDocument;
use super::{API_VERSION, word};
use crate::view::node_row::{self, NodeRow, NodeState};
use crate::view::pricing::PriceNote;

/// What one tick would do: the document of `outrigger plan -o json`.
///
/// Lists are sorted, so that the same input gives the same bytes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Plan")]
pub(crate) struct PlanDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// Nodes to launch for pending pods.
    node_claims: Vec<ClaimDocument>,
    /// Pending pods that get a place on a node that is there or in flight.
    placements: Vec<PlacementDocument>,
    /// Pending pods that no node can be had for.
    unschedulable: Vec<UnschedulableDocument>,
    /// Nodes to take away; those that go together are one entry.
    disruptions: Vec<DisruptionDocument>,
    /// Nodes that something keeps from being disrupted.
    blocked: Vec<BlockedDocument>,
    /// Room for pods that are not there yet: of CapacityBuffers and schedules.
    virtual_pods: Vec<VirtualPodDocument>,
    /// Figures of the whole plan.
    totals: TotalsDocument,
    /// What commitments cover of what nodes cost; absent where no Commitment holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<CommittedDocument>,
    #[serde(flatten)]
    basis: BasisDocument,
    /// Nodes that are there or in flight, before the plan is carried out.
    existing_nodes: Vec<NodeDocument>,
    /// Names of existing nodes that no price is known of: no dollar figure counts them.
    left_out: Vec<Text>,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the input, which were left out, as standard error says it.
    errors: Vec<String>,
    /// Rules that the plan breaks, each `RULE: SUBJECT: MESSAGE`; none, unless the planner has a
    /// defect.
    violations: Vec<String>,
    /// The rule of each of `violations`, in the same order.
    violation_codes: Vec<ViolationCode>,
}

/// What stands in a plan's document beside the plan.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// `--cluster` and `--catalog`.
    pub(crate) options: BasisOptions,
    /// What is to be said beside dollars.
    pub(crate) prices: PriceNote,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects of the input.
    pub(crate) errors: Vec<String>,
    /// Rules that the plan breaks, as found by the checker; a defect of the planner.
    pub(crate) violations: Vec<Violation>,
}

impl PlanDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "Plan";

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
            committed,
            figures: _,
        } = plan;
        let Remarks { options, prices, warnings, errors, violations } = remarks;
        let rows = node_row::rows(snapshot, plan);
        let existing = || rows.iter().filter(|row| row.state != NodeState::Planned);
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            node_claims: claims(node_claims, &rows),
            placements: placements.iter().map(PlacementDocument::from).collect(),
            unschedulable: unschedulable.iter().map(UnschedulableDocument::from).collect(),
            disruptions: disruptions
                .iter()
                .map(|own| DisruptionDocument::new(own, &rows))
                .collect(),
            blocked: blocked.iter().map(BlockedDocument::from).collect(),
            virtual_pods: virtual_pods.iter().map(VirtualPodDocument::from).collect(),
            totals: totals.into(),
            committed: committed.as_ref().map(|own| CommittedDocument::new(own, totals)),
            basis: BasisDocument::new(snapshot.now, &prices, options),
            existing_nodes: existing().map(NodeDocument::from).collect(),
            left_out: existing()
                .filter(|row| row.price.is_none())
                .map(|row| row.name.clone())
                .collect(),
            warnings,
            errors,
            violations: violations.iter().map(ToString::to_string).collect(),
            violation_codes: violations.iter().map(ViolationCode::from).collect(),
        }
    }
}

/// A pod's place on a node that is there or in flight.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Placement")]
struct PlacementDocument {
    /// The pod.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// The Node; the NodeClaim's name where there is no Node yet.
    node: Text,
}

impl From<&Placement> for PlacementDocument {
    fn from(placement: &Placement) -> Self {
        let Placement { pod, node } = placement;
        Self { pod: pod.to_string(), node: node.clone() }
    }
}

/// A pending pod that no node can be had for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Unschedulable")]
struct UnschedulableDocument {
    /// The pod.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// Why not: of the pod itself, or one reason a NodePool.
    reasons: Vec<String>,
    /// The code of each of `reasons`, in the same order.
    codes: Vec<UnschedulableCode>,
}

impl From<&UnschedulablePod> for UnschedulableDocument {
    fn from(unschedulable: &UnschedulablePod) -> Self {
        let UnschedulablePod { pod, reasons } = unschedulable;
        Self {
            pod: pod.to_string(),
            reasons: reasons.iter().map(ToString::to_string).collect(),
            codes: reasons.iter().map(UnschedulableCode::from).collect(),
        }
    }
}

/// Nodes that are taken away together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Disruption")]
struct DisruptionDocument {
    /// Why.
    reason: DisruptionCode,
    /// The nodes.
    nodes: Vec<Text>,
    /// Pods on them that need another place.
    #[schemars(with = "Vec<word::PodName>")]
    pods: Vec<String>,
    /// Nodes that are launched first.
    replacements: Vec<ClaimDocument>,
    /// Pods that go to nodes that stay.
    moves: Vec<PlacementDocument>,
    /// What it saves, in US dollars an hour; below 0 where replacements cost more.
    savings_hourly_usd: f64,
}

/// NodeClaims, with what is remembered of their spot offerings.
fn claims(claims: &[PlannedNodeClaim], rows: &[NodeRow]) -> Vec<ClaimDocument> {
    let row = |claim: &PlannedNodeClaim| rows.iter().rev().find(|row| row.name == claim.name);
    let claim = |claim| ClaimDocument::with_spot(claim, row(claim));
    claims.iter().map(claim).collect()
}

impl DisruptionDocument {
    fn new(disruption: &PlannedDisruption, rows: &[NodeRow]) -> Self {
        let PlannedDisruption { reason, nodes, pods, replacements, moves, savings } = disruption;
        Self {
            reason: (*reason).into(),
            nodes: nodes.clone(),
            pods: pods.iter().map(ToString::to_string).collect(),
            replacements: claims(replacements, rows),
            moves: moves.iter().map(PlacementDocument::from).collect(),
            savings_hourly_usd: savings.to_f64(),
        }
    }
}

/// A node that something keeps from being disrupted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Blocked")]
struct BlockedDocument {
    /// The node.
    node: Text,
    /// What keeps it.
    reason: String,
    /// The code of `reason`.
    code: BlockedCode,
}

impl From<&BlockedNode> for BlockedDocument {
    fn from(blocked: &BlockedNode) -> Self {
        let BlockedNode { node, reason } = blocked;
        Self { node: node.clone(), reason: reason.to_string(), code: reason.into() }
    }
}

/// Room for a pod that is not there yet.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VirtualPod")]
struct VirtualPodDocument {
    /// The name that it goes by in plans.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// What wants the room.
    #[serde(rename = "for")]
    source: SourceDocument,
    /// The Node or NodeClaim with the room; absent where nothing can host it.
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
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VirtualPodSource")]
pub(super) struct SourceDocument {
    /// The object's kind.
    #[schemars(with = "word::VirtualPodKind")]
    kind: &'static str,
    /// The object's namespace.
    namespace: Text,
    /// The object's name.
    name: Text,
}

impl From<&VirtualPodSource> for SourceDocument {
    fn from(source: &VirtualPodSource) -> Self {
        let ObjectKey { namespace, name } = source.key().clone();
        Self { kind: source.kind(), namespace, name }
    }
}

/// Figures of a whole plan.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Totals")]
struct TotalsDocument {
    /// Pods that waited for a place.
    pending_pods: u32,
    /// What all nodes cost before the plan is carried out, in US dollars an hour.
    hourly_usd_before: f64,
    /// What all nodes cost afterwards, in US dollars an hour.
    hourly_usd_after: f64,
    /// No plan could place the pending pods for less new capacity than this, in US dollars an hour;
    /// where a Commitment holds, for less beyond commitments. Absent where that was not worked out.
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
            options: BasisOptions::default(),
            prices: testing::price_note(),
            warnings: Vec::new(),
            errors: Vec::new(),
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
