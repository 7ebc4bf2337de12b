//! What `explain pod -o json` says of a pod that runs.

use domain::Text;
use domain::money::UsdPerHour;
use planning::explain::{BudgetLine, Destination, Guard, ResidentExplanation, Situation};
use schemars::JsonSchema;
use serde::Serialize;

use super::code::{BlockedCode, DisruptionCode, DriftCode, UnschedulableCode};
use super::word;

/// What holds a bound pod where it is, and where it would go without its node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Resident")]
pub(crate) struct ResidentDocument {
    /// Whether the pod may move because of its node.
    situation: SituationWord,
    /// The NodePool of its node; absent of a node that none manages.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_pool: Option<Text>,
    /// PodDisruptionBudgets that guard the pod, by name.
    pod_disruption_budgets: Vec<GuardDocument>,
    /// Everything that keeps its node: the pod moves once none of it is left. Empty unless
    /// `situation` is `Moves`.
    holds: Vec<String>,
    /// The code of each of `holds`, in the same order.
    hold_codes: Vec<BlockedCode>,
    /// How its node has drifted; absent where it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    drifted: Option<String>,
    /// The code of `drifted`; absent with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_code: Option<DriftCode>,
    /// Seconds until its node goes whatever holds it, by `expireAfter` or, where nodes expire
    /// gracefully, `outrigger.dev/expire-by` after that; 0 where that has passed, absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_seconds: Option<i64>,
    /// What consolidating its node would save, in US dollars an hour; absent where that would not
    /// be worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    savings_hourly_usd: Option<f64>,
    /// A node that the plan disrupts instead; absent where it disrupts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_first: Option<Text>,
    /// What budgets of the NodePool allow, reasons with the same sum together. Empty unless
    /// `situation` is `Moves`.
    budgets: Vec<BudgetDocument>,
    /// The node that would take the pod if its node went; absent where none has room.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_go_to: Option<Text>,
    /// The new node that it would need; absent where it would need none or get none.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_need: Option<NewNodeDocument>,
    /// Why no node would take it; empty where one would, or where it needs no other place.
    would_have_no_place: Vec<String>,
    /// The code of each of `wouldHaveNoPlace`, in the same order.
    would_have_no_place_codes: Vec<UnschedulableCode>,
}

/// Whether a bound pod may move because of its node.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ResidentSituation")]
enum SituationWord {
    /// It moves if its node goes.
    Moves,
    /// It belongs to its node: a DaemonSet or a kubelet manages it.
    BelongsToNode,
    /// Its NodePool counts it as expendable: it holds no node, and goes with its own.
    Expendable,
    /// It is being deleted.
    Terminating,
    /// Its node is going away already.
    NodeLeaves,
    /// Its node is going away, and a rollout of its Deployment ends and replaces it.
    RollsOut,
    /// No NodePool manages its node.
    NodeUnmanaged,
}

/// A PodDisruptionBudget that guards a pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PodDisruptionBudget")]
struct GuardDocument {
    /// The budget, as `NAMESPACE/NAME`.
    name: String,
    /// How many pods it lets go now; `null` where it has no status.
    disruptions_allowed: Option<u32>,
}

/// What budgets of a NodePool allow for reasons that share a sum.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
struct BudgetDocument {
    /// The reasons.
    reasons: Vec<DisruptionCode>,
    /// How many more nodes may go, what the plan disrupts taken off.
    left: u32,
    /// How that comes about, for people.
    sum: String,
}

/// A new node that a pod would need.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NewNode")]
struct NewNodeDocument {
    /// The NodePool that would launch it.
    node_pool: Text,
    /// The instance type that it would be priced at.
    instance_type: Text,
    /// The availability zone.
    zone: Text,
    /// How the instance would be bought.
    #[schemars(with = "word::CapacityTypeWord")]
    capacity_type: &'static str,
    /// Its price in US dollars an hour.
    hourly_usd: f64,
}

impl From<Situation> for SituationWord {
    fn from(situation: Situation) -> Self {
        match situation {
            Situation::Moves => Self::Moves,
            Situation::BelongsToNode => Self::BelongsToNode,
            Situation::Expendable => Self::Expendable,
            Situation::Terminating => Self::Terminating,
            Situation::NodeLeaves => Self::NodeLeaves,
            Situation::RollsOut => Self::RollsOut,
            Situation::NodeUnmanaged => Self::NodeUnmanaged,
        }
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
        let (mut would_go_to, mut would_need, mut nowhere) = (None, None, [].as_slice());
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
            Destination::Nowhere(reasons) => nowhere = reasons,
        }
        Self {
            situation: (*situation).into(),
            node_pool: node_pool.clone(),
            pod_disruption_budgets: guards.iter().map(GuardDocument::from).collect(),
            holds: holds.iter().map(ToString::to_string).collect(),
            hold_codes: holds.iter().map(BlockedCode::from).collect(),
            drifted: drifted.as_ref().map(ToString::to_string),
            drift_code: drifted.as_ref().map(DriftCode::from),
            expires_in_seconds: expires_in.map(|left| left.as_secs()),
            savings_hourly_usd: saving.map(UsdPerHour::to_f64),
            goes_first: first.as_ref().map(|(node, _)| node.clone()),
            budgets: budgets.iter().map(BudgetDocument::from).collect(),
            would_go_to,
            would_need,
            would_have_no_place: nowhere.iter().map(ToString::to_string).collect(),
            would_have_no_place_codes: nowhere.iter().map(UnschedulableCode::from).collect(),
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
            reasons: reasons.iter().map(|reason| (*reason).into()).collect(),
            left: *left,
            sum: sum.to_string(),
        }
    }
}
