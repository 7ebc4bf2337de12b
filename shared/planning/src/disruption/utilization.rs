//! Utilization: the share of a node that its pods request, and the threshold of
//! `outrigger.dev/consolidate-below`.
//!
//! Defined as in Cluster Autoscaler with `--ignore-daemonsets-utilization` and
//! `--ignore-mirror-pods-utilization`: of CPU and memory the larger share, pods of DaemonSets and
//! static pods taken off both what is requested and what is allocatable.
//!
//! Source: Cluster Autoscaler `simulator/utilization/info.go`.

use domain::pod::Pod;
use domain::reason::NotDisruptable;
use domain::resource::{CPU, MEMORY};

use crate::model::node::NodeView;

/// Why a node with these pods is not consolidated by its pool's threshold; `None` where it is below
/// it, or where there is none.
pub(super) fn above_threshold(node: &NodeView, pods: &[&Pod]) -> Option<NotDisruptable> {
    let pool = node.node_pool?;
    let threshold = pool.options.consolidate_below?;
    let (resource, percent) = [CPU, MEMORY]
        .into_iter()
        .filter_map(|resource| Some((resource, percent_of(node, pods, resource)?)))
        .filter(|(_, percent)| *percent >= i64::from(threshold))
        .max_by_key(|(resource, percent)| (*percent, std::cmp::Reverse(*resource)))?;
    Some(NotDisruptable::Utilized {
        node_pool: pool.name.clone(),
        resource: resource.into(),
        percent: u32::try_from(percent).unwrap_or(u32::MAX),
        threshold: u32::from(threshold),
    })
}

/// The share of one resource that pods request, in whole percents, rounded down; `None` of a node
/// that says nothing of it.
fn percent_of(node: &NodeView, pods: &[&Pod], resource: &str) -> Option<i64> {
    let allocatable = node.node?.allocatable.find(resource)?;
    let mut requested = 0_i64;
    let mut overhead = 0_i64;
    for pod in pods.iter().filter(|pod| pod.is_active()) {
        let own = pod.spec.requests.get(resource);
        let sum = if pod.is_daemon() || pod.is_static() { &mut overhead } else { &mut requested };
        *sum = sum.saturating_add(own);
    }
    let room = allocatable.saturating_sub(overhead);
    if requested == 0 {
        return Some(0);
    }
    if room <= 0 {
        return Some(100);
    }
    let percent = i128::from(requested) * 100 / i128::from(room);
    Some(i64::try_from(percent).unwrap_or(i64::MAX))
}
