//! What ClusterLimits leave for new nodes of any NodePool.

use domain::Text;
use domain::cluster_limit::tightest;
use domain::label;
use domain::resource::{NODES, Resources, USD_PER_HOUR};

use super::usd_limit;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::pool::Pool;

/// What all pools together may still launch, by the resources that ClusterLimits name: nodes of
/// NodePools and claims in flight count, those being deleted and those left out do not. Nodes that
/// no NodePool manages are not counted: Outrigger neither launches nor ends them.
pub(super) fn left(model: &Model, leaves_out: impl Fn(NodeIx) -> bool) -> Vec<(Text, i64)> {
    let limits = tightest(&model.snapshot.objects.cluster_limits);
    if limits.is_empty() {
        return Vec::new();
    }
    let counts_dollars = limits.contains_key(USD_PER_HOUR);
    let mut used = Resources::new();
    let mut usd = 0_i64;
    for (index, node) in model.nodes.iter_enumerated() {
        if !node.is_managed || node.is_deleting || leaves_out(index) {
            continue;
        }
        used.add(&node.capacity);
        used.add(&Resources::new().with(NODES, 1));
        if counts_dollars {
            let named = node.labels.get(label::NODE_POOL);
            let is_its = |pool: &&Pool| Some(&pool.node_pool.name) == named;
            let own = model.pools.iter().find(is_its).map(|pool| usd_limit::counted(pool, node));
            usd = usd.saturating_add(own.unwrap_or_else(|| usd_limit::counted_alone(node)));
        }
    }
    if counts_dollars {
        used = used.with(USD_PER_HOUR, usd);
    }
    limits.into_iter().map(|(name, own)| (name.clone(), own.limit - used.get(&name))).collect()
}
