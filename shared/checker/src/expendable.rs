//! Pods that are expendable by annotation `outrigger.dev/expendable-below` of a NodePool: no node
//! of it is launched for them, and none waits until they have another place.

use crate::place::PlaceId;
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::violation::Rule;

/// Whether the NodePool of a place counts the pod as expendable.
pub(crate) fn is_expendable_on(index: &PlanIndex<'_>, place: PlaceId, pod: PodId) -> bool {
    let below = index.places[place]
        .pool
        .and_then(|pool| index.cluster.pools[pool].spec.options.expendable_below);
    below.is_some_and(|below| index.pods().pod(pod).spec.priority < below)
}

/// Whether the NodePool of the node that the pod is bound to counts it as expendable.
pub(crate) fn is_expendable(index: &PlanIndex<'_>, pod: PodId) -> bool {
    let node = index.pods().pod(pod).node_name.as_ref();
    let place = node.and_then(|node| index.existing.get(node));
    place.is_some_and(|place| is_expendable_on(index, *place, pod))
}

/// Judges for whom nodes are launched.
pub(crate) fn check(index: &PlanIndex<'_>, report: &mut Report) {
    for planned in index.planned() {
        let pods = index.places[planned.place].placed.iter().copied();
        for pod in pods.filter(|pod| is_expendable_on(index, planned.place, *pod)) {
            let pod = index.pods().pod(pod);
            let message = format!(
                "launched for pod {} of priority {}, which NodePool {} buys no node for",
                pod.key, pod.spec.priority, planned.claim.node_pool
            );
            report.add(Rule::Expendable, &planned.claim.name, message);
        }
    }
}
