//! How many pods there are that buy no node.

use std::collections::BTreeMap;

use domain::Text;
use domain::label::NODE_POOL;
use domain::node_pool::NodePool;
use domain::plan::Plan;

use crate::steps::snapshot::ClusterState;

/// Pods that their NodePool's `outrigger.dev/expendable-below` counts as expendable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpendablePods {
    /// On nodes of such NodePools.
    pub running: usize,
    /// Waiting for room that others leave.
    pub waiting: usize,
}

impl ExpendablePods {
    /// `None` where no NodePool has the annotation.
    pub(super) fn of(plan: &Plan, observed: &ClusterState) -> Option<Self> {
        let objects = &observed.listing.objects;
        let has_option = |pool: &&NodePool| pool.options.expendable_below.is_some();
        let pools: BTreeMap<&Text, &NodePool> =
            objects.node_pools.iter().filter(has_option).map(|pool| (&pool.name, pool)).collect();
        if pools.is_empty() {
            return None;
        }
        let of_node: BTreeMap<&Text, &NodePool> = objects
            .nodes
            .iter()
            .filter_map(|node| Some((&node.name, *pools.get(node.labels.get(NODE_POOL)?)?)))
            .collect();
        let runs = |pod: &&domain::pod::Pod| {
            let pool = pod.node_name.as_ref().and_then(|node| of_node.get(node));
            pod.is_active() && pool.is_some_and(|own| own.options.is_expendable(pod.spec.priority))
        };
        Some(Self {
            running: objects.pods.iter().filter(runs).count(),
            waiting: plan.unschedulable.iter().filter(|own| own.is_expendable()).count(),
        })
    }
}
