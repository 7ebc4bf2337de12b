//! Workloads of recorded pods, and what their pods would have requested.

use std::fmt;
use std::sync::Arc;

use domain::Text;
use domain::pod::OwnerKind;
use domain::resource::Resources;
use domain::workload::WorkloadKind;

use crate::value::{RecordedPod, Recording};

/// A workload that pods are replicas of: a Deployment, StatefulSet or ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadKey {
    /// Its namespace.
    pub namespace: Text,
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: Text,
}

impl fmt::Display for WorkloadKey {
    /// `Deployment default/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

impl WorkloadKey {
    /// The workload that a recorded pod is a replica of; `None` for pods of Jobs and those that
    /// nobody owns.
    pub fn of(pod: &RecordedPod) -> Option<Self> {
        let namespace = pod.pod.key.namespace.clone();
        let owner = || {
            let owner = pod.pod.owner.as_ref()?;
            let kind = match owner.kind {
                OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
                OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
                OwnerKind::Deployment => WorkloadKind::Deployment,
                _ => return None,
            };
            Some((kind, owner.name.clone()))
        };
        let (kind, name) = pod.workload.clone().or_else(owner)?;
        (kind != WorkloadKind::Job).then_some(Self { namespace, kind, name })
    }
}

impl Recording {
    /// Lets pods of a workload request other amounts of some resources, as if they had from the
    /// start; what else they request stays. How many pods that concerns.
    pub fn request(&mut self, workload: &WorkloadKey, requests: &Resources) -> usize {
        let mut changed = 0;
        for own in &mut self.pods {
            if WorkloadKey::of(own).as_ref() == Some(workload) {
                let spec = Arc::make_mut(&mut own.pod.spec);
                for (name, amount) in requests.iter() {
                    spec.requests.set(name, amount);
                }
                changed += 1;
            }
        }
        changed
    }
}
