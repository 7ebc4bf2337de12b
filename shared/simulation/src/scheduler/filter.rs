//! The filters: which nodes a pod can run on.

use domain::resource::PODS;
use domain::taint;

use super::affinity::PodTerms;
use super::node_match::{node_matches, untolerated};
use super::spread::HardSpread;
use super::unfit::Unfit;
use super::view::{ClusterView, SchedulingPod};
use super::volume::VolumeTerms;

/// The state of the filters for one pod, prepared once and applied to each node.
pub(super) struct Checks<'a> {
    view: &'a ClusterView<'a>,
    pod: &'a SchedulingPod<'a>,
    volumes: &'a VolumeTerms,
    spread: HardSpread<'a>,
    terms: PodTerms<'a>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(
        view: &'a ClusterView<'a>,
        pod: &'a SchedulingPod<'a>,
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
        let kept = target.ahead_of(self.pod).flat_map(|own| &own.spec.host_ports);
        let taken: Vec<_> = target.load.host_ports.iter().chain(kept).collect();
        if opened.iter().any(|port| taken.iter().any(|own| own.conflicts_with(port))) {
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
        let kept = |name: &str| -> i64 {
            target.ahead_of(self.pod).map(|own| own.spec.requests.get(name)).sum()
        };
        let room = |name: &str| {
            target.node.allocatable.get(name) - target.load.used.get(name) - kept(name)
        };
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
