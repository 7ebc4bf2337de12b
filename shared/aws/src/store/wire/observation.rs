//! Documents of plans that were not carried out, and of what was counted.

use std::collections::BTreeMap;

use controllers::record::fuses::{Counted, RecentActions};
use controllers::record::observation::{Observation, ObservedDisruption, ObservedLaunch};
use domain::Text;
use domain::money::UsdPerHour;
use serde::{Deserialize, Serialize};

use super::scalar::{Moment, Pod, pod_keys, pods};
use super::words::{CapacityWord, CountedWord, DisruptionWord, ObserverWord};

#[derive(Serialize, Deserialize)]
pub(crate) struct ObservationDocument {
    function: ObserverWord,
    at: Moment,
    launches: Vec<LaunchDocument>,
    placements: Vec<(Pod, Text)>,
    unschedulable: Vec<(Pod, Text)>,
    disruptions: Vec<DisruptionDocument>,
    refused: Vec<Text>,
}

#[derive(Serialize, Deserialize)]
struct LaunchDocument {
    node_pool: Text,
    instance_type: Text,
    zone: Text,
    capacity_type: CapacityWord,
    price_nanos: i64,
    pods: Vec<Pod>,
}

#[derive(Serialize, Deserialize)]
struct DisruptionDocument {
    reason: DisruptionWord,
    nodes: Vec<Text>,
    replacements: Vec<LaunchDocument>,
    savings_nanos: i64,
}

type PodNotes = Vec<(domain::pod::PodKey, Text)>;

fn pod_notes(notes: &PodNotes) -> Vec<(Pod, Text)> {
    let note = |(pod, note): &(domain::pod::PodKey, Text)| {
        ((pod.namespace.clone(), pod.name.clone()), note.clone())
    };
    notes.iter().map(note).collect()
}

fn notes_of(stored: Vec<(Pod, Text)>) -> PodNotes {
    let (keys, notes): (Vec<Pod>, Vec<Text>) = stored.into_iter().unzip();
    pod_keys(keys).into_iter().zip(notes).collect()
}

impl From<&ObservedLaunch> for LaunchDocument {
    fn from(launch: &ObservedLaunch) -> Self {
        let ObservedLaunch { node_pool, instance_type, zone, capacity_type, price, pods: own } =
            launch;
        Self {
            node_pool: node_pool.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: (*capacity_type).into(),
            price_nanos: price.nanos(),
            pods: pods(own),
        }
    }
}

impl From<LaunchDocument> for ObservedLaunch {
    fn from(document: LaunchDocument) -> Self {
        Self {
            node_pool: document.node_pool,
            instance_type: document.instance_type,
            zone: document.zone,
            capacity_type: document.capacity_type.into(),
            price: UsdPerHour::from_nanos(document.price_nanos),
            pods: pod_keys(document.pods),
        }
    }
}

impl From<&Observation> for ObservationDocument {
    fn from(observation: &Observation) -> Self {
        let Observation { function, at, launches, placements, unschedulable, disruptions, refused } =
            observation;
        let disruption = |own: &ObservedDisruption| DisruptionDocument {
            reason: own.reason.into(),
            nodes: own.nodes.clone(),
            replacements: own.replacements.iter().map(Into::into).collect(),
            savings_nanos: own.savings.nanos(),
        };
        Self {
            function: (*function).into(),
            at: Moment(*at),
            launches: launches.iter().map(Into::into).collect(),
            placements: pod_notes(placements),
            unschedulable: pod_notes(unschedulable),
            disruptions: disruptions.iter().map(disruption).collect(),
            refused: refused.clone(),
        }
    }
}

impl From<ObservationDocument> for Observation {
    fn from(document: ObservationDocument) -> Self {
        let disruption = |own: DisruptionDocument| ObservedDisruption {
            reason: own.reason.into(),
            nodes: own.nodes,
            replacements: own.replacements.into_iter().map(Into::into).collect(),
            savings: UsdPerHour::from_nanos(own.savings_nanos),
        };
        Self {
            function: document.function.into(),
            at: document.at.0,
            launches: document.launches.into_iter().map(Into::into).collect(),
            placements: notes_of(document.placements),
            unschedulable: notes_of(document.unschedulable),
            disruptions: document.disruptions.into_iter().map(disruption).collect(),
            refused: document.refused,
        }
    }
}

/// Actions of one kind.
pub(crate) struct CountedActions {
    pub(crate) what: Counted,
    pub(crate) actions: RecentActions,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CountedDocument {
    what: CountedWord,
    minutes: Vec<(i64, u32)>,
}

impl From<&CountedActions> for CountedDocument {
    fn from(CountedActions { what, actions }: &CountedActions) -> Self {
        let minutes = actions.0.iter().map(|(minute, count)| (*minute, *count)).collect();
        Self { what: (*what).into(), minutes }
    }
}

impl From<CountedDocument> for CountedActions {
    fn from(CountedDocument { what, minutes }: CountedDocument) -> Self {
        let minutes: BTreeMap<i64, u32> = minutes.into_iter().collect();
        Self { what: what.into(), actions: RecentActions(minutes) }
    }
}
