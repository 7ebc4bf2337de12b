//! Topology spread and affinity between pods.

use domain::Text;
use domain::label::Labels;
use domain::pod::{
    NodeInclusionPolicy, PodAffinityTerm, PreferredPodTerm, TopologySpreadConstraint,
    WhenUnsatisfiable,
};
use domain::selector::{LabelSelector, SelectorExpression, SelectorOperator};

use super::selector::{label_selector, node_label_key};
use crate::field::Field;

/// The pod whose terms are read: selectors and namespaces may refer to its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPod<'a> {
    pub(crate) namespace: &'a Text,
    pub(crate) labels: &'a Labels,
}

impl OwnPod<'_> {
    /// The selector narrowed to pods that have the pod's own value of each key, or another one.
    /// Keys that the pod does not carry are ignored; an absent selector stays absent.
    fn narrowed(
        self,
        selector: Option<LabelSelector>,
        keys: Field<'_>,
        operator: SelectorOperator,
    ) -> Option<LabelSelector> {
        keys.texts().iter().filter_map(|key| self.labels.get_key_value(key)).fold(
            selector,
            |selector, (key, value)| {
                let expression =
                    SelectorExpression { key: key.clone(), operator, values: vec![value.clone()] };
                selector.map(|selector| selector.and(expression))
            },
        )
    }

    /// A topology spread constraint; `None` where something was noted.
    ///
    /// Source:
    /// <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>.
    pub(crate) fn spread(self, field: Field<'_>) -> Option<TopologySpreadConstraint> {
        let policy = |key, default| field.get(key).word().unwrap_or(default);
        let at_least_one = |key| {
            let number = field.get(key).int32();
            if number.is_some_and(|number| number < 1) {
                field.get(key).note_rule("it must be at least 1");
            }
            number
        };
        let selector = self.narrowed(
            label_selector(field.get("labelSelector")),
            field.get("matchLabelKeys"),
            SelectorOperator::In,
        );
        Some(TopologySpreadConstraint {
            max_skew: at_least_one("maxSkew").unwrap_or(1),
            topology_key: node_label_key(field.get("topologyKey").required())?,
            when_unsatisfiable: field
                .get("whenUnsatisfiable")
                .word()
                .unwrap_or(WhenUnsatisfiable::DoNotSchedule),
            selector,
            min_domains: at_least_one("minDomains"),
            node_affinity_policy: policy("nodeAffinityPolicy", NodeInclusionPolicy::Honor),
            node_taints_policy: policy("nodeTaintsPolicy", NodeInclusionPolicy::Ignore),
        })
    }

    /// A pod (anti-)affinity term; `None` where something was noted.
    ///
    /// Source: Kubernetes' page "Assigning Pods to Nodes", "Inter-pod affinity and anti-affinity":
    /// <https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/>.
    pub(crate) fn affinity_term(self, field: Field<'_>) -> Option<PodAffinityTerm> {
        let selector = label_selector(field.get("labelSelector"));
        let selector = self.narrowed(selector, field.get("matchLabelKeys"), SelectorOperator::In);
        let selector =
            self.narrowed(selector, field.get("mismatchLabelKeys"), SelectorOperator::NotIn);
        let namespace_selector = label_selector(field.get("namespaceSelector"));
        let mut namespaces = field.get("namespaces").texts();
        if namespaces.is_empty() && namespace_selector.is_none() {
            namespaces.push(self.namespace.clone());
        }
        namespaces.sort();
        namespaces.dedup();
        Some(PodAffinityTerm {
            topology_key: node_label_key(field.get("topologyKey").required())?,
            selector,
            namespaces,
            namespace_selector,
        })
    }

    /// Required terms of `podAffinity` or `podAntiAffinity`, sorted: all must hold.
    pub(crate) fn required_terms(self, affinity: Field<'_>) -> Vec<PodAffinityTerm> {
        let mut terms: Vec<_> = affinity
            .get("requiredDuringSchedulingIgnoredDuringExecution")
            .items()
            .filter_map(|term| self.affinity_term(term))
            .collect();
        terms.sort();
        terms.dedup();
        terms
    }

    /// Preferred terms of `podAffinity` or `podAntiAffinity`, in the order written.
    pub(crate) fn preferred_terms(self, affinity: Field<'_>) -> Vec<PreferredPodTerm> {
        affinity
            .get("preferredDuringSchedulingIgnoredDuringExecution")
            .items()
            .filter_map(|preferred| {
                Some(PreferredPodTerm {
                    weight: weight(preferred)?,
                    term: self.affinity_term(preferred.get("podAffinityTerm").required())?,
                })
            })
            .collect()
    }
}

/// `weight` of a preferred term, 1 to 100.
pub(crate) fn weight(preferred: Field<'_>) -> Option<i32> {
    let field = preferred.get("weight").required();
    let weight = field.int32()?;
    if !(1..=100).contains(&weight) {
        field.note_rule(format!("{weight} is not between 1 and 100"));
    }
    Some(weight)
}
