//! Commitments filled first: on-demand nodes that what is paid for already covers.
//!
//! Packing knows list prices only. So the pods are packed once more: first onto instance types that
//! a commitment holds for, as many nodes as are covered in full by what is left of it, commitment
//! by commitment in the order in which AWS applies them; then the rest as ever. Whichever packing
//! adds less beyond the commitments is launched, so that knowing of them never makes a plan dearer.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::commitment::{Commitment, CommitmentUse, Usage};
use domain::instance_type::CapacityType;
use rustc_hash::FxHashMap;

use crate::feasibility::fit::{Fit, PoolFit};
use crate::feasibility::host::host_affinity;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::ids::{PodIx, PoolIx, TypeSet, ZoneSet};
use crate::model::commitments::{ModelCommitments, OnDemand, budget_name};
use crate::model::pool::{Compatible, Pool};
use crate::packing::relaxed::PackingRelaxation;
use crate::packing::{Packing, Search, pack, pack_for_less};
use crate::work::{Item, NewNode, price_beyond_commitments};

/// What may be launched under a commitment of what a pod could use, by the latter.
type Narrowed = FxHashMap<(PoolIx, *const Compatible), Option<Arc<Compatible>>>;

/// What is packed, and beside what.
pub(crate) struct Unfilled<'f> {
    /// Where pods are.
    pub(crate) state: &'f State,
    /// Pods that need new nodes.
    pub(crate) items: &'f [Item],
    /// What runs on demand beside the new nodes.
    pub(crate) usage: &'f Usage,
    /// What may be launched for the pods.
    pub(crate) limits: Limits,
    /// What pods cost where parts of nodes can be launched, if that is known.
    pub(crate) relaxation: Option<&'f PackingRelaxation>,
}

/// The packing that adds less beyond the commitments: the known one, or one that fills commitments
/// first. `limits` are what the known one leaves, and then what the answer does.
pub(crate) fn fill_commitments(
    scope: Scope,
    unfilled: Unfilled,
    limits: &mut Limits,
    known: Packing,
) -> Packing {
    let Unfilled { state, items, usage, limits: before, relaxation } = unfilled;
    let Some(own) = scope.model.commitments.as_ref().filter(|_| !items.is_empty()) else {
        return known;
    };
    let rest = items.to_vec();
    let mut filling = Filling { scope, own, usage, limits: before, nodes: Vec::new(), rest };
    for commitment in own.commitments.iter() {
        filling.fill(state, commitment);
    }
    let Filling { limits: mut left, mut nodes, rest, .. } = filling;
    if nodes.is_empty() {
        return known;
    }
    let search = relaxation.filter(|own| own.is_solved() && own.tells_apart(scope, &rest));
    let search = search.map_or(Search::Alone, Search::With);
    let packing = pack_for_less(scope, state, &mut left, &rest, || search);
    nodes.extend(packing.nodes);
    let filled = Packing { nodes, left: packing.left };
    let serves_as_many = filled.left.is_empty() || sorted(&filled.left) == sorted(&known.left);
    let price = |packing: &Packing| {
        let Scope { model, memo, .. } = scope;
        price_beyond_commitments((model, memo), (own, usage), &packing.nodes, |node| {
            node.price(model, memo)
        })
    };
    if serves_as_many && price(&filled) < price(&known) {
        *limits = left;
        return filled;
    }
    known
}

fn sorted(pods: &[PodIx]) -> BTreeSet<PodIx> {
    pods.iter().copied().collect()
}

/// A packing that fills commitments, while it is made.
struct Filling<'m, 'a> {
    scope: Scope<'m, 'a>,
    own: &'m ModelCommitments,
    usage: &'m Usage,
    limits: Limits,
    nodes: Vec<NewNode>,
    /// Pods that have no node yet.
    rest: Vec<Item>,
}

impl Filling<'_, '_> {
    /// Packs pods onto what a commitment holds for, as far as it covers that.
    fn fill(&mut self, state: &State, commitment: &Commitment) {
        let left = self.left_of(commitment);
        let mut narrowed = Narrowed::default();
        // Pods that must share a node with others are packed together with those.
        let alone = self
            .rest
            .iter()
            .filter(|item| host_affinity(self.scope.topology, item.shape).next().is_none());
        let items: Vec<Item> =
            alone.filter_map(|item| narrow(self.scope, commitment, item, &mut narrowed)).collect();
        if left <= 0 || items.is_empty() {
            return;
        }
        let name = budget_name(commitment);
        let mut limits = self.limits.clone().with_amount(&name, left);
        let packing = pack(self.scope, state, &mut limits, &items);
        self.limits = limits.without_amount(&name);
        let placed: BTreeSet<PodIx> = packing
            .nodes
            .iter()
            .flat_map(|node| &node.members)
            .flat_map(|member| member.pods.iter().copied())
            .collect();
        self.nodes.extend(packing.nodes);
        for item in &mut self.rest {
            item.pods.retain(|pod| !placed.contains(pod));
        }
        self.rest.retain(|item| !item.pods.is_empty());
    }

    /// What is left to draw of a commitment beside nodes that are there and those packed so far.
    fn left_of(&self, commitment: &Commitment) -> i64 {
        let Scope { model, memo, .. } = self.scope;
        let mut usage = self.usage.clone();
        for OnDemand { instance, price } in
            self.nodes.iter().filter_map(|node| node.on_demand(model, memo))
        {
            usage.add(&instance, price);
        }
        let bill = self.own.commitments.apply(&usage);
        let own = bill.commitments.iter().find(|own| own.name == commitment.name);
        own.map_or(0, CommitmentUse::left)
    }
}

/// The item, launched from its heaviest pools only, and as what a commitment holds for.
fn narrow(
    Scope { model, memo, .. }: Scope,
    commitment: &Commitment,
    item: &Item,
    narrowed: &mut Narrowed,
) -> Option<Item> {
    let weight = |fit: &PoolFit| model.pools[fit.pool].node_pool.weight;
    let heaviest = item.fit.pools.iter().map(weight).max();
    let fits: Vec<PoolFit> = item
        .fit
        .pools
        .iter()
        .filter(|fit| Some(weight(fit)) == heaviest)
        .filter_map(|fit| {
            let key = (fit.pool, Arc::as_ptr(&fit.compatible));
            let compatible = narrowed.entry(key).or_insert_with(|| {
                let pool = &model.pools[fit.pool];
                let mut covered = covered_by(pool, commitment, &fit.compatible)?;
                let viable = memo.viable(pool, covered.zones, covered.purchases);
                covered.types.intersect_with(&viable);
                let unmet = pool.min_values_unmet(&covered.types, covered.zones, covered.purchases);
                (!covered.types.is_empty() && unmet.is_none()).then(|| Arc::new(covered))
            });
            Some(PoolFit { compatible: compatible.clone()?, ..fit.clone() })
        })
        .collect();
    let fit = Arc::new(Fit { pools: fits, ..Fit::default() });
    (!fit.pools.is_empty()).then(|| Item { fit, ..item.clone() })
}

/// What of it may be launched on demand under a commitment; `None` where nothing may.
fn covered_by(pool: &Pool, commitment: &Commitment, compatible: &Compatible) -> Option<Compatible> {
    let purchases = compatible.purchases & pool.bought_as(CapacityType::OnDemand);
    let mut types = TypeSet::empty(pool.types.len());
    let mut zones = ZoneSet::default();
    for type_index in compatible.types.iter() {
        let one = &pool.types[type_index];
        for offering in one.offerings_in(compatible.zones, purchases) {
            if commitment.drawn_by(&pool.instance(type_index, offering), offering.cost).is_some() {
                types.insert(type_index);
                zones = zones.with(offering.zone);
            }
        }
    }
    (!types.is_empty()).then(|| Compatible { types, zones, purchases, ..compatible.clone() })
}
