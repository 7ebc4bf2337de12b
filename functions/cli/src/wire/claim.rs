//! A planned NodeClaim as JSON.

use std::collections::BTreeMap;

use domain::Text;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::requirement::Requirement;
use domain::taint::Taint;
use serde::Serialize;

use super::quantities;

/// An entry of `nodeClaims` or of a disruption's `replacements`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimDocument {
    name: Text,
    node_pool: Text,
    node_class: Text,
    instance_types: Vec<Text>,
    requirements: Vec<RequirementDocument>,
    offering: OfferingDocument,
    offerings: Vec<OfferingDocument>,
    labels: BTreeMap<Text, Text>,
    taints: Vec<TaintDocument>,
    startup_taints: Vec<TaintDocument>,
    requests: BTreeMap<String, String>,
    pods: Vec<String>,
}

impl From<&PlannedNodeClaim> for ClaimDocument {
    fn from(claim: &PlannedNodeClaim) -> Self {
        let PlannedNodeClaim {
            name,
            node_pool,
            node_class,
            instance_types,
            requirements,
            offering,
            offerings,
            labels,
            taints,
            startup_taints,
            requests,
            pods,
        } = claim;
        Self {
            name: name.clone(),
            node_pool: node_pool.clone(),
            node_class: node_class.clone(),
            instance_types: instance_types.clone(),
            requirements: requirements.iter().map(RequirementDocument::from).collect(),
            offering: offering.into(),
            offerings: offerings.iter().map(OfferingDocument::from).collect(),
            labels: (**labels).clone(),
            taints: taints.iter().map(TaintDocument::from).collect(),
            startup_taints: startup_taints.iter().map(TaintDocument::from).collect(),
            requests: quantities(requests),
            pods: pods.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A requirement as NodeClaims write it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequirementDocument {
    key: Text,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_values: Option<u32>,
}

impl From<&Requirement> for RequirementDocument {
    fn from(requirement: &Requirement) -> Self {
        let Requirement { key, operator, values, min_values } = requirement;
        Self {
            key: key.clone(),
            operator: operator.as_str(),
            values: values.clone(),
            min_values: *min_values,
        }
    }
}

/// An offering that a claim is priced at or may be launched as.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfferingDocument {
    instance_type: Text,
    zone: Text,
    capacity_type: &'static str,
    hourly_usd: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation_id: Option<Text>,
}

impl From<&LaunchOffering> for OfferingDocument {
    fn from(offering: &LaunchOffering) -> Self {
        let LaunchOffering { instance_type, zone, capacity_type, price, reservation_id } = offering;
        Self {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.as_str(),
            hourly_usd: price.to_f64(),
            reservation_id: reservation_id.clone(),
        }
    }
}

/// A taint as Kubernetes writes it.
#[derive(Debug, Serialize)]
struct TaintDocument {
    key: Text,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: Text,
    effect: &'static str,
}

impl From<&Taint> for TaintDocument {
    fn from(taint: &Taint) -> Self {
        let Taint { key, value, effect } = taint;
        Self { key: key.clone(), value: value.clone(), effect: effect.as_str() }
    }
}
