//! Requests that pods never used, where what they used was recorded.

use std::collections::BTreeMap;

use domain::Text;
use domain::resource::{CPU, MEMORY, Resources};
use recording::{ContainerUse, RecordedPod, Recording, WorkloadKey};
use serde_json::{Map, Value, json};

/// What is requested beyond the most that was used, in percent of it: memory that runs out ends a
/// container, CPU only slows it down.
const HEADROOM_PERCENT: [(&str, i64); 2] = [(CPU, 115), (MEMORY, 125)];
/// Requests that are this many percent of the recorded ones or more stay as they are.
const WORTH_PERCENT_MAX: i64 = 80;
/// Requests are rounded up to whole steps: millicores, or bytes.
const STEPS: [(&str, i64); 2] = [(CPU, 10), (MEMORY, 16 << 20)];

/// A workload whose pods never used what they request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedRequests {
    /// The workload.
    pub workload: WorkloadKey,
    /// What each of its pods requests, at most.
    pub requested: Resources,
    /// The most that any of them used.
    pub used: Resources,
    /// What would have been enough, with headroom; of each resource no more than is requested.
    pub enough: Resources,
    /// Of the resources that it requests too much of, what would have been enough for each
    /// container; empty where only pods as a whole were measured.
    pub containers: Vec<ContainerRequests>,
    /// How many of its pods were measured.
    pub pods: usize,
}

/// What would have been enough for a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequests {
    /// Its name.
    pub name: Text,
    /// Whether it is one of `initContainers` that goes on running.
    pub is_sidecar: bool,
    /// Its requests.
    pub enough: Resources,
}

impl UnusedRequests {
    /// What of the workload changes, as server-side apply takes it: the requests of its containers
    /// and nothing else. `None` where containers were not measured.
    ///
    /// Source: <https://kubernetes.io/docs/reference/using-api/server-side-apply/>.
    pub fn manifest(&self) -> Option<Value> {
        if self.containers.is_empty() {
            return None;
        }
        let of = |sidecars: bool| -> Vec<Value> {
            let own = self.containers.iter().filter(|own| own.is_sidecar == sidecars);
            own.map(|own| {
                let requests: Map<String, Value> = own
                    .enough
                    .iter()
                    .map(|(name, amount)| {
                        (name.to_string(), Resources::quantity_of(name, amount).to_string().into())
                    })
                    .collect();
                json!({"name": &*own.name, "resources": {"requests": requests}})
            })
            .collect()
        };
        let mut spec = Map::new();
        for (field, containers) in [("initContainers", of(true)), ("containers", of(false))] {
            if !containers.is_empty() {
                spec.insert(field.to_owned(), containers.into());
            }
        }
        let WorkloadKey { namespace, kind, name } = &self.workload;
        Some(json!({
            "apiVersion": "apps/v1",
            "kind": kind.as_str(),
            "metadata": {"namespace": &**namespace, "name": &**name},
            "spec": {"template": {"spec": spec}},
        }))
    }

    /// The resources of which less is requested, with how much.
    pub fn changed(&self) -> Resources {
        let mut changed = Resources::new();
        for (name, amount) in self.enough.iter() {
            if amount != self.requested.get(name) {
                changed.set(name, amount);
            }
        }
        changed
    }
}

/// How many pods of a recording were measured.
pub fn measured_pods(recording: &Recording) -> usize {
    recording.pods.iter().filter(|own| !own.used.is_empty()).count()
}

/// Workloads whose pods never used what they request, by name: those of which every pod was
/// measured, but for pods that never ran.
pub fn unused_requests(recording: &Recording) -> Vec<UnusedRequests> {
    let mut by_workload: BTreeMap<WorkloadKey, Vec<&RecordedPod>> = BTreeMap::new();
    for pod in recording.pods.iter().filter(|own| own.bound.is_some()) {
        if let Some(key) = WorkloadKey::of(pod) {
            by_workload.entry(key).or_default().push(pod);
        }
    }
    by_workload.into_iter().filter_map(|(key, pods)| unused(key, &pods)).collect()
}

fn unused(workload: WorkloadKey, pods: &[&RecordedPod]) -> Option<UnusedRequests> {
    let measured: Vec<_> = pods.iter().filter(|own| !own.used.is_empty()).collect();
    // A pod that was not measured may be the one that uses all of it; one in ten may have ended
    // before anything measured it.
    if measured.is_empty() || measured.len() * 10 < pods.len() * 9 {
        return None;
    }
    let (mut requested, mut used) = (Resources::new(), Resources::new());
    for pod in pods {
        requested.raise_to(&pod.pod.spec.requests);
        used.raise_to(&pod.used);
    }
    let mut containers = containers_of(&measured);
    let mut enough = requested.clone();
    for (name, percent) in HEADROOM_PERCENT {
        let (own, Some(most)) = (requested.get(name), used.find(name)) else { continue };
        let wanted = if containers.is_empty() {
            with_headroom(name, most, percent)
        } else {
            containers.values().map(|own| with_headroom(name, own.used.get(name), percent)).sum()
        };
        if wanted * 100 < own * WORTH_PERCENT_MAX {
            enough.set(&Text::from(name), wanted);
        } else {
            // What is requested of it stays, in each container.
            for own in containers.values_mut() {
                own.used = without(&own.used, name);
            }
        }
    }
    if enough == requested {
        return None;
    }
    let percent = |name: &str| HEADROOM_PERCENT.iter().find(|(own, _)| *own == name);
    let containers = containers.into_iter().map(|(name, ContainerUse { used, is_sidecar })| {
        let mut enough = Resources::new();
        for (name, most) in used.iter() {
            if let Some((_, percent)) = percent(name) {
                enough.set(name, with_headroom(name, most, *percent));
            }
        }
        ContainerRequests { name, is_sidecar, enough }
    });
    let containers = containers.collect();
    let pods = measured.len();
    Some(UnusedRequests { workload, requested, used, enough, containers, pods })
}

/// The most that each container used, of any of the pods; none where a pod was measured only as a
/// whole, or where a pod lacks a container that another has: the template has changed then.
fn containers_of(pods: &[&&RecordedPod]) -> BTreeMap<Text, ContainerUse> {
    let mut all: BTreeMap<Text, ContainerUse> = BTreeMap::new();
    for pod in pods {
        for (name, own) in &pod.containers {
            all.entry(name.clone()).or_insert_with(|| own.clone()).used.raise_to(&own.used);
        }
    }
    let is_whole = |pod: &&&RecordedPod| pod.containers.len() == all.len();
    if pods.iter().all(is_whole) { all } else { BTreeMap::new() }
}

/// What is enough for a container that used so much: whole steps, one at the least.
fn with_headroom(name: &str, most: i64, percent: i64) -> i64 {
    let step = STEPS.iter().find(|(own, _)| *own == name).map_or(1, |(_, step)| *step);
    let hundredths = 100 * step;
    ((most * percent + hundredths - 1) / hundredths).max(1) * step
}

fn without(resources: &Resources, name: &str) -> Resources {
    let mut kept = Resources::new();
    for (own, amount) in resources.iter().filter(|(own, _)| &***own != name) {
        kept.set(own, amount);
    }
    kept
}
