//! A stand-in for kube-scheduler: filters and scores with its default plugins and weights, and with
//! the default constraints and the scoring strategy that its configuration says.
//!
//! One cycle takes the pending pods that are not in back-off by priority and age and binds each to
//! the best node that passes every filter, seeing the pods bound before it. A pod that is nominated
//! to a node (`status.nominatedNodeName`) tries that one first, and until it is bound the node
//! keeps its resources and ports from pods of the same or lower priority; where it fits nowhere, it
//! loses the nomination. Not here: preemption, volume count limits, image locality (no node has
//! images), dynamic resource allocation. Where kube-scheduler draws among equally good nodes, the
//! first by name is taken.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/> and the
//! plugins under `pkg/scheduler/framework/plugins` of Kubernetes.

mod affinity;
mod filter;
mod node_match;
mod queue;
mod score;
mod spread;
mod unfit;
mod view;
pub(crate) mod volume;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::node::Node;
use domain::pod::{ObjectKey, Pod, PodPhase};
use domain::scheduler::SchedulerConfig;
use domain::scheduler::scoring::ScoringStrategy;

use crate::api::ApiServer;

pub(crate) use queue::Queue;
pub use unfit::Unfit;
pub(crate) use view::{ClusterView, SchedulingPod};

/// What one cycle decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Pods that found a node, in the order in which they were bound.
    pub bound: Vec<(ObjectKey, Text)>,
    /// Pods that found none, and kube-scheduler's message why.
    pub unschedulable: Vec<(ObjectKey, Text)>,
}

/// Whether the scheduler considers a pod: not bound, not on its way out, no gates.
pub(crate) fn is_waiting(pod: &Pod) -> bool {
    pod.node_name.is_none()
        && pod.phase == PodPhase::Pending
        && !pod.is_terminating()
        && !pod.is_static()
        && pod.spec.scheduling_gates.is_empty()
}

/// Runs one cycle over every pending pod that is to be tried. Changes nothing: the caller binds.
pub(crate) fn cycle(
    api: &ApiServer,
    config: &SchedulerConfig,
    is_tried: impl Fn(&Pod) -> bool,
) -> Cycle {
    let is_due = |pod: &&Arc<Pod>| is_waiting(pod) && is_tried(pod);
    let mut waiting: Vec<&Arc<Pod>> = api.pods().unbound().filter(is_due).collect();
    if waiting.is_empty() {
        return Cycle::default();
    }
    waiting.sort_by(|a, b| {
        (b.spec.priority.cmp(&a.spec.priority))
            .then_with(|| a.created.cmp(&b.created))
            .then_with(|| a.key.cmp(&b.key))
    });
    let mut view = ClusterView::new(api, config);
    let mut cycle = Cycle::default();
    let mut failures = Failures::default();
    let all_may_spread = config.has_default_constraints();
    for own in waiting {
        let pod = SchedulingPod::of(own);
        if pod.nominated.is_none()
            && let Some(message) = failures.known(&pod)
        {
            cycle.unschedulable.push((pod.key.clone(), message));
            continue;
        }
        match place(&view, &pod) {
            Ok(index) => {
                cycle.bound.push((pod.key.clone(), view.nodes()[index].node.name.clone()));
                view.bind(index, own);
                failures.forget_topology(all_may_spread);
            }
            Err(message) => {
                view.forget_nomination(own);
                failures.learn(pod, &message);
                cycle.unschedulable.push((pod.key.clone(), message));
            }
        }
    }
    cycle
}

/// The best node for a pod, or kube-scheduler's message why there is none.
fn place(view: &ClusterView, pod: &SchedulingPod) -> Result<usize, Text> {
    let volumes = volume::required_of(view.api(), pod).map_err(|problem| {
        Text::from(format!("0/{} nodes are available: {problem}.", view.nodes().len()))
    })?;
    let checks = filter::Checks::new(view, pod, &volumes);
    if let Some(index) = view.nominated_to(pod.nominated)
        && checks.fit(index).is_ok()
    {
        return Ok(index);
    }
    let mut feasible = Vec::new();
    let mut reasons: BTreeMap<Unfit, usize> = BTreeMap::new();
    for index in 0..view.nodes().len() {
        match checks.fit(index) {
            Ok(()) => feasible.push(index),
            Err(unfit) => {
                for reason in unfit {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
        }
    }
    match feasible.as_slice() {
        [] => Err(message(view.nodes().len(), &reasons)),
        [only] => Ok(*only),
        several => {
            let default = ScoringStrategy::default();
            let scoring = view.config().scoring_of(pod.spec).unwrap_or(&default);
            Ok(score::best(view, pod, several, scoring))
        }
    }
}

/// Whether some node other than those named would take the pod now, as the filters see it.
pub(crate) fn has_room(view: &ClusterView, pod: &SchedulingPod, except: &BTreeSet<Text>) -> bool {
    let Ok(volumes) = volume::required_of(view.api(), pod) else { return false };
    let checks = filter::Checks::new(view, pod, &volumes);
    (0..view.nodes().len())
        .any(|index| !except.contains(&view.nodes()[index].node.name) && checks.fit(index).is_ok())
}

/// Whether a DaemonSet's pod belongs on a node: its node affinity and taints say so.
pub(crate) fn daemon_belongs(pod: &SchedulingPod, node: &Node) -> bool {
    node_match::node_matches(pod, node) && node_match::untolerated(pod, node).is_none()
}

/// `0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.`
fn message(nodes: usize, reasons: &BTreeMap<Unfit, usize>) -> Text {
    if nodes == 0 {
        return "no nodes available to schedule pods".into();
    }
    let mut parts: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort();
    format!("0/{nodes} nodes are available: {}.", parts.join(", ")).into()
}

/// What is known to fit nowhere. Binding other pods only takes room away, so a failure stays one
/// for the rest of the cycle, except where pods attract or balance each other.
#[derive(Default)]
struct Failures<'a> {
    shapes: Vec<(SchedulingPod<'a>, Text)>,
}

impl<'a> Failures<'a> {
    fn known(&self, pod: &SchedulingPod) -> Option<Text> {
        self.shapes.iter().find(|(other, _)| other.has_shape_of(pod)).map(|(_, why)| why.clone())
    }

    fn learn(&mut self, pod: SchedulingPod<'a>, message: &Text) {
        if pod.spec.volumes.is_empty() {
            self.shapes.push((pod, message.clone()));
        }
    }

    fn forget_topology(&mut self, all_may_spread: bool) {
        self.shapes.retain(|(pod, _)| {
            !all_may_spread
                && pod.spec.pod_affinity.is_empty()
                && pod.spec.topology_spread.is_empty()
        });
    }
}

impl SchedulingPod<'_> {
    fn has_shape_of(&self, other: &SchedulingPod<'_>) -> bool {
        self.key.namespace == other.key.namespace
            && Arc::ptr_eq(self.spec, other.spec)
            && Arc::ptr_eq(self.labels, other.labels)
    }
}

#[cfg(test)]
mod tests;
