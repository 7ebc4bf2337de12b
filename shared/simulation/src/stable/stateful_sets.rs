//! The StatefulSets of a snapshot, as a simulated cluster takes them: with claim templates, which a
//! snapshot does not have.

use std::collections::BTreeMap;

use domain::Text;
use domain::pod::{ObjectKey, OwnerKind, Pod, VolumeUse};
use domain::workload::{Workload, WorkloadKind};
use manifests::{ClaimTemplate, PodTraits, WorkloadObject};

use super::workload::{traits_of, workload_object};

/// StatefulSets that make their pods again as they were, with those that are there.
pub(super) struct StatefulSets<'a>(BTreeMap<&'a ObjectKey, StatefulSet<'a>>);

struct StatefulSet<'a> {
    workload: &'a Workload,
    pods: Vec<&'a Pod>,
}

impl<'a> StatefulSets<'a> {
    /// Those whose pods have the numbers that the simulated controller gives them.
    pub(super) fn of(workloads: &'a [Workload], pods: &'a [Pod]) -> Self {
        let mut owned: BTreeMap<ObjectKey, Vec<&Pod>> = BTreeMap::new();
        for pod in pods {
            if let Some(owner) = owner_of(pod) {
                owned.entry(owner).or_default().push(pod);
            }
        }
        let sets = workloads.iter().filter(|own| own.kind == WorkloadKind::StatefulSet);
        let sets = sets.map(|workload| {
            let pods = owned.remove(&workload.key).unwrap_or_default();
            (&workload.key, StatefulSet { workload, pods })
        });
        Self(sets.filter(|(_, own)| own.is_numbered_from_zero()).collect())
    }

    /// Whether a pod is one of theirs.
    pub(super) fn make(&self, pod: &Pod) -> bool {
        owner_of(pod).is_some_and(|owner| self.0.contains_key(&owner))
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = WorkloadObject> {
        self.0.values().map(StatefulSet::object)
    }
}

fn owner_of(pod: &Pod) -> Option<ObjectKey> {
    let owner = pod.owner.as_ref().filter(|own| own.kind == OwnerKind::StatefulSet)?;
    Some(ObjectKey::new(pod.key.namespace.clone(), owner.name.clone()))
}

impl StatefulSet<'_> {
    /// Whether its pods have numbers from 0; where `spec.ordinals` says otherwise, they have not.
    fn is_numbered_from_zero(&self) -> bool {
        self.pods.iter().all(|pod| {
            let number = pod.key.name.strip_prefix(&*self.workload.key.name);
            let number = number.and_then(|own| own.strip_prefix('-')?.parse::<u32>().ok());
            number.is_some_and(|own| own < self.workload.replicas)
        })
    }

    /// In a snapshot's template a volume stands for each claim template, as one does for an
    /// ephemeral volume; its pods show which is which.
    fn object(&self) -> WorkloadObject {
        let volumes = self.workload.template.spec.volumes.iter();
        let claim_templates = volumes.filter_map(|own| match own {
            VolumeUse::Ephemeral { volume, template } if self.is_claimed(volume) => {
                Some(ClaimTemplate { name: volume.clone(), spec: template.clone() })
            }
            _ => None,
        });
        let claim_templates = claim_templates.collect();
        let traits = self.pods.first().map_or_else(PodTraits::default, |pod| traits_of(pod));
        WorkloadObject { claim_templates, ..workload_object(self.workload.clone(), traits) }
    }

    fn is_claimed(&self, volume: &Text) -> bool {
        self.pods.iter().any(|pod| {
            let claim = format!("{volume}-{}", pod.key.name);
            let mut volumes = pod.spec.volumes.iter();
            volumes.any(|own| matches!(own, VolumeUse::Pvc { name, .. } if **name == *claim))
        })
    }
}
