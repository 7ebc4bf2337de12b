//! A cluster in which every node that a NodePool manages is launched anew.

use std::collections::BTreeSet;

use domain::Text;
use domain::label;
use domain::pod::{Pod, PodPhase};
use domain::snapshot::ClusterSnapshot;

/// The same pods without the nodes of NodePools: they wait for new ones, beside nodes that nobody
/// here manages and what runs on them.
///
/// A plan for it says what the pods need once all nodes were replaced. What volumes, other pods and
/// limits allow holds there too; budgets and what is on its way do not, since no node goes.
pub(crate) fn with_new_nodes(snapshot: &ClusterSnapshot) -> ClusterSnapshot {
    let mut empty = snapshot.clone();
    let is_managed = |labels: &label::Labels| labels.contains_key(label::NODE_POOL);
    let nodes = empty.objects.nodes.iter();
    let gone: BTreeSet<Text> =
        nodes.filter(|node| is_managed(&node.labels)).map(|node| node.name.clone()).collect();
    empty.objects.nodes.retain(|node| !gone.contains(&node.name));
    let kept: BTreeSet<Text> = empty.objects.nodes.iter().map(|node| node.name.clone()).collect();
    empty.objects.csi_nodes.retain(|node| kept.contains(&node.name));
    empty.node_claims.clear();
    empty.nominations.retain(|node, _| kept.contains(node));
    empty.objects.pods = std::mem::take(&mut empty.objects.pods)
        .into_iter()
        .filter_map(|pod| {
            let is_on_gone = pod.node_name.as_ref().is_some_and(|node| gone.contains(node));
            if is_on_gone { successor(pod) } else { Some(nominated_to(pod, &kept)) }
        })
        .collect();
    empty
}

/// What takes the place of a pod whose node is gone.
fn successor(pod: Pod) -> Option<Pod> {
    pod.is_reschedulable().then_some(Pod {
        deleted: None,
        node_name: None,
        nominated_node_name: None,
        phase: PodPhase::Pending,
        started: None,
        ready: None,
        ..pod
    })
}

/// The pod, waiting for no other node than one that is kept.
fn nominated_to(pod: Pod, kept: &BTreeSet<Text>) -> Pod {
    let nominated = pod.nominated_node_name.clone().filter(|node| kept.contains(node));
    Pod { nominated_node_name: nominated, ..pod }
}
