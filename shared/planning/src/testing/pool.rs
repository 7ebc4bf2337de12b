//! Makers of NodePools.

use domain::budget::Budget;
use domain::node_pool::{NodeClaimTemplate, NodePool};
use domain::pdb::CountOrPercent;
use domain::requirement::Requirement;
use std::sync::Arc;

/// A pool without requirements, limits, or budgets that hold anything.
pub(crate) fn node_pool(name: &str) -> NodePool {
    testkit::node_pool(name).without_budgets().with(|pool| pool.uid = name.into()).build()
}

/// A pool with something of its template changed.
pub(crate) fn node_pool_with(name: &str, change: impl FnOnce(&mut NodeClaimTemplate)) -> NodePool {
    let mut pool = node_pool(name);
    change(Arc::make_mut(&mut pool.template));
    pool
}

/// A pool whose nodes must meet requirements.
pub(crate) fn node_pool_of(name: &str, requirements: &[Requirement]) -> NodePool {
    node_pool_with(name, |template| template.requirements = requirements.to_vec())
}

/// A budget that is always in force, for any reason.
pub(crate) fn budget(nodes: CountOrPercent) -> Budget {
    Budget { nodes, reasons: None, window: None }
}
