//! Pods by where they are and by what they belong to, kept up to date with every write: what the
//! stand-ins of controllers and the scheduler would otherwise look for among all pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::label::Labels;
use domain::pdb::PodDisruptionBudget;
use domain::pod::{HostPort, ObjectKey, OwnerKind, Pod, PodSpec};
use domain::resource::{CPU, MEMORY, Resources};
use domain::workload::WorkloadKind;
use domain::{Text, Timestamp};
use rustc_hash::FxHashMap;

use super::workload_id::WorkloadId;

/// What the scoring plugins count for a pod that requests no CPU, in millicores, or no memory, in
/// bytes. Source: `pkg/scheduler/util/pod_resources.go`.
const CPU_AT_LEAST_COUNTED: i64 = 100;
const MEMORY_AT_LEAST_COUNTED: i64 = 200 << 20;

/// Kind, and namespace and name of what owns pods.
pub(crate) type OwnerKey = (OwnerKind, ObjectKey);

/// Pods by where they are and by what they belong to.
#[derive(Debug, Default)]
pub(crate) struct PodIndex {
    /// Pods that are bound to no node.
    unbound: BTreeMap<ObjectKey, Arc<Pod>>,
    /// By Node name, whether the Node is there or not.
    by_node: FxHashMap<Text, NodeLoad>,
    /// By the Node's name that they are nominated to.
    nominated: BTreeMap<Text, BTreeMap<ObjectKey, Arc<Pod>>>,
    by_owner: BTreeMap<OwnerKey, OwnedPods>,
    /// By namespace and labels.
    by_labels: BTreeMap<(Text, Arc<Labels>), LabelGroup>,
    /// Pods that run and are ready, those of DaemonSets left out.
    running: usize,
}

/// The pods of an owner.
#[derive(Debug, Default)]
pub(crate) struct OwnedPods {
    pods: BTreeMap<ObjectKey, Arc<Pod>>,
    /// The resource version of the latest write to any of them.
    changed: u64,
}

/// Pods of one namespace with the same labels: a budget guards all of them or none.
#[derive(Debug, Default)]
pub(crate) struct LabelGroup {
    /// Pods that are active and ready.
    pub(crate) healthy: u32,
    /// Pods by the workload that owns them, which need not be there; `None` where there is no
    /// such owner.
    pub(crate) owners: BTreeMap<Option<WorkloadId>, PodCounts>,
    /// The resource version of the latest write to any of them.
    changed: u64,
}

/// How many pods there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PodCounts {
    all: u32,
    /// Those that have not ended.
    pub(crate) not_ended: u32,
}

/// Pods on a node that have not ended, and what they use of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeLoad {
    /// In no particular order.
    pub(crate) pods: Vec<Arc<Pod>>,
    /// Those of them with terms about other pods.
    pub(crate) with_pod_terms: Vec<Arc<Pod>>,
    /// What they request.
    pub(crate) used: Resources,
    /// CPU and memory in use as scoring counts them.
    pub(crate) counted: (i64, i64),
    pub(crate) host_ports: Vec<HostPort>,
}

/// CPU and memory of a pod as scoring counts them.
pub(crate) fn counted(spec: &PodSpec) -> (i64, i64) {
    let or = |name, least| spec.requests.find(name).unwrap_or(least);
    (or(CPU, CPU_AT_LEAST_COUNTED), or(MEMORY, MEMORY_AT_LEAST_COUNTED))
}

impl PodIndex {
    /// Pods that are bound to no node, by key.
    pub(crate) fn unbound(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.unbound.values()
    }

    /// How many pods run and are ready, those of DaemonSets left out.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// What is on a node; `None` where no pod is.
    pub(crate) fn on(&self, node: &Text) -> Option<&NodeLoad> {
        self.by_node.get(node)
    }

    /// Pods that are nominated to a node, by key.
    pub(crate) fn nominated_to(&self, node: &Text) -> impl Iterator<Item = &Arc<Pod>> + use<'_> {
        self.nominated.get(node).into_iter().flat_map(BTreeMap::values)
    }

    /// The pods of an owner, by key.
    pub(crate) fn of(&self, owner: &OwnerKey) -> impl Iterator<Item = &Arc<Pod>> + use<'_> {
        self.by_owner.get(owner).into_iter().flat_map(|own| own.pods.values())
    }

    /// Owners whose pods were written to after a resource version.
    pub(crate) fn owners_changed_after(&self, version: u64) -> impl Iterator<Item = &OwnerKey> {
        self.by_owner.iter().filter(move |(_, own)| own.changed > version).map(|(owner, _)| owner)
    }

    /// Groups that a budget guards.
    pub(crate) fn guarded_by(
        &self,
        budget: &PodDisruptionBudget,
    ) -> impl Iterator<Item = &LabelGroup> {
        let is_guarded =
            |(namespace, labels): &(Text, Arc<Labels>)| budget.guards_labels(namespace, labels);
        self.by_labels.iter().filter(move |(key, _)| is_guarded(key)).map(|(_, group)| group)
    }

    /// Namespaces and labels of pods that were written to after a resource version.
    pub(crate) fn labels_changed_after(
        &self,
        version: u64,
    ) -> impl Iterator<Item = &(Text, Arc<Labels>)> {
        let changed = self.by_labels.iter().filter(move |(_, group)| group.changed > version);
        changed.map(|(key, _)| key)
    }

    /// Takes note of a write: what a pod was before, and what it is after.
    pub(super) fn note_write(
        &mut self,
        before: Option<&Arc<Pod>>,
        after: Option<&Arc<Pod>>,
        version: u64,
    ) {
        if let Some(pod) = before {
            self.remove(pod, version);
        }
        if let Some(pod) = after {
            self.add(pod, version);
        }
    }

    fn add(&mut self, pod: &Arc<Pod>, version: u64) {
        let shared = || Arc::clone(pod);
        match &pod.node_name {
            None => {
                self.unbound.insert(pod.key.clone(), shared());
            }
            Some(node) if !pod.is_terminal() => {
                self.by_node.entry(node.clone()).or_default().add(pod);
            }
            Some(_) => {}
        }
        if let Some(node) = &pod.nominated_node_name {
            self.nominated.entry(node.clone()).or_default().insert(pod.key.clone(), shared());
        }
        if let Some(owner) = owner_of(pod) {
            let owned = self.by_owner.entry(owner).or_default();
            owned.changed = version;
            owned.pods.insert(pod.key.clone(), shared());
        }
        self.running += usize::from(is_healthy(pod) && !pod.is_daemon());
        self.group_of(pod).add(pod, version);
    }

    fn remove(&mut self, pod: &Arc<Pod>, version: u64) {
        match &pod.node_name {
            None => {
                self.unbound.remove(&pod.key);
            }
            Some(node) => {
                if let Some(load) = self.by_node.get_mut(node) {
                    load.remove(&pod.key);
                    if load.pods.is_empty() {
                        self.by_node.remove(node);
                    }
                }
            }
        }
        if let Some(node) = &pod.nominated_node_name
            && let Some(pods) = self.nominated.get_mut(node)
        {
            pods.remove(&pod.key);
            if pods.is_empty() {
                self.nominated.remove(node);
            }
        }
        // Owners and groups stay without pods: when their last one went is a change too.
        if let Some(owned) = owner_of(pod).and_then(|owner| self.by_owner.get_mut(&owner)) {
            owned.changed = version;
            owned.pods.remove(&pod.key);
        }
        self.running -= usize::from(is_healthy(pod) && !pod.is_daemon());
        self.group_of(pod).remove(pod, version);
    }

    fn group_of(&mut self, pod: &Pod) -> &mut LabelGroup {
        let key = (pod.key.namespace.clone(), Arc::clone(&pod.labels));
        self.by_labels.entry(key).or_default()
    }
}

fn owner_of(pod: &Pod) -> Option<OwnerKey> {
    let owner = pod.owner.as_ref()?;
    Some((owner.kind, ObjectKey::new(pod.key.namespace.clone(), owner.name.clone())))
}

impl LabelGroup {
    fn add(&mut self, pod: &Pod, version: u64) {
        self.changed = version;
        self.healthy += u32::from(is_healthy(pod));
        let counts = self.owners.entry(workload_of(pod)).or_default();
        counts.all += 1;
        counts.not_ended += u32::from(!pod.is_terminal());
    }

    fn remove(&mut self, pod: &Pod, version: u64) {
        self.changed = version;
        self.healthy -= u32::from(is_healthy(pod));
        let workload = workload_of(pod);
        let Some(counts) = self.owners.get_mut(&workload) else { return };
        counts.all -= 1;
        counts.not_ended -= u32::from(!pod.is_terminal());
        if counts.all == 0 {
            self.owners.remove(&workload);
        }
    }
}

fn is_healthy(pod: &Pod) -> bool {
    pod.is_active() && pod.ready == Some(true)
}

/// The workload that owns a pod, where it is of a kind that has replicas.
fn workload_of(pod: &Pod) -> Option<WorkloadId> {
    let (kind, key) = owner_of(pod)?;
    let kind = match kind {
        OwnerKind::Deployment => WorkloadKind::Deployment,
        OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
        OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
        OwnerKind::Job => WorkloadKind::Job,
        OwnerKind::DaemonSet
        | OwnerKind::Node
        | OwnerKind::Other
        | OwnerKind::ReplicationController => return None,
    };
    Some(WorkloadId { kind, key })
}

impl NodeLoad {
    /// Puts a pod on the node.
    pub(crate) fn add(&mut self, pod: &Arc<Pod>) {
        self.used.add(&pod.spec.requests);
        let (cpu, memory) = counted(&pod.spec);
        self.counted = (self.counted.0 + cpu, self.counted.1 + memory);
        self.host_ports.extend(pod.spec.host_ports.iter().cloned());
        if has_pod_terms(pod) {
            self.with_pod_terms.push(Arc::clone(pod));
        }
        self.pods.push(Arc::clone(pod));
    }

    /// Takes a pod as one that is being deleted from now on.
    pub(crate) fn let_end(&mut self, key: &ObjectKey) {
        for pod in self.pods.iter_mut().filter(|pod| pod.key == *key) {
            Arc::make_mut(pod).deleted.get_or_insert(Timestamp::UNIX_EPOCH);
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        let Some(index) = self.pods.iter().position(|own| own.key == *key) else { return };
        let pod = self.pods.swap_remove(index);
        self.used.subtract(&pod.spec.requests);
        let (cpu, memory) = counted(&pod.spec);
        self.counted = (self.counted.0 - cpu, self.counted.1 - memory);
        for port in &pod.spec.host_ports {
            if let Some(index) = self.host_ports.iter().position(|own| own == port) {
                self.host_ports.swap_remove(index);
            }
        }
        self.with_pod_terms.retain(|own| own.key != *key);
    }
}

fn has_pod_terms(pod: &Pod) -> bool {
    let spec = &pod.spec;
    !(spec.pod_affinity.is_empty()
        && spec.pod_anti_affinity.is_empty()
        && spec.preferred_pod_affinity.is_empty()
        && spec.preferred_pod_anti_affinity.is_empty())
}

#[cfg(test)]
mod tests;
