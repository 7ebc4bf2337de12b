//! What a new node for pods of one shape could be, NodePool by NodePool.

use std::sync::Arc;

use domain::Text;
use domain::reason::NodePoolUnfit;
use domain::taint::{TaintEffect, first_untolerated, tolerated};

use crate::ids::{PoolIx, TypeIx, ZoneIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, MinValuesUnmet, Pool, PoolType, TypeRate};
use crate::model::shape::Shape;

/// A NodePool that could launch a node for a pod.
#[derive(Clone)]
pub(crate) struct PoolFit {
    /// Index of the pool.
    pub(crate) pool: PoolIx,
    /// What it may launch under the pod's requirements; of those types not all need be large
    /// enough.
    pub(crate) compatible: Arc<Compatible>,
    /// The least that the pod costs there: the share it takes of the type on which that is
    /// cheapest, in nano-USD an hour.
    pub(crate) value: f64,
}

/// Everywhere a new node for the pod could come from.
#[derive(Clone, Default)]
pub(crate) struct Fit {
    /// Pools, heaviest first; one with a `PreferNoSchedule` taint that the pod does not tolerate
    /// only where there is no other.
    pub(crate) pools: Vec<PoolFit>,
    /// Pools with such a taint that are not among `pools`: what is required between pods may need
    /// their zones all the same.
    pub(crate) avoided: Vec<PoolFit>,
    /// Whether `pools` are such pools, for want of others.
    pub(crate) is_avoided: bool,
}

impl Fit {
    /// The least that the pod costs in the heaviest pools, in nano-USD an hour.
    pub(crate) fn value(&self, model: &Model) -> f64 {
        let Some(first) = self.pools.first() else { return 0.0 };
        let weight = model.pools[first.pool].node_pool.weight;
        self.pools
            .iter()
            .filter(|fit| model.pools[fit.pool].node_pool.weight == weight)
            .map(|fit| fit.value)
            .fold(f64::INFINITY, f64::min)
    }
}

/// Where a new node for one pod of the shape could come from under further requirements.
pub(crate) fn fit(model: &Model, memo: &Memo, shape: &Shape, conjunction: ConjunctionId) -> Fit {
    let mut pools = Vec::new();
    let mut avoided = Vec::new();
    for (index, pool) in model.pools.iter_enumerated() {
        let Ok(compatible) = pool_fit(model, memo, pool, shape, conjunction) else { continue };
        let rates = memo.rates(pool, conjunction, &compatible);
        let value = cheapest_share(pool, &rates, &shape.requests);
        let fit = PoolFit { pool: index, compatible, value };
        if is_avoided(pool, shape) { avoided.push(fit) } else { pools.push(fit) }
    }
    if pools.is_empty() {
        return Fit { is_avoided: !avoided.is_empty(), pools: avoided, avoided: Vec::new() };
    }
    Fit { pools, avoided, is_avoided: false }
}

fn is_avoided(pool: &Pool, shape: &Shape) -> bool {
    pool.node_pool.template.taints.iter().any(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule && !tolerated(&shape.spec.tolerations, taint)
    })
}

/// What the pool could launch for one pod of the shape, or the first thing that rules it out.
pub(crate) fn pool_fit(
    model: &Model,
    memo: &Memo,
    pool: &Pool,
    shape: &Shape,
    conjunction: ConjunctionId,
) -> Result<Arc<Compatible>, NodePoolUnfit> {
    if let Some(unfit) = &pool.unfit {
        return Err(unfit.clone());
    }
    let priority = shape.spec.priority;
    let options = &pool.node_pool.options;
    if let Some(below) = options.expendable_below.filter(|_| options.is_expendable(priority)) {
        return Err(NodePoolUnfit::Expendable { priority, below });
    }
    if let Some(taint) = first_untolerated(&shape.spec.tolerations, &pool.node_pool.template.taints)
    {
        return Err(NodePoolUnfit::Taint(taint.clone()));
    }
    let mut compatible = memo.compatible(model, pool, conjunction)?;
    if !shape.spec.host_ports.is_empty() {
        compatible = Arc::new(without_port_conflicts(memo, pool, shape, &compatible)?);
    }
    let is_large_enough =
        |own: &PoolType| own.hosts_its_daemons() && own.has_room_for(&shape.requests);
    if !compatible.types.iter().any(|index| is_large_enough(&pool.types[index])) {
        return Err(too_small(model, pool, shape, &compatible));
    }
    if !pool.min_values.is_empty() {
        let mut types = compatible.types.clone();
        types.retain(|index| pool.types[index].has_room_for(&shape.requests));
        let unmet = pool.min_values_unmet(&types, compatible.zones, compatible.purchases);
        let is_strict =
            model.snapshot.settings.min_values_policy == domain::settings::MinValuesPolicy::Strict;
        if let Some(MinValuesUnmet { key, wanted, found }) = unmet.filter(|_| is_strict) {
            return Err(NodePoolUnfit::MinValues { key, wanted, found });
        }
    }
    Ok(compatible)
}

/// Leaves zones in which no DaemonSet opens a port of the pod's, and types with an offering there.
/// Where the type decides as well, types go that are not free of conflicts in any zone that is
/// left, and then zones in which another type has one.
fn without_port_conflicts(
    memo: &Memo,
    pool: &Pool,
    shape: &Shape,
    compatible: &Compatible,
) -> Result<Compatible, NodePoolUnfit> {
    let taken_in = |zone: &Text, index: TypeIx| {
        let own = &pool.types[index].overhead.ports;
        let mut ports = shape.spec.host_ports.iter();
        ports.find(|port| own.iter().any(|other| other.conflicts_in(zone, port)))
    };
    let mut left = compatible.clone();
    let mut taken = 0;
    let zones: Vec<(ZoneIx, &Text)> = pool.zones_in(compatible.zones).collect();
    for index in compatible.types.iter() {
        let conflicts = || zones.iter().map(|(_, zone)| taken_in(zone, index));
        if let Some(port) = conflicts().flatten().next() {
            taken = port.port;
            if conflicts().all(|own| own.is_some()) {
                left.types.remove(index);
            }
        }
    }
    for (zone, name) in zones {
        if left.types.iter().any(|index| taken_in(name, index).is_some()) {
            left.zones = left.zones.without(zone);
        }
    }
    left.types.intersect_with(&memo.viable(pool, left.zones, left.purchases));
    if left.types.is_empty() { Err(NodePoolUnfit::HostPort(taken)) } else { Ok(left) }
}

/// The nearest miss: the resource that rules out the type that comes closest.
fn too_small(model: &Model, pool: &Pool, shape: &Shape, compatible: &Compatible) -> NodePoolUnfit {
    let mut nearest: Option<(TypeIx, usize, f64)> = None;
    for index in compatible.types.iter() {
        let one = &pool.types[index];
        let worst = one
            .room
            .iter()
            .zip(&shape.requests)
            .enumerate()
            .filter(|(_, (room, amount))| amount > room)
            .map(|(resource, (room, amount))| (resource, ratio(*room, *amount)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((resource, share)) = worst
            && nearest.is_none_or(|(_, _, best)| share > best)
        {
            nearest = Some((index, resource, share));
        }
    }
    let Some((index, resource, _)) = nearest else { return NodePoolUnfit::NoOffering };
    let one = &pool.types[index];
    let overhead = one.overhead.requests[resource];
    NodePoolUnfit::TooSmall {
        resource: model.resources.name(resource).clone(),
        needed: shape.requests[resource] + overhead,
        largest: one.room[resource] + overhead,
        instance_type: one.instance_type.name.clone(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate that only ranks")]
fn ratio(part: i64, whole: i64) -> f64 {
    part.max(0) as f64 / whole.max(1) as f64
}

/// The cheapest share: over types, price times the largest fraction of the type that the pod takes.
///
/// No packing can serve the pod for less, so sums of shares rank how well a node is used.
#[expect(clippy::cast_precision_loss, reason = "an estimate that only ranks")]
fn cheapest_share(pool: &Pool, rates: &[TypeRate], requests: &[i64]) -> f64 {
    let share_on = |rate: &TypeRate| {
        rate.rates
            .iter()
            .zip(requests)
            .filter(|(_, amount)| **amount > 0)
            .map(|(rate, amount)| rate * *amount as f64)
            .fold(0.0, f64::max)
    };
    rates
        .iter()
        .filter(|rate| pool.types[rate.index].has_room_for(requests))
        .map(share_on)
        .fold(f64::INFINITY, f64::min)
}
