//! What happened in a simulated run, as JSON: a text, its code, and what it is about.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::pod::PodKey;
use schemars::JsonSchema;
use serde::Serialize;
use simulation::report::{Entry, Happening};

use super::code::{DisruptionCode, TimelineCode};
use super::word;

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TimelineEntry")]
pub(super) struct EntryDocument {
    /// When, in simulated time.
    #[schemars(with = "word::Moment")]
    at: String,
    /// What, in words.
    what: String,
    /// The code of `what`.
    code: TimelineCode,
    #[serde(flatten)]
    subjects: SubjectsDocument,
    /// Why, in words; absent where there is no more to say than `what`.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Text>,
}

/// What something that happened is about.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubjectsDocument {
    /// Nodes that it is about; an instance's id before its Node joined. Absent where there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<Text>,
    /// NodeClaims that it is about: of a disruption, its replacements. Absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    node_claims: Vec<Text>,
    /// Pods that it is about; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<word::PodName>")]
    pods: Vec<String>,
    /// Why nodes are disrupted; absent of anything but a disruption.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<DisruptionCode>,
    /// The instance that was launched or ended; absent of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<Text>,
    /// The type of an instance that was launched; absent of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_type: Option<Text>,
    /// The zone of an instance that was launched; absent of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<Text>,
    /// How an instance that was launched is bought; absent of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<word::CapacityTypeWord>")]
    capacity_type: Option<&'static str>,
    /// The price of a node that was launched or is gone, in US dollars an hour; absent of anything
    /// else.
    #[serde(skip_serializing_if = "Option::is_none")]
    hourly_usd: Option<f64>,
}

impl From<&Entry> for EntryDocument {
    fn from(entry: &Entry) -> Self {
        let Entry { at, what, why } = entry;
        Self {
            at: at.to_string(),
            what: what.to_string(),
            code: what.into(),
            subjects: what.into(),
            why: why.clone(),
        }
    }
}

impl SubjectsDocument {
    fn node(node: &Text) -> Self {
        Self { nodes: vec![node.clone()], ..Self::default() }
    }

    fn claim(claim: &Text) -> Self {
        Self { node_claims: vec![claim.clone()], ..Self::default() }
    }

    fn pods(pods: &[PodKey]) -> Self {
        Self { pods: pods.iter().map(ToString::to_string).collect(), ..Self::default() }
    }

    fn launched(instance_type: &Text, zone: &Text, bought: CapacityType) -> Self {
        Self {
            instance_type: Some(instance_type.clone()),
            zone: Some(zone.clone()),
            capacity_type: Some(bought.as_str()),
            ..Self::default()
        }
    }
}

impl From<&Happening> for SubjectsDocument {
    fn from(what: &Happening) -> Self {
        let usd = |price: &UsdPerHour| Some(price.to_f64());
        match what {
            Happening::Applied(_)
            | Happening::Deleted(_)
            | Happening::Scaled { .. }
            | Happening::Marked(_)
            | Happening::CapacityRanOut(_)
            | Happening::CapacityReturned(_)
            | Happening::JobCompleted { .. }
            | Happening::JobFailed { .. }
            | Happening::NothingThere { .. }
            | Happening::RolloutStarted { .. }
            | Happening::Fault(_)
            | Happening::ControllerFailed { .. } => Self::default(),
            Happening::PodsPending(pods) | Happening::PodsUnschedulable(pods) => Self::pods(pods),
            Happening::EvictionRefused(pod) => Self::pods(std::slice::from_ref(pod)),
            Happening::PodsBound { node, pods }
            | Happening::PodsEvicted { node, pods }
            | Happening::PodsLost { node, pods } => {
                Self { nodes: vec![node.clone()], ..Self::pods(pods) }
            }
            Happening::NodeClaimCreated { claim, .. } | Happening::LaunchFailed { claim } => {
                Self::claim(claim)
            }
            Happening::Launched { claim, instance, instance_type, zone, capacity_type, price } => {
                Self {
                    node_claims: vec![claim.clone()],
                    instance: Some(instance.clone()),
                    hourly_usd: usd(price),
                    ..Self::launched(instance_type, zone, *capacity_type)
                }
            }
            Happening::InstanceEnded { instance, claim } => {
                Self { instance: Some(instance.clone()), ..Self::claim(claim) }
            }
            Happening::NodeJoined { node, .. }
            | Happening::NodeInitialized(node)
            | Happening::InterruptionWarning { node, .. }
            | Happening::Announced { node, .. }
            | Happening::Draining(node) => Self::node(node),
            Happening::NodeRemoved { node, price, .. } => {
                Self { hourly_usd: usd(price), ..Self::node(node) }
            }
            Happening::Disrupting { reason, nodes, replacements } => Self {
                nodes: nodes.clone(),
                node_claims: replacements.clone(),
                reason: Some((*reason).into()),
                ..Self::default()
            },
        }
    }
}
