//! Documents of disruption commands, with their replacement claims.

use std::collections::BTreeMap;

use controllers::record::command::{CommandPhase, CommandRecord};
use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{LaunchOffering, Placement, PlannedDisruption, PlannedNodeClaim};
use domain::pod::PodKey;
use serde::{Deserialize, Serialize};

use super::node_claim::{
    Amounts, RequirementDocument, TaintDocument, all, amounts, each, resources,
};
use super::scalar::{Moment, Pod, pod_keys, pods};
use super::words::{CapacityWord, DisruptionWord};
use crate::store::error::DocumentError;

#[derive(Serialize, Deserialize)]
pub(crate) struct CommandDocument {
    id: Text,
    reason: DisruptionWord,
    nodes: Vec<Text>,
    pods: Vec<Pod>,
    replacements: Vec<PlannedClaimDocument>,
    moves: Vec<Move>,
    /// Billionths of a dollar per hour.
    savings: i64,
    candidates: Vec<Text>,
    proposed: Moment,
    phase: PhaseWord,
}

/// A pod and the node that it moves to.
#[derive(Serialize, Deserialize)]
struct Move(PodReference, Text);

/// A pod of a move: most are pods of the command, and are referred to by their index.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PodReference {
    Number(usize),
    Named(Pod),
}

impl From<&CommandRecord> for CommandDocument {
    fn from(record: &CommandRecord) -> Self {
        let CommandRecord { id, disruption, candidates, proposed, phase } = record;
        let PlannedDisruption { reason, nodes, pods: moved, replacements, moves, savings } =
            disruption;
        let numbers: BTreeMap<&PodKey, usize> =
            moved.iter().enumerate().map(|(number, pod)| (pod, number)).collect();
        let reference = |pod: &PodKey| match numbers.get(pod) {
            Some(number) => PodReference::Number(*number),
            None => PodReference::Named((pod.namespace.clone(), pod.name.clone())),
        };
        Self {
            id: id.clone(),
            reason: (*reason).into(),
            nodes: nodes.clone(),
            pods: pods(moved),
            replacements: each(replacements),
            moves: moves
                .iter()
                .map(|Placement { pod, node }| Move(reference(pod), node.clone()))
                .collect(),
            savings: savings.nanos(),
            candidates: candidates.clone(),
            proposed: Moment(*proposed),
            phase: (*phase).into(),
        }
    }
}

impl TryFrom<CommandDocument> for CommandRecord {
    type Error = DocumentError;

    fn try_from(document: CommandDocument) -> Result<Self, DocumentError> {
        let moved = pod_keys(document.pods);
        let moves = document
            .moves
            .into_iter()
            .map(|Move(reference, node)| {
                let pod = match reference {
                    PodReference::Named((namespace, name)) => Some(PodKey { namespace, name }),
                    PodReference::Number(number) => moved.get(number).cloned(),
                };
                let pod = pod.ok_or(DocumentError::Reference("a move"))?;
                Ok(Placement { pod, node })
            })
            .collect::<Result<_, DocumentError>>()?;
        Ok(Self {
            id: document.id,
            disruption: PlannedDisruption {
                reason: document.reason.into(),
                nodes: document.nodes,
                pods: moved,
                replacements: all(document.replacements),
                moves,
                savings: UsdPerHour::from_nanos(document.savings),
            },
            candidates: document.candidates,
            proposed: document.proposed.0,
            phase: document.phase.into(),
        })
    }
}

/// How far a command has come.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum PhaseWord {
    Proposed,
    Starting { since: Moment },
    Waiting { since: Moment },
    Ending { since: Moment },
}

impl From<CommandPhase> for PhaseWord {
    fn from(phase: CommandPhase) -> Self {
        match phase {
            CommandPhase::Proposed => Self::Proposed,
            CommandPhase::Starting { since } => Self::Starting { since: Moment(since) },
            CommandPhase::Waiting { since } => Self::Waiting { since: Moment(since) },
            CommandPhase::Ending { since } => Self::Ending { since: Moment(since) },
        }
    }
}

impl From<PhaseWord> for CommandPhase {
    fn from(word: PhaseWord) -> Self {
        match word {
            PhaseWord::Proposed => Self::Proposed,
            PhaseWord::Starting { since } => Self::Starting { since: since.0 },
            PhaseWord::Waiting { since } => Self::Waiting { since: since.0 },
            PhaseWord::Ending { since } => Self::Ending { since: since.0 },
        }
    }
}

#[derive(Serialize, Deserialize)]
struct PlannedClaimDocument {
    name: Text,
    node_pool: Text,
    node_class: Text,
    instance_types: Vec<Text>,
    requirements: Vec<RequirementDocument>,
    offering: OfferingDocument,
    /// Absent in records of versions that chose offerings at launch.
    #[serde(default)]
    offerings: Vec<OfferingDocument>,
    labels: BTreeMap<Text, Text>,
    taints: Vec<TaintDocument>,
    startup_taints: Vec<TaintDocument>,
    requests: Amounts,
    pods: Vec<Pod>,
}

impl From<&PlannedNodeClaim> for PlannedClaimDocument {
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
            pods: planned_for,
        } = claim;
        Self {
            name: name.clone(),
            node_pool: node_pool.clone(),
            node_class: node_class.clone(),
            instance_types: instance_types.clone(),
            requirements: each(requirements),
            offering: offering.into(),
            offerings: each(offerings),
            labels: (**labels).clone(),
            taints: each(taints),
            startup_taints: each(startup_taints),
            requests: amounts(requests),
            pods: pods(planned_for),
        }
    }
}

impl From<PlannedClaimDocument> for PlannedNodeClaim {
    fn from(document: PlannedClaimDocument) -> Self {
        let offering: LaunchOffering = document.offering.into();
        let mut offerings: Vec<LaunchOffering> = all(document.offerings);
        if offerings.is_empty() {
            offerings.push(offering.clone());
        }
        Self {
            name: document.name,
            node_pool: document.node_pool,
            node_class: document.node_class,
            instance_types: document.instance_types,
            requirements: all(document.requirements),
            offering,
            offerings,
            labels: document.labels.into(),
            taints: all(document.taints),
            startup_taints: all(document.startup_taints),
            requests: resources(document.requests),
            pods: pod_keys(document.pods),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct OfferingDocument {
    instance_type: Text,
    zone: Text,
    capacity_type: CapacityWord,
    /// Billionths of a dollar per hour.
    price: i64,
    reservation_id: Option<Text>,
}

impl From<&LaunchOffering> for OfferingDocument {
    fn from(offering: &LaunchOffering) -> Self {
        let LaunchOffering { instance_type, zone, capacity_type, price, reservation_id } = offering;
        Self {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: (*capacity_type).into(),
            price: price.nanos(),
            reservation_id: reservation_id.clone(),
        }
    }
}

impl From<OfferingDocument> for LaunchOffering {
    fn from(document: OfferingDocument) -> Self {
        Self {
            instance_type: document.instance_type,
            zone: document.zone,
            capacity_type: document.capacity_type.into(),
            price: UsdPerHour::from_nanos(document.price),
            reservation_id: document.reservation_id,
        }
    }
}
