//! Pending pods of workloads that own no pod among the objects.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::WorkloadKind;

use crate::kubernetes::WorkloadObject;

/// Pending pods of every workload that owns none of the pods. A pod that is there under the same
/// name stands for the one that would be made.
pub(super) fn missing_pods(workloads: &[WorkloadObject], pods: &[Pod]) -> Vec<Pod> {
    let owners = Owners::of(pods);
    let deployments: BTreeSet<&ObjectKey> = workloads
        .iter()
        .filter(|object| object.workload.kind == WorkloadKind::Deployment)
        .map(|object| &object.workload.key)
        .collect();
    let belongs_to_a_deployment_here = |object: &WorkloadObject| {
        object.owner.as_ref().is_some_and(|owner| {
            let namespace = object.workload.key.namespace.clone();
            owner.kind == OwnerKind::Deployment
                && deployments.contains(&ObjectKey { namespace, name: owner.name.clone() })
        })
    };
    let mut expandable: Vec<_> = workloads
        .iter()
        .filter(|object| !belongs_to_a_deployment_here(object) && !owners.own_pods_of(object))
        .collect();
    // Where a Deployment and a Job share a name, the order of the input shall not decide.
    expandable.sort_by_key(|object| object.workload.kind);
    let taken: BTreeSet<&ObjectKey> = pods.iter().map(|pod| &pod.key).collect();
    let mut missing: Vec<Pod> = Vec::new();
    for object in expandable {
        missing.extend(object.pods().filter(|pod| !taken.contains(&pod.key)));
    }
    first_of_each_name(missing)
}

/// Workloads of different kinds may share a name; their pods would too.
fn first_of_each_name(pods: Vec<Pod>) -> Vec<Pod> {
    let mut seen = BTreeSet::new();
    pods.into_iter().filter(|pod| seen.insert(pod.key.clone())).collect()
}

/// Pods by the name of their owner, one map a kind of owner.
struct Owners<'a> {
    pods: BTreeMap<(OwnerKind, &'a Text, &'a Text), Vec<&'a Pod>>,
}

impl<'a> Owners<'a> {
    fn of(pods: &'a [Pod]) -> Self {
        let mut by_owner: BTreeMap<_, Vec<&Pod>> = BTreeMap::new();
        for pod in pods {
            if let Some(owner) = &pod.owner {
                let key = (owner.kind, &pod.key.namespace, &owner.name);
                by_owner.entry(key).or_default().push(pod);
            }
        }
        Self { pods: by_owner }
    }

    fn own_pods_of(&self, object: &WorkloadObject) -> bool {
        let kind = match object.workload.kind {
            WorkloadKind::Deployment => OwnerKind::Deployment,
            WorkloadKind::StatefulSet => OwnerKind::StatefulSet,
            WorkloadKind::ReplicaSet => OwnerKind::ReplicaSet,
            WorkloadKind::Job => OwnerKind::Job,
        };
        let key = &object.workload.key;
        self.pods.contains_key(&(kind, &key.namespace, &key.name))
            || (kind == OwnerKind::Deployment && self.own_through_replica_set(object))
    }

    /// A Deployment owns pods through a ReplicaSet. Where that is not among the objects, its name,
    /// which begins with the Deployment's, and the Deployment's selector tell.
    fn own_through_replica_set(&self, object: &WorkloadObject) -> bool {
        let key = &object.workload.key;
        let prefix = Text::from(format!("{}-", key.name));
        self.pods
            .range((OwnerKind::ReplicaSet, &key.namespace, &prefix)..)
            .take_while(|((kind, namespace, name), _)| {
                *kind == OwnerKind::ReplicaSet
                    && **namespace == key.namespace
                    && name.starts_with(&*prefix)
            })
            .flat_map(|(_, pods)| pods)
            .any(|pod| {
                object.selector.as_ref().is_none_or(|selector| selector.matches(&pod.labels))
            })
    }
}
