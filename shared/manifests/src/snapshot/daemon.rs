//! What the pods of DaemonSets take of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::pod::{NodeSelectorTerm, ObjectKey, OwnerKind, Pod, PodSpec};
use domain::workload::{DaemonSet, PodTemplate};

use crate::kubernetes::DaemonSetObject;

/// The field of Nodes by which a DaemonSet's controller binds its pods.
const NODE_NAME_FIELD: &str = "metadata.name";

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

/// What stands in for DaemonSets that are not known though their pods run: the newest pod of each,
/// without the node that its DaemonSet's controller chose. By namespace and name.
pub fn unknown_daemon_sets(known: &BTreeSet<ObjectKey>, pods: &[Pod]) -> Vec<DaemonSet> {
    let newest = newest_pods(pods).into_iter().filter(|(key, _)| !known.contains(key));
    newest
        .map(|(key, pod)| {
            let spec = Arc::new(PodSpec {
                required_node_terms: without_node_name(&pod.spec),
                ..PodSpec::clone(&pod.spec)
            });
            // Whether it is on its node's network is not known: it is taken to have an address.
            let template = PodTemplate { labels: pod.labels.clone(), spec };
            DaemonSet { key, template, is_on_host_network: false }
        })
        .collect()
}

/// Required node terms without those on the node's name, which the controller adds to each pod of a
/// DaemonSet. `None` where nothing else was required.
///
/// Source: <https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/>.
fn without_node_name(spec: &PodSpec) -> Option<Vec<NodeSelectorTerm>> {
    let terms = spec.required_node_terms.as_ref()?.iter().map(|term| {
        let fields = term.fields.iter().filter(|field| &*field.key != NODE_NAME_FIELD);
        NodeSelectorTerm { fields: fields.cloned().collect(), ..term.clone() }
    });
    let terms: Vec<NodeSelectorTerm> = terms.collect();
    let is_open = |term: &NodeSelectorTerm| term.fields.is_empty() && term.expressions.is_empty();
    (!terms.iter().any(is_open)).then_some(terms)
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
