//! A planned NodeClaim as JSON.

use std::collections::BTreeMap;

use domain::Text;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::requirement::Requirement;
use domain::taint::Taint;
use planning::explain::SpotPassedOver;
use schemars::JsonSchema;
use serde::Serialize;

use super::node::SpotDocument;
use super::{quantities, word};
use crate::view::node_row::NodeRow;

/// A NodeClaim that the plan makes: one node to launch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodeClaim")]
pub(crate) struct ClaimDocument {
    /// The NodeClaim's name: the NodePool's, and five characters that the same input always gives.
    name: Text,
    /// The NodePool that it is made from.
    node_pool: Text,
    /// The EC2NodeClass that says how its instance is set up.
    node_class: Text,
    /// Instance types that CreateFleet would be offered, cheapest first. All pods of the claim fit
    /// on each.
    instance_types: Vec<Text>,
    /// Requirements of the NodePool and of its pods, as NodeClaims write them.
    requirements: Vec<RequirementDocument>,
    /// The offering that the plan prices the claim at: the cheapest that can be launched.
    offering: OfferingDocument,
    /// What is remembered of that, where it is spot; absent without a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot: Option<SpotDocument>,
    /// The spot offering that would cost less, but for what interruptions of its pods would cost;
    /// absent where it is not launched on demand for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot_passed_over: Option<PassedOverDocument>,
    /// The ordered list that CreateFleet would be given; all are of one capacity type.
    offerings: Vec<OfferingDocument>,
    /// Labels that its Node will have.
    labels: BTreeMap<Text, Text>,
    /// Taints that its Node will have.
    taints: Vec<TaintDocument>,
    /// Taints of its Node that something else takes away once the node is set up.
    startup_taints: Vec<TaintDocument>,
    /// What its pods and DaemonSets request together, by resource.
    #[schemars(with = "BTreeMap<String, word::Quantity>")]
    requests: BTreeMap<String, String>,
    /// Pods that it is for, without those of DaemonSets.
    #[schemars(with = "Vec<word::PodName>")]
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
            spot: None,
            spot_passed_over: None,
            offerings: offerings.iter().map(OfferingDocument::from).collect(),
            labels: (**labels).clone(),
            taints: taints.iter().map(TaintDocument::from).collect(),
            startup_taints: startup_taints.iter().map(TaintDocument::from).collect(),
            requests: quantities(requests),
            pods: pods.iter().map(ToString::to_string).collect(),
        }
    }
}

impl ClaimDocument {
    /// The document of a claim with what its row remembers of spot offerings.
    pub(crate) fn with_spot(claim: &PlannedNodeClaim, row: Option<&NodeRow>) -> Self {
        let passed_over = row.and_then(|row| row.spot_passed_over.as_ref());
        Self {
            spot: row.and_then(|row| row.spot).map(SpotDocument::from),
            spot_passed_over: passed_over.map(PassedOverDocument::from),
            ..claim.into()
        }
    }
}

/// A spot offering beside which a node is launched on demand.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpotPassedOver")]
pub(crate) struct PassedOverDocument {
    /// The instance type.
    instance_type: Text,
    /// The availability zone.
    zone: Text,
    /// Its price in US dollars an hour.
    hourly_usd: f64,
    /// What is remembered of it, and what that weighs for the pods of the NodeClaim.
    spot: SpotDocument,
}

impl From<&SpotPassedOver> for PassedOverDocument {
    fn from(SpotPassedOver { instance_type, zone, price, spot }: &SpotPassedOver) -> Self {
        Self {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            hourly_usd: price.to_f64(),
            spot: (*spot).into(),
        }
    }
}

/// A requirement as NodeClaims write it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Requirement")]
struct RequirementDocument {
    /// The label's key.
    key: Text,
    /// How the label is compared with the values.
    #[schemars(with = "word::OperatorWord")]
    operator: &'static str,
    /// The values; absent for `Exists` and `DoesNotExist`, one number for `Gt`, `Lt`, `Gte` and
    /// `Lte`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Text>,
    /// The fewest distinct values that instance types must have; absent where any number does.
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
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Offering")]
struct OfferingDocument {
    /// The instance type.
    instance_type: Text,
    /// The availability zone.
    zone: Text,
    /// How the instance is bought.
    #[schemars(with = "word::CapacityTypeWord")]
    capacity_type: &'static str,
    /// Its price in US dollars an hour.
    hourly_usd: f64,
    /// The capacity reservation, for capacity type `reserved`.
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
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Taint")]
struct TaintDocument {
    /// The taint's key.
    key: Text,
    /// Its value; absent where it has none.
    #[serde(skip_serializing_if = "str::is_empty")]
    value: Text,
    /// What it does to pods that do not tolerate it.
    #[schemars(with = "word::TaintEffectWord")]
    effect: &'static str,
}

impl From<&Taint> for TaintDocument {
    fn from(taint: &Taint) -> Self {
        let Taint { key, value, effect } = taint;
        Self { key: key.clone(), value: value.clone(), effect: effect.as_str() }
    }
}
