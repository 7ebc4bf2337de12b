//! Why a pod found no place: for each NodePool, the first thing that rules it out.

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::cluster_limit::{Tightest, first_unreadable, tightest};
use domain::label;
use domain::money::UsdPerHour;
use domain::reason::{NodePoolUnfit, PodUnschedulable, UnmetRequirements, VolumeProblem};
use domain::resource::USD_PER_HOUR;
use domain::settings::MinValuesPolicy;

use crate::feasibility::fit::pool_fit;
use crate::feasibility::limits::Limits;

use crate::ids::{PoolIx, ShapeIx, ZoneSet};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::pool::{Compatible, MinValuesUnmet, Pool};
use crate::model::shape::Shape;
use crate::placement::Placer;

/// Reasons for one pod of a shape, at least one.
pub(crate) fn reasons(
    model: &Model,
    placer: &mut Placer,
    limits: &Limits,
    shape_index: ShapeIx,
) -> Vec<PodUnschedulable> {
    let shape = model.shape(shape_index);
    if let Some(unschedulable) = &shape.unschedulable {
        return vec![unschedulable.clone()];
    }
    if model.pools.is_empty() {
        return vec![PodUnschedulable::NoNodePool];
    }
    let mut pools: Vec<_> = model.pools.iter_enumerated().collect();
    pools.sort_by_key(|(_, pool)| &pool.node_pool.name);
    let reasons: Vec<PodUnschedulable> = pools
        .into_iter()
        .map(|(index, pool)| PodUnschedulable::NodePool {
            node_pool: pool.node_pool.name.clone(),
            reason: pool_reason(model, placer, limits, shape_index, index),
        })
        .collect();
    // Where some pool would do, what only one pod may use is in use.
    let is_kept_by_volumes = |reason: &PodUnschedulable| {
        matches!(reason, PodUnschedulable::NodePool { reason: NodePoolUnfit::VolumeTopology, .. })
    };
    match shape.volumes.exclusive.first() {
        Some(claim) if reasons.iter().any(is_kept_by_volumes) => vec![PodUnschedulable::Volume {
            claim: claim.name.clone(),
            problem: VolumeProblem::InUse,
        }],
        _ => reasons,
    }
}

/// The first thing that rules the pool out: for the first way of meeting the pod's requirements
/// that gets as far as limits, else for the first written.
pub(crate) fn pool_reason(
    model: &Model,
    placer: &mut Placer,
    limits: &Limits,
    shape_index: ShapeIx,
    pool_index: PoolIx,
) -> NodePoolUnfit {
    let shape = model.shape(shape_index);
    let pool = &model.pools[pool_index];
    let mut first_unfit = None;
    for way in &shape.alternatives {
        match pool_fit(model, placer.scope().memo, pool, shape, *way) {
            Err(unfit) => {
                first_unfit.get_or_insert_with(|| with_subnets(model, pool, Some(*way), unfit));
            }
            Ok(compatible) => {
                let other = if shape.volumes.exclusive.is_empty() {
                    NodePoolUnfit::NoOffering
                } else {
                    NodePoolUnfit::VolumeTopology
                };
                let pods = limits.too_many_for_addresses.get(&shape_index).copied().unwrap_or(1);
                return held_back(model, limits, shape, pool_index, &compatible)
                    .or_else(|| no_addresses_left(model, limits, pool, &compatible, pods))
                    .or_else(|| placer.topology_unfit(shape_index, pool_index))
                    .unwrap_or(other);
            }
        }
    }
    // Without any alternative the pod's own terms contradict each other.
    first_unfit.unwrap_or(NodePoolUnfit::PodContradiction)
}

/// A limit that leaves too little: `cheapest` is what a node for the pod costs at the least, in
/// billionths of a dollar.
fn limited(resource: Text, limit: i64, left: i64, cheapest: i64) -> NodePoolUnfit {
    let used = limit - left;
    if &*resource == USD_PER_HOUR {
        NodePoolUnfit::UsdLimit {
            limit: UsdPerHour::from_nanos(limit),
            used: UsdPerHour::from_nanos(used),
            cheapest: UsdPerHour::from_nanos(cheapest),
        }
    } else {
        NodePoolUnfit::Limit { resource, limit, used }
    }
}

/// What the pool's limits leave is too little for any type, or has too few values for `minValues`.
fn held_back(
    model: &Model,
    limits: &Limits,
    shape: &Shape,
    index: PoolIx,
    compatible: &Compatible,
) -> Option<NodePoolUnfit> {
    if let Some((name, problem)) = first_unreadable(&model.snapshot.objects.cluster_limits) {
        let (name, problem) = (name.clone(), problem.clone());
        return Some(NodePoolUnfit::ClusterLimitUnreadable { name, problem });
    }
    let pool = &model.pools[index];
    let mut types = pool.with_room(&compatible.types, &shape.requests);
    let first = types.iter().next().map(|first| &pool.types[first].capacity);
    let exceeded = first.and_then(|capacity| limits.exceeded(index, capacity));
    let of_cluster = first.and_then(|capacity| limits.exceeded_of_cluster(capacity));
    let prices = types.iter().map(|own| pool.types[own].capacity.get(USD_PER_HOUR));
    let cheapest = prices.min().unwrap_or(0);
    limits.keep_allowed(index, pool, &mut types);
    match exceeded {
        Some((resource, left)) if types.is_empty() => {
            let limit = pool.node_pool.limits.get(&resource);
            Some(limited(resource, limit, left, cheapest))
        }
        None if types.is_empty() && of_cluster.is_some() => {
            let (resource, left) = of_cluster?;
            let mut own = tightest(&model.snapshot.objects.cluster_limits);
            let Tightest { limit, by } = own.remove(&resource)?;
            let reason = Box::new(limited(resource, limit, left, cheapest));
            Some(NodePoolUnfit::ClusterLimit { name: by, reason })
        }
        _ if model.snapshot.settings.min_values_policy == MinValuesPolicy::Strict => pool
            .min_values_unmet(&types, compatible.zones, compatible.purchases)
            .map(|MinValuesUnmet { key, wanted, found }| NodePoolUnfit::MinValues {
                key,
                wanted,
                found,
            }),
        _ => None,
    }
}

/// Every zone in which a type would do has too few addresses left for a node with so many pods.
fn no_addresses_left(
    model: &Model,
    limits: &Limits,
    pool: &Pool,
    compatible: &Compatible,
    pods: usize,
) -> Option<NodePoolUnfit> {
    let zones = model.zones.iter_enumerated().filter(|(index, _)| {
        let zone = ZoneSet::one(*index);
        compatible.zones.contains(*index)
            && compatible.types.iter().any(|own| {
                pool.types[own].offerings_in(zone, compatible.purchases).next().is_some()
            })
    });
    short_of_addresses(limits.addresses.as_ref()?, pool, zones.map(|(_, zone)| zone), pods)
}

/// Says that all of these zones, of which there is one at least, have too few addresses.
fn short_of_addresses<'z>(
    ledger: &AddressLedger,
    pool: &Pool,
    zones: impl Iterator<Item = &'z Text>,
    pods: usize,
) -> Option<NodePoolUnfit> {
    let class = &pool.node_pool.template.node_class_ref.name;
    let policy = ledger.policy(class)?;
    let mut best: Option<(i64, &Text)> = None;
    for zone in zones {
        if ledger.has_room(class, zone, pods) {
            return None;
        }
        let free = ledger.free(class, zone)?;
        if best.is_none_or(|(most, _)| free > most) {
            best = Some((free, zone));
        }
    }
    let (free, zone) = best?;
    Some(NodePoolUnfit::NoAddresses {
        node_class: class.clone(),
        zone: zone.clone(),
        free,
        needed: i64::try_from(policy.needed(pods)).unwrap_or(i64::MAX),
        min_free: policy.min_free,
    })
}

/// The refusal, or what the node class adds to it: offerings in zones without a subnet, or without
/// addresses there, exist and cannot be launched.
pub(crate) fn with_subnets(
    model: &Model,
    pool: &Pool,
    way: Option<ConjunctionId>,
    unfit: NodePoolUnfit,
) -> NodePoolUnfit {
    let is_about_offerings = match &unfit {
        NodePoolUnfit::NoOffering => true,
        NodePoolUnfit::UnmetRequirements(unmet) => **unmet == UnmetRequirements::NotSold,
        NodePoolUnfit::Label { key, .. } => &**key == label::ZONE,
        _ => false,
    };
    if !is_about_offerings {
        return unfit;
    }
    let with_addresses = || no_addresses(model, pool, way);
    no_subnet(model, pool, way).or_else(with_addresses).unwrap_or(unfit)
}

/// The only zones left have too few addresses in the subnets of the pool's node class.
fn no_addresses(model: &Model, pool: &Pool, way: Option<ConjunctionId>) -> Option<NodePoolUnfit> {
    let ledger = model.addresses.as_ref()?;
    let zones = ledger.policy(&pool.node_pool.template.node_class_ref.name)?.zones();
    let left = zones_left(model, pool, way);
    short_of_addresses(ledger, pool, left.into_iter().filter(|zone| zones.contains(zone)), 1)
}

/// Zones that the pod and the NodePool both allow.
fn zones_left<'m>(model: &'m Model, pool: &Pool, way: Option<ConjunctionId>) -> Vec<&'m Text> {
    let sets = &model.sets;
    let asked = way.and_then(|way| {
        let rules = sets.rules(way);
        rules.iter().find(|rule| &*rule.key == label::ZONE).map(|rule| sets.get(rule.set))
    });
    let own = pool.own.get(label::ZONE).map(|own| &own.values);
    model
        .zones
        .iter()
        .filter(|zone| asked.as_ref().is_none_or(|asked| asked.contains(zone)))
        .filter(|zone| own.is_none_or(|own| own.contains(zone)))
        .collect()
}

/// The only zones left have no subnet of the pool's node class, as far as that has found any.
fn no_subnet(model: &Model, pool: &Pool, way: Option<ConjunctionId>) -> Option<NodePoolUnfit> {
    let name = &pool.node_pool.template.node_class_ref.name;
    let class = model.snapshot.objects.node_classes.iter().find(|class| class.name == *name)?;
    let mut zones: Vec<Text> =
        class.status.subnets.iter().map(|subnet| subnet.zone.clone()).collect();
    zones.sort();
    zones.dedup();
    let left = zones_left(model, pool, way);
    let has_none = !zones.is_empty() && left.iter().all(|zone| !zones.contains(*zone));
    let zone = left.first().filter(|_| has_none)?;
    Some(NodePoolUnfit::NoSubnet { zone: (*zone).clone(), node_class: name.clone(), zones })
}
