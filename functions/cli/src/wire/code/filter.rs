//! Codes of what leaves some instance types and drops others.

use planning::explain::Filter;
use schemars::JsonSchema;
use serde::Serialize;

/// What decides which instance types are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum FilterCode {
    /// All that the EC2NodeClass can see: where filtering begins.
    Catalog,
    /// A requirement of the NodePool.
    NodePoolRequirement,
    /// An offering can be launched in the NodePool's zones and capacity types.
    Offering,
    /// A requirement of the pods: node selector, node affinity or volumes.
    PodRequirement,
    /// A label that constraints between pods determine.
    Topology,
    /// DaemonSets leave the pods' host ports free.
    HostPorts,
    /// Room for what pods request of a resource, beside DaemonSets.
    Resources,
    /// The NodePool's limits have room for the type.
    Limits,
    /// A price near the cheapest, and no more types than a launch takes.
    Price,
}

impl From<&Filter> for FilterCode {
    fn from(filter: &Filter) -> Self {
        match filter {
            Filter::Catalogue(_) => Self::Catalog,
            Filter::NodePool(_) => Self::NodePoolRequirement,
            Filter::Offering => Self::Offering,
            Filter::Pods(_) => Self::PodRequirement,
            Filter::Topology(_) => Self::Topology,
            Filter::HostPorts => Self::HostPorts,
            Filter::Room { .. } => Self::Resources,
            Filter::Limits => Self::Limits,
            Filter::Price => Self::Price,
        }
    }
}
