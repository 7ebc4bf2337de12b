//! Where each pod goes: onto a node that is there, or into which domains of which new nodes.
//!
//! Pods are taken by priority, then largest first. A pod that some existing node accepts goes
//! there. Any other pod becomes an item for packing; where topology ties it to other pods, its
//! domains are pinned here, one pod after the other, so that packing concerns single nodes only.

mod counted;
mod even;
mod existing;
mod followers;
mod kube_scheduler;
mod leaders;
mod least_by_zone;
mod nominated;
mod nominations;
mod pin;
mod placer;
mod preference;
mod render;
mod rivals;
mod zone_choice;
mod zone_exchange;
mod zone_price;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::feasibility::domains::pinned_keys;
use crate::feasibility::host::host_affinity;
use crate::feasibility::state::{PodsOn, TopologyDomain};
use crate::ids::{GroupIx, IndexVec, NodeIx, PodIx, PoolIx, ShapeIx};
use crate::work::Item;
use followers::FOLLOWING_MAX;
pub(crate) use kube_scheduler::{Scored, UpcomingNode};
pub(crate) use pin::Choice;
pub(crate) use placer::{Cap, Placements, Placer, Precedence};
use preference::Preferred;

/// An item that gets the next pod of its shape too is searched among this many of the latest.
const RECENT_ITEMS: usize = 64;

impl Placer<'_, '_> {
    /// Finds a place for each pod. `pods` may come in any order.
    pub(crate) fn place(&mut self, pods: &[PodIx]) -> Placements {
        self.place_while(pods, |_| true).unwrap_or_default()
    }

    /// Finds a place on an existing node for each pod; `None` where one is left without, as soon as
    /// that is known. Then the state means nothing.
    pub(crate) fn place_on_existing(&mut self, pods: &[PodIx]) -> Option<Vec<(PodIx, NodeIx)>> {
        let Placements { placed, failed, .. } = self.place_while(pods, <[Item]>::is_empty)?;
        failed.is_empty().then_some(placed)
    }

    /// Finds a place for each pod; `None` as soon as what has to go to new nodes is not wanted any
    /// more. More may be added to these items, and others, but none is taken away.
    pub(crate) fn place_while(
        &mut self,
        pods: &[PodIx],
        mut is_wanted: impl FnMut(&[Item]) -> bool,
    ) -> Option<Placements> {
        let mut queue = self.queue(pods);
        let mut placements = Placements::default();
        self.following_left = FOLLOWING_MAX;
        // A pod that must join another may come before it: repeat until nothing moves any more.
        loop {
            let count = |queue: &[(ShapeIx, Vec<PodIx>)]| -> usize {
                queue.iter().map(|(_, pods)| pods.len()).sum()
            };
            let before = count(&queue);
            self.note_followers(&queue);
            let priority = |shape: ShapeIx| self.model.shape(shape).spec.priority;
            for equal in queue.chunk_by_mut(|a, b| priority(a.0) == priority(b.0)) {
                for (shape, pods) in equal.iter_mut() {
                    self.fill_expected(*shape, pods, &mut placements);
                }
                for (shape, pods) in equal {
                    let left = self.place_shape(*shape, std::mem::take(pods), &mut placements);
                    if !is_wanted(&placements.items) {
                        self.waiting.clear();
                        return None;
                    }
                    if !left.is_empty() {
                        self.waiting.push((*shape, left));
                    }
                }
            }
            let waiting = std::mem::take(&mut self.waiting);
            if waiting.is_empty() || count(&waiting) == before {
                placements.failed.extend(waiting.into_iter().flat_map(|(_, pods)| pods));
                return Some(placements);
            }
            queue = waiting;
        }
    }

    /// Pods by shape, in the order in which they are placed. What has no shape is left out.
    fn queue(&mut self, pods: &[PodIx]) -> Vec<(ShapeIx, Vec<PodIx>)> {
        let shape = |pod: PodIx| self.model.shapes.of_pod[pod];
        let place = |pod: PodIx| Some((shape(pod)?, self.model.key_rank(pod)));
        let mut shaped: Vec<((ShapeIx, usize), PodIx)> =
            pods.iter().filter_map(|pod| Some((place(*pod)?, *pod))).collect();
        shaped.sort_by_key(|(place, _)| *place);
        let alike = shaped.chunk_by(|((a, _), _), ((b, _), _)| a == b);
        let of_shape = |own: &[((ShapeIx, usize), PodIx)]| {
            let ((shape, _), _) = own[0];
            (shape, own.iter().map(|(_, pod)| *pod).collect())
        };
        let mut queue: Vec<(ShapeIx, Vec<PodIx>)> = alike.map(of_shape).collect();
        let ranks = self.shape_ranks();
        queue.sort_by_key(|(shape, pods)| (ranks[*shape], self.model.key_rank(pods[0])));
        queue
    }

    /// Numbers by which shapes compare as [`Self::order`] has it; worked out once.
    fn shape_ranks(&mut self) -> Arc<IndexVec<ShapeIx, usize>> {
        if let Some(known) = &self.shape_ranks {
            return Arc::clone(known);
        }
        let mut order: Vec<ShapeIx> = self.model.shapes.list.indices().collect();
        order.sort_by(|a, b| self.order(*a, *b));
        let mut ranks = IndexVec::filled(0, order.len());
        for (rank, equal) in order.chunk_by(|a, b| self.order(*a, *b).is_eq()).enumerate() {
            for shape in equal {
                ranks[*shape] = rank;
            }
        }
        Arc::clone(self.shape_ranks.insert(Arc::new(ranks)))
    }

    /// Finds new nodes for pods, whatever room existing nodes have.
    pub(crate) fn place_on_new_nodes(&mut self, pods: &[PodIx]) -> Placements {
        let all = IndexVec::filled(true, self.state.closed.len());
        let closed = std::mem::replace(&mut self.state.closed, all);
        let placements = self.place(pods);
        self.state.closed = closed;
        placements
    }

    /// Priority first, then what takes precedence, then those whose spread counts pods that do not
    /// carry it, then the larger, so that what is hard to place is placed while there is room. Of
    /// equally large ones those come last that would rather be near others, or away from them.
    fn order(&self, a: ShapeIx, b: ShapeIx) -> Ordering {
        let Precedence { shapes, domains, smaller_first, .. } = &self.precedence;
        let domains = |shape| domains.get(&shape).copied().unwrap_or(usize::MAX);
        let (own_a, own_b) = (self.model.shape(a), self.model.shape(b));
        let by_size = own_b.requests[..2]
            .cmp(&own_a.requests[..2])
            .then_with(|| own_b.requests.cmp(&own_a.requests));
        own_b
            .spec
            .priority
            .cmp(&own_a.spec.priority)
            .then_with(|| shapes.contains(&b).cmp(&shapes.contains(&a)))
            .then_with(|| domains(a).cmp(&domains(b)))
            .then_with(|| self.topology.leads(b).cmp(&self.topology.leads(a)))
            .then(if *smaller_first { by_size.reverse() } else { by_size })
            .then_with(|| self.topology.minds_others(a).cmp(&self.topology.minds_others(b)))
    }

    /// Whether pods that must share a host had better have a node of their own: they take
    /// precedence, none has a place, and no node has room for all of them.
    fn wants_host_of_its_own(&mut self, shape: ShapeIx, pods: usize) -> bool {
        if !self.precedence.shapes.contains(&shape) {
            return false;
        }
        let mut groups = host_affinity(self.topology, shape);
        let is_first = |(group, may_be_first): (GroupIx, bool)| {
            may_be_first && self.state.matched[group].is_empty()
        };
        if !groups.any(is_first) {
            return false;
        }
        let requests = &self.model.shape(shape).requests;
        let nodes = self.allowed_nodes(shape);
        let mut open = nodes.iter().copied().filter(|node| !self.state.closed[*node]);
        !open.any(|node| self.state.room_for(self.model, node, requests) as usize >= pods)
    }

    /// Returns the pods that found no place.
    fn place_shape(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        let own = self.model.shape(shape);
        if own.is_never_schedulable() {
            return pods;
        }
        let pods = self.place_wanted(shape, pods, placements);
        let rest = if self.wants_host_of_its_own(shape, pods.len()) {
            pods
        } else {
            self.fill_existing(shape, pods, placements)
        };
        if rest.is_empty() || own.unschedulable.is_some() {
            return rest;
        }
        if !self.may_follow_to_new_nodes(shape) {
            return rest;
        }
        let keys = pinned_keys(self.topology, shape, self.soft_spread);
        // Pods that compete for a volume are taken one by one, like those under constraints between
        // pods.
        if keys.is_empty() && own.volumes.exclusive.is_empty() {
            let Some(Preferred { conjunction, fit, .. }) = self.unpinned(shape) else {
                return rest;
            };
            placements.items.push(Item { shape, conjunction, fit, pods: rest });
            self.on_new_nodes.entry(shape).or_default();
            return Vec::new();
        }
        let mut failed = Vec::new();
        for pod in rest {
            // A pod pinned before may have opened a domain of an existing node to this one.
            if let Some(node) = self.place_on_best(shape) {
                placements.placed.push((pod, node));
                self.place_followers(shape, placements);
            } else if let Some(choice) = self.choose(shape, &keys, None) {
                self.pin(shape, pod, choice, placements);
                self.place_followers(shape, placements);
            } else {
                failed.push(pod);
            }
        }
        failed
    }

    /// Counts a pod in the domains chosen for it, and makes it an item or part of one.
    fn pin(&mut self, shape: ShapeIx, pod: PodIx, choice: Choice, placements: &mut Placements) {
        self.count_on_new_node(shape, &choice, choice.fit.pools[0].pool);
        *self.assigned.entry((shape, choice.conjunction)).or_default() += 1;
        self.on_new_nodes.entry(shape).or_default().extend(choice.pins.iter().cloned());
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

    /// Counts a pod in the domains chosen for it, on a new node of the pool.
    pub(crate) fn count_on_new_node(&mut self, shape: ShapeIx, choice: &Choice, pool: PoolIx) {
        let selected_by = &self.topology.constraints[shape].selected_by;
        let left_out: Vec<GroupIx> = selected_by
            .iter()
            .copied()
            .filter(|group| !self.counts_new_node(shape, *group, (choice.conjunction, pool)))
            .collect();
        for (key, domain) in &choice.pins {
            let domain = TopologyDomain { key, value: domain };
            let is_counted = |group: GroupIx| !left_out.contains(&group);
            self.state.count_new(self.topology, shape, domain, &is_counted);
        }
        let exclusive = &self.model.shape(shape).volumes.exclusive;
        self.state.exclusive.extend(exclusive.iter().cloned());
    }

    /// Gives one more pod of the shape the best place that nodes that are there have.
    pub(crate) fn place_on_best(&mut self, shape: ShapeIx) -> Option<NodeIx> {
        let node = self.best_existing(shape)?;
        self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
        Some(node)
    }
}
