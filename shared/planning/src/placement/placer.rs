//! What finds places for pods, and what it has worked out so far.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::taint::Toleration;
use rustc_hash::FxHashMap;

use super::nominations::Nominations;
use super::zone_choice::ZoneChoice;
use crate::feasibility::domains::pinned_keys;
use crate::feasibility::fit::{Fit, fit};
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::{SoftSpread, Topology};
use crate::ids::{GroupIx, IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::memo::Memo;
use crate::work::Item;

/// A way of meeting the requirements of a pod on a new node.
pub(super) type Kind = (ConjunctionId, Arc<Fit>);

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

/// Domains that a shape's pods are wanted in, with the affinity that wants them there.
pub(super) type Wanted = BTreeSet<(GroupIx, Text)>;

/// Which pods of one priority come first; without any, the larger.
#[derive(Clone, Default)]
pub(crate) struct Precedence {
    /// Pods of these shapes. They give up what they prefer of new nodes, and those that must share
    /// a host do not take what little room a node has.
    pub(crate) shapes: BTreeSet<ShapeIx>,
    /// How many domains pods of a shape may be in of those over which they must be spread: fewer
    /// first, and those without an entry last. As others even a spread out, pods that wait for it
    /// follow at once.
    pub(crate) domains: BTreeMap<ShapeIx, usize>,
    /// Smaller pods before larger ones.
    pub(crate) smaller_first: bool,
    /// The emptiest of the domains that a pod may be in before the cheapest: of those that are
    /// spread over several keys, pods in the cheapest may leave the others nowhere to go.
    pub(crate) is_even: bool,
    /// Domains that each get one pod of a shape before the rest choose theirs, since others must
    /// join it there.
    pub(crate) wanted: BTreeMap<ShapeIx, Wanted>,
    /// Of several ways of meeting a pod's requirements on a new node, the one with this number in
    /// place of the cheapest, where there is one.
    pub(crate) way: Option<usize>,
}

/// How many pods may be pinned where a packing left some of them.
#[derive(Clone, Copy)]
pub(crate) enum Cap {
    /// As many as found a node. Of pods that are spread also as many as would have if as many had
    /// found a node of each kind: one that gets none holds back all others.
    Found,
    /// No more on nodes of the kind.
    NoneOfKind,
    /// No more on new nodes.
    NoneOfShape,
}

/// What decides which nodes admit a shape: ways of meeting its requirements, and tolerations.
type AllowedKey = (Vec<ConjunctionId>, Vec<Toleration>);

/// Finds places for pods.
pub(crate) struct Placer<'m, 'a> {
    pub(super) model: &'m Model<'a>,
    pub(super) topology: &'m Topology,
    pub(super) memo: &'m Memo,
    /// Which pods of one priority come first.
    pub(super) precedence: Precedence,
    /// By shape, its place in the order of that; empty until it is asked for.
    pub(super) shape_ranks: Option<Arc<IndexVec<ShapeIx, usize>>>,
    /// Whether soft spreads settle where nodes are launched.
    pub(crate) soft_spread: SoftSpread,
    /// What has changed so far: pods placed count.
    pub(crate) state: State,
    pub(super) fits: FxHashMap<(ShapeIx, ConjunctionId), Arc<Fit>>,
    pub(super) allowed: FxHashMap<AllowedKey, Arc<Vec<NodeIx>>>,
    /// Of those, nodes that have room for a pod of the shape before any is placed.
    pub(super) roomy: FxHashMap<ShapeIx, Arc<Vec<NodeIx>>>,
    /// By node, its place in the order in which pods try nodes; empty for the model's order.
    pub(super) rank: IndexVec<NodeIx, usize>,
    /// Whether nodes may be launched and leaving ones are as good as gone. If not, topology spread
    /// looks at the nodes that are there now, as kube-scheduler does.
    pub(crate) launches_nodes: bool,
    /// Pods that an earlier plan placed on a node that is there; empty until that is asked.
    nominations: OnceCell<Nominations>,
    /// By node, what its score for a pod is worked out from.
    pub(super) scored: Option<Arc<IndexVec<NodeIx, [i64; 2]>>>,
    pub(super) eligible: FxHashMap<(ShapeIx, GroupIx), Arc<Vec<Text>>>,
    pub(super) domains: FxHashMap<(ShapeIx, Text), Arc<Vec<Text>>>,
    /// What is required of new nodes once a spread counts them or leaves them out.
    pub(super) settled: FxHashMap<(ShapeIx, GroupIx, ConjunctionId), Kind>,
    /// What zones are chosen by, beside constraints.
    pub(super) zone_choice: ZoneChoice,
    /// Upper bound of pods of a shape for new nodes of one kind: more could not be launched.
    pub(super) caps: FxHashMap<(ShapeIx, ConjunctionId), usize>,
    /// Shapes of which no more pods are planned for new nodes.
    barred: BTreeSet<ShapeIx>,
    /// How many pods are items already, by shape and kind of node.
    pub(super) assigned: FxHashMap<(ShapeIx, ConjunctionId), usize>,
    /// Shapes of pods that are to go to new nodes, with the keys and domains chosen for these.
    pub(super) on_new_nodes: BTreeMap<ShapeIx, BTreeSet<(Text, Text)>>,
    /// Pods of each shape to place that must share a host with others, in the order of placing.
    pub(super) following: Vec<(ShapeIx, u32)>,
    /// Pods that found no place so far.
    pub(super) waiting: Vec<(ShapeIx, Vec<PodIx>)>,
    /// How often waiting pods may still be tried again out of turn.
    pub(super) following_left: u32,
}

impl<'m, 'a> Placer<'m, 'a> {
    /// Starts from a state.
    pub(crate) fn new(scope: Scope<'m, 'a>, state: State) -> Self {
        let Scope { model, topology, memo } = scope;
        Self {
            model,
            topology,
            memo,
            soft_spread: SoftSpread::Required,
            launches_nodes: true,
            state,
            fits: FxHashMap::default(),
            allowed: FxHashMap::default(),
            roomy: FxHashMap::default(),
            rank: IndexVec::new(),
            scored: None,
            nominations: OnceCell::new(),
            eligible: FxHashMap::default(),
            domains: FxHashMap::default(),
            settled: FxHashMap::default(),
            zone_choice: ZoneChoice::default(),
            caps: FxHashMap::default(),
            barred: BTreeSet::new(),
            precedence: Precedence::default(),
            shape_ranks: None,
            assigned: FxHashMap::default(),
            on_new_nodes: BTreeMap::new(),
            following: Vec::new(),
            waiting: Vec::new(),
            following_left: 0,
        }
    }

    /// Pods that an earlier plan placed on a node that is there.
    pub(super) fn nominations(&self) -> &Nominations {
        self.nominations.get_or_init(|| Nominations::of(self.model))
    }

    /// What it works on.
    pub(crate) fn scope(&self) -> Scope<'m, 'a> {
        Scope { model: self.model, topology: self.topology, memo: self.memo }
    }

    /// Starts over from another state, keeping what was worked out about shapes.
    pub(crate) fn reset(&mut self, state: State) {
        self.state = state;
        self.assigned.clear();
        self.on_new_nodes.clear();
    }

    /// Which pods of one priority come first.
    pub(crate) fn precedence(&self) -> &Precedence {
        &self.precedence
    }

    /// Has pods of one priority come in this order from here on.
    pub(crate) fn order_by(&mut self, precedence: Precedence) {
        self.precedence = precedence;
        self.shape_ranks = None;
    }

    /// Has pods try existing nodes in this order, before those that are not listed.
    pub(crate) fn prefer(&mut self, order: Vec<NodeIx>) {
        let mut rank = IndexVec::filled(usize::MAX, self.model.nodes.len());
        for (place, node) in order.into_iter().enumerate() {
            rank[node] = place;
        }
        self.rank = rank;
        self.allowed.clear();
        self.roomy.clear();
    }

    /// Whether some node that is there, or that could be launched, admits pods of the shape,
    /// whatever else is on it.
    pub(crate) fn has_any_host(&mut self, shape: ShapeIx) -> bool {
        let own = self.model.shape(shape);
        if own.is_never_schedulable() {
            return false;
        }
        let nodes = self.allowed_nodes(shape);
        nodes.iter().any(|node| !self.state.closed[*node])
            || own.unschedulable.is_none() && self.unpinned(shape).is_some()
    }

    /// The least that a pod of the shape costs on a new node, in nano-USD an hour; 0 where none
    /// hosts it.
    pub(crate) fn value(&mut self, shape: ShapeIx) -> f64 {
        let ways = self.model.shape(shape).alternatives.clone();
        let values = ways.into_iter().map(|way| self.fit(shape, way).value(self.model));
        Some(values.fold(f64::INFINITY, f64::min)).filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// Starts over with soft spreads required or relaxed, forgetting what packings taught.
    pub(crate) fn reset_with(&mut self, soft_spread: SoftSpread, state: State) {
        self.reset(state);
        self.caps.clear();
        self.barred.clear();
        self.soft_spread = soft_spread;
    }

    /// Learns from a packing that left pods of pinned items: next time fewer are pinned there.
    /// Returns whether there was anything to learn.
    pub(crate) fn cap(&mut self, items: &[Item], left: &[PodIx], cap: Cap) -> bool {
        let left: BTreeSet<PodIx> = left.iter().copied().collect();
        let mut found: FxHashMap<ShapeIx, (usize, usize)> = FxHashMap::default();
        for item in items {
            let (pods, kinds) = found.entry(item.shape).or_default();
            *pods += item.pods.iter().filter(|pod| !left.contains(pod)).count();
            *kinds += 1;
        }
        let mut has_learnt = false;
        for item in items {
            if pinned_keys(self.topology, item.shape, self.soft_spread).is_empty() {
                continue;
            }
            let missing = item.pods.iter().filter(|pod| left.contains(pod)).count();
            if missing == 0 {
                continue;
            }
            has_learnt = true;
            let key = (item.shape, item.conjunction);
            let assigned = self.assigned.get(&key).copied().unwrap_or(0).max(missing);
            // Limits may have left nodes of one kind only.
            let share = match found.get(&item.shape) {
                Some((pods, kinds)) if self.spreads(item.shape).next().is_some() => {
                    pods.div_ceil(*kinds).min(assigned.saturating_sub(1))
                }
                _ => 0,
            };
            let most = self.caps.entry(key).or_insert(assigned);
            match cap {
                Cap::Found => *most = (*most).min(assigned - missing).max(share),
                Cap::NoneOfKind => *most = 0,
                Cap::NoneOfShape => {
                    self.barred.insert(item.shape);
                }
            }
        }
        has_learnt
    }

    /// Whether one more pod of the shape may be planned for a new node of the kind.
    pub(super) fn may_add_pod(&self, shape: ShapeIx, conjunction: ConjunctionId) -> bool {
        let key = (shape, conjunction);
        !self.barred.contains(&shape)
            && self
                .caps
                .get(&key)
                .is_none_or(|cap| self.assigned.get(&key).copied().unwrap_or(0) < *cap)
    }

    /// Where a new node could come from; worked out once.
    pub(super) fn fit(&mut self, shape: ShapeIx, conjunction: ConjunctionId) -> Arc<Fit> {
        if let Some(known) = self.fits.get(&(shape, conjunction)) {
            return known.clone();
        }
        let found = Arc::new(fit(self.model, self.memo, self.model.shape(shape), conjunction));
        self.fits.insert((shape, conjunction), found.clone());
        found
    }
}
