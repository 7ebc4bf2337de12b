//! Pods that must share a host with others: they wait until one of those has a place, and nodes
//! with room for them are chosen first.
//!
//! Without, pods go where they fit first, and those that must join them find these nodes full.

use std::collections::BTreeSet;

use domain::Text;

use super::placer::{Placements, Placer};
use crate::feasibility::host::host_affinity;
use crate::feasibility::node::admits;
use crate::feasibility::state::room_for;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx};

/// Shapes for which room is sought beside a pod, at most.
const FOLLOWERS_MAX: usize = 8;

/// Waiting pods are tried again while others find their places, this often at most.
pub(super) const FOLLOWING_MAX: u32 = 1024;

/// Pods of one shape that wait.
type Waiting = (ShapeIx, Vec<PodIx>);

impl Placer<'_, '_> {
    /// Notes which of the pods to place must share a host with others.
    pub(super) fn note_followers(&mut self, queue: &[Waiting]) {
        let must_follow = |shape: ShapeIx| host_affinity(self.topology, shape).next().is_some();
        let count = |pods: &[PodIx]| u32::try_from(pods.len()).unwrap_or(u32::MAX);
        let following = queue.iter().filter(|(shape, _)| must_follow(*shape));
        self.following = following.map(|(shape, pods)| (*shape, count(pods))).collect();
    }

    /// Whether new nodes can have pods that those of the shape must share a host with: the first of
    /// a group, or one that is to go there too.
    pub(super) fn may_follow_to_new_nodes(&self, shape: ShapeIx) -> bool {
        host_affinity(self.topology, shape).all(|(group, may_be_first)| {
            let is_selected =
                |other: &ShapeIx| self.topology.constraints[*other].selected_by.contains(&group);
            may_be_first && self.state.matched[group].is_empty()
                || self.on_new_nodes.keys().any(is_selected)
        })
    }

    /// Of those domains, the ones in which the pods may be that one of the shape must share a host
    /// with. A pod whose domain is chosen before its host would else be sent where none of these
    /// can be. Domains that were chosen for these count where one of them will do; of pods that
    /// seek the same ones, and so open no second host, they count alone. A pod may be the first of
    /// them unless one that has a domain seeks the same ones, or it: whichever comes later must
    /// join.
    pub(super) fn within_reach_of_hosts(
        &mut self,
        shape: ShapeIx,
        key: &Text,
        mut domains: Vec<Text>,
    ) -> Vec<Text> {
        let groups: Vec<(GroupIx, bool)> = host_affinity(self.topology, shape).collect();
        for (group, may_be_first) in groups {
            let is_selected =
                |other: &ShapeIx| self.topology.constraints[*other].selected_by.contains(&group);
            let selected: Vec<ShapeIx> =
                self.on_new_nodes.keys().copied().filter(is_selected).collect();
            let seeks_the_same =
                |other: ShapeIx| host_affinity(self.topology, other).any(|(own, _)| own == group);
            let comes_before =
                |other: &ShapeIx| seeks_the_same(*other) || self.seeks(*other, shape);
            let is_first = !selected.iter().any(comes_before);
            if may_be_first && is_first && self.state.matched[group].is_empty() {
                continue;
            }
            let (mut chosen, mut possible) = (BTreeSet::new(), BTreeSet::new());
            for other in selected {
                let pins = self.on_new_nodes[&other].iter().filter(|(own, _)| own == key);
                let pinned: Vec<Text> = pins.map(|(_, domain)| domain.clone()).collect();
                let is_pinned = !pinned.is_empty();
                chosen.extend(pinned);
                if is_pinned && seeks_the_same(other) {
                    continue;
                }
                let own = self.launchable(other, key);
                if !is_pinned {
                    chosen.extend(own.iter().cloned());
                }
                possible.extend(own.iter().cloned());
            }
            let is_settled = possible.is_empty() && !chosen.is_empty();
            let is_reached = |all: &BTreeSet<Text>| domains.iter().any(|own| all.contains(own));
            match [chosen, possible].into_iter().find(is_reached) {
                Some(reached) => domains.retain(|domain| reached.contains(domain)),
                None if is_settled => domains.clear(),
                None => {}
            }
        }
        domains
    }

    /// Whether pods of a shape require ones of the other near them.
    fn seeks(&self, shape: ShapeIx, other: ShapeIx) -> bool {
        let selected_by = &self.topology.constraints[other].selected_by;
        self.topology.constraints[shape].owned.iter().any(|owned| {
            let rule = self.topology.groups[owned.group].rule;
            owned.weight == 0 && rule == Rule::Affinity && selected_by.contains(&owned.group)
        })
    }

    /// Pods that could join one of the shape on its host, by shape.
    pub(super) fn followers_of(&self, shape: ShapeIx) -> Vec<(ShapeIx, u32)> {
        let selected_by = &self.topology.constraints[shape].selected_by;
        if selected_by.is_empty() {
            return Vec::new();
        }
        let is_open = |own: ShapeIx| {
            let mut groups = host_affinity(self.topology, own);
            // Of its own kind, only the first chooses the host of all.
            groups.any(|(group, _)| {
                let is_first = self.state.matched[group].is_empty();
                selected_by.contains(&group) && (own != shape || is_first)
            })
        };
        let others = |(own, count): &(ShapeIx, u32)| (*own, count - u32::from(*own == shape));
        let following = self.following.iter().filter(|(own, _)| is_open(*own));
        following.take(FOLLOWERS_MAX).map(others).collect()
    }

    /// How many of the followers have room on the node beside a pod of the shape.
    pub(super) fn followers_beside(
        &self,
        shape: ShapeIx,
        node: NodeIx,
        followers: &[(ShapeIx, u32)],
    ) -> u32 {
        if followers.is_empty() {
            return 0;
        }
        let requests = &self.model.shape(shape).requests;
        let free = self.state.free(self.model, node);
        let mut free: Vec<i64> = free.iter().zip(requests).map(|(free, own)| free - own).collect();
        let mut beside = 0;
        for (follower, waiting) in followers {
            let own = self.model.shape(*follower);
            if admits(self.model, own, &self.model.nodes[node]).is_err() {
                continue;
            }
            let count = room_for(&free, &own.requests).min(*waiting);
            for (free, amount) in free.iter_mut().zip(&own.requests) {
                *free -= amount * i64::from(count);
            }
            beside += count;
        }
        beside
    }

    /// Tries pods that wait again after one of the shape was placed, if that bears on them.
    pub(super) fn place_followers(&mut self, placed: ShapeIx, placements: &mut Placements) {
        if self.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for (shape, pods) in &mut waiting {
            if self.following_left > 0 && self.follows(*shape, placed) {
                self.following_left -= 1;
                *pods = self.place_shape(*shape, std::mem::take(pods), placements);
            }
        }
        waiting.retain(|(_, pods)| !pods.is_empty());
        self.waiting = waiting;
    }

    /// Whether pods of the one shape may have waited for one of the other.
    fn follows(&self, shape: ShapeIx, placed: ShapeIx) -> bool {
        let selected_by = &self.topology.constraints[placed].selected_by;
        let is_spread = self.precedence.domains.contains_key(&shape);
        host_affinity(self.topology, shape).any(|(group, _)| selected_by.contains(&group))
            || is_spread && self.spreads(shape).any(|group| selected_by.contains(&group))
    }

    /// Spreads over other keys than the host name that pods of the shape must keep.
    pub(crate) fn spreads(&self, shape: ShapeIx) -> impl Iterator<Item = GroupIx> {
        let groups = &self.topology.groups;
        let owned = self.topology.constraints[shape].owned.iter();
        owned.filter(|owned| owned.weight == 0).map(|owned| owned.group).filter(|group| {
            !groups[*group].is_by_host() && matches!(groups[*group].rule, Rule::Spread { .. })
        })
    }

    /// How many domains new nodes for pods of the shape may be in, their volumes considered, of
    /// those over which they must be spread; `None` where they need not be.
    pub(crate) fn domains_to_spread_over(&mut self, shape: ShapeIx) -> Option<usize> {
        let keys: Vec<Text> =
            self.spreads(shape).map(|group| self.topology.groups[group].key.clone()).collect();
        let mut domains = None;
        for key in &keys {
            let count = self.reachable_domains(shape, key).len();
            domains = Some(domains.unwrap_or(1_usize).saturating_mul(count));
        }
        domains
    }
}
