//! Makers of NodePools.

use domain::budget::Budget;
use domain::label::Labels;
use domain::node_pool::{Disruption, NodeClaimTemplate, NodeClassRef, NodePool};
use domain::pdb::CountOrPercent;
use domain::requirement::Requirement;
use domain::resource::Resources;
use std::sync::Arc;

/// A pool without requirements, limits, or budgets that hold anything.
pub(crate) fn node_pool(name: &str) -> NodePool {
    NodePool {
        name: name.into(),
        uid: name.into(),
        annotations: Labels::new(),
        is_deleting: false,
        ready: None,
        template: Arc::new(NodeClaimTemplate {
            node_class_ref: NodeClassRef {
                group: "karpenter.k8s.aws".into(),
                kind: "EC2NodeClass".into(),
                name: "default".into(),
            },
            ..NodeClaimTemplate::default()
        }),
        disruption: Disruption { budgets: Vec::new(), ..Disruption::default() },
        limits: Resources::new(),
        weight: 0,
        replicas: None,
    }
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
