//! How much of its limit in dollars each NodePool uses.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::InstanceType;
use domain::label::{INSTANCE_TYPE, NODE_POOL};
use domain::money::UsdPerHour;
use domain::node_offering::offering_of;
use domain::node_pool::NodePool;
use domain::resource::USD_PER_HOUR;

use crate::steps::snapshot::ClusterState;

/// A NodePool with `limits: {outrigger.dev/usd-per-hour: …}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsdUsage {
    /// The NodePool.
    pub node_pool: Text,
    /// What its nodes cost by the catalogue, and claims without an instance at most.
    pub used: UsdPerHour,
    /// The limit.
    pub limit: UsdPerHour,
}

/// NodePools with such a limit, by name.
pub(super) fn usd_usage(observed: &ClusterState) -> Vec<UsdUsage> {
    let pools = observed.listing.objects.node_pools.iter();
    let limited = pools.filter_map(|pool| Some((pool, pool.limits.find(USD_PER_HOUR)?)));
    let mut usages: Vec<UsdUsage> = limited
        .map(|(pool, limit)| UsdUsage {
            node_pool: pool.name.clone(),
            used: running(observed, pool) + in_flight(observed, pool),
            limit: UsdPerHour::from_nanos(limit),
        })
        .collect();
    usages.sort_by(|a, b| a.node_pool.cmp(&b.node_pool));
    usages
}

fn running(observed: &ClusterState, pool: &NodePool) -> UsdPerHour {
    let catalogue = observed.instance_types.of(&pool.template.node_class_ref.name);
    let types: BTreeMap<&Text, &InstanceType> =
        catalogue.iter().map(|instance_type| (&instance_type.name, instance_type)).collect();
    let nodes = observed.listing.objects.nodes.iter();
    nodes
        .filter(|node| node.labels.get(NODE_POOL) == Some(&pool.name))
        .filter_map(|node| {
            let instance_type = types.get(node.labels.get(INSTANCE_TYPE)?)?;
            offering_of(&node.labels, instance_type).map(|offering| offering.price)
        })
        .sum()
}

/// Claims whose Node has not joined.
fn in_flight(observed: &ClusterState, pool: &NodePool) -> UsdPerHour {
    let claims = observed.claims.iter().map(|claim| &claim.record);
    claims
        .filter(|record| record.claim.node_pool() == Some(&pool.name))
        .filter(|record| record.ending.is_none() && observed.node_of(record).is_none())
        .filter_map(|record| record.launch.offerings.iter().map(|own| own.price).max())
        .sum()
}
