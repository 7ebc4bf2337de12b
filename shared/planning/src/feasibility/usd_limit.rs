//! What nodes count against `limits: {outrigger.dev/usd-per-hour: …}` of their NodePool.
//!
//! A node that runs counts at its price by the catalogue. One that is still to be launched counts
//! at the dearest offering of its instance type that the NodePool allows, since EC2 picks the zone:
//! so whatever is launched, the limit holds. Once it is there, it counts at what it was bought for.

use domain::instance_type::InstanceType;
use domain::label;
use domain::money::UsdPerHour;
use domain::requirement::Requirements;
use domain::resource::USD_PER_HOUR;

use crate::model::node::NodeView;
use crate::model::pool::Pool;

/// Billionths of a dollar an hour that a node or a claim in flight counts for.
///
/// A claim in flight says itself what it may come to, or else is one of the types that its
/// requirements allow. A node counts by the catalogue, and for nothing where that does not
/// have its price.
pub(super) fn counted(pool: &Pool, node: &NodeView) -> i64 {
    let said = node.capacity.find(USD_PER_HOUR);
    let priced = || node.list_price().map(UsdPerHour::nanos);
    said.or_else(priced).unwrap_or_else(|| most_of_claim(pool, node))
}

/// The same of a node whose NodePool is gone.
pub(super) fn counted_alone(node: &NodeView) -> i64 {
    let priced = || node.price().map(UsdPerHour::nanos);
    node.capacity.find(USD_PER_HOUR).or_else(priced).unwrap_or(0)
}

fn most_of_claim(pool: &Pool, node: &NodeView) -> i64 {
    let Some(claim) = node.claim.filter(|_| node.node.is_none()) else { return 0 };
    let requirements = Requirements::of(claim.requirements.iter());
    let named = requirements.get(label::INSTANCE_TYPE);
    let allows = |own: &InstanceType| named.is_none_or(|rule| rule.values.contains(&own.name));
    let types = pool.types.iter().filter(|own| allows(own.instance_type));
    types.map(|own| own.capacity.get(USD_PER_HOUR)).max().unwrap_or(0)
}
