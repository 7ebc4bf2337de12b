//! The filters: which nodes a pod can run on.

use std::fmt;

use domain::Text;
use domain::label::{self, Labels};
use domain::node::Node;
use domain::pod::NodeSelectorTerm;
use domain::resource::PODS;
use domain::taint::{self, Taint};

use super::affinity::PodTerms;
use super::spread::HardSpread;
use super::view::{ClusterView, SchedulingPod};
use super::volume::VolumeTerms;

/// Why a node does not take a pod, in kube-scheduler's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is one of kube-scheduler's messages, printed below")]
pub enum Unfit {
    Insufficient(Text),
    TooManyPods,
    Unschedulable,
    Taint(Taint),
    NotReady,
    NodeAffinity,
    HostPorts,
    TopologySpread,
    TopologySpreadLabel,
    PodAffinity,
    PodAntiAffinity,
    ExistingPodAntiAffinity,
    VolumeNodeAffinity,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Insufficient(resource) => return write!(f, "Insufficient {resource}"),
            Self::Taint(taint) => {
                return write!(
                    f,
                    "node(s) had untolerated taint {{{}: {}}}",
                    taint.key, taint.value
                );
            }
            Self::TooManyPods => "Too many pods",
            Self::Unschedulable => "node(s) were unschedulable",
            Self::NotReady => "node(s) were not ready",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::HostPorts => "node(s) didn't have free ports for the requested pod ports",
            Self::TopologySpread => "node(s) didn't match pod topology spread constraints",
            Self::TopologySpreadLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingPodAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules"
            }
            Self::VolumeNodeAffinity => "node(s) had volume node affinity conflict",
        };
        f.write_str(text)
    }
}

/// What is found out once for a pod and then asked for each node.
pub(super) struct Checks<'a> {
    view: &'a ClusterView<'a>,
    pod: &'a SchedulingPod,
    volumes: &'a VolumeTerms,
    spread: HardSpread<'a>,
    terms: PodTerms<'a>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(
        view: &'a ClusterView<'a>,
        pod: &'a SchedulingPod,
        volumes: &'a VolumeTerms,
    ) -> Self {
        Self {
            view,
            pod,
            volumes,
            spread: HardSpread::new(view, pod),
            terms: PodTerms::new(view, pod),
        }
    }

    /// Whether the pod can run on a node: the reasons of the first plugin that refuses.
    pub(super) fn fit(&self, index: usize) -> Result<(), Vec<Unfit>> {
        let target = &self.view.nodes()[index];
        let node = target.node;
        if let Some(taint) = untolerated(self.pod, node) {
            let unfit = if &*taint.key == taint::UNSCHEDULABLE {
                Unfit::Unschedulable
            } else {
                Unfit::Taint(taint.clone())
            };
            return Err(vec![unfit]);
        }
        if !node_matches(self.pod, node) {
            return Err(vec![Unfit::NodeAffinity]);
        }
        let opened = &self.pod.spec.host_ports;
        if opened.iter().any(|port| target.host_ports.iter().any(|own| own.conflicts_with(port))) {
            return Err(vec![Unfit::HostPorts]);
        }
        let short = self.short_of(index);
        if !short.is_empty() {
            return Err(short);
        }
        if !self.volumes.allow(&node.labels) {
            return Err(vec![Unfit::VolumeNodeAffinity]);
        }
        self.spread.fit(node).map_err(|unfit| vec![unfit])?;
        self.terms.fit(node).map_err(|unfit| vec![unfit])
    }

    fn short_of(&self, index: usize) -> Vec<Unfit> {
        let target = &self.view.nodes()[index];
        let room = |name: &str| target.node.allocatable.get(name) - target.used.get(name);
        self.pod
            .spec
            .requests
            .iter()
            .filter(|(name, amount)| *amount > 0 && *amount > room(name))
            .map(|(name, _)| match &**name {
                PODS => Unfit::TooManyPods,
                _ => Unfit::Insufficient(name.clone()),
            })
            .collect()
    }
}

/// The first taint of a node that keeps the pod off.
pub(super) fn untolerated<'n>(pod: &SchedulingPod, node: &'n Node) -> Option<&'n Taint> {
    taint::first_untolerated(&pod.spec.tolerations, &node.taints)
}

/// Whether a node meets the pod's node selector and required node affinity.
pub(super) fn node_matches(pod: &SchedulingPod, node: &Node) -> bool {
    let selected = pod
        .spec
        .node_selector
        .iter()
        .all(|(key, value)| label_of(&node.labels, key) == Some(value));
    selected
        && pod
            .spec
            .required_node_terms
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term_matches(term, node)))
}

fn label_of<'n>(labels: &'n Labels, key: &str) -> Option<&'n Text> {
    labels.get(label::normalized_key(key))
}

/// Whether a node meets every expression and field of a term.
pub(super) fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let fields = Labels::from([("metadata.name".into(), node.name.clone())]);
    expressions_match(term, &node.labels)
        && term.fields.iter().all(|field| field.holds_for(&fields))
}

/// Whether labels meet every expression of a term.
pub(super) fn expressions_match(term: &NodeSelectorTerm, labels: &Labels) -> bool {
    term.expressions.iter().all(|expression| expression.holds_for(labels))
}
