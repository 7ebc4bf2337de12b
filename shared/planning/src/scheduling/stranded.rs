//! Pods of new nodes that could never start there, since they wait for each other.
//!
//! Placing counts a pod in the domain chosen for it, and packing gives it a host. A pod that must
//! share a host with one that must be near it in turn finds all it needs in that plan, and yet
//! neither can be the first. Whether pods can come one after the other shows only of all of them
//! together, once each has a node.

use std::cmp::Reverse;

use domain::Text;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx};
use crate::packing::Packing;
use crate::work::NewNode;

/// Where pods are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// On a node that is there.
    Existing(NodeIx),
    /// On a node to launch, by its number.
    New(usize),
}

/// A topology domain, or a node of which the domain is not settled.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Domain {
    Named(Text),
    Of(Place),
}

/// Pods of one shape in one place.
struct Crowd {
    shape: ShapeIx,
    place: Place,
    pods: Vec<PodIx>,
}

/// Takes pods off the nodes to launch that could never start there; they are left then. `before`
/// is the state in which none of the pods was placed, `placed` names pods on nodes that are there.
///
/// Nothing is looked at unless some pod has a required affinity. Work grows with shapes on nodes.
pub(super) fn take_off_stranded(
    scope: Scope,
    before: &State,
    placed: &[(PodIx, NodeIx)],
    (packing, limits): (&mut Packing, &mut Limits),
) {
    let model = scope.model;
    let shapes =
        || packing.nodes.iter().flat_map(|node| &node.members).filter_map(|own| own.pods.first());
    let mut shapes = shapes().filter_map(|pod| model.shapes.of_pod[*pod]);
    if !shapes.any(|shape| affinity(scope, shape).next().is_some()) {
        return;
    }
    let crowds = crowds(scope, placed, &packing.nodes);
    let stranded = Arrivals::new(scope, before, &packing.nodes, &crowds).stranded();
    let stranded: FxHashSet<PodIx> =
        stranded.into_iter().flat_map(|own| own.pods.iter().copied()).collect();
    if stranded.is_empty() {
        return;
    }
    for node in &mut packing.nodes {
        take_off(scope, node, &stranded, &mut packing.left);
    }
    packing.nodes.retain(|node| {
        if node.members.is_empty() {
            limits.give_back(node.pool, &model.pools[node.pool].types[node.type_index].capacity);
        }
        !node.members.is_empty()
    });
}

fn take_off(scope: Scope, node: &mut NewNode, stranded: &FxHashSet<PodIx>, left: &mut Vec<PodIx>) {
    let model = scope.model;
    for member in &mut node.members {
        let (gone, rest) = member.pods.iter().partition(|pod| stranded.contains(pod));
        member.pods = rest;
        for pod in gone {
            left.push(pod);
            let Some(shape) = model.shapes.of_pod[pod] else { continue };
            for (sum, amount) in node.requests.iter_mut().zip(&model.shape(shape).requests) {
                *sum -= amount;
            }
        }
    }
    node.members.retain(|member| !member.pods.is_empty());
}

/// Groups of required affinity that a shape carries.
fn affinity<'s>(scope: Scope<'s, '_>, shape: ShapeIx) -> impl Iterator<Item = GroupIx> + 's {
    let topology = scope.topology;
    let owned = topology.constraints[shape].owned.iter().filter(|owned| owned.weight == 0);
    owned.map(|owned| owned.group).filter(|group| topology.groups[*group].rule == Rule::Affinity)
}

/// All pods by shape and place, in the order of the places.
fn crowds(scope: Scope, placed: &[(PodIx, NodeIx)], nodes: &[NewNode]) -> Vec<Crowd> {
    let mut crowds: Vec<Crowd> = Vec::new();
    let mut numbers: FxHashMap<(ShapeIx, Place), usize> = FxHashMap::default();
    let existing = placed.iter().map(|(pod, node)| (*pod, Place::Existing(*node)));
    let new = nodes.iter().enumerate().flat_map(|(number, node)| {
        let pods = node.members.iter().flat_map(|member| member.pods.iter().copied());
        pods.map(move |pod| (pod, Place::New(number)))
    });
    for (pod, place) in existing.chain(new) {
        let Some(shape) = scope.model.shapes.of_pod[pod] else { continue };
        let number = *numbers.entry((shape, place)).or_insert(crowds.len());
        if number == crowds.len() {
            crowds.push(Crowd { shape, place, pods: Vec::new() });
        }
        crowds[number].pods.push(pod);
    }
    crowds
}

/// Pods that come one after the other, each as soon as all that it requires near it is there.
struct Arrivals<'s, 'm, 'a> {
    scope: Scope<'m, 'a>,
    before: &'s State,
    nodes: &'s [NewNode],
    /// By group, the domains in which a pod is that it selects.
    reached: FxHashSet<(GroupIx, Domain)>,
    /// Groups that a pod started which found nobody.
    started: FxHashSet<Vec<GroupIx>>,
    waiting: Vec<&'s Crowd>,
}

impl<'s, 'm, 'a> Arrivals<'s, 'm, 'a> {
    fn new(
        scope: Scope<'m, 'a>,
        before: &'s State,
        nodes: &'s [NewNode],
        crowds: &'s [Crowd],
    ) -> Self {
        let mut reached = FxHashSet::default();
        for (group, counts) in before.matched.iter_enumerated() {
            let named = counts.by_domain.keys().map(|name| Domain::Named(name.clone()));
            let hosts = counts.by_node.keys().map(|node| Domain::Of(Place::Existing(*node)));
            reached.extend(named.chain(hosts).map(|domain| (group, domain)));
        }
        let (started, waiting) = (FxHashSet::default(), crowds.iter().collect());
        Self { scope, before, nodes, reached, started, waiting }
    }

    /// Pods for new nodes that cannot come.
    fn stranded(mut self) -> Vec<&'s Crowd> {
        loop {
            let count = self.waiting.len();
            let waiting = std::mem::take(&mut self.waiting);
            for crowd in waiting {
                if self.unmet(crowd).next().is_none() {
                    self.arrive(crowd);
                } else {
                    self.waiting.push(crowd);
                }
            }
            if self.waiting.len() < count {
                continue;
            }
            let Some(first) = self.first() else { break };
            self.started.insert(affinity(self.scope, first.shape).collect());
            self.waiting.retain(|crowd| !std::ptr::eq(*crowd, first));
            self.arrive(first);
        }
        self.waiting.retain(|crowd| matches!(crowd.place, Place::New(_)));
        self.waiting
    }

    fn arrive(&mut self, crowd: &Crowd) {
        let selected_by = &self.scope.topology.constraints[crowd.shape].selected_by;
        for group in selected_by.iter().copied() {
            let domains = self.domains(group, crowd.place);
            self.reached.extend(domains.into_iter().map(|domain| (group, domain)));
        }
    }

    /// The domain of a place, and the place itself for pods on one node whose domain is open.
    fn domains(&self, group: GroupIx, place: Place) -> Vec<Domain> {
        let own = &self.scope.topology.groups[group];
        if own.is_by_host() {
            return vec![Domain::Of(place)];
        }
        let named = match place {
            Place::Existing(node) => {
                let number = self.scope.topology.domain_of(group, node);
                number.map(|number| self.scope.topology.domain_name(group, number).clone())
            }
            Place::New(number) => self.label(&self.nodes[number], &own.key),
        };
        [Some(Domain::Of(place)), named.map(Domain::Named)].into_iter().flatten().collect()
    }

    /// The value that a node's label is sure to have.
    fn label(&self, node: &NewNode, key: &Text) -> Option<Text> {
        let Scope { model, memo, .. } = self.scope;
        let sets = memo.sets();
        let required = node.members.iter().find_map(|member| {
            let rules = sets.rules(member.conjunction);
            let rule = rules.iter().find(|rule| rule.key == *key && !rule.may_be_absent)?;
            sets.get(rule.set).single().cloned()
        });
        required.or_else(|| model.pools[node.pool].fixed_label(key).cloned())
    }

    /// Groups of which nobody has come where the pods are.
    fn unmet(&self, crowd: &Crowd) -> impl Iterator<Item = GroupIx> {
        let is_met = |group: GroupIx| {
            let domains = self.domains(group, crowd.place).into_iter();
            domains.map(|domain| (group, domain)).any(|own| self.reached.contains(&own))
        };
        affinity(self.scope, crowd.shape).filter(move |group| !is_met(*group))
    }

    /// Pods of which one may be the first of its group: preferably such that nobody who still waits
    /// could help, then the most.
    fn first(&self) -> Option<&'s Crowd> {
        let able = self.waiting.iter().copied().filter(|crowd| self.may_be_first(crowd));
        able.min_by_key(|crowd| (self.may_be_helped(crowd), Reverse(crowd.pods.len())))
    }

    fn may_be_first(&self, crowd: &Crowd) -> bool {
        let groups: Vec<GroupIx> = affinity(self.scope, crowd.shape).collect();
        let owned = &self.scope.topology.constraints[crowd.shape].owned;
        let mut own = owned.iter().filter(|owned| groups.contains(&owned.group));
        own.all(|owned| owned.may_be_first && self.before.matched[owned.group].is_empty())
            && !self.started.contains(&groups)
    }

    /// Whether others that wait meet everything that the pods lack.
    fn may_be_helped(&self, crowd: &Crowd) -> bool {
        self.unmet(crowd).all(|group| {
            let domains = self.domains(group, crowd.place);
            self.waiting.iter().any(|other| {
                let is_selected =
                    self.scope.topology.constraints[other.shape].selected_by.contains(&group);
                let is_there =
                    || self.domains(group, other.place).iter().any(|own| domains.contains(own));
                !std::ptr::eq(*other, crowd) && is_selected && is_there()
            })
        })
    }
}
