//! Who gets what limits leave: pods of higher priority before others.
//!
//! Packing goes by price alone. Where limits or reservations leave pods without a node while pods
//! of lower priority have one, pods are admitted again, priority by priority: all that were
//! admitted before must still have a place. All admitted pods are packed together each time, so
//! that those of different priorities share nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::ids::PodIx;
use crate::model::Model;
use crate::packing::{Packing, pack};
use crate::work::Item;

/// Packings tried at most. Pods that are not admitted by then get what is left.
const PACKINGS_MAX: usize = 48;

/// The packing of the items or, where it leaves a pod of higher priority than one that it serves,
/// another packing within the pools' limits that serves by priority.
pub(crate) fn enforce_priorities(
    scope: Scope,
    state: &State,
    limits: &mut Limits,
    items: &[Item],
    packing: Packing,
) -> Packing {
    let model = scope.model;
    if !has_scarcity(model) || !has_priority_inversion(model, &packing) {
        return packing;
    }
    let before = Limits::of(model, |_| false);
    let mut tiers: BTreeMap<Reverse<i32>, Vec<Item>> = BTreeMap::new();
    for item in items {
        tiers.entry(Reverse(priority(model, item))).or_default().push(item.clone());
    }
    let mut admission = Admission {
        scope,
        state,
        before: before.clone(),
        admitted: Vec::new(),
        packing: Packing { nodes: Vec::new(), left: Vec::new() },
        limits: before,
        tries_left: PACKINGS_MAX,
    };
    for tier in tiers.into_values() {
        admission.admit(&tier);
    }
    admission.finish(limits, items)
}

/// Whether there is anything that pods can take from each other.
fn has_scarcity(model: &Model) -> bool {
    model.pools.iter().any(|pool| {
        !pool.limited.is_empty()
            || pool.purchases.iter().any(|purchase| purchase.remaining().is_some())
    })
}

fn priority(model: &Model, item: &Item) -> i32 {
    model.shape(item.shape).spec.priority
}

/// Whether a pod is left that has a higher priority than one that is served.
fn has_priority_inversion(model: &Model, packing: &Packing) -> bool {
    let of_pod = |pod: &PodIx| model.pod(*pod).spec.priority;
    let waiting = packing.left.iter().map(of_pod).max();
    let served = packed(packing).map(|pod| of_pod(&pod)).min();
    waiting.zip(served).is_some_and(|(waiting, served)| served < waiting)
}

/// Pods that have a node.
fn packed(packing: &Packing) -> impl Iterator<Item = PodIx> {
    packing
        .nodes
        .iter()
        .flat_map(|node| &node.members)
        .flat_map(|member| member.pods.iter().copied())
}

/// Pods admitted so far, and where they go.
struct Admission<'m, 'a> {
    scope: Scope<'m, 'a>,
    state: &'m State,
    before: Limits,
    admitted: Vec<Item>,
    packing: Packing,
    limits: Limits,
    tries_left: usize,
}

impl Admission<'_, '_> {
    /// Admits as many pods of a tier as leave a place to everybody admitted before.
    fn admit(&mut self, tier: &[Item]) {
        let count: usize = tier.iter().map(|item| item.pods.len()).sum();
        if self.is_accepted(tier, count) {
            return;
        }
        let (mut most, mut too_many) = (0, count);
        while too_many - most > 1 && self.tries_left > 0 {
            let middle = most.midpoint(too_many);
            // The accepted packing holds the first pods of the tier already: they are tried again
            // with more.
            if self.is_accepted(tier, middle) {
                most = middle;
            } else {
                too_many = middle;
            }
        }
    }

    /// Packs what is admitted with the first pods of a tier, and keeps that if no pod loses its
    /// place.
    fn is_accepted(&mut self, tier: &[Item], first: usize) -> bool {
        if self.tries_left == 0 {
            return false;
        }
        self.tries_left -= 1;
        let mut candidates = self.admitted.clone();
        let known: BTreeSet<PodIx> =
            candidates.iter().flat_map(|item| item.pods.iter().copied()).collect();
        let mut room = first;
        for item in tier {
            let pods: Vec<PodIx> =
                item.pods.iter().copied().take(room).filter(|pod| !known.contains(pod)).collect();
            room -= item.pods.len().min(room);
            if !pods.is_empty() {
                candidates.push(Item { pods, ..item.clone() });
            }
        }
        let mut limits = self.before.clone();
        let packing = pack(self.scope, self.state, &mut limits, &candidates);
        let left: BTreeSet<PodIx> = packing.left.iter().copied().collect();
        if known.iter().any(|pod| left.contains(pod)) {
            return false;
        }
        for item in &mut candidates {
            item.pods.retain(|pod| !left.contains(pod));
        }
        candidates.retain(|item| !item.pods.is_empty());
        self.admitted = candidates;
        self.packing = packing;
        self.limits = limits;
        true
    }

    /// Gives those who were not admitted what is left.
    fn finish(mut self, limits: &mut Limits, items: &[Item]) -> Packing {
        let served: BTreeSet<PodIx> = packed(&self.packing).collect();
        let rest: Vec<Item> = items
            .iter()
            .map(|item| {
                let pods = item.pods.iter().copied().filter(|pod| !served.contains(pod)).collect();
                Item { pods, ..item.clone() }
            })
            .filter(|item: &Item| !item.pods.is_empty())
            .collect();
        self.packing.left = rest.iter().flat_map(|item| item.pods.iter().copied()).collect();
        if self.tries_left == 0 {
            let more = pack(self.scope, self.state, &mut self.limits, &rest);
            self.packing.nodes.extend(more.nodes);
            self.packing.left = more.left;
        }
        *limits = self.limits;
        self.packing
    }
}
