//! Every pending pod is mentioned exactly once: on a new claim, on a place that exists, or as
//! unschedulable.

use std::collections::BTreeMap;

use domain::label::Labels;
use domain::plan::Plan;
use domain::pod::{Pod, PodKey, PodSpec};
use domain::snapshot::ClusterSnapshot;
use domain::workload::PodTemplate;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::obligation::{ADDED_BY_SCHEDULE, PlanObligation, is_gated};
use crate::place::PlaceKind;
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::violation::Rule;

/// Pods that the plan names and that a ScaledObject's schedule is about to add.
///
/// How such a pod is named is nowhere fixed: any name will do that holds the ScaledObject's or its
/// target's.
pub(crate) fn scheduled_pods(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<Pod> {
    if snapshot.objects.scaled_objects.is_empty() {
        return Vec::new();
    }
    let known: FxHashSet<&PodKey> = snapshot.objects.pods.iter().map(|pod| &pod.key).collect();
    let named = named_pods(plan).filter(|key| !known.contains(key));
    named.filter_map(|key| scheduled_pod(snapshot, key)).collect()
}

fn scheduled_pod(snapshot: &ClusterSnapshot, key: &PodKey) -> Option<Pod> {
    let scaled = snapshot.objects.scaled_objects.iter().find(|scaled| {
        let (_, target) = &scaled.target;
        key.name.contains(&*scaled.key.name) || (!target.is_empty() && key.name.contains(&**target))
    })?;
    let workload = snapshot.objects.workloads.iter().find(|workload| {
        (workload.kind, &workload.key.name) == (scaled.target.0, &scaled.target.1)
            && workload.key.namespace == scaled.key.namespace
    });
    let template = workload.map(|workload| workload.template.clone());
    let template = template.unwrap_or_else(|| PodTemplate {
        labels: Labels::new().into(),
        spec: PodSpec::default().into(),
    });
    Some(Pod {
        uid: ADDED_BY_SCHEDULE.into(),
        labels: template.labels,
        spec: template.spec,
        ..Pod::pending(key.clone())
    })
}

/// Every mention of a pod that gets a place or has none.
fn named_pods(plan: &Plan) -> impl Iterator<Item = &PodKey> {
    let claimed = plan.node_claims.iter().flat_map(|claim| &claim.pods);
    let placed = plan.placements.iter().map(|placement| &placement.pod);
    let unschedulable = plan.unschedulable.iter().map(|unschedulable| &unschedulable.pod);
    claimed.chain(placed).chain(unschedulable)
}

/// Reads where the plan puts pods, and says which it forgets, repeats or should not name.
pub(crate) fn read(index: &mut PlanIndex<'_>, report: &mut Report) {
    read_claims(index, report);
    read_placements(index, report);
    for unschedulable in &index.plan.unschedulable {
        find(index, &unschedulable.pod, report);
    }
    let mut mentions: FxHashMap<&PodKey, u32> = FxHashMap::default();
    for key in named_pods(index.plan) {
        *mentions.entry(key).or_default() += 1;
    }
    let required = index.pods().list.iter().zip(&index.obligations);
    let mut missing: Vec<&PodKey> = required
        .filter(|(_, obligation)| **obligation == PlanObligation::Required)
        .map(|(entry, _)| &entry.pod.key)
        .filter(|key| !mentions.contains_key(key))
        .collect();
    missing.sort_unstable();
    for key in missing {
        report.add(Rule::PodMissing, key, "a pending pod that the plan does not mention");
    }
    let repeated: BTreeMap<&PodKey, u32> =
        mentions.into_iter().filter(|(_, count)| *count > 1).collect();
    for (key, count) in repeated {
        report.add(Rule::PodTwice, key, format!("the plan mentions it {count} times"));
    }
}

fn read_claims(index: &mut PlanIndex<'_>, report: &mut Report) {
    let plan = index.plan;
    let mut names: BTreeMap<_, u32> = BTreeMap::new();
    for claim in crate::cluster_index::planned_claims(plan) {
        *names.entry(&claim.name).or_default() += 1;
    }
    for (name, count) in names {
        if count > 1 || index.existing.contains_key(name) {
            report.add(Rule::ClaimName, name, "the name of a new claim is taken");
        }
    }
    for claim in &plan.node_claims {
        let place = index.add_claim(claim, PlaceKind::New, report);
        for key in &claim.pods {
            if let Some(pod) = find_ungated(index, key, report) {
                index.places[place].placed.push(pod);
            }
        }
    }
}

fn read_placements(index: &mut PlanIndex<'_>, report: &mut Report) {
    for placement in &index.plan.placements {
        let Some(place) = index.existing.get(&placement.node).copied() else {
            find(index, &placement.pod, report);
            let message = format!(
                "is placed on {}, which is neither a node nor a claim in flight",
                placement.node
            );
            report.add(Rule::NodeUnknown, &placement.pod, message);
            continue;
        };
        if let Some(pod) = find_ungated(index, &placement.pod, report) {
            index.places[place].placed.push(pod);
        }
    }
}

/// The pod of that name that may be given a place.
fn find(index: &PlanIndex<'_>, key: &PodKey, report: &mut Report) -> Option<PodId> {
    let Some(id) = index.pods().find(key) else {
        report.add(Rule::PodUnknown, key, "no such pod in the input");
        return None;
    };
    if index.obligations[id] != PlanObligation::NotPending {
        return Some(id);
    }
    let message = match &index.pods().pod(id).node_name {
        Some(node) => format!("the plan places a pod that is on node {node}"),
        None => "the plan places a pod that is finished or being deleted".to_owned(),
    };
    report.add(Rule::PodNotPending, key, message);
    None
}

fn find_ungated(index: &PlanIndex<'_>, key: &PodKey, report: &mut Report) -> Option<PodId> {
    let id = find(index, key, report)?;
    if is_gated(index.pods().pod(id)) {
        let message = "has scheduling gates, so the scheduler does not consider it";
        report.add(Rule::PodGated, key, message);
    }
    Some(id)
}
