//! Which nodes and which columns of them are wanted, as users of kubectl and eks-node-viewer ask.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label::Labels;
use domain::resource::{CPU, MEMORY, Resources};
use domain::selector::LabelSelector;
use domain::snapshot::ClusterSnapshot;

use super::node_row::Usage;

/// Columns beside those that every node has, and which of those are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeColumns {
    /// Whether CPU is left out.
    pub(crate) hides_cpu: bool,
    /// Whether memory is left out.
    pub(crate) hides_memory: bool,
    /// Other resources.
    pub(crate) resources: Vec<Text>,
    /// Labels, by their keys.
    pub(crate) labels: Vec<Text>,
    /// What each node has of them, by the name of its row.
    pub(crate) cells: BTreeMap<Text, NodeCells>,
}

/// What a node has of the columns that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeCells {
    /// Use of resources, in the order of [`NodeColumns::resources`].
    pub(crate) resources: Vec<Usage>,
    /// Values of labels, in the order of [`NodeColumns::labels`].
    pub(crate) labels: Vec<Option<Text>>,
}

impl NodeColumns {
    /// Of the nodes of a snapshot: `resources` empty for the usual ones.
    pub(crate) fn of(snapshot: &ClusterSnapshot, resources: &[String], labels: &[String]) -> Self {
        let is_wanted =
            |name: &str| resources.is_empty() || resources.iter().any(|own| own == name);
        let others = resources.iter().filter(|own| *own != CPU && *own != MEMORY);
        let mut columns = Self {
            hides_cpu: !is_wanted(CPU),
            hides_memory: !is_wanted(MEMORY),
            resources: others.map(|own| own.as_str().into()).collect(),
            labels: labels.iter().map(|own| own.as_str().into()).collect(),
            cells: BTreeMap::new(),
        };
        let mut held: BTreeMap<&Text, Resources> = BTreeMap::new();
        for pod in snapshot.objects.pods.iter().filter(|pod| !pod.is_terminal()) {
            if let Some(node) = &pod.node_name {
                held.entry(node).or_default().add(&pod.spec.requests);
            }
        }
        for node in &snapshot.objects.nodes {
            let used = held.get(&node.name).cloned().unwrap_or_default();
            let cells = columns.cells_of(&node.labels, &used, &node.allocatable);
            columns.cells.insert(node.name.clone(), cells);
        }
        for claim in &snapshot.node_claims {
            let cells =
                columns.cells_of(&claim.labels, &Resources::new(), &claim.status.allocatable);
            columns.cells.entry(claim.name.clone()).or_insert(cells);
        }
        columns
    }

    fn cells_of(&self, labels: &Labels, used: &Resources, allocatable: &Resources) -> NodeCells {
        let usage =
            |name: &Text| Usage { used: used.get(name), allocatable: allocatable.get(name) };
        NodeCells {
            resources: self.resources.iter().map(usage).collect(),
            labels: self.labels.iter().map(|key| labels.get(key).cloned()).collect(),
        }
    }
}

/// Leaves only those nodes, and claims without a Node, that a selector selects. Pods stay: those of
/// other nodes are on no node that is shown.
pub(crate) fn select_nodes(snapshot: &mut ClusterSnapshot, selector: &LabelSelector) {
    let nodes = &mut snapshot.objects.nodes;
    let (gone_ids, gone_names): (BTreeSet<Text>, BTreeSet<Text>) = nodes
        .iter()
        .filter(|node| !selector.matches(&node.labels))
        .map(|node| (node.provider_id.clone().unwrap_or_default(), node.name.clone()))
        .unzip();
    nodes.retain(|node| selector.matches(&node.labels));
    snapshot.node_claims.retain(|claim| {
        let is_of_gone = claim.status.provider_id.as_ref().is_some_and(|id| gone_ids.contains(id))
            || claim.status.node_name.as_ref().is_some_and(|name| gone_names.contains(name));
        !is_of_gone && selector.matches(&claim.labels)
    });
}
