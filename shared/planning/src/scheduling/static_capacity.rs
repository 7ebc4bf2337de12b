//! Static NodePools (`spec.replicas`): claims for the nodes that they lack, whichever pods are
//! pending.
//!
//! Source: Karpenter's static provisioning, which counts nodes that are being replaced and leaves
//! out those that are being deleted.

use domain::label;
use domain::node_pool::NodePool;
use domain::plan::PlannedNodeClaim;

use super::claim::{Names, claim};
use super::node_zones::NodeZones;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::ids::PoolIx;
use crate::model::Model;
use crate::model::pool::Pool;
use crate::work::NewNode;

/// Nodes launched for one pool in one plan; the next plan launches the rest.
const LAUNCHES_MAX: u32 = 500;

/// Claims for what static pools lack, each with the index of its pool: within `limits.nodes`, of
/// the cheapest types.
pub(crate) fn claims(
    scope: Scope,
    limits: &mut Limits,
    zones: &mut Option<NodeZones>,
    names: &mut Names,
) -> Vec<(PoolIx, PlannedNodeClaim)> {
    let Scope { model, memo, .. } = scope;
    let mut claims = Vec::new();
    if !model.snapshot.settings.feature_gates.static_capacity {
        return claims;
    }
    for (index, pool) in model.pools.iter_enumerated() {
        for _ in 0..missing(model, pool).min(LAUNCHES_MAX) {
            // A reservation may be used up by now.
            let Some(packed) = empty_node(scope, limits, index) else { break };
            let capacity = &pool.types[packed.type_index].capacity;
            if limits.allow(index, capacity) == 0 {
                break;
            }
            limits.take(index, capacity);
            let settled = match zones {
                Some(zones) => {
                    zones.settle(scope, limits, std::slice::from_ref(&packed)).nodes.pop()
                }
                None => Some(packed.clone()),
            };
            let Some(settled) = settled else { break };
            let Some(claim) = claim(model, memo, &settled, limits, names) else { break };
            if let Some(reservation) = &claim.offering.reservation_id {
                limits.reserve(reservation, 1);
            }
            claims.push((index, claim));
        }
    }
    claims
}

/// How many nodes the pool lacks; none where it may launch nothing.
fn missing(model: &Model, pool: &Pool) -> u32 {
    let own = pool.node_pool;
    let may_launch = !own.is_deleting
        && own.ready != Some(false)
        && !has_class_fault(model, own)
        && own.options.off_period(model.snapshot.now).is_none();
    let Some(replicas) = own.replicas.filter(|_| may_launch) else { return 0 };
    let is_own = |node: &&crate::model::node::NodeView| {
        node.is_managed && !node.is_deleting && node.labels.get(label::NODE_POOL) == Some(&own.name)
    };
    let there = model.nodes.iter().filter(is_own).count();
    replicas.saturating_sub(u32::try_from(there).unwrap_or(u32::MAX))
}

/// Whether nothing is launched from the pool's EC2NodeClass.
fn has_class_fault(model: &Model, own: &NodePool) -> bool {
    let name = &own.template.node_class_ref.name;
    let mut classes = model.snapshot.objects.node_classes.iter();
    classes.find(|class| class.name == *name).is_some_and(|class| class.fault().is_some())
}

/// A node of the pool with nothing but its DaemonSets, of the cheapest type that they fit on, or
/// that there is where they fit on none; `None` where none is offered, reservations that are used
/// up left out, or the pool contradicts itself.
pub(crate) fn empty_node(
    Scope { model, memo, .. }: Scope,
    limits: &Limits,
    index: PoolIx,
) -> Option<NewNode> {
    let pool = &model.pools[index];
    let mut compatible = pool.everything_usual();
    compatible.purchases = limits.purchases_left(pool, compatible.purchases);
    let cheapest = memo.cheapest(pool, compatible.zones, compatible.purchases);
    if pool.has_no_node {
        return None;
    }
    let requests = vec![0; model.resources.len()];
    let type_index = cheapest.iter().find(|own| compatible.types.contains(own.index))?.index;
    Some(NewNode {
        pool: index,
        compatible,
        type_index,
        requests,
        members: Vec::new(),
        types_wanted: None,
    })
}
