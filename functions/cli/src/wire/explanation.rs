//! What `explain -o json` prints.

use std::collections::BTreeMap;

use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::{Pod, PodKey};
use domain::snapshot::ClusterSnapshot;
use planning::explain::{
    ClaimExplanation, NodeGroup, Offer, PodExplanation, PoolExplanation, ResidentExplanation, Step,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::basis::BasisDocument;
use super::claim::{ClaimDocument, PassedOverDocument};
use super::code::{
    BlockedCode, DisruptionCode, FilterCode, NodePoolCode, NodeRefusalCode, UnschedulableCode,
};
use super::drain::DrainDocument;
use super::node::SpotDocument;
use super::plan::SourceDocument;
use super::resident::ResidentDocument;
use super::{API_VERSION, quantities, word};
use crate::view::drains::drain_rows;
use crate::view::node_row::{self, NodeRow};

/// Instance types named of those that a filter dropped, and nodes of those with one reason.
const EXAMPLES_MAX: usize = 20;

/// Where a pod runs or gets a place, or why it has none: the document of
/// `outrigger explain pod NAME -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PodExplanation")]
pub(crate) struct PodDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// The pod.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// What it requests, by resource, with one of `pods`.
    #[schemars(with = "BTreeMap<String, word::Quantity>")]
    requests: BTreeMap<String, String>,
    /// What wants room for it; absent of a pod that is there.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    source: Option<SourceDocument>,
    /// The node that it is bound to; absent of a pod that is not bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_on: Option<Text>,
    /// The Node or NodeClaim that it gets a place on; absent where it gets none.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_to: Option<Text>,
    /// What is remembered of the spot offering of the node that it runs on or gets a place on, and
    /// what that weighs; absent of others, and without a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot: Option<SpotDocument>,
    /// The spot offering that its new node is launched on demand in place of, for what
    /// interruptions of its pods would cost; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot_passed_over: Option<PassedOverDocument>,
    /// Why it has no place: of the pod itself, or one reason a NodePool; empty where it has one.
    reasons: Vec<String>,
    /// The code of each of `reasons`, in the same order.
    codes: Vec<UnschedulableCode>,
    /// What holds it on the node that it runs on; absent of a pod that is not bound to a node that
    /// is known, or that is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<ResidentDocument>,
    /// What each NodePool offers it, heaviest first; empty of a pod that needs no place.
    node_pools: Vec<PoolDocument>,
    /// Nodes that would take it or not.
    nodes: NodesDocument,
    #[serde(flatten)]
    basis: BasisDocument,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the input, which were left out, as standard error says it.
    errors: Vec<String>,
}

/// What a NodePool offers a pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodePool")]
struct PoolDocument {
    /// The NodePool.
    name: Text,
    /// Its weight.
    weight: u32,
    /// What rules it out; absent where it could host the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The code of `reason`; absent with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<NodePoolCode>,
    /// How many instance types each filter leaves; empty where the NodePool is ruled out whatever
    /// they are.
    filters: Vec<FilterDocument>,
    /// The cheapest instance type that is left; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<OfferDocument>,
}

/// Nodes that are there or in flight, by whether they would take a pod.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Nodes")]
struct NodesDocument {
    /// Nodes that would take it, in the order in which they are tried.
    accepting: Vec<Text>,
    /// Nodes that do not, those with the same kind of reason together, the largest group first.
    refusing: Vec<RefusalDocument>,
}

/// Nodes that do not take a pod, for one kind of reason.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodeRefusal")]
struct RefusalDocument {
    /// Why not, of the node that comes nearest.
    reason: String,
    /// The code of `reason`.
    code: NodeRefusalCode,
    /// How many nodes there are.
    count: usize,
    /// Up to 20 of them, the nearest first.
    examples: Vec<Text>,
}

/// What leaves some instance types and drops others.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Filter")]
struct FilterDocument {
    /// The filter in words.
    filter: String,
    /// The kind of filter.
    code: FilterCode,
    /// Instance types that are left.
    left: usize,
    /// Instance types that it dropped.
    dropped: usize,
    /// Up to 20 of those dropped, by name.
    examples: Vec<Text>,
}

/// An instance type with its cheapest offering.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Offer")]
struct OfferDocument {
    /// The instance type.
    instance_type: Text,
    /// The availability zone.
    zone: Text,
    /// How the instance is bought.
    #[schemars(with = "word::CapacityTypeWord")]
    capacity_type: &'static str,
    /// Its price in US dollars an hour.
    hourly_usd: f64,
}

/// Why a node is disrupted or kept, or what a new one was chosen from: the document of
/// `outrigger explain node NAME -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodeExplanation")]
pub(crate) struct NodeDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// The Node; the NodeClaim's name where there is no Node yet.
    node: String,
    /// Pods that run on it, those of DaemonSets included.
    #[schemars(with = "Vec<word::PodName>")]
    pods: Vec<String>,
    /// Pending pods that get a place on it.
    #[schemars(with = "Vec<word::PodName>")]
    coming: Vec<String>,
    /// Virtual pods that room on it is kept for.
    #[schemars(with = "Vec<word::PodName>")]
    virtual_pods: Vec<String>,
    /// What keeps it from being disrupted.
    blocked: Vec<String>,
    /// The code of each of `blocked`, in the same order.
    blocked_codes: Vec<BlockedCode>,
    /// Why it is disrupted; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    disruption: Option<DisruptionCode>,
    /// What holds its drain, and what that costs; absent of a node that is not being drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    drain: Option<DrainDocument>,
    /// What removing it alone would save beyond commitments, in US dollars an hour; absent of nodes
    /// that are not bought on demand, and where no Commitment holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond_commitments_hourly_usd: Option<f64>,
    /// The NodeClaim of a node that the plan launches; absent of one that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimDocument>,
    /// What is remembered of its spot offering; absent of others, and without a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot: Option<SpotDocument>,
    /// How many instance types each filter left for the NodeClaim; empty of a node that is there.
    filters: Vec<FilterDocument>,
    /// What EC2 would be offered for the NodeClaim, cheapest first; empty of a node that is there.
    offers: Vec<OfferDocument>,
    #[serde(flatten)]
    basis: BasisDocument,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the input, which were left out, as standard error says it.
    errors: Vec<String>,
}

/// What stands in an explanation beside what is explained.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// What it was worked out from.
    pub(crate) basis: BasisDocument,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects of the input.
    pub(crate) errors: Vec<String>,
}

impl PodDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "PodExplanation";

    /// The document of a pod.
    pub(crate) fn new(
        pod: &Pod,
        plan: &Plan,
        explanation: Option<&PodExplanation>,
        resident: Option<&ResidentExplanation>,
        remarks: Remarks,
    ) -> Self {
        let Remarks { basis, warnings, errors } = remarks;
        let key = &pod.key;
        let placed = plan.placements.iter().find(|placement| placement.pod == *key);
        let launched = plan.node_claims.iter().find(|claim| claim.pods.contains(key));
        let virtual_pod = plan.virtual_pods.iter().find(|own| own.pod == *key);
        let waiting = plan.unschedulable.iter().find(|waiting| waiting.pod == *key);
        let reasons = waiting.map(|waiting| waiting.reasons.as_slice()).unwrap_or_default();
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            pod: key.to_string(),
            requests: quantities(&pod.spec.requests),
            source: pod.virtual_of.as_ref().map(SourceDocument::from),
            runs_on: pod.node_name.clone(),
            goes_to: placed
                .map(|placement| placement.node.clone())
                .or_else(|| launched.map(|claim| claim.name.clone()))
                .or_else(|| virtual_pod.and_then(|own| own.place.clone())),
            spot: None,
            spot_passed_over: None,
            reasons: reasons.iter().map(ToString::to_string).collect(),
            codes: reasons.iter().map(UnschedulableCode::from).collect(),
            resident: resident.map(ResidentDocument::from),
            node_pools: explanation
                .map(|own| own.pools.iter().map(PoolDocument::from).collect())
                .unwrap_or_default(),
            nodes: explanation.map(NodesDocument::from).unwrap_or_default(),
            basis,
            warnings,
            errors,
        }
    }
}

impl PodDocument {
    /// The document with what the node of the pod's place remembers of spot offerings.
    pub(crate) fn with_place(self, place: Option<&NodeRow>) -> Self {
        let passed_over = place.and_then(|row| row.spot_passed_over.as_ref());
        Self {
            spot: place.and_then(|row| row.spot).map(SpotDocument::from),
            spot_passed_over: passed_over.map(PassedOverDocument::from),
            ..self
        }
    }
}

impl NodeDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "NodeExplanation";

    /// The document of a node.
    pub(crate) fn new(
        name: &str,
        snapshot: &ClusterSnapshot,
        plan: &Plan,
        claim: Option<(&PlannedNodeClaim, Option<&ClaimExplanation>)>,
        remarks: Remarks,
    ) -> Self {
        let Remarks { basis, warnings, errors } = remarks;
        let explanation = claim.and_then(|(_, explanation)| explanation);
        let is_taken = |taken: &&PlannedDisruption| taken.nodes.iter().any(|node| &**node == name);
        let taken = plan.disruptions.iter().find(is_taken);
        let disruption = taken.map(|taken| DisruptionCode::from(taken.reason));
        let rows = node_row::rows(snapshot, plan);
        let row = rows.iter().rev().find(|row| &*row.name == name);
        // What goes is not kept, whatever held it back from going for another reason.
        let kept = || {
            let of_it = plan.blocked.iter().filter(|kept| &*kept.node == name);
            of_it.filter(|_| disruption.is_none())
        };
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            node: name.to_owned(),
            pods: sorted(
                snapshot
                    .objects
                    .pods
                    .iter()
                    .filter(|pod| pod.node_name.as_deref() == Some(name) && !pod.is_terminal())
                    .map(|pod| &pod.key),
            ),
            coming: sorted(
                plan.placements
                    .iter()
                    .filter(|placement| &*placement.node == name)
                    .map(|placement| &placement.pod),
            ),
            virtual_pods: sorted(
                plan.virtual_pods
                    .iter()
                    .filter(|own| own.place.as_deref() == Some(name))
                    .map(|own| &own.pod),
            ),
            blocked: kept().map(|kept| kept.reason.to_string()).collect(),
            blocked_codes: kept().map(|kept| (&kept.reason).into()).collect(),
            disruption,
            drain: drain_rows(snapshot, &rows)
                .iter()
                .find(|own| *own.drain.node == *name)
                .map(DrainDocument::from),
            beyond_commitments_hourly_usd: planning::price_beyond_commitments(snapshot, name)
                .map(UsdPerHour::to_f64),
            claim: claim.map(|(claim, _)| ClaimDocument::with_spot(claim, row)),
            spot: row.and_then(|row| row.spot).map(SpotDocument::from),
            filters: explanation
                .map(|own| own.steps.iter().map(FilterDocument::from).collect())
                .unwrap_or_default(),
            offers: explanation
                .map(|own| own.offers.iter().map(OfferDocument::from).collect())
                .unwrap_or_default(),
            basis,
            warnings,
            errors,
        }
    }
}

fn sorted<'a>(keys: impl Iterator<Item = &'a PodKey>) -> Vec<String> {
    let mut keys: Vec<&PodKey> = keys.collect();
    keys.sort();
    keys.into_iter().map(ToString::to_string).collect()
}

fn examples(names: &[Text]) -> Vec<Text> {
    names.iter().take(EXAMPLES_MAX).cloned().collect()
}

impl From<&PoolExplanation> for PoolDocument {
    fn from(pool: &PoolExplanation) -> Self {
        let PoolExplanation { node_pool, weight, unfit, steps, cheapest } = pool;
        Self {
            name: node_pool.clone(),
            weight: *weight,
            reason: unfit.as_ref().map(ToString::to_string),
            code: unfit.as_ref().map(NodePoolCode::from),
            filters: steps.iter().map(FilterDocument::from).collect(),
            cheapest: cheapest.as_ref().map(OfferDocument::from),
        }
    }
}

impl From<&PodExplanation> for NodesDocument {
    fn from(explanation: &PodExplanation) -> Self {
        let refusal = |group: &NodeGroup| RefusalDocument {
            reason: group.unfit.to_string(),
            code: (&group.unfit).into(),
            count: group.nodes.len(),
            examples: examples(&group.nodes),
        };
        Self {
            accepting: explanation.accepting.clone(),
            refusing: explanation.nodes.iter().map(refusal).collect(),
        }
    }
}

impl From<&Step> for FilterDocument {
    fn from(step: &Step) -> Self {
        let Step { filter, left, dropped } = step;
        Self {
            filter: filter.to_string(),
            code: filter.into(),
            left: *left,
            dropped: dropped.len(),
            examples: examples(dropped),
        }
    }
}

impl From<&Offer> for OfferDocument {
    fn from(offer: &Offer) -> Self {
        let Offer { instance_type, zone, capacity_type, price } = offer;
        Self {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.as_str(),
            hourly_usd: price.to_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::wire::basis::BasisOptions;

    fn value(document: impl Serialize) -> serde_json::Value {
        serde_json::to_value(document).unwrap()
    }

    fn remarks() -> Remarks {
        let prices = testing::price_note();
        let basis = BasisDocument::new(testing::now(), &prices, BasisOptions::default());
        Remarks { basis, warnings: Vec::new(), errors: Vec::new() }
    }

    #[test]
    fn a_pod_says_where_it_goes_or_why_nowhere() {
        let plan = testing::plan();
        let pod = testing::pod("web-2", None);
        let document = value(PodDocument::new(&pod, &plan, None, None, remarks()));
        assert_eq!(document["kind"], "PodExplanation");
        assert_eq!(document["goesTo"], "ip-10-0-0-1");
        let pod = testing::pod("huge", None);
        let document = value(PodDocument::new(&pod, &plan, None, None, remarks()));
        assert_eq!(document.get("goesTo"), None);
        assert!(document["reasons"][0].as_str().unwrap().contains("NodePool default"));
        assert_eq!(document["codes"], serde_json::json!(["InsufficientResources"]));
        assert_eq!(document["catalog"], "embedded");
    }

    #[test]
    fn a_node_says_what_keeps_it_or_why_it_goes() {
        let (snapshot, plan) = (testing::snapshot(), testing::plan());
        let kept_node = value(NodeDocument::new("ip-10-0-0-1", &snapshot, &plan, None, remarks()));
        assert!(kept_node["blocked"][0].as_str().unwrap().contains("do-not-disrupt"));
        assert_eq!(kept_node["blockedCodes"], serde_json::json!(["PodDoNotDisrupt"]));
        assert_eq!(kept_node["coming"][0], "default/web-2");
        let disrupted = value(NodeDocument::new("ip-10-0-0-7", &snapshot, &plan, None, remarks()));
        assert_eq!(disrupted["disruption"], "Underutilized");
        let kept = value(NodeDocument::new(
            "ip-10-0-0-1",
            &snapshot,
            &testing::plan_with_virtual_pods(),
            None,
            remarks(),
        ));
        assert_eq!(kept["virtualPods"][0], "default/scaledobject-evening-2");
    }

    #[test]
    fn a_virtual_pod_says_what_wants_it() {
        let plan = testing::plan_with_virtual_pods();
        let own = &plan.virtual_pods[0];
        let pod = Pod { virtual_of: Some(own.source.clone()), ..testing::pod(&own.pod.name, None) };
        let document = value(PodDocument::new(&pod, &plan, None, None, remarks()));
        assert_eq!(document["for"]["kind"], "CapacityBuffer");
        assert_eq!(document["goesTo"], "default-x7k2p");
    }
}
