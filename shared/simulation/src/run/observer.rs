//! Records a run: what a watch of the simulated cluster would have shown.

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text};
use manifests::WorkloadObject;
use recording::document::{Header, HowEnded};
use recording::{Pseudonyms, Recorder};
use serde_json::Value;

use crate::api::{Change, Kind, WatchEvent, WorkloadId};
use crate::report::{Happening, Report};
use crate::scenario::{CatalogChoice, Scenario};
use crate::world::World;

/// Kinds that are recorded as pods and NodeClaims, or that only make pods.
const NOT_OBJECTS: [&str; 9] = [
    "Pod",
    "NodeClaim",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "Job",
    "CronJob",
    "InstanceCatalog",
    "PodTemplate",
];

/// Kinds of which nothing is deleted but what a scenario deletes.
const APPLIED: [Kind; 12] = [
    Kind::NodePool,
    Kind::EC2NodeClass,
    Kind::NodeOverlay,
    Kind::DaemonSet,
    Kind::PodDisruptionBudget,
    Kind::StorageClass,
    Kind::Namespace,
    Kind::CapacityBuffer,
    Kind::ScaledObject,
    Kind::PrewarmSchedule,
    Kind::ClusterLimit,
    Kind::Commitment,
];

/// How a run is recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordingTerms {
    /// What the header calls the cluster.
    pub cluster: Option<String>,
    /// What makes pseudonyms of names, if names are to be replaced.
    pub pseudonyms: Option<Pseudonyms>,
}

/// A run and its recording.
#[derive(Debug)]
pub struct Recorded {
    /// What a run gives.
    pub report: Report,
    /// The recording, line by line.
    pub lines: String,
}

/// What watches a run.
#[derive(Debug)]
pub(super) struct Observer {
    recorder: Recorder,
    start: Timestamp,
    /// Manifests that are still to be applied, and when; the next one last.
    manifests: Vec<(SignedDuration, Value)>,
    /// The resource version up to which writes were looked at.
    seen: u64,
    /// Entries of the timeline that were looked at.
    entries: usize,
    /// Pods that were evicted and had not left, and those that were lost.
    evicted: BTreeSet<ObjectKey>,
    lost: BTreeSet<ObjectKey>,
}

impl Observer {
    pub(super) fn new(scenario: &Scenario, terms: RecordingTerms) -> Self {
        let region = match &scenario.catalog {
            CatalogChoice::Region(region, _) => Some(region.to_string()),
            CatalogChoice::Given(types) => types.region.as_ref().map(ToString::to_string),
        };
        let header = Header {
            cluster: terms.cluster,
            region,
            about: Some(format!(
                "recorded from a simulation of the scenario {}, seed {}",
                scenario.name, scenario.seed
            )),
            ..Header::default()
        };
        let mut manifests: Vec<_> = scenario.manifests.iter().flat_map(flat).collect();
        manifests.sort_by_key(|(at, _)| *at);
        manifests.reverse();
        Self {
            recorder: Recorder::new(scenario.start, header, terms.pseudonyms).with_uids(),
            start: scenario.start,
            manifests,
            seen: 0,
            entries: 0,
            evicted: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    /// Records what has changed since the last call.
    pub(super) fn observe(&mut self, world: &World) {
        let now = world.now();
        while let Some((at, _)) = self.manifests.last()
            && self.start + *at <= now
            && let Some((at, manifest)) = self.manifests.pop()
        {
            self.recorder.object(self.start + at, manifest);
        }
        self.note_displaced(world);
        let events = world.api().events_after(self.seen);
        // One object may have been written several times in one moment.
        let mut looked_at: BTreeSet<(Kind, &Text)> = BTreeSet::new();
        for event in events {
            let is_made_again = event.kind == Kind::Pod
                && namespaced(&event.key).is_some_and(|key| world.api().get::<Pod>(&key).is_some());
            if event.change == Change::Deleted && !is_made_again {
                self.gone(world, event);
            } else if looked_at.insert((event.kind, &event.key)) {
                self.changed(world, event);
            }
        }
        self.seen = world.api().revision();
    }

    /// Reads in the timeline whose deletion is an eviction, and who was lost.
    fn note_displaced(&mut self, world: &World) {
        let entries = world.journal.entries();
        for entry in &entries[self.entries.min(entries.len())..] {
            match &entry.what {
                Happening::PodsEvicted { pods, .. } => self.evicted.extend(pods.iter().cloned()),
                Happening::PodsLost { pods, .. } => self.lost.extend(pods.iter().cloned()),
                _ => {}
            }
        }
        self.entries = entries.len();
    }

    fn how(&self, pod: &ObjectKey) -> HowEnded {
        if self.lost.contains(pod) {
            HowEnded::Lost
        } else if self.evicted.contains(pod) {
            HowEnded::Evicted
        } else {
            HowEnded::Deleted
        }
    }

    fn changed(&mut self, world: &World, event: &WatchEvent) {
        let now = world.now();
        match event.kind {
            Kind::Pod => {
                let Some(key) = namespaced(&event.key) else { return };
                let Some(pod) = world.api().get::<Pod>(&key) else { return };
                let workload = deployment_of(world, pod);
                let workload = workload.as_ref().map(|name| (WorkloadKind::Deployment, &**name));
                let how = self.how(&key);
                self.recorder.pod(now, pod, workload, how);
                if !pod.is_active() {
                    self.evicted.remove(&key);
                    self.lost.remove(&key);
                }
            }
            Kind::Node if event.change == Change::Added => {
                if let Some(node) = world.api().get::<Node>(&event.key) {
                    self.recorder.node(now, node);
                }
            }
            Kind::NodeClaim if event.change == Change::Added => {
                if let Some(claim) = world.api().get::<NodeClaim>(&event.key) {
                    self.recorder.claim(now, claim);
                }
            }
            _ => {}
        }
    }

    fn gone(&mut self, world: &World, event: &WatchEvent) {
        let now = world.now();
        match event.kind {
            Kind::Pod => {
                let Some(key) = namespaced(&event.key) else { return };
                let how = self.how(&key);
                self.recorder.pod_gone(now, &key, how);
                self.evicted.remove(&key);
                self.lost.remove(&key);
            }
            Kind::Node => self.recorder.node_gone(now, &event.key),
            Kind::NodeClaim => self.recorder.claim_gone(now, &event.key),
            kind if APPLIED.contains(&kind) => match event.key.split_once('/') {
                Some((namespace, name)) => {
                    self.recorder.object_gone(now, &kind.to_string(), Some(namespace), name);
                }
                None => self.recorder.object_gone(now, &kind.to_string(), None, &event.key),
            },
            _ => {}
        }
    }

    /// The recording, until the run's end.
    pub(super) fn into_lines(mut self, end: Timestamp) -> Result<String, serde_json::Error> {
        self.recorder.stop(end);
        self.recorder.take()
    }
}

/// The objects of a manifest, which may be a `List`, that are recorded as such.
fn flat((at, manifest): &(SignedDuration, Value)) -> Vec<(SignedDuration, Value)> {
    let items = manifest.get("items").and_then(Value::as_array);
    let objects = items.map_or_else(|| std::slice::from_ref(manifest), Vec::as_slice);
    let kind = |object: &Value| object.get("kind").and_then(Value::as_str).map(ToOwned::to_owned);
    let is_recorded =
        |object: &&Value| kind(object).is_some_and(|kind| !NOT_OBJECTS.contains(&&*kind));
    objects.iter().filter(is_recorded).map(|object| (*at, object.clone())).collect()
}

fn namespaced(key: &str) -> Option<ObjectKey> {
    let (namespace, name) = key.split_once('/')?;
    Some(ObjectKey::new(namespace, name))
}

/// The Deployment of a pod's ReplicaSet.
fn deployment_of(world: &World, pod: &Pod) -> Option<Text> {
    let owner = pod.owner.as_ref().filter(|owner| owner.kind == OwnerKind::ReplicaSet)?;
    let key = ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
    let id = WorkloadId { kind: WorkloadKind::ReplicaSet, key };
    let above = world.api().get::<WorkloadObject>(&id)?.owner.as_ref()?;
    (above.kind == OwnerKind::Deployment).then(|| above.name.clone())
}
