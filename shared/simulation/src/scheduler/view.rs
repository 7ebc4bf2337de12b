//! Nodes with what is on them, as one scheduling cycle sees and changes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::default_constraints::DefaultSelectors;
use domain::label::Labels;
use domain::node::Node;
use domain::pod::{HostPort, ObjectKey, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint};
use domain::resource::{CPU, MEMORY, Resources};
use domain::scheduler::SchedulerConfig;
use domain::workload::{Namespace, Service};
use manifests::WorkloadObject;
use rustc_hash::FxHashMap;

use crate::api::ApiServer;

/// What the scoring plugins count for a pod that requests no CPU, in millicores, or no memory, in
/// bytes. Source: `pkg/scheduler/util/pod_resources.go`.
const CPU_AT_LEAST_COUNTED: i64 = 100;
const MEMORY_AT_LEAST_COUNTED: i64 = 200 << 20;

/// The fields of a pod that scheduling reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulingPod<'a> {
    /// The pod itself; `None` for one that is not there yet.
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) key: &'a ObjectKey,
    pub(crate) labels: &'a Arc<Labels>,
    pub(crate) spec: &'a Arc<PodSpec>,
    pub(crate) is_terminating: bool,
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
            is_terminating: pod.is_terminating(),
            nominated: pod.nominated_node_name.as_ref(),
        }
    }

    /// CPU and memory as scoring counts them.
    pub(crate) fn counted(&self) -> (i64, i64) {
        let or = |name, least| self.spec.requests.find(name).unwrap_or(least);
        (or(CPU, CPU_AT_LEAST_COUNTED), or(MEMORY, MEMORY_AT_LEAST_COUNTED))
    }

    fn has_pod_terms(&self) -> bool {
        let spec = &self.spec;
        !(spec.pod_affinity.is_empty()
            && spec.pod_anti_affinity.is_empty()
            && spec.preferred_pod_affinity.is_empty()
            && spec.preferred_pod_anti_affinity.is_empty())
    }
}

/// A node and its pods.
#[derive(Debug)]
pub(crate) struct NodeView<'a> {
    pub(crate) node: &'a Node,
    pub(crate) pods: Vec<SchedulingPod<'a>>,
    /// What its pods ask for.
    pub(crate) used: Resources,
    /// CPU and memory in use as scoring counts them.
    pub(crate) counted: (i64, i64),
    pub(crate) host_ports: Vec<HostPort>,
    /// Indices of pods with terms about other pods.
    pub(crate) with_pod_terms: Vec<usize>,
    /// Pods that wait for the node: it keeps their room from others of the same or lower priority.
    nominated: Vec<SchedulingPod<'a>>,
}

impl<'a> NodeView<'a> {
    fn add(&mut self, pod: SchedulingPod<'a>) {
        self.used.add(&pod.spec.requests);
        let (cpu, memory) = pod.counted();
        self.counted = (self.counted.0 + cpu, self.counted.1 + memory);
        self.host_ports.extend(pod.spec.host_ports.iter().cloned());
        if pod.has_pod_terms() {
            self.with_pod_terms.push(self.pods.len());
        }
        self.pods.push(pod);
    }

    /// Pods whose room another one must leave.
    pub(super) fn ahead_of<'p>(
        &'p self,
        pod: &'p SchedulingPod<'_>,
    ) -> impl Iterator<Item = &'p SchedulingPod<'a>> {
        self.nominated
            .iter()
            .filter(|own| own.spec.priority >= pod.spec.priority && own.key != pod.key)
    }

    pub(crate) fn pods_with_terms(&self) -> impl Iterator<Item = &SchedulingPod<'a>> {
        self.with_pod_terms.iter().map(|index| &self.pods[*index])
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
        let mut nodes: Vec<NodeView> = api
            .list::<Node>()
            .map(|node| NodeView {
                node,
                pods: Vec::new(),
                used: Resources::new(),
                counted: (0, 0),
                host_ports: Vec::new(),
                with_pod_terms: Vec::new(),
                nominated: Vec::new(),
            })
            .collect();
        let named = |(index, view): (usize, &NodeView<'a>)| (&view.node.name, index);
        let index: FxHashMap<&Text, usize> = nodes.iter().enumerate().map(named).collect();
        for pod in api.list::<Pod>().filter(|pod| !pod.is_terminal()) {
            if let Some(index) = pod.node_name.as_ref().and_then(|name| index.get(name)) {
                nodes[*index].add(SchedulingPod::of(pod));
            } else if let Some(index) = pod.nominated_node_name.as_ref().and_then(|n| index.get(n))
                && pod.is_active()
            {
                nodes[*index].nominated.push(SchedulingPod::of(pod));
            }
        }
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
    pub(crate) fn let_end(&mut self, key: &ObjectKey) {
        let pods = self.nodes.iter_mut().flat_map(|node| &mut node.pods);
        for pod in pods.filter(|pod| pod.key == key) {
            pod.is_terminating = true;
        }
    }

    pub(crate) fn bind(&mut self, index: usize, pod: SchedulingPod<'a>) {
        self.forget_nomination(&pod);
        self.nodes[index].add(pod);
    }

    /// Frees the room that a node keeps for a pod.
    pub(super) fn forget_nomination(&mut self, pod: &SchedulingPod) {
        if let Some(index) = self.nominated_to(pod) {
            self.nodes[index].nominated.retain(|own| own.key != pod.key);
        }
    }

    /// The node that a pod is nominated to.
    pub(super) fn nominated_to(&self, pod: &SchedulingPod) -> Option<usize> {
        let name = pod.nominated?;
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
