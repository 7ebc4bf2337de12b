//! Nodes with what is on them, as one scheduling cycle sees and changes them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::default_constraints::DefaultSelectors;
use domain::label::Labels;
use domain::node::Node;
use domain::pod::{ObjectKey, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint};
use domain::scheduler::SchedulerConfig;
use domain::workload::{Namespace, Service};
use manifests::WorkloadObject;

use crate::api::{ApiServer, NodeLoad, counted};

/// The fields of a pod that scheduling reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulingPod<'a> {
    /// The pod itself; `None` for one that is not there yet.
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) key: &'a ObjectKey,
    pub(crate) labels: &'a Arc<Labels>,
    pub(crate) spec: &'a Arc<PodSpec>,
    /// `status.nominatedNodeName`.
    pub(crate) nominated: Option<&'a Text>,
}

impl<'a> SchedulingPod<'a> {
    pub(crate) fn of(pod: &'a Pod) -> Self {
        Self {
            pod: Some(pod),
            key: &pod.key,
            labels: &pod.labels,
            spec: &pod.spec,
            nominated: pod.nominated_node_name.as_ref(),
        }
    }

    /// CPU and memory as scoring counts them.
    pub(crate) fn counted(&self) -> (i64, i64) {
        counted(self.spec)
    }
}

/// A node and its pods.
#[derive(Debug)]
pub(crate) struct NodeView<'a> {
    pub(crate) node: &'a Node,
    /// Pods on it with what they use: as the API server has them, until one is bound or let end.
    pub(crate) load: Cow<'a, NodeLoad>,
    /// Pods that wait for the node: it keeps their room from others of the same or lower priority.
    nominated: Vec<&'a Pod>,
}

impl<'a> NodeView<'a> {
    /// Pods whose room another one must leave.
    pub(super) fn ahead_of<'p>(
        &'p self,
        pod: &'p SchedulingPod<'_>,
    ) -> impl Iterator<Item = &'a Pod> + 'p {
        let is_ahead =
            |own: &&'a Pod| own.spec.priority >= pod.spec.priority && own.key != *pod.key;
        self.nominated.iter().copied().filter(is_ahead)
    }
}

/// All nodes, by name.
#[derive(Debug)]
pub(crate) struct ClusterView<'a> {
    api: &'a ApiServer,
    nodes: Vec<NodeView<'a>>,
    namespaces: BTreeMap<Text, &'a Labels>,
    config: &'a SchedulerConfig,
    /// What selects pods; `None` where there are no default constraints to deduce selectors for.
    selectors: Option<DefaultSelectors<'a>>,
}

impl<'a> ClusterView<'a> {
    pub(crate) fn new(api: &'a ApiServer, config: &'a SchedulerConfig) -> Self {
        let is_there = |node: &Text| api.get::<Node>(node).is_some();
        let waits = |pod: &&Pod| pod.is_active() && !pod.node_name.as_ref().is_some_and(is_there);
        let view = |node: &'a Node| NodeView {
            node,
            load: api.pods().on(&node.name).map_or_else(Cow::default, Cow::Borrowed),
            nominated: api
                .pods()
                .nominated_to(&node.name)
                .map(|own| &**own)
                .filter(waits)
                .collect(),
        };
        let nodes = api.list::<Node>().map(view).collect();
        let namespaces = api
            .list::<Namespace>()
            .map(|namespace| (namespace.name.clone(), &namespace.labels))
            .collect();
        let selectors = config.has_default_constraints().then(|| {
            let workloads = api.list::<WorkloadObject>().map(|object| &object.workload);
            DefaultSelectors::of(api.list::<Service>(), workloads)
        });
        Self { api, nodes, namespaces, config, selectors }
    }

    /// How the scheduler is configured.
    pub(super) fn config(&self) -> &'a SchedulerConfig {
        self.config
    }

    /// Default constraints of a pod without any of its own.
    pub(super) fn default_constraints(&self, pod: &SchedulingPod) -> Vec<TopologySpreadConstraint> {
        let constraints =
            |selectors: &DefaultSelectors| Some(selectors.constraints(self.config, pod.pod?));
        self.selectors.as_ref().and_then(constraints).unwrap_or_default()
    }

    pub(crate) fn api(&self) -> &'a ApiServer {
        self.api
    }

    pub(crate) fn nodes(&self) -> &[NodeView<'a>] {
        &self.nodes
    }

    /// Takes a pod as one that is being deleted: topology spread no longer counts it.
    pub(crate) fn let_end(&mut self, pod: &Pod) {
        let is_host = |own: &&mut NodeView| Some(&own.node.name) == pod.node_name.as_ref();
        if let Some(host) = self.nodes.iter_mut().find(is_host) {
            host.load.to_mut().let_end(&pod.key);
        }
    }

    pub(crate) fn bind(&mut self, index: usize, pod: &Arc<Pod>) {
        self.forget_nomination(pod);
        self.nodes[index].load.to_mut().add(pod);
    }

    /// Frees the room that a node keeps for a pod.
    pub(super) fn forget_nomination(&mut self, pod: &Pod) {
        if let Some(index) = self.nominated_to(pod.nominated_node_name.as_ref()) {
            self.nodes[index].nominated.retain(|own| own.key != pod.key);
        }
    }

    /// The node of a pod's nomination.
    pub(super) fn nominated_to(&self, nominated: Option<&Text>) -> Option<usize> {
        let name = nominated?;
        // By name, as the API server lists them.
        self.nodes.binary_search_by(|own| own.node.name.cmp(name)).ok()
    }

    /// Whether a term about pods is about this one.
    pub(crate) fn selects(&self, term: &PodAffinityTerm, pod: &SchedulingPod) -> bool {
        let namespace = &pod.key.namespace;
        let reaches = term.namespaces.contains(namespace)
            || term.namespace_selector.as_ref().is_some_and(|selector| {
                match self.namespaces.get(namespace) {
                    Some(labels) => selector.matches(labels),
                    None => selector.matches(&implied_labels(namespace)),
                }
            });
        reaches && term.selector.as_ref().is_some_and(|selector| selector.matches(pod.labels))
    }
}

/// The label that the API server gives every namespace.
fn implied_labels(namespace: &Text) -> Labels {
    Labels::from([("kubernetes.io/metadata.name".into(), namespace.clone())])
}
