//! How much of its limit in dollars each NodePool uses, and of the cluster's limits all together.

use std::collections::BTreeMap;

use domain::Text;
use domain::cluster_limit::tightest;
use domain::instance_type::InstanceType;
use domain::label::{INSTANCE_TYPE, Labels, NODE_POOL};
use domain::money::UsdPerHour;
use domain::node_claim::NodeClaim;
use domain::node_offering::offering_of;
use domain::node_pool::NodePool;
use domain::resource::{CPU, NODES, Resources, USD_PER_HOUR};
use domain::snapshot::ClusterSnapshot;

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

/// How much of what a ClusterLimit limits is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterUsage {
    /// The ClusterLimit that limits the resource most.
    pub limit_name: Text,
    /// The resource.
    pub resource: Text,
    /// What nodes of NodePools have, and claims without a Node at most.
    pub used: i64,
    /// The limit.
    pub limit: i64,
}

impl ClusterUsage {
    /// An amount of it in whole units: cores and dollars rather than thousandths and billionths.
    #[expect(clippy::cast_precision_loss, reason = "a metric")]
    pub fn in_units(&self, amount: i64) -> f64 {
        match &*self.resource {
            CPU => amount as f64 / 1e3,
            USD_PER_HOUR => amount as f64 / 1e9,
            _ => amount as f64,
        }
    }
}

/// What ClusterLimits limit, by resource: before the plan, claims in flight included.
pub(super) fn cluster_usage(
    observed: &ClusterState,
    snapshot: &ClusterSnapshot,
) -> Vec<ClusterUsage> {
    let limits = tightest(&observed.listing.objects.cluster_limits);
    if limits.is_empty() {
        return Vec::new();
    }
    let mut used = Resources::new();
    let of_pool = |labels: &Labels| labels.contains_key(NODE_POOL);
    for node in snapshot.objects.nodes.iter().filter(|node| of_pool(&node.labels)) {
        used.add(&node.capacity);
        used.add(&Resources::new().with(NODES, 1));
    }
    let joined = |claim: &&NodeClaim| claim.status.node_name.is_none();
    for claim in snapshot.node_claims.iter().filter(joined) {
        used.add(&claim.status.capacity);
        used.add(&Resources::new().with(NODES, 1));
    }
    let pools = &observed.listing.objects.node_pools;
    let usd: UsdPerHour =
        pools.iter().map(|pool| running(observed, pool) + in_flight(observed, pool)).sum();
    used = used.with(USD_PER_HOUR, usd.nanos());
    let usages = limits.into_iter().map(|(resource, own)| ClusterUsage {
        limit_name: own.by,
        used: used.get(&resource),
        limit: own.limit,
        resource,
    });
    usages.collect()
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
