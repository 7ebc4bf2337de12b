//! Terms about other pods: InterPodAffinity's filter.

use std::collections::BTreeSet;

use domain::Text;
use domain::node::Node;
use domain::pod::PodAffinityTerm;

use super::unfit::Unfit;
use super::view::{ClusterView, SchedulingPod};

/// Where the pods are that a pod must be near or apart from, and where others keep it away.
pub(super) struct PodTerms<'a> {
    near: Vec<(&'a Text, BTreeSet<&'a Text>)>,
    /// No pod matches any term and the pod matches all of its own: the first of its kind may go
    /// anywhere.
    is_first: bool,
    apart: Vec<(&'a Text, BTreeSet<&'a Text>)>,
    kept_away: BTreeSet<(&'a Text, &'a Text)>,
}

/// The domains of a term's topology in which it selects a pod.
fn domains_of<'a>(view: &'a ClusterView<'a>, term: &'a PodAffinityTerm) -> BTreeSet<&'a Text> {
    view.nodes()
        .iter()
        .filter(|own| own.load.pods.iter().any(|pod| view.selects(term, &SchedulingPod::of(pod))))
        .filter_map(|own| own.node.labels.get(&term.topology_key))
        .collect()
}

impl<'a> PodTerms<'a> {
    pub(super) fn new(view: &'a ClusterView<'a>, pod: &'a SchedulingPod<'a>) -> Self {
        let located = |terms: &'a [PodAffinityTerm]| -> Vec<_> {
            terms.iter().map(|term| (&term.topology_key, domains_of(view, term))).collect()
        };
        let near = located(&pod.spec.pod_affinity);
        let is_first = near.iter().all(|(_, domains)| domains.is_empty())
            && pod.spec.pod_affinity.iter().all(|term| view.selects(term, pod));
        let mut kept_away = BTreeSet::new();
        for own in view.nodes() {
            for other in &own.load.with_pod_terms {
                for term in &other.spec.pod_anti_affinity {
                    if let Some(domain) = own.node.labels.get(&term.topology_key)
                        && view.selects(term, pod)
                    {
                        kept_away.insert((&term.topology_key, domain));
                    }
                }
            }
        }
        Self { near, is_first, apart: located(&pod.spec.pod_anti_affinity), kept_away }
    }

    pub(super) fn fit(&self, node: &Node) -> Result<(), Unfit> {
        for (key, domains) in &self.near {
            let domain = node.labels.get(*key).ok_or(Unfit::PodAffinity)?;
            if !self.is_first && !domains.contains(domain) {
                return Err(Unfit::PodAffinity);
            }
        }
        for (key, domains) in &self.apart {
            if node.labels.get(*key).is_some_and(|domain| domains.contains(domain)) {
                return Err(Unfit::PodAntiAffinity);
            }
        }
        let is_kept_away = |(key, domain): &(&Text, &Text)| node.labels.get(*key) == Some(*domain);
        if self.kept_away.iter().any(is_kept_away) {
            return Err(Unfit::ExistingPodAntiAffinity);
        }
        Ok(())
    }
}
