//! A core with rules simple enough to keep in mind while reading a test.

use std::collections::BTreeMap;

use domain::Text;
use domain::drift::DriftReason;
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::plan::{
    ApprovedMove, LaunchOffering, Placement, Plan, PlannedDisruption, PlannedNodeClaim,
    UnschedulablePod,
};
use domain::pod::{Pod, PodKey};
use domain::reason::{DisruptionReason, NotDisruptable, PodUnschedulable};
use domain::snapshot::ClusterSnapshot;

use crate::core::Core;

/// Node label with the reason for which the Node is to be replaced.
pub(crate) const REPLACE: &str = "test/replace";
/// Value of [`REPLACE`]: the claim is drifted, and stays.
pub(crate) const DRIFTED: &str = "Drifted";

pub(crate) fn core() -> Core {
    Core {
        offerings_of_claim: planning::scheduling::offerings_of_claim,
        schedule,
        propose,
        drift,
        validate,
        evictable: |_, pods| pods.iter().cloned().collect(),
        check: |_, _| Vec::new(),
    }
}

/// A core whose every plan fails its check.
pub(crate) fn refusing_core() -> Core {
    Core { check: |_, _| vec!["refused by the test".into()], ..core() }
}

/// Pending pods go to the first claim in flight, or to a new claim if there is none.
fn schedule(snapshot: &ClusterSnapshot) -> Plan {
    let mut pods: Vec<PodKey> = snapshot
        .objects
        .pods
        .iter()
        .filter(|pod| pod.is_active() && pod.node_name.is_none())
        .map(|pod| pod.key.clone())
        .collect();
    pods.sort();
    if pods.is_empty() {
        return Plan::default();
    }
    let in_flight = snapshot.node_claims.iter().find(|claim| claim.deleted.is_none());
    if let Some(claim) = in_flight {
        let node = claim.status.node_name.as_ref().unwrap_or(&claim.name);
        let place = |pod| Placement { pod, node: node.clone() };
        return Plan { placements: pods.into_iter().map(place).collect(), ..Plan::default() };
    }
    if let Some(claim) = new_claim(snapshot, pods.clone()) {
        return Plan { node_claims: vec![claim], ..Plan::default() };
    }
    let reasons = vec![PodUnschedulable::NoNodePool];
    let wrap = |pod| UnschedulablePod { pod, reasons: reasons.clone() };
    Plan { unschedulable: pods.into_iter().map(wrap).collect(), ..Plan::default() }
}

fn new_claim(snapshot: &ClusterSnapshot, pods: Vec<PodKey>) -> Option<PlannedNodeClaim> {
    let available = snapshot.instance_types.default.iter().flat_map(|one| {
        let offerings = one.offerings.iter().filter(|offering| offering.available);
        offerings.map(|offering| LaunchOffering {
            price: offering.price,
            instance_type: one.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            reservation_id: None,
        })
    });
    let mut offerings: Vec<LaunchOffering> = available.collect();
    offerings.sort();
    let mut types: Vec<Text> = offerings.iter().map(|own| own.instance_type.clone()).collect();
    types.dedup();
    Some(PlannedNodeClaim {
        name: format!("default-{:x}", snapshot.seed).into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        offering: offerings.first()?.clone(),
        offerings,
        instance_types: types,
        requirements: Vec::new(),
        labels: [(label::NODE_POOL.into(), "default".into())].into(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        requests: domain::resource::Resources::new(),
        pods,
    })
}

fn pods_of<'a>(snapshot: &'a ClusterSnapshot, node: &Node) -> Vec<&'a Pod> {
    snapshot
        .objects
        .pods
        .iter()
        .filter(|pod| pod.is_active() && pod.node_name.as_ref() == Some(&node.name))
        .collect()
}

/// Nodes without pods are empty; a Node with label [`REPLACE`] is replaced.
fn propose(snapshot: &ClusterSnapshot) -> Plan {
    let staying = snapshot.objects.nodes.iter().filter(|node| !node.is_disrupted());
    let mut plan = Plan::default();
    let mut empty = Vec::new();
    for node in staying {
        if let Some(reason) = node.labels.get(REPLACE).filter(|own| &***own != DRIFTED) {
            let reason = [DisruptionReason::Expired, DisruptionReason::Underutilized]
                .into_iter()
                .find(|known| known.as_str() == &**reason)
                .expect("a reason that the tests use");
            plan.disruptions.push(PlannedDisruption {
                replacements: new_claim(snapshot, Vec::new()).into_iter().collect(),
                ..disruption(reason, vec![node.name.clone()])
            });
            if reason == DisruptionReason::Underutilized {
                plan.figures.approved.push(ApprovedMove {
                    node_pool: "default".into(),
                    nodes: vec![node.name.clone()],
                    score: "score 2.00 >= threshold 0.50".into(),
                });
            }
        } else if pods_of(snapshot, node).is_empty()
            && !snapshot.nominations.contains_key(&node.name)
        {
            empty.push(node.name.clone());
        }
    }
    if !empty.is_empty() {
        plan.disruptions.push(disruption(DisruptionReason::Empty, empty));
    }
    plan
}

/// A claim is drifted if its Node says so.
fn drift(snapshot: &ClusterSnapshot) -> BTreeMap<Text, DriftReason> {
    let says_so = |claim: &&NodeClaim| {
        let node = snapshot
            .objects
            .nodes
            .iter()
            .find(|node| Some(&node.name) == claim.status.node_name.as_ref());
        node.is_some_and(|node| node.labels.get(REPLACE).is_some_and(|own| &**own == DRIFTED))
    };
    let claims = snapshot.node_claims.iter().filter(says_so);
    claims.map(|claim| (claim.name.clone(), DriftReason::AmiDrift)).collect()
}

fn disruption(reason: DisruptionReason, nodes: Vec<Text>) -> PlannedDisruption {
    PlannedDisruption {
        reason,
        nodes,
        pods: Vec::new(),
        replacements: Vec::new(),
        moves: Vec::new(),
        savings: UsdPerHour::ZERO,
    }
}

/// A Node proposed as empty must still be empty; a nominated one stays.
fn validate(
    snapshot: &ClusterSnapshot,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    for name in &disruption.nodes {
        if snapshot.nominations.contains_key(name) {
            return Err(NotDisruptable::Nominated);
        }
        let node = snapshot.objects.nodes.iter().find(|node| node.name == *name);
        let pods = node.map(|node| pods_of(snapshot, node)).unwrap_or_default();
        if disruption.reason == DisruptionReason::Empty && !pods.is_empty() {
            return Err(NotDisruptable::NotWorthIt("it is not empty any more".into()));
        }
    }
    Ok(disruption.clone())
}
