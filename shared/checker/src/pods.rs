//! The pods of a cluster, grouped by what rules depend on: pods of one Deployment share a
//! specification and labels, so rules work on shapes and label groups, and grow with those rather
//! than with pods.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::pod::{
    Pod, PodAffinityTerm, PodKey, PodSpec, TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::selector::{LabelSelector, SelectorOperator};
use domain::workload::Namespace;

use crate::terms::Terms;

/// A pod, as an index of [`Pods::list`].
pub(crate) type PodId = usize;
/// Pods of one specification.
pub(crate) type ShapeId = usize;
/// Pods of one namespace with the same labels.
pub(crate) type GroupId = usize;
/// Node selection terms that are equal.
pub(crate) type TermsId = usize;
/// Pod (anti-)affinity terms that are equal.
pub(crate) type PodTermId = usize;

/// All pods, by shape and by labels.
pub(crate) struct Pods<'a> {
    pub(crate) list: Vec<PodEntry<'a>>,
    pub(crate) shapes: Vec<Shape<'a>>,
    pub(crate) pod_terms: Vec<PodTerm<'a>>,
    pub(crate) terms: TermsTable,
    pub(crate) groups: Groups<'a>,
    by_key: FxHashMap<&'a PodKey, PodId>,
}

/// A pod, and what it has in common with others.
#[derive(Clone, Copy)]
pub(crate) struct PodEntry<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) shape: ShapeId,
    pub(crate) group: GroupId,
}

/// A specification, read.
pub(crate) struct Shape<'a> {
    pub(crate) spec: &'a PodSpec,
    /// Node selector and required node affinity.
    pub(crate) node_terms: TermsId,
    /// Required pod affinity.
    pub(crate) affinity: Vec<PodTermId>,
    /// Required pod anti-affinity.
    pub(crate) anti_affinity: Vec<PodTermId>,
}

/// A pod (anti-)affinity term and the label groups that it selects.
pub(crate) struct PodTerm<'a> {
    pub(crate) topology_key: &'a Text,
    pub(crate) selected: FxHashSet<GroupId>,
}

/// Distinct node selection terms.
#[derive(Default)]
pub(crate) struct TermsTable {
    all: Vec<Terms>,
    ids: FxHashMap<Terms, TermsId>,
}

impl TermsTable {
    /// The number of these terms.
    pub(crate) fn intern(&mut self, terms: Terms) -> TermsId {
        if let Some(id) = self.ids.get(&terms) {
            return *id;
        }
        self.all.push(terms.clone());
        self.ids.insert(terms, self.all.len() - 1);
        self.all.len() - 1
    }

    /// The terms of a number.
    pub(crate) fn get(&self, id: TermsId) -> &Terms {
        &self.all[id]
    }
}

/// Distinct combinations of namespace and labels among pods.
#[derive(Default)]
pub(crate) struct Groups<'a> {
    all: Vec<(&'a Text, &'a Labels)>,
    by_label: FxHashMap<(&'a str, &'a str), Vec<GroupId>>,
    /// A specification's or labels' address to its number: pods of a workload share both.
    seen: FxHashMap<(&'a Text, *const Labels), GroupId>,
    ids: FxHashMap<(&'a Text, &'a Labels), GroupId>,
}

impl<'a> Groups<'a> {
    fn intern(&mut self, pod: &'a Pod) -> GroupId {
        let address = (&pod.key.namespace, Arc::as_ptr(&pod.labels));
        if let Some(id) = self.seen.get(&address) {
            return *id;
        }
        let labels: &'a Labels = &pod.labels;
        let key = (&pod.key.namespace, labels);
        let next = self.all.len();
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.all.push(key);
            for (name, value) in labels {
                self.by_label.entry((name, value)).or_default().push(id);
            }
        }
        self.seen.insert(address, id);
        id
    }

    /// The groups of namespaces in reach that a selector selects.
    pub(crate) fn selected(
        &self,
        selector: Option<&LabelSelector>,
        in_reach: impl Fn(&Text) -> bool,
    ) -> Vec<GroupId> {
        let Some(selector) = selector else { return Vec::new() };
        let matches = |id: &GroupId| {
            let (namespace, labels) = self.all[*id];
            in_reach(namespace) && selector.matches(labels)
        };
        match self.candidates(selector) {
            Some(candidates) => candidates.into_iter().filter(matches).collect(),
            None => (0..self.all.len()).filter(matches).collect(),
        }
    }

    /// The groups that the narrowest `In` expression leaves; `None` where there is no such
    /// expression.
    fn candidates(&self, selector: &LabelSelector) -> Option<Vec<GroupId>> {
        let expressions = selector.expressions().iter();
        let listed = expressions.filter(|e| e.operator == SelectorOperator::In).map(|e| {
            let values = e.values.iter();
            let groups = values.filter_map(|value| self.by_label.get(&(&*e.key, &**value)));
            groups.flatten().copied().collect::<Vec<_>>()
        });
        listed.min_by_key(Vec::len)
    }
}

impl<'a> Pods<'a> {
    /// Reads pods; of two with one name the first counts.
    pub(crate) fn read(pods: impl Iterator<Item = &'a Pod>, namespaces: &'a [Namespace]) -> Self {
        let mut read = Self {
            list: Vec::new(),
            shapes: Vec::new(),
            pod_terms: Vec::new(),
            terms: TermsTable::default(),
            groups: Groups::default(),
            by_key: FxHashMap::default(),
        };
        read.by_key.reserve(pods.size_hint().1.unwrap_or(0));
        let mut shapes = Shapes::default();
        for pod in pods {
            let next = read.list.len();
            if *read.by_key.entry(&pod.key).or_insert(next) != next {
                continue;
            }
            let shape = shapes.intern(&pod.spec, &mut read);
            let group = read.groups.intern(pod);
            read.list.push(PodEntry { pod, shape, group });
        }
        let reach = Reach::new(namespaces);
        read.pod_terms = shapes
            .pod_terms
            .iter()
            .map(|term| PodTerm {
                topology_key: &term.topology_key,
                selected: read
                    .groups
                    .selected(term.selector.as_ref(), |namespace| reach.includes(term, namespace))
                    .into_iter()
                    .collect(),
            })
            .collect();
        read
    }

    /// A pod by its key.
    pub(crate) fn find(&self, key: &PodKey) -> Option<PodId> {
        self.by_key.get(key).copied()
    }

    /// The pod.
    pub(crate) fn pod(&self, id: PodId) -> &'a Pod {
        self.list[id].pod
    }

    /// The pod's shape.
    pub(crate) fn shape(&self, id: PodId) -> &Shape<'a> {
        &self.shapes[self.list[id].shape]
    }

    /// What the pod requires of a node.
    pub(crate) fn spec(&self, id: PodId) -> &'a PodSpec {
        self.shape(id).spec
    }

    /// The pod's label group.
    pub(crate) fn group(&self, id: PodId) -> GroupId {
        self.list[id].group
    }

    /// Every topology key that some pod's rules use, sorted.
    pub(crate) fn topology_keys(&self) -> Vec<&'a Text> {
        let spreads =
            self.shapes.iter().flat_map(Shape::spreads).map(|spread| &spread.topology_key);
        let mut keys: Vec<&'a Text> =
            self.pod_terms.iter().map(|term| term.topology_key).chain(spreads).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

impl<'a> Shape<'a> {
    /// Topology spread constraints that are rules rather than preferences.
    pub(crate) fn spreads(&self) -> impl Iterator<Item = &'a TopologySpreadConstraint> + use<'a> {
        self.spec
            .topology_spread
            .iter()
            .filter(|spread| spread.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule)
    }
}

/// Numbers shapes and pod terms while pods are read.
#[derive(Default)]
struct Shapes<'a> {
    by_address: FxHashMap<*const PodSpec, ShapeId>,
    by_value: FxHashMap<&'a PodSpec, ShapeId>,
    pod_terms: Vec<&'a PodAffinityTerm>,
    pod_term_ids: FxHashMap<&'a PodAffinityTerm, PodTermId>,
}

impl<'a> Shapes<'a> {
    fn intern(&mut self, spec: &'a Arc<PodSpec>, pods: &mut Pods<'a>) -> ShapeId {
        let address = Arc::as_ptr(spec);
        if let Some(id) = self.by_address.get(&address) {
            return *id;
        }
        let next = pods.shapes.len();
        let id = *self.by_value.entry(spec).or_insert(next);
        self.by_address.insert(address, id);
        if id == next {
            let node_terms = pods.terms.intern(Terms::of_pod(spec));
            let affinity = self.intern_terms(&spec.pod_affinity);
            let anti_affinity = self.intern_terms(&spec.pod_anti_affinity);
            pods.shapes.push(Shape { spec, node_terms, affinity, anti_affinity });
        }
        id
    }

    fn intern_terms(&mut self, terms: &'a [PodAffinityTerm]) -> Vec<PodTermId> {
        let mut ids: Vec<_> = terms
            .iter()
            .map(|term| {
                let next = self.pod_terms.len();
                let id = *self.pod_term_ids.entry(term).or_insert(next);
                if id == next {
                    self.pod_terms.push(term);
                }
                id
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// Which namespaces a pod (anti-)affinity term reaches.
struct Reach<'a> {
    labels: FxHashMap<&'a Text, &'a Labels>,
}

impl<'a> Reach<'a> {
    fn new(namespaces: &'a [Namespace]) -> Self {
        let labels = namespaces.iter().map(|namespace| (&namespace.name, &namespace.labels));
        Self { labels: labels.collect() }
    }

    fn includes(&self, term: &PodAffinityTerm, namespace: &Text) -> bool {
        if term.namespaces.contains(namespace) {
            return true;
        }
        let Some(selector) = &term.namespace_selector else { return false };
        if let Some(labels) = self.labels.get(namespace) {
            return selector.matches(labels);
        }
        // A namespace that is not in the input has only its name as a label.
        selector.matches(&[("kubernetes.io/metadata.name".into(), namespace.clone())].into())
    }
}
