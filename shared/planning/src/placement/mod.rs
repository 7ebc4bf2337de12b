//! Where each pod goes: onto a node that is there, or into which domains of which new nodes.
//!
//! Pods are taken by priority, then largest first. A pod that some existing node accepts goes there.
//! Any other pod becomes an item for packing; where topology ties it to other pods, its domains are
//! pinned here, one pod after the other, so that packing has only to look at single nodes.

mod existing;
mod expected;
mod kube_scheduler;
mod pin;
mod preference;
mod ties;
mod why;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use domain::Text;
use domain::taint::Toleration;
use rustc_hash::FxHashMap;

use crate::feasibility::domains::pinned_keys;
use crate::feasibility::fit::{Fit, fit};
use crate::feasibility::state::State;
use crate::feasibility::topology::SoftSpread;
use crate::feasibility::topology::Topology;
use crate::ids::{GroupIx, IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::placement::expected::Expected;
use crate::placement::pin::Choice;
use crate::placement::preference::Preferred;
use crate::work::Item;
pub(crate) use kube_scheduler::{Scored, UpcomingNode};

/// What became of the pods.
#[derive(Default)]
pub(crate) struct Placements {
    /// Pod and node.
    pub(crate) placed: Vec<(PodIx, NodeIx)>,
    /// Pods for new nodes.
    pub(crate) items: Vec<Item>,
    /// Pods without a place.
    pub(crate) failed: Vec<PodIx>,
}

impl Placements {
    /// Adds what became of others.
    pub(crate) fn extend(&mut self, other: Self) {
        self.placed.extend(other.placed);
        self.items.extend(other.items);
        self.failed.extend(other.failed);
    }
}

/// What decides which nodes admit a shape: ways of meeting its requirements, and tolerations.
type AllowedKey = (Vec<ConjunctionId>, Vec<Toleration>);

/// Finds places for pods.
pub(crate) struct Placer<'m, 'a> {
    model: &'m Model<'a>,
    topology: &'m Topology,
    /// Whether spreads that need not hold settle where nodes are launched.
    pub(crate) soft_spread: SoftSpread,
    /// What has changed so far: pods placed count.
    pub(crate) state: State,
    fits: FxHashMap<(ShapeIx, ConjunctionId), Rc<Fit>>,
    allowed: FxHashMap<AllowedKey, Rc<Vec<NodeIx>>>,
    /// By node, its place in the order in which pods try nodes; empty for the model's order.
    rank: IndexVec<NodeIx, usize>,
    /// Pods that are expected on a node that is there, and on which.
    expected: Expected,
    /// By node, what its score for a pod is worked out from.
    scored: Option<Rc<IndexVec<NodeIx, [i64; 2]>>>,
    eligible: FxHashMap<(ShapeIx, GroupIx), Rc<Vec<Text>>>,
    domains: FxHashMap<(ShapeIx, Text), Rc<Vec<Text>>>,
    /// At most so many pods of a shape for new nodes of one kind: more could not be launched.
    caps: FxHashMap<(ShapeIx, ConjunctionId), usize>,
    /// How many pods are items already, by shape and kind of node.
    assigned: FxHashMap<(ShapeIx, ConjunctionId), usize>,
}

/// An item that gets the next pod of its shape too is looked for among so many of the latest.
const RECENT_ITEMS: usize = 64;

impl<'m, 'a> Placer<'m, 'a> {
    /// Starts from a state.
    pub(crate) fn new(model: &'m Model<'a>, topology: &'m Topology, state: State) -> Self {
        Self {
            model,
            topology,
            soft_spread: SoftSpread::Required,
            state,
            fits: FxHashMap::default(),
            allowed: FxHashMap::default(),
            rank: IndexVec::new(),
            scored: None,
            expected: Expected::of(model),
            eligible: FxHashMap::default(),
            domains: FxHashMap::default(),
            caps: FxHashMap::default(),
            assigned: FxHashMap::default(),
        }
    }

    /// Starts over from another state, keeping what was worked out about shapes.
    pub(crate) fn reset(&mut self, state: State) {
        self.state = state;
        self.assigned.clear();
    }

    /// Has pods try existing nodes in this order, before those that are not listed.
    pub(crate) fn prefer(&mut self, order: Vec<NodeIx>) {
        let mut rank = IndexVec::filled(usize::MAX, self.model.nodes.len());
        for (place, node) in order.into_iter().enumerate() {
            rank[node] = place;
        }
        self.rank = rank;
        self.allowed.clear();
    }

    /// The least that a pod of the shape costs on a new node, in nano-USD an hour; 0 where none hosts it.
    pub(crate) fn value(&mut self, shape: ShapeIx) -> f64 {
        let ways = self.model.shape(shape).alternatives.clone();
        let values = ways.into_iter().map(|way| self.fit(shape, way).value(self.model));
        Some(values.fold(f64::INFINITY, f64::min)).filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// Starts over with other soft_spread, forgetting what packings taught.
    pub(crate) fn reset_with(&mut self, soft_spread: SoftSpread, state: State) {
        self.reset(state);
        self.caps.clear();
        self.soft_spread = soft_spread;
    }

    /// Learns from a packing that left pods of pinned items: next time no more are pinned there than found
    /// a node. Returns whether there was anything to learn.
    pub(crate) fn cap(&mut self, items: &[Item], left: &[PodIx]) -> bool {
        let left: BTreeSet<PodIx> = left.iter().copied().collect();
        let mut has_learnt = false;
        for item in items {
            if pinned_keys(self.topology, item.shape, self.soft_spread).is_empty() {
                continue;
            }
            let key = (item.shape, item.conjunction);
            let missing = item.pods.iter().filter(|pod| left.contains(pod)).count();
            if missing > 0 {
                let assigned = self.assigned.get(&key).copied().unwrap_or(0);
                let cap = self.caps.entry(key).or_insert(assigned);
                *cap = cap.saturating_sub(missing);
                has_learnt = true;
            }
        }
        has_learnt
    }

    /// Whether one more pod of the shape may ask for a new node of the kind.
    fn may_add_pod(&self, shape: ShapeIx, conjunction: ConjunctionId) -> bool {
        let key = (shape, conjunction);
        self.caps.get(&key).is_none_or(|cap| self.assigned.get(&key).copied().unwrap_or(0) < *cap)
    }

    /// Finds a place for each pod. `pods` may come in any order.
    pub(crate) fn place(&mut self, pods: &[PodIx]) -> Placements {
        let mut by_shape: BTreeMap<ShapeIx, Vec<PodIx>> = BTreeMap::new();
        for pod in pods {
            if let Some(shape) = self.model.shapes.of_pod[*pod] {
                by_shape.entry(shape).or_default().push(*pod);
            }
        }
        let mut queue: Vec<(ShapeIx, Vec<PodIx>)> = by_shape.into_iter().collect();
        for (_, pods) in &mut queue {
            pods.sort_by(|a, b| self.model.pod(*a).key.cmp(&self.model.pod(*b).key));
        }
        queue.sort_by(|a, b| {
            self.order(a.0, b.0)
                .then_with(|| self.model.pod(a.1[0]).key.cmp(&self.model.pod(b.1[0]).key))
        });
        let mut placements = Placements::default();
        // A pod that must join another may come before it: go round until nothing moves any more.
        loop {
            let mut waiting = Vec::new();
            let mut has_moved = false;
            let priority = |shape: ShapeIx| self.model.shape(shape).spec.priority;
            for equal in queue.chunk_by_mut(|a, b| priority(a.0) == priority(b.0)) {
                for (shape, pods) in equal.iter_mut() {
                    let count = pods.len();
                    self.fill_expected(*shape, pods, &mut placements);
                    has_moved |= pods.len() < count;
                }
                for (shape, pods) in equal {
                    let count = pods.len();
                    let left = self.place_shape(*shape, std::mem::take(pods), &mut placements);
                    has_moved |= left.len() < count;
                    if !left.is_empty() {
                        waiting.push((*shape, left));
                    }
                }
            }
            if waiting.is_empty() || !has_moved {
                placements.failed.extend(waiting.into_iter().flat_map(|(_, pods)| pods));
                return placements;
            }
            queue = waiting;
        }
    }

    /// The same for pods that are to have new nodes whatever room there is on others.
    pub(crate) fn place_on_new_nodes(&mut self, pods: &[PodIx]) -> Placements {
        let all = IndexVec::filled(true, self.state.closed.len());
        let closed = std::mem::replace(&mut self.state.closed, all);
        let placements = self.place(pods);
        self.state.closed = closed;
        placements
    }

    /// Priority first, then the larger, so that what is hard to place is placed while there is room.
    fn order(&self, a: ShapeIx, b: ShapeIx) -> Ordering {
        let (a, b) = (self.model.shape(a), self.model.shape(b));
        b.spec
            .priority
            .cmp(&a.spec.priority)
            .then_with(|| b.requests[..2].cmp(&a.requests[..2]))
            .then_with(|| b.requests.cmp(&a.requests))
    }

    /// Returns the pods that found no place.
    fn place_shape(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        let own = self.model.shape(shape);
        if own.goes_nowhere() {
            return pods;
        }
        let rest = self.fill_existing(shape, pods, placements);
        if rest.is_empty() || own.hopeless.is_some() {
            return rest;
        }
        let keys = pinned_keys(self.topology, shape, self.soft_spread);
        // Pods that fight over a volume are taken one by one, as those that look at each other are.
        if keys.is_empty() && own.volumes.exclusive.is_empty() {
            let Some(Preferred { conjunction, fit, .. }) = self.unpinned(shape) else {
                return rest;
            };
            placements.items.push(Item { shape, conjunction, fit, pods: rest });
            return Vec::new();
        }
        let mut failed = Vec::new();
        for pod in rest {
            // A pod pinned before may have opened a domain of an existing node to this one.
            if let Some(node) = self.best_existing(shape) {
                self.state.place(self.model, self.topology, shape, node, 1);
                placements.placed.push((pod, node));
            } else if let Some(choice) = self.choose(shape, &keys) {
                self.pin(shape, pod, choice, placements);
            } else {
                failed.push(pod);
            }
        }
        failed
    }

    /// Counts a pod in the domains chosen for it, and makes it an item or part of one.
    fn pin(&mut self, shape: ShapeIx, pod: PodIx, choice: Choice, placements: &mut Placements) {
        let pool = &self.model.pools[choice.fit.pools[0].pool];
        for (key, domain) in &choice.pins {
            let taints = &pool.node_pool.template.taints;
            self.state.count_new(self.topology, shape, (key, domain), taints);
        }
        let exclusive = &self.model.shape(shape).volumes.exclusive;
        self.state.exclusive.extend(exclusive.iter().cloned());
        *self.assigned.entry((shape, choice.conjunction)).or_default() += 1;
        let mut recent = placements.items.iter_mut().rev().take(RECENT_ITEMS);
        let known =
            recent.find(|item| item.shape == shape && item.conjunction == choice.conjunction);
        match known {
            Some(item) => item.pods.push(pod),
            None => placements.items.push(Item {
                shape,
                conjunction: choice.conjunction,
                fit: choice.fit,
                pods: vec![pod],
            }),
        }
    }

    /// Where a new node could come from; worked out once.
    fn fit(&mut self, shape: ShapeIx, conjunction: ConjunctionId) -> Rc<Fit> {
        if let Some(known) = self.fits.get(&(shape, conjunction)) {
            return known.clone();
        }
        let found = Rc::new(fit(self.model, self.model.shape(shape), conjunction));
        self.fits.insert((shape, conjunction), found.clone());
        found
    }
}
