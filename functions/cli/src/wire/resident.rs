//! What `explain pod -o json` says of a pod that runs.

use domain::Text;
use domain::money::UsdPerHour;
use planning::explain::{BudgetLine, Destination, Guard, ResidentExplanation, Situation};
use serde::Serialize;

/// What holds a bound pod where it is, and where it would go without its node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResidentDocument {
    situation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_pool: Option<Text>,
    pod_disruption_budgets: Vec<GuardDocument>,
    /// Everything that keeps the node.
    holds: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drifted: Option<String>,
    /// Seconds to the end of `expireAfter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_seconds: Option<i64>,
    /// What consolidating the node would save, where it would be worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    savings_hourly_usd: Option<f64>,
    /// A node that the plan disrupts instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_first: Option<Text>,
    budgets: Vec<BudgetDocument>,
    /// The node that would take the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_go_to: Option<Text>,
    /// The new node that it would need.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_need: Option<NewNodeDocument>,
    /// Why no node would take it.
    would_have_no_place: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GuardDocument {
    name: String,
    /// `null` where it has no status.
    disruptions_allowed: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetDocument {
    reasons: Vec<&'static str>,
    left: u32,
    sum: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NewNodeDocument {
    node_pool: Text,
    instance_type: Text,
    zone: Text,
    capacity_type: &'static str,
    hourly_usd: f64,
}

const fn word(situation: Situation) -> &'static str {
    match situation {
        Situation::Moves => "Moves",
        Situation::BelongsToNode => "BelongsToNode",
        Situation::Terminating => "Terminating",
        Situation::NodeLeaves => "NodeLeaves",
        Situation::NodeUnmanaged => "NodeUnmanaged",
    }
}

impl From<&ResidentExplanation> for ResidentDocument {
    fn from(explanation: &ResidentExplanation) -> Self {
        let ResidentExplanation {
            node: _,
            situation,
            node_pool,
            guards,
            drifted,
            expires_in,
            holds,
            saving,
            first,
            budgets,
            destination,
        } = explanation;
        let (mut would_go_to, mut would_need, mut would_have_no_place) = (None, None, Vec::new());
        match destination {
            Destination::NotNeeded => {}
            Destination::Node(node) => would_go_to = Some(node.clone()),
            Destination::NewNode { node_pool, offering } => {
                would_need = Some(NewNodeDocument {
                    node_pool: node_pool.clone(),
                    instance_type: offering.instance_type.clone(),
                    zone: offering.zone.clone(),
                    capacity_type: offering.capacity_type.as_str(),
                    hourly_usd: offering.price.to_f64(),
                });
            }
            Destination::Nowhere(reasons) => {
                would_have_no_place = reasons.iter().map(ToString::to_string).collect();
            }
        }
        Self {
            situation: word(*situation),
            node_pool: node_pool.clone(),
            pod_disruption_budgets: guards.iter().map(GuardDocument::from).collect(),
            holds: holds.iter().map(ToString::to_string).collect(),
            drifted: drifted.as_ref().map(ToString::to_string),
            expires_in_seconds: expires_in.map(|left| left.as_secs()),
            savings_hourly_usd: saving.map(UsdPerHour::to_f64),
            goes_first: first.as_ref().map(|(node, _)| node.clone()),
            budgets: budgets.iter().map(BudgetDocument::from).collect(),
            would_go_to,
            would_need,
            would_have_no_place,
        }
    }
}

impl From<&Guard> for GuardDocument {
    fn from(Guard { budget, allowed }: &Guard) -> Self {
        Self { name: budget.to_string(), disruptions_allowed: *allowed }
    }
}

impl From<&BudgetLine> for BudgetDocument {
    fn from(BudgetLine { reasons, left, sum }: &BudgetLine) -> Self {
        Self {
            reasons: reasons.iter().map(|reason| reason.as_str()).collect(),
            left: *left,
            sum: sum.to_string(),
        }
    }
}
