//! Why a pod found no place: for each NodePool, the first thing that rules it out.

use domain::Text;
use domain::reason::{NodePoolUnfit, PodUnschedulable, VolumeProblem};

use super::fit::pool_fit;
use super::limits::Limits;
use super::topology::{Rule, Topology};
use crate::model::Model;

/// Reasons for one pod of a shape, at least one.
pub(crate) fn reasons(
    model: &Model,
    topology: &Topology,
    limits: &Limits,
    shape_index: usize,
) -> Vec<PodUnschedulable> {
    let shape = model.shape(shape_index);
    if let Some(hopeless) = &shape.hopeless {
        return vec![hopeless.clone()];
    }
    if model.pools.is_empty() {
        return vec![PodUnschedulable::NoNodePool];
    }
    let mut pools: Vec<_> = model.pools.iter().enumerate().collect();
    pools.sort_by_key(|(_, pool)| &pool.node_pool.name);
    let reasons: Vec<PodUnschedulable> = pools
        .into_iter()
        .map(|(index, pool)| PodUnschedulable::NodePool {
            node_pool: pool.node_pool.name.clone(),
            reason: pool_reason(model, topology, limits, shape_index, index),
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

/// The first thing that rules the pool out: for the first way of meeting the pod's requirements that gets
/// as far as limits, else for the first written.
fn pool_reason(
    model: &Model,
    topology: &Topology,
    limits: &Limits,
    shape_index: usize,
    pool_index: usize,
) -> NodePoolUnfit {
    let shape = model.shape(shape_index);
    let pool = &model.pools[pool_index];
    let mut first_unfit = None;
    for way in &shape.alternatives {
        match pool_fit(model, pool, shape, *way) {
            Err(unfit) => {
                first_unfit.get_or_insert(unfit);
            }
            Ok(compatible) => {
                let held_back = compatible
                    .types
                    .ones()
                    .map(|index| &pool.types[index])
                    .filter(|one| one.has_room_for(&shape.requests))
                    .map(|one| limits.exceeded(pool_index, &one.capacity))
                    .collect::<Option<Vec<(Text, i64)>>>()
                    .and_then(|exceeded| exceeded.into_iter().next());
                return match held_back {
                    Some((resource, left)) => {
                        let limit = pool.node_pool.limits.get(&resource);
                        NodePoolUnfit::Limit { resource, limit, used: limit - left }
                    }
                    None => topology_reason(topology, shape_index),
                };
            }
        }
    }
    // Without any alternative the pod's own terms contradict each other.
    first_unfit.unwrap_or(NodePoolUnfit::NoInstanceType { requirement: None })
}

/// Launches would do, so it is where other pods are: the first constraint that the pod carries, else
/// anti-affinity of others.
fn topology_reason(topology: &Topology, shape: usize) -> NodePoolUnfit {
    let ties = &topology.ties[shape];
    let required = ties.owned.iter().find(|owned| owned.weight == 0).map(|owned| owned.group);
    let repelling = ties
        .selected_by
        .iter()
        .copied()
        .find(|group| topology.groups[*group].rule == Rule::AntiAffinity);
    match required.or(repelling).map(|group| &topology.groups[group]) {
        Some(group) => match group.rule {
            Rule::Spread { .. } => NodePoolUnfit::TopologySpread(group.key.clone()),
            Rule::Affinity => NodePoolUnfit::PodAffinity(group.key.clone()),
            Rule::AntiAffinity => NodePoolUnfit::PodAntiAffinity(group.key.clone()),
        },
        None => NodePoolUnfit::VolumeTopology,
    }
}
