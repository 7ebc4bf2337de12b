//! What pods ask of one place: node affinity, taints, volumes, host ports, and room.

use domain::taint::tolerated;

use crate::place::PlaceKind;
use crate::place::{Place, PlaceId};
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::port::{self, Occupants};
use crate::report::Report;
use crate::resource;
use crate::violation::Rule;
use crate::volume_rules;

/// What a claim of the plan must be able to give its pods, whatever is launched.
pub(crate) fn check_planned(
    index: &PlanIndex<'_>,
    id: PlaceId,
    pods: &[PodId],
    report: &mut Report,
) {
    let place = &index.places[id];
    let Some(launch) = place.launch().filter(|launch| !launch.types.is_empty()) else { return };
    for pod in pods {
        check_pod(index, *pod, place, report);
    }
    let occupants =
        Occupants { residents: &[], arrivals: pods, daemon_ports: &launch.daemon_ports };
    port::check(index, place, &occupants, report);
    resource::check_launch(index, place, launch, pods, report);
}

/// What a place that exists must be able to give pods that come to it, beside those that stay.
pub(crate) fn check_existing(
    index: &PlanIndex<'_>,
    id: PlaceId,
    residents: &[PodId],
    arrivals: &[PodId],
    report: &mut Report,
) {
    let place = &index.places[id];
    for pod in arrivals {
        check_pod(index, *pod, place, report);
    }
    port::check(index, place, &Occupants { residents, arrivals, daemon_ports: &[] }, report);
    resource::check_existing(index, place, residents, arrivals, report);
    volume_rules::check_limits(index, id, residents, arrivals, report);
}

/// What one pod asks of the node alone.
fn check_pod(index: &PlanIndex<'_>, pod: PodId, place: &Place<'_>, report: &mut Report) {
    let key = &index.pods().pod(pod).key;
    let verdict = place.verdict(index.cluster, index.pods().shape(pod).node_terms);
    if !verdict.certain {
        let sometimes = if verdict.possible && place.kind != PlaceKind::Node {
            " whatever is launched for it"
        } else {
            ""
        };
        let message = format!(
            "its node selector or required node affinity does not hold on {place}{sometimes}"
        );
        report.add(Rule::NodeAffinity, key, message);
    }
    let tolerations = &index.pods().spec(pod).tolerations;
    for taint in place.taints.iter().filter(|taint| taint.repels()) {
        if !tolerated(tolerations, taint) {
            report.add(Rule::Taint, key, format!("does not tolerate {taint} of {place}"));
        }
    }
    volume_rules::check_topology(index, pod, place, report);
}
