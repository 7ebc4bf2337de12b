//! Topology groups: what ties pods to where other pods are (spread, affinity, anti-affinity).
//!
//! A group is one constraint shared by all pods that carry it. It counts, by domain of its key, the
//! pods that its selector takes, and for anti-affinity also the pods that carry it, since it repels
//! in both directions.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::plan::PlannedNodeClaim;
use domain::pod::{NodeInclusionPolicy, PodAffinityTerm, PodSpec, WhenUnsatisfiable};
use domain::requirement::{Operator, Requirement, Requirements, ValueSet};
use domain::selector::{LabelSelector, SelectorOperator};
use domain::settings::PreferencePolicy;
use domain::taint::{Taint, Toleration, first_untolerated};
use rustc_hash::FxHashMap;

use crate::ids::{GroupIx, IndexVec, NodeIx, ShapeIx};
use crate::model::Model;
use crate::model::daemon::node_terms_hold;
use crate::model::intern::KeyKind;
use crate::model::node::NodeView;
use crate::model::shape::Shape;

/// What a group asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// At most `max_skew` more selected pods than in the emptiest domain.
    Spread {
        /// The difference allowed.
        max_skew: i32,
        /// With fewer domains the emptiest counts as empty.
        min_domains: Option<i32>,
    },
    /// In a domain that holds a pod of the selector.
    Affinity,
    /// In no domain that holds a pod of the selector.
    AntiAffinity,
}

/// How `ScheduleAnyway` spreads bear on where nodes are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoftSpread {
    /// Like those that must hold.
    Required,
    /// Not at all.
    Relaxed,
}

/// Which nodes a spread constraint counts (`nodeAffinityPolicy`, `nodeTaintsPolicy`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NodeFilter {
    /// Labels that a Node must have, whatever their values, sorted: the keys of all spreads of its
    /// kind (hard or soft) that the pods carry. kube-scheduler leaves out Nodes without one of them
    /// (`nodeLabelsMatchSpreadConstraints` of its plugin `PodTopologySpread`).
    keys: Vec<Text>,
    /// A shape whose node selector and affinity count, if they do.
    affinity_of: Option<AffinityKey>,
    /// Tolerations that count, if taints do.
    tolerations: Option<Vec<Toleration>>,
}

/// Labels that every node of a NodePool has.
const OF_EVERY_NODE: [&str; 7] = [
    label::ZONE,
    label::REGION,
    label::CAPACITY_TYPE,
    label::ARCH,
    label::OS,
    label::INSTANCE_TYPE,
    label::NODE_POOL,
];

/// Node selector and required node affinity of the pods that carry a constraint.
type AffinityKey = (Vec<(Text, Text)>, Option<Vec<domain::pod::NodeSelectorTerm>>);

/// One constraint shared by all pods that carry it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    /// The node label whose values are the domains.
    pub(crate) key: Text,
    /// What it asks.
    pub(crate) rule: Rule,
    selector: Option<LabelSelector>,
    namespaces: Vec<Text>,
    namespace_selector: Option<LabelSelector>,
    filter: Option<NodeFilter>,
}

impl Group {
    /// Whether each node is a domain of its own.
    pub(crate) fn is_by_host(&self) -> bool {
        &*self.key == label::HOSTNAME
    }

    /// Which pods it takes, as people write selectors.
    pub(crate) fn selected(&self) -> Text {
        self.selector.as_ref().map_or_else(|| "none".into(), |own| own.to_string().into())
    }

    fn selects(
        &self,
        namespace: &Text,
        labels: &Labels,
        namespaces: &BTreeMap<&str, &Labels>,
    ) -> bool {
        let Some(selector) = &self.selector else { return false };
        let in_reach = self.namespaces.contains(namespace)
            || self.namespace_selector.as_ref().is_some_and(|selector| {
                match namespaces.get(&**namespace) {
                    Some(labels) => selector.matches(labels),
                    None => selector.matches(
                        &[("kubernetes.io/metadata.name".into(), namespace.clone())].into(),
                    ),
                }
            });
        in_reach && selector.matches(labels)
    }

    /// Whether a spread constraint counts the node.
    pub(crate) fn counts_node(&self, node: &NodeView, shape_spec: &domain::pod::PodSpec) -> bool {
        let Some(filter) = &self.filter else { return true };
        // A machine that is still to join will have labels that its claim does not name.
        let has_keys =
            || node.node.is_none() || filter.keys.iter().all(|key| node.labels.contains_key(key));
        let by_affinity = filter.affinity_of.is_none() || node_terms_hold(shape_spec, &node.labels);
        by_affinity && self.counts_nodes_with(&node.taints) && has_keys()
    }

    /// Whether a spread constraint counts the node that a claim is launched for, which will have
    /// these labels at the least.
    pub(crate) fn counts_new_node(
        &self,
        claim: &PlannedNodeClaim,
        labels: &Labels,
        shape_spec: &PodSpec,
    ) -> bool {
        let needs =
            |own: &Requirement| !matches!(own.operator, Operator::NotIn | Operator::DoesNotExist);
        let will_have = |key: &Text| {
            let mut required = claim.requirements.iter().filter(|own| own.key == *key);
            labels.contains_key(key) || required.any(needs)
        };
        (!self.honors_affinity() || node_terms_hold(shape_spec, labels))
            && self.counts_nodes_with(&claim.taints)
            && self.keys_that_nodes_may_lack().all(will_have)
    }

    /// Labels without which the constraint does not count a node, of those that not every node has.
    pub(crate) fn keys_that_nodes_may_lack(&self) -> impl Iterator<Item = &Text> {
        let keys = self.filter.iter().flat_map(|filter| &filter.keys);
        keys.filter(|key| !OF_EVERY_NODE.contains(&&***key))
    }

    /// Whether a spread constraint counts nodes with these taints.
    pub(crate) fn counts_nodes_with(&self, taints: &[Taint]) -> bool {
        self.filter
            .as_ref()
            .and_then(|filter| filter.tolerations.as_ref())
            .is_none_or(|tolerations| first_untolerated(tolerations, taints).is_none())
    }

    /// Whether nodes that the pod may not go to are left out of its domains.
    pub(crate) fn honors_affinity(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.affinity_of.is_some())
    }
}

/// A constraint as one shape carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// The group.
    pub(crate) group: GroupIx,
    /// 0 for a requirement, else how much keeping it is worth.
    pub(crate) weight: i32,
    /// The shape's own pods are selected.
    pub(crate) selects_itself: bool,
    /// Of an affinity: its pods may go where no other is while it selects none anywhere. Those that
    /// require several must be selected by all of them, as kube-scheduler has it.
    pub(crate) may_be_first: bool,
}

/// What ties the pods of one shape to others.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeConstraints {
    /// Constraints that its pods carry.
    pub(crate) owned: Vec<Owned>,
    /// Groups whose selector takes its pods.
    pub(crate) selected_by: Vec<GroupIx>,
    /// Priority of its pods.
    pub(crate) priority: i32,
}

impl ShapeConstraints {
    /// Whether it carries no constraint and no group selects it.
    pub(crate) fn is_empty(&self) -> bool {
        self.owned.is_empty() && self.selected_by.is_empty()
    }
}

/// All groups, and which shape has to do with which.
pub(crate) struct Topology {
    /// The groups.
    pub(crate) groups: IndexVec<GroupIx, Group>,
    /// By shape.
    pub(crate) constraints: IndexVec<ShapeIx, ShapeConstraints>,
    /// The first shape that carries each group: its node selector and affinity are the group's.
    pub(crate) first_owner: IndexVec<GroupIx, ShapeIx>,
    /// Groups that some waiting pod carries: where pods that they select go makes a difference.
    pub(crate) is_awaited: IndexVec<GroupIx, bool>,
    /// Groups that some waiting pod carries other than as a soft spread.
    pub(crate) is_needed: IndexVec<GroupIx, bool>,
    /// The least priority of waiting pods that carry each group; the greatest there is where none
    /// do.
    pub(super) least_priority: IndexVec<GroupIx, i32>,
    /// Groups that some waiting pod is selected by without carrying them.
    pub(super) selects_others: IndexVec<GroupIx, bool>,
    /// Domains of existing nodes, by key.
    keys: Vec<NodeDomains>,
    /// By group: which of `keys` is its own.
    key_of: IndexVec<GroupIx, usize>,
}

/// What waiting pods have to do with each group.
struct WaitingPods {
    is_awaited: IndexVec<GroupIx, bool>,
    is_needed: IndexVec<GroupIx, bool>,
    least_priority: IndexVec<GroupIx, i32>,
    selects_others: IndexVec<GroupIx, bool>,
}

impl WaitingPods {
    fn of(
        groups: &IndexVec<GroupIx, Group>,
        constraints: &IndexVec<ShapeIx, ShapeConstraints>,
        waiting: &IndexVec<ShapeIx, bool>,
    ) -> Self {
        let mut is_awaited = IndexVec::filled(false, groups.len());
        let mut is_needed = is_awaited.clone();
        let mut least_priority = IndexVec::filled(i32::MAX, groups.len());
        let mut selects_others = is_awaited.clone();
        let waiting = constraints.iter().zip(waiting).filter(|(_, waits)| **waits);
        for constraints in waiting.map(|(constraints, _): (&ShapeConstraints, _)| constraints) {
            for owned in &constraints.owned {
                is_awaited[owned.group] = true;
                is_needed[owned.group] |= !is_soft_spread(groups, owned);
                let least = &mut least_priority[owned.group];
                *least = constraints.priority.min(*least);
            }
            for group in &constraints.selected_by {
                let carries = |owned: &Owned| owned.group == *group;
                selects_others[*group] |= !constraints.owned.iter().any(carries);
            }
        }
        Self { is_awaited, is_needed, least_priority, selects_others }
    }
}

/// Domains that nodes of the snapshot are in, for one key.
struct NodeDomains {
    /// Values of the key that nodes have, in the order of the nodes.
    values: Vec<Text>,
    /// By node: the number of its value; `None` for a node without the label.
    of_node: IndexVec<NodeIx, Option<usize>>,
    /// Values that claims in flight may still get, where that is not settled. What is known of some
    /// does not say which these are.
    open: FxHashMap<NodeIx, Vec<Text>>,
}

impl NodeDomains {
    fn of(model: &Model, key: &Text) -> Self {
        let mut values: Vec<Text> = Vec::new();
        let mut numbers: FxHashMap<&Text, usize> = FxHashMap::default();
        let of_node = model.nodes.iter().map(|node| {
            let value = node.labels.get(key)?;
            Some(*numbers.entry(value).or_insert_with(|| {
                values.push(value.clone());
                values.len() - 1
            }))
        });
        let of_node = of_node.collect();
        let nodes = model.nodes.iter_enumerated();
        let open = nodes.filter_map(|(index, node)| Some((index, open_values(model, node, key)?)));
        Self { of_node, open: open.collect(), values }
    }
}

/// Values of a label that a claim without a Node may still get; `None` for other nodes, and where
/// the value is settled or the Node will lack the label.
fn open_values(model: &Model, node: &NodeView, key: &Text) -> Option<Vec<Text>> {
    let claim = node.claim.filter(|_| node.node.is_none() && !node.labels.contains_key(key))?;
    let own = claim.requirements.iter().filter(|own| own.key == *key);
    let required = Requirements::of(own);
    let allowed = required.get(key).map(|rule| &rule.values);
    if let Some(listed) = allowed.and_then(ValueSet::as_list) {
        return (!listed.is_empty()).then(|| listed.to_vec());
    }
    let is_allowed = |value: &Text| allowed.is_none_or(|allowed| allowed.contains(value));
    match model.key_kinds.get(key) {
        Some(KeyKind::Zone) => {
            Some(model.zones.iter().filter(|zone| is_allowed(zone)).cloned().collect())
        }
        Some(KeyKind::CapacityType) => {
            let words = CapacityType::ALL.into_iter().map(|own| Text::from(own.as_str()));
            Some(words.filter(is_allowed).collect())
        }
        _ => allowed.map(|_| Vec::new()),
    }
}

impl Topology {
    /// Groups that pods of the shapes to place carry, and required anti-affinity of any pod.
    pub(crate) fn of(
        model: &Model,
        to_place: &IndexVec<ShapeIx, bool>,
        waiting: &IndexVec<ShapeIx, bool>,
    ) -> Self {
        let mut builder = Builder::default();
        let respect = model.snapshot.settings.preference_policy == PreferencePolicy::Respect;
        let shapes = &model.shapes.list;
        let mut owned: Vec<Vec<(GroupIx, i32)>> = Vec::with_capacity(shapes.len());
        for (index, shape) in shapes.iter_enumerated() {
            owned.push(builder.groups_of(index, shape, to_place[index], respect));
        }
        let namespaces: BTreeMap<&str, &Labels> = model
            .snapshot
            .objects
            .namespaces
            .iter()
            .map(|namespace| (&*namespace.name, &namespace.labels))
            .collect();
        let index = SelectorIndex::of(&builder.groups);
        let mut selected: FxHashMap<(&Text, &Labels), Vec<GroupIx>> = FxHashMap::default();
        let constraints: IndexVec<ShapeIx, ShapeConstraints> = shapes
            .iter()
            .zip(owned)
            .map(|(shape, owned)| {
                let selected_by = selected
                    .entry((shape.namespace, shape.labels))
                    .or_insert_with(|| {
                        index
                            .candidates(shape.labels)
                            .into_iter()
                            .filter(|group| {
                                let own = &builder.groups[*group];
                                own.selects(shape.namespace, shape.labels, &namespaces)
                            })
                            .collect()
                    })
                    .clone();
                let owned = carried(&builder.groups, &owned, &selected_by);
                ShapeConstraints { owned, selected_by, priority: shape.spec.priority }
            })
            .collect();
        let WaitingPods { is_awaited, is_needed, least_priority, selects_others } =
            WaitingPods::of(&builder.groups, &constraints, waiting);
        let Builder { groups, first_owner, .. } = builder;
        let mut keys: Vec<NodeDomains> = Vec::new();
        let mut numbers: FxHashMap<Text, usize> = FxHashMap::default();
        let mut key_of = IndexVec::new();
        for group in &groups {
            key_of.push(*numbers.entry(group.key.clone()).or_insert_with(|| {
                keys.push(NodeDomains::of(model, &group.key));
                keys.len() - 1
            }));
        }
        Self {
            groups,
            constraints,
            first_owner,
            is_awaited,
            is_needed,
            least_priority,
            selects_others,
            keys,
            key_of,
        }
    }

    /// Domains of existing nodes that the group tells apart; [`Topology::domain_of`] numbers them.
    pub(crate) fn domains(&self, group: GroupIx) -> impl Iterator<Item = &Text> {
        self.keys[self.key_of[group]].values.iter()
    }

    /// The name of a domain by its number.
    pub(crate) fn domain_name(&self, group: GroupIx, domain: usize) -> &Text {
        &self.keys[self.key_of[group]].values[domain]
    }

    /// The number of the node's domain; `None` for a node without the group's label.
    pub(crate) fn domain_of(&self, group: GroupIx, node: NodeIx) -> Option<usize> {
        self.keys[self.key_of[group]].of_node[node]
    }

    /// Keys other than the host name that tie pods of a shape to where others are: those of
    /// constraints that they carry, and of groups that select them.
    pub(crate) fn keys_of(&self, shape: ShapeIx) -> Vec<Text> {
        let constraints = &self.constraints[shape];
        let owned = constraints.owned.iter().filter(|owned| owned.weight == 0);
        let groups = owned.map(|owned| owned.group).chain(constraints.selected_by.iter().copied());
        let groups = groups.map(|group| &self.groups[group]).filter(|group| !group.is_by_host());
        let mut keys: Vec<Text> = groups.map(|group| group.key.clone()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Domains that a claim in flight may still be in, as far as they are known; `None` for a node
    /// of which that is settled, or that will lack the group's label.
    pub(crate) fn open_domains(&self, group: GroupIx, node: NodeIx) -> Option<&[Text]> {
        self.keys[self.key_of[group]].open.get(&node).map(Vec::as_slice)
    }

    /// Whether it is a spread with `ScheduleAnyway`.
    pub(crate) fn is_soft_spread(&self, owned: &Owned) -> bool {
        is_soft_spread(&self.groups, owned)
    }
}

fn is_soft_spread(groups: &IndexVec<GroupIx, Group>, owned: &Owned) -> bool {
    owned.weight > 0 && matches!(groups[owned.group].rule, Rule::Spread { .. })
}

/// The constraints that a shape carries, of groups with their weights.
fn carried(
    groups: &IndexVec<GroupIx, Group>,
    owned: &[(GroupIx, i32)],
    selected_by: &[GroupIx],
) -> Vec<Owned> {
    let requires =
        |(group, weight): &&(GroupIx, i32)| *weight == 0 && groups[*group].rule == Rule::Affinity;
    let mut required = owned.iter().filter(requires);
    let may_be_first = required.all(|(group, _)| selected_by.contains(group));
    let carried = owned.iter().map(|(group, weight)| Owned {
        group: *group,
        weight: *weight,
        selects_itself: selected_by.contains(group),
        may_be_first,
    });
    carried.collect()
}

/// Finds the groups that may select a pod by one of its labels, so that not every group is held
/// against every set of labels.
struct SelectorIndex<'g> {
    by_label: FxHashMap<(&'g Text, &'g Text), Vec<GroupIx>>,
    others: Vec<GroupIx>,
}

impl<'g> SelectorIndex<'g> {
    fn of(groups: &'g IndexVec<GroupIx, Group>) -> Self {
        let mut index = Self { by_label: FxHashMap::default(), others: Vec::new() };
        for (number, group) in groups.iter_enumerated() {
            let Some(selector) = &group.selector else { continue };
            let needed = selector.expressions().iter().find(|expression| {
                expression.operator == SelectorOperator::In && expression.values.len() == 1
            });
            match needed {
                Some(needed) => {
                    index
                        .by_label
                        .entry((&needed.key, &needed.values[0]))
                        .or_default()
                        .push(number);
                }
                None => index.others.push(number),
            }
        }
        index
    }

    /// Every group that selects a pod with these labels, and some that do not; in order.
    fn candidates(&self, labels: &Labels) -> Vec<GroupIx> {
        let mut candidates = self.others.clone();
        for label in labels {
            candidates.extend(self.by_label.get(&label).into_iter().flatten());
        }
        candidates.sort_unstable();
        candidates
    }
}

#[derive(Default)]
struct Builder {
    groups: IndexVec<GroupIx, Group>,
    ids: FxHashMap<Group, GroupIx>,
    first_owner: IndexVec<GroupIx, ShapeIx>,
}

impl Builder {
    fn id(&mut self, shape: ShapeIx, group: Group) -> GroupIx {
        if let Some(id) = self.ids.get(&group) {
            return *id;
        }
        let id = self.groups.push(group.clone());
        self.first_owner.push(shape);
        self.ids.insert(group, id);
        id
    }

    fn groups_of(
        &mut self,
        index: ShapeIx,
        shape: &Shape,
        is_to_place: bool,
        respect: bool,
    ) -> Vec<(GroupIx, i32)> {
        let mut owned = Vec::new();
        let spec = shape.spec;
        for term in &spec.pod_anti_affinity {
            owned.push((self.id(index, pod_group(term, Rule::AntiAffinity)), 0));
        }
        if !is_to_place {
            return owned;
        }
        for term in &spec.pod_affinity {
            owned.push((self.id(index, pod_group(term, Rule::Affinity)), 0));
        }
        for constraint in &spec.topology_spread {
            let is_soft = constraint.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway;
            if is_soft && !respect {
                continue;
            }
            let honors_affinity = constraint.node_affinity_policy == NodeInclusionPolicy::Honor;
            let filter = NodeFilter {
                keys: keys_of(spec, constraint.when_unsatisfiable),
                affinity_of: honors_affinity
                    .then(|| (spec.node_selector.clone(), spec.required_node_terms.clone())),
                tolerations: (constraint.node_taints_policy == NodeInclusionPolicy::Honor)
                    .then(|| spec.tolerations.clone()),
            };
            let group = Group {
                key: constraint.topology_key.clone(),
                rule: Rule::Spread {
                    max_skew: constraint.max_skew,
                    min_domains: constraint.min_domains,
                },
                selector: constraint.selector.clone(),
                namespaces: vec![shape.namespace.clone()],
                namespace_selector: None,
                filter: Some(filter),
            };
            // A soft spread weighs like the scheduler's default score plugin beside preferences of
            // 100.
            owned.push((self.id(index, group), if is_soft { 100 } else { 0 }));
        }
        if respect {
            for preferred in &spec.preferred_pod_affinity {
                let group = pod_group(&preferred.term, Rule::Affinity);
                owned.push((self.id(index, group), preferred.weight.max(1)));
            }
            for preferred in &spec.preferred_pod_anti_affinity {
                let group = pod_group(&preferred.term, Rule::AntiAffinity);
                owned.push((self.id(index, group), preferred.weight.max(1)));
            }
        }
        owned
    }
}

/// Keys of the pod's spreads that are as hard, but for the host name, which every Node has.
fn keys_of(spec: &PodSpec, when_unsatisfiable: WhenUnsatisfiable) -> Vec<Text> {
    let alike = spec.topology_spread.iter();
    let alike = alike.filter(|own| own.when_unsatisfiable == when_unsatisfiable);
    let mut keys: Vec<Text> = alike.map(|own| own.topology_key.clone()).collect();
    keys.retain(|key| &**key != label::HOSTNAME);
    keys.sort();
    keys.dedup();
    keys
}

fn pod_group(term: &PodAffinityTerm, rule: Rule) -> Group {
    Group {
        key: term.topology_key.clone(),
        rule,
        selector: term.selector.clone(),
        namespaces: term.namespaces.clone(),
        namespace_selector: term.namespace_selector.clone(),
        filter: None,
    }
}
