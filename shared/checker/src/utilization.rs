//! Nodes that are used well enough by their NodePool's threshold are not consolidated.

use domain::label::CONSOLIDATE_BELOW;
use domain::reason::DisruptionReason;
use domain::resource::{CPU, MEMORY, Resources};

use crate::disruption_entry::DisruptionEntry;
use crate::place::Place;
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Refuses to consolidate a node with pods whose requests reach the threshold of its NodePool in
/// CPU or in memory. What DaemonSets and static pods request counts as not there, on both sides.
pub(crate) fn check(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    place: &Place<'_>,
    report: &mut Report,
) {
    if entry.planned.reason != DisruptionReason::Underutilized {
        return;
    }
    let Some(pool) = place.pool.map(|pool| index.cluster.pools[pool].spec) else { return };
    let Some((threshold, node)) = pool.options.consolidate_below.zip(place.node) else { return };
    let (mut used, mut left) = (Resources::new(), node.allocatable.clone());
    for id in &place.bound {
        let pod = index.pods().pod(*id);
        if !pod.is_active() {
            continue;
        }
        for (resource, amount) in pod.spec.requests.iter() {
            if pod.is_daemon() || pod.is_static() {
                left.set(resource, left.get(resource).saturating_sub(amount));
            } else {
                used.set(resource, used.get(resource).saturating_add(amount));
            }
        }
    }
    let is_reached = |resource: &&str| {
        let (used, left) = (i128::from(used.get(resource)), i128::from(left.get(resource)));
        used > 0
            && node.allocatable.find(resource).is_some()
            && used * 100 >= left * i128::from(threshold)
    };
    if let Some(resource) = [CPU, MEMORY].into_iter().find(is_reached) {
        let message = format!(
            "pods request {threshold}% or more of the {resource} of {}, and NodePool {} has {CONSOLIDATE_BELOW}",
            place.name, pool.name
        );
        report.add(Rule::Utilization, entry.subject(), message);
    }
}
