//! What `explain -o json` prints.

use std::collections::BTreeMap;

use domain::Text;
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::{Pod, PodKey};
use domain::snapshot::ClusterSnapshot;
use planning::explain::{
    ClaimExplanation, NodeGroup, Offer, PodExplanation, PoolExplanation, ResidentExplanation, Step,
};
use serde::Serialize;

use super::claim::ClaimDocument;
use super::plan::SourceDocument;
use super::resident::ResidentDocument;
use super::{API_VERSION, quantities};

/// Instance types named of those that a filter dropped, and nodes of those with one reason.
const EXAMPLES_MAX: usize = 20;

/// A pod: where it runs or is placed, or why it is unschedulable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodDocument {
    api_version: &'static str,
    kind: &'static str,
    pod: String,
    requests: BTreeMap<String, String>,
    /// What wants room for it, of a pod that is not there yet.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    source: Option<SourceDocument>,
    /// Where it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_on: Option<Text>,
    /// The node or claim that it gets a place on.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_to: Option<Text>,
    /// Why it has no place.
    reasons: Vec<String>,
    /// What holds it on the node that it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<ResidentDocument>,
    node_pools: Vec<PoolDocument>,
    nodes: NodesDocument,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolDocument {
    name: Text,
    weight: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    filters: Vec<FilterDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<OfferDocument>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodesDocument {
    accepting: Vec<Text>,
    refusing: Vec<RefusalDocument>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RefusalDocument {
    /// Of the node that comes nearest.
    reason: String,
    count: usize,
    examples: Vec<Text>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FilterDocument {
    filter: String,
    left: usize,
    dropped: usize,
    examples: Vec<Text>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfferDocument {
    instance_type: Text,
    zone: Text,
    capacity_type: &'static str,
    hourly_usd: f64,
}

/// A node: why it is disrupted or kept, or what a new one was chosen from.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeDocument {
    api_version: &'static str,
    kind: &'static str,
    node: String,
    /// Pods that run on it, DaemonSets' included.
    pods: Vec<String>,
    /// Pods that get a place on it.
    coming: Vec<String>,
    /// Virtual pods that room on it is kept for.
    virtual_pods: Vec<String>,
    /// What keeps it.
    blocked: Vec<String>,
    /// Why it is taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    disruption: Option<&'static str>,
    /// The claim, of a node that is launched.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimDocument>,
    filters: Vec<FilterDocument>,
    offers: Vec<OfferDocument>,
}

impl PodDocument {
    /// The document of a pod.
    pub(crate) fn new(
        pod: &Pod,
        plan: &Plan,
        explanation: Option<&PodExplanation>,
        resident: Option<&ResidentExplanation>,
    ) -> Self {
        let key = &pod.key;
        let placed = plan.placements.iter().find(|placement| placement.pod == *key);
        let launched = plan.node_claims.iter().find(|claim| claim.pods.contains(key));
        let virtual_pod = plan.virtual_pods.iter().find(|own| own.pod == *key);
        let waiting = plan.unschedulable.iter().find(|waiting| waiting.pod == *key);
        Self {
            api_version: API_VERSION,
            kind: "PodExplanation",
            pod: key.to_string(),
            requests: quantities(&pod.spec.requests),
            source: pod.virtual_of.as_ref().map(SourceDocument::from),
            runs_on: pod.node_name.clone(),
            goes_to: placed
                .map(|placement| placement.node.clone())
                .or_else(|| launched.map(|claim| claim.name.clone()))
                .or_else(|| virtual_pod.and_then(|own| own.place.clone())),
            reasons: waiting
                .map(|waiting| waiting.reasons.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            resident: resident.map(ResidentDocument::from),
            node_pools: explanation
                .map(|own| own.pools.iter().map(PoolDocument::from).collect())
                .unwrap_or_default(),
            nodes: explanation.map(NodesDocument::from).unwrap_or_default(),
        }
    }
}

impl NodeDocument {
    /// The document of a node.
    pub(crate) fn new(
        name: &str,
        snapshot: &ClusterSnapshot,
        plan: &Plan,
        claim: Option<(&PlannedNodeClaim, Option<&ClaimExplanation>)>,
    ) -> Self {
        let explanation = claim.and_then(|(_, explanation)| explanation);
        let is_taken = |taken: &&PlannedDisruption| taken.nodes.iter().any(|node| &**node == name);
        let disruption = plan.disruptions.iter().find(is_taken).map(|taken| taken.reason.as_str());
        Self {
            api_version: API_VERSION,
            kind: "NodeExplanation",
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
            blocked: plan
                .blocked
                .iter()
                .filter(|kept| &*kept.node == name && disruption.is_none())
                .map(|kept| kept.reason.to_string())
                .collect(),
            disruption,
            claim: claim.map(|(claim, _)| claim.into()),
            filters: explanation
                .map(|own| own.steps.iter().map(FilterDocument::from).collect())
                .unwrap_or_default(),
            offers: explanation
                .map(|own| own.offers.iter().map(OfferDocument::from).collect())
                .unwrap_or_default(),
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
            filters: steps.iter().map(FilterDocument::from).collect(),
            cheapest: cheapest.as_ref().map(OfferDocument::from),
        }
    }
}

impl From<&PodExplanation> for NodesDocument {
    fn from(explanation: &PodExplanation) -> Self {
        let refusal = |group: &NodeGroup| RefusalDocument {
            reason: group.unfit.to_string(),
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

    fn value(document: impl Serialize) -> serde_json::Value {
        serde_json::to_value(document).unwrap()
    }

    #[test]
    fn a_pod_says_where_it_goes_or_why_nowhere() {
        let plan = testing::plan();
        let document = value(PodDocument::new(&testing::pod("web-2", None), &plan, None, None));
        assert_eq!(document["kind"], "PodExplanation");
        assert_eq!(document["goesTo"], "ip-10-0-0-1");
        let document = value(PodDocument::new(&testing::pod("huge", None), &plan, None, None));
        assert_eq!(document.get("goesTo"), None);
        assert!(document["reasons"][0].as_str().unwrap().contains("NodePool default"));
    }

    #[test]
    fn a_node_says_what_keeps_it_or_why_it_goes() {
        let (snapshot, plan) = (testing::snapshot(), testing::plan());
        let kept_node = value(NodeDocument::new("ip-10-0-0-1", &snapshot, &plan, None));
        assert!(kept_node["blocked"][0].as_str().unwrap().contains("do-not-disrupt"));
        assert_eq!(kept_node["coming"][0], "default/web-2");
        let disrupted = value(NodeDocument::new("ip-10-0-0-7", &snapshot, &plan, None));
        assert_eq!(disrupted["disruption"], "Underutilized");
        let kept = value(NodeDocument::new(
            "ip-10-0-0-1",
            &snapshot,
            &testing::plan_with_virtual_pods(),
            None,
        ));
        assert_eq!(kept["virtualPods"][0], "default/scaledobject-evening-2");
    }

    #[test]
    fn a_virtual_pod_says_what_wants_it() {
        let plan = testing::plan_with_virtual_pods();
        let own = &plan.virtual_pods[0];
        let pod = Pod { virtual_of: Some(own.source.clone()), ..testing::pod(&own.pod.name, None) };
        let document = value(PodDocument::new(&pod, &plan, None, None));
        assert_eq!(document["for"]["kind"], "CapacityBuffer");
        assert_eq!(document["goesTo"], "default-x7k2p");
    }
}
