//! DaemonSets: one pod for each node that they belong on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::node::Node;
use domain::pod::{NodeSelectorTerm, ObjectKey, Owner, OwnerKind, Pod, PodSpec};
use domain::requirement::Requirement;
use domain::taint::{TaintEffect, tolerated};
use manifests::DaemonSetObject;

use super::News;
use crate::api::OwnerKey;
use crate::scheduler::{SchedulingPod, daemon_belongs};
use crate::world::{Deletion, World};

/// The field by which the DaemonSet controller pins a pod to its node.
const NODE_NAME_FIELD: &str = "metadata.name";

/// What is to be done for a DaemonSet.
pub(super) struct Step {
    object: DaemonSetObject,
    /// Nodes that lack a pod of it.
    missing: Vec<Text>,
    /// Pods that have ended, or are where they do not belong.
    gone: Vec<ObjectKey>,
}

impl Step {
    /// The DaemonSet as an owner of pods.
    pub(super) fn owner(&self) -> OwnerKey {
        (OwnerKind::DaemonSet, self.object.daemon_set.key.clone())
    }
}

/// What is to be done for each DaemonSet for which anything is.
pub(super) fn steps(world: &World, news: &News) -> Vec<Step> {
    let may_act = |object: &&DaemonSetObject| {
        news.of_daemon_sets || news.is_of(OwnerKind::DaemonSet, &object.daemon_set.key)
    };
    let mut sets = world.api.list::<DaemonSetObject>().filter(may_act).peekable();
    if sets.peek().is_none() {
        return Vec::new();
    }
    let nodes: BTreeMap<&Text, &Node> =
        world.api.list::<Node>().map(|node| (&node.name, node)).collect();
    let step = |object: &DaemonSetObject| {
        let owner = (OwnerKind::DaemonSet, object.daemon_set.key.clone());
        let pods: Vec<&Pod> = world.api.pods().of(&owner).map(|pod| &**pod).collect();
        let step = step(&nodes, object, &pods);
        (!step.missing.is_empty() || !step.gone.is_empty()).then_some(step)
    };
    sets.filter_map(step).collect()
}

/// Does it.
pub(super) fn take(world: &mut World, steps: Vec<Step>) {
    for Step { object, missing, gone } in steps {
        for node in missing {
            create(world, &object, &node);
        }
        for key in gone {
            world.delete_pod(&key, Deletion::Graceful);
        }
    }
}

fn step(nodes: &BTreeMap<&Text, &Node>, object: &DaemonSetObject, pods: &[&Pod]) -> Step {
    let set = &object.daemon_set;
    let template = SchedulingPod {
        pod: None,
        key: &set.key,
        labels: &set.template.labels,
        spec: &set.template.spec,
        nominated: None,
    };
    let covered: BTreeSet<&Text> = pods.iter().filter_map(|pod| target(pod)).collect();
    let missing: Vec<Text> = nodes
        .values()
        .filter(|node| node.deleted.is_none() && !covered.contains(&node.name))
        .filter(|node| daemon_belongs(&template, node))
        .map(|node| node.name.clone())
        .collect();
    let misplaced = |pod: &Pod| match target(pod).and_then(|name| nodes.get(name)) {
        Some(node) => is_thrown_off(&template, node),
        None => pod.node_name.is_none(),
    };
    let ended = |pod: &Pod| pod.is_terminal();
    let gone: Vec<ObjectKey> = pods
        .iter()
        .filter(|pod| !pod.is_terminating() && (misplaced(pod) || ended(pod)))
        .map(|pod| pod.key.clone())
        .collect();
    Step { object: object.clone(), missing, gone }
}

/// A running daemon leaves only for a NoExecute taint.
fn is_thrown_off(pod: &SchedulingPod, node: &Node) -> bool {
    node.taints.iter().any(|taint| {
        taint.effect == TaintEffect::NoExecute && !tolerated(&pod.spec.tolerations, taint)
    })
}

/// The node that a daemon's pod is for.
fn target(pod: &Pod) -> Option<&Text> {
    pod.node_name.as_ref().or_else(|| {
        let terms = pod.spec.required_node_terms.as_ref()?;
        let fields = terms.iter().flat_map(|term| &term.fields);
        fields.filter(|field| &*field.key == NODE_NAME_FIELD).find_map(|field| field.values.first())
    })
}

fn create(world: &mut World, object: &DaemonSetObject, node: &Text) {
    let DaemonSetObject { daemon_set: set, uid, deleted: _, priority: _, traits } = object;
    let suffix = world.seed.draw("daemon", &format!("{} {node}", set.key)).name_suffix(5);
    let name = format!("{}-{suffix}", set.key.name);
    world.create_pod(Pod {
        labels: set.template.labels.clone(),
        owner: Some(Owner {
            kind: OwnerKind::DaemonSet,
            name: set.key.name.clone(),
            uid: uid.clone(),
        }),
        spec: Arc::new(pinned(&set.template.spec, node)),
        do_not_disrupt: traits.do_not_disrupt,
        deletion_cost: traits.deletion_cost,
        ..Pod::pending(ObjectKey::new(set.key.namespace.clone(), name))
    });
}

/// Its node affinity with the field added to each term, as the DaemonSet controller does.
fn pinned(spec: &PodSpec, node: &Text) -> PodSpec {
    let field = Requirement::is_in(NODE_NAME_FIELD, [node.clone()]);
    let mut terms = spec.required_node_terms.clone().unwrap_or_default();
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in &mut terms {
        term.fields = vec![field.clone()];
    }
    PodSpec { required_node_terms: Some(terms), ..spec.clone() }
}

/// Deletes the pods of a DaemonSet.
pub(crate) fn delete_pods(world: &mut World, set: &ObjectKey) {
    let owner = (OwnerKind::DaemonSet, set.clone());
    let keys: Vec<ObjectKey> = world.api.pods().of(&owner).map(|pod| pod.key.clone()).collect();
    for key in keys {
        world.delete_pod(&key, Deletion::Graceful);
    }
}
