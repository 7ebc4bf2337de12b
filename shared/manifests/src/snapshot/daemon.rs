//! What the pods of DaemonSets take of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::pod::{ObjectKey, OwnerKind, Pod, PodSpec};
use domain::workload::DaemonSet;

use crate::kubernetes::DaemonSetObject;

/// The DaemonSets that new nodes will run, with the requests and ports of the newest running pod of
/// each: admission may have changed the template's. Those being deleted are left out.
///
/// Source: Karpenter's daemon overhead.
pub(super) fn daemon_sets(objects: Vec<DaemonSetObject>, pods: &[Pod]) -> Vec<DaemonSet> {
    let newest = newest_pods(pods);
    objects
        .into_iter()
        .filter(|object| object.deleted.is_none())
        .map(|DaemonSetObject { mut daemon_set, .. }| {
            if let Some(pod) = newest.get(&daemon_set.key) {
                let template = &daemon_set.template.spec;
                if (&template.requests, &template.host_ports)
                    != (&pod.spec.requests, &pod.spec.host_ports)
                {
                    daemon_set.template.spec = Arc::new(PodSpec {
                        requests: pod.spec.requests.clone(),
                        host_ports: pod.spec.host_ports.clone(),
                        ..PodSpec::clone(template)
                    });
                }
            }
            daemon_set
        })
        .collect()
}

/// The newest pod that runs on a node, by DaemonSet; of several made at once, the last by name.
fn newest_pods(pods: &[Pod]) -> BTreeMap<ObjectKey, &Pod> {
    let mut newest: BTreeMap<ObjectKey, &Pod> = BTreeMap::new();
    let age = |pod: &Pod| (pod.created, pod.key.name.clone());
    for pod in pods.iter().filter(|pod| pod.is_active() && pod.node_name.is_some()) {
        let Some(owner) = pod.owner.as_ref().filter(|owner| owner.kind == OwnerKind::DaemonSet)
        else {
            continue;
        };
        let key = ObjectKey { namespace: pod.key.namespace.clone(), name: owner.name.clone() };
        let known = newest.entry(key).or_insert(pod);
        if age(pod) > age(known) {
            *known = pod;
        }
    }
    newest
}
