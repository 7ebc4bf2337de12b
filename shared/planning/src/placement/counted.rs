//! Which spreads count a pod on a node that is still to be launched.
//!
//! By default (`nodeAffinityPolicy: Honor`) a spread leaves out nodes that its own pods may not go
//! to, and always those that lack the key of another spread of these pods. A pod that the spread
//! selects and that does not carry it may go to either kind: which of them is settled before it is
//! counted.

use domain::Text;
use domain::requirement::{Operator, Requirement, ValueSet};

use super::placer::{Kind, Placer};
use crate::feasibility::scope::Scope;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, PoolIx, ShapeIx};
use crate::model::intern::{ConjunctionId, KeyRule, Sets};

/// Whether the pods that carry a spread may go to new nodes of a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    All,
    Some,
    None,
}

impl Placer<'_, '_> {
    /// Narrows what is required of a new node until each spread that selects the pod, and that the
    /// pod does not carry, either counts the node or leaves it out: whichever is cheaper for the
    /// pod.
    pub(super) fn settle_counting(&mut self, shape: ShapeIx, kind: Kind) -> Kind {
        let topology = self.topology;
        let constraints = &topology.constraints[shape];
        let mut kind = kind;
        for group in constraints.selected_by.iter().copied() {
            let is_carried = constraints.owned.iter().any(|owned| owned.group == group);
            if is_carried || !topology.is_awaited[group] || !self.tells_nodes_apart(group) {
                continue;
            }
            let key = (shape, group, kind.0);
            kind = if let Some(known) = self.settled.get(&key) {
                known.clone()
            } else {
                let settled = self.settled_for(shape, group, kind);
                self.settled.insert(key, settled.clone());
                settled
            };
        }
        kind
    }

    /// Whether the group is a spread over domains that leaves out nodes for what labels they have.
    fn tells_nodes_apart(&self, group: GroupIx) -> bool {
        let own = &self.topology.groups[group];
        let is_spread = matches!(own.rule, Rule::Spread { .. }) && !own.is_by_host();
        is_spread && !ways_to_be_counted(self.scope(), group).contains(&ConjunctionId::EMPTY)
    }

    fn settled_for(&mut self, shape: ShapeIx, group: GroupIx, (required, fit): Kind) -> Kind {
        let requests = &self.model.shape(shape).requests;
        let mut admissions = fit
            .pools
            .iter()
            .map(|own| admission(self.scope(), group, (required, own.pool), requests));
        let first = admissions.next().unwrap_or(Admission::None);
        if first != Admission::Some && admissions.all(|other| other == first) {
            return (required, fit);
        }
        let ways = ways_to_be_counted(self.scope(), group);
        let left_out = match ways.as_slice() {
            [way] => excluded(&mut self.memo.sets_mut(), *way),
            _ => None,
        };
        let mut narrowed: Vec<(Kind, f64)> = Vec::new();
        for way in ways.into_iter().chain(left_out) {
            let both = self.memo.sets_mut().and(required, way);
            let Some((both, own)) = both.map(|both| (both, self.fit(shape, both))) else {
                continue;
            };
            if !own.pools.is_empty() && own.is_avoided == fit.is_avoided {
                let price = own.value(self.model);
                narrowed.push(((both, own), price));
            }
        }
        let cheapest = narrowed.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        cheapest.map_or((required, fit), |(kind, _)| kind)
    }

    /// Whether a spread counts a pod of the shape on a new node of the pool that meets these
    /// requirements.
    pub(super) fn counts_new_node(
        &self,
        shape: ShapeIx,
        group: GroupIx,
        kind: (ConjunctionId, PoolIx),
    ) -> bool {
        let own = &self.topology.groups[group];
        if !own.counts_nodes_with(&self.model.pools[kind.1].node_pool.template.taints) {
            return false;
        }
        let is_carried =
            self.topology.constraints[shape].owned.iter().any(|owned| owned.group == group);
        is_carried
            || !self.tells_nodes_apart(group)
            || admission(self.scope(), group, kind, &self.model.shape(shape).requests)
                != Admission::None
    }
}

/// What a node's labels must meet for a spread to count it, each of them one way.
pub(super) fn ways_to_be_counted(scope: Scope, group: GroupIx) -> Vec<ConjunctionId> {
    let Scope { model, topology, memo } = scope;
    let own = &topology.groups[group];
    let mut ways = vec![ConjunctionId::EMPTY];
    if own.honors_affinity() {
        ways.clone_from(&model.shape(topology.first_owner[group]).node_alternatives);
    }
    let exists = |key: &Text| Requirement {
        key: key.clone(),
        operator: Operator::Exists,
        values: Vec::new(),
        min_values: None,
    };
    let present: Vec<Requirement> = own.keys_that_nodes_may_lack().map(exists).collect();
    if present.is_empty() {
        return ways;
    }
    let mut sets = memo.sets_mut();
    let present = sets.conjunction_of(&present);
    ways.into_iter().filter_map(|way| sets.and(way, present)).collect()
}

/// Whether a spread counts the pool's new nodes that meet these requirements and have room for
/// these requests.
fn admission(
    scope: Scope,
    group: GroupIx,
    (required, pool): (ConjunctionId, PoolIx),
    requests: &[i64],
) -> Admission {
    let Scope { model, memo, .. } = scope;
    let pool = &model.pools[pool];
    let Ok(all) = memo.compatible(model, pool, required) else { return Admission::None };
    let mut admission = Admission::None;
    for way in ways_to_be_counted(scope, group) {
        let both = memo.sets_mut().and(required, way);
        let Some(own) = both.and_then(|both| memo.compatible(model, pool, both).ok()) else {
            continue;
        };
        let types = pool.with_room(&own.types, requests);
        if types.is_empty() {
            continue;
        }
        let is_all = types == pool.with_room(&all.types, requests)
            && (own.zones, own.purchases) == (all.zones, all.purchases)
            && own.open == all.open;
        if is_all {
            return Admission::All;
        }
        admission = Admission::Some;
    }
    admission
}

/// What a node meets that does not meet a conjunction; `None` where no conjunction says that.
fn excluded(sets: &mut Sets, conjunction: ConjunctionId) -> Option<ConjunctionId> {
    let rules = sets.rules(conjunction);
    let [KeyRule { key, set, may_be_absent }] = &*rules else { return None };
    let own = sets.get(*set);
    let others = match own.as_list() {
        Some(listed) => ValueSet::of(Operator::NotIn, listed),
        None if *own == ValueSet::of(Operator::Exists, &[]) => {
            ValueSet::of(Operator::DoesNotExist, &[])
        }
        None => return None,
    };
    let set = sets.set(others);
    Some(sets.intern(vec![KeyRule { key: key.clone(), set, may_be_absent: !may_be_absent }]))
}
