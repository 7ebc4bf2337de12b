//! Rules about volumes: where they can be used, how many a node can attach, and by how many pods.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::pod::ObjectKey;

use crate::place::{Place, PlaceId};
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::state::State;
use crate::violation::Rule;

/// What pods' volumes ask of the place alone.
pub(crate) fn check_topology(
    index: &PlanIndex<'_>,
    pod: PodId,
    place: &Place<'_>,
    report: &mut Report,
) {
    let Some(needs) = index.cluster.volumes(pod) else { return };
    let key = &index.pods().pod(pod).key;
    for problem in &needs.problems {
        report.add(Rule::Volume, key, problem.clone());
    }
    for terms in &needs.terms {
        if !place.meets(index.cluster, *terms) {
            report.add(Rule::VolumeTopology, key, format!("its volume cannot be used on {place}"));
        }
    }
}

/// No more volumes of a CSI driver than the Node can attach.
pub(crate) fn check_limits(
    index: &PlanIndex<'_>,
    place: PlaceId,
    residents: &[PodId],
    arrivals: &[PodId],
    report: &mut Report,
) {
    let place = &index.places[place];
    let attached = |pods: &[PodId], driver: &Text| -> BTreeSet<Text> {
        let needs = pods.iter().filter_map(|pod| index.cluster.volumes(*pod));
        let attachments = needs.flat_map(|needs| &needs.attachments);
        attachments.filter(|(own, _)| own == driver).map(|(_, volume)| volume.clone()).collect()
    };
    if arrivals.iter().all(|pod| index.cluster.volumes(*pod).is_none()) {
        return;
    }
    let Some(csi_node) = index.csi_nodes.get(&place.name) else { return };
    for (driver, limit) in &csi_node.limits {
        let before = attached(residents, driver);
        let added = attached(arrivals, driver);
        let total = before.union(&added).count();
        if !added.is_subset(&before) && total > *limit as usize {
            let message = format!("{total} volumes of {driver}, it can attach {limit}");
            report.add(Rule::VolumeLimit, &place.name, message);
        }
    }
}

/// A ReadWriteOncePod claim is used by one pod. One on a node that is going gives it up.
pub(crate) fn check_exclusive(index: &PlanIndex<'_>, state: &State, report: &mut Report) {
    let mut users: BTreeMap<&ObjectKey, Vec<PodId>> = BTreeMap::new();
    for pod in state.pods().filter(|pod| !state.is_going(index, *pod)) {
        for claim in index.cluster.volumes(pod).iter().flat_map(|needs| &needs.exclusive) {
            users.entry(claim).or_default().push(pod);
        }
    }
    for (claim, pods) in users {
        if pods.len() > 1 && pods.iter().any(|pod| state.is_new(*pod)) {
            let mut names: Vec<_> =
                pods.iter().map(|pod| index.pods().pod(*pod).key.to_string()).collect();
            names.sort_unstable();
            let message = format!("ReadWriteOncePod, used by {}", names.join(", "));
            report.add(Rule::VolumeExclusive, claim, message);
        }
    }
}
