//! A plan as the JSON that the outside judge reads.
//!
//! It is what `outrigger plan -o json` prints, as far as the judge looks at it; written out here as
//! well, since a binary cannot be used as a library. That the binary prints the same is for the
//! command line's own tests and for `.ci/run`.

use domain::plan::{LaunchOffering, Plan, PlannedDisruption, PlannedNodeClaim};
use domain::requirement::Requirement;
use domain::taint::Taint;
use serde_json::{Value, json};

/// The document of a plan.
pub fn document(plan: &Plan) -> Value {
    let Plan {
        node_claims,
        placements,
        unschedulable,
        disruptions,
        blocked,
        awaiting_budget: _,
        candidates: _,
        virtual_pods: _,
        totals,
        committed: _,
        figures: _,
    } = plan;
    json!({
        "apiVersion": "outrigger.dev/v1alpha1",
        "kind": "Plan",
        "nodeClaims": node_claims.iter().map(claim).collect::<Vec<_>>(),
        "placements": placements.iter()
            .map(|placement| json!({"pod": placement.pod.to_string(), "node": &*placement.node}))
            .collect::<Vec<_>>(),
        "unschedulable": unschedulable.iter()
            .map(|entry| json!({"pod": entry.pod.to_string(), "reasons": strings(&entry.reasons)}))
            .collect::<Vec<_>>(),
        "disruptions": disruptions.iter().map(disruption).collect::<Vec<_>>(),
        "blocked": blocked.iter()
            .map(|entry| json!({"node": &*entry.node, "reason": entry.reason.to_string()}))
            .collect::<Vec<_>>(),
        "totals": {
            "pendingPods": totals.pending_pods,
            "hourlyUsdBefore": totals.hourly_before.to_f64(),
            "hourlyUsdAfter": totals.hourly_after.to_f64(),
            "lowerBoundHourlyUsd": totals.lower_bound.map(domain::money::UsdPerHour::to_f64),
        },
    })
}

fn strings<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn claim(claim: &PlannedNodeClaim) -> Value {
    json!({
        "name": &*claim.name,
        "nodePool": &*claim.node_pool,
        "nodeClass": &*claim.node_class,
        "instanceTypes": strings(&claim.instance_types),
        "requirements": claim.requirements.iter().map(requirement).collect::<Vec<_>>(),
        "offering": offering(&claim.offering),
        "offerings": claim.offerings.iter().map(offering).collect::<Vec<_>>(),
        "labels": claim.labels.iter()
            .map(|(key, value)| (key.to_string(), json!(&**value)))
            .collect::<serde_json::Map<_, _>>(),
        "taints": claim.taints.iter().map(taint).collect::<Vec<_>>(),
        "startupTaints": claim.startup_taints.iter().map(taint).collect::<Vec<_>>(),
        "pods": strings(&claim.pods),
    })
}

fn offering(offering: &LaunchOffering) -> Value {
    json!({
        "instanceType": &*offering.instance_type,
        "zone": &*offering.zone,
        "capacityType": offering.capacity_type.as_str(),
        "hourlyUsd": offering.price.to_f64(),
        "reservationId": offering.reservation_id.as_deref(),
    })
}

fn requirement(requirement: &Requirement) -> Value {
    json!({
        "key": &*requirement.key,
        "operator": requirement.operator.as_str(),
        "values": strings(&requirement.values),
    })
}

fn taint(taint: &Taint) -> Value {
    json!({"key": &*taint.key, "value": &*taint.value, "effect": taint.effect.as_str()})
}

fn disruption(disruption: &PlannedDisruption) -> Value {
    json!({
        "reason": disruption.reason.as_str(),
        "nodes": strings(&disruption.nodes),
        "pods": strings(&disruption.pods),
        "replacements": disruption.replacements.iter().map(claim).collect::<Vec<_>>(),
        "moves": disruption.moves.iter()
            .map(|entry| json!({"pod": entry.pod.to_string(), "node": &*entry.node}))
            .collect::<Vec<_>>(),
        "savingsHourlyUsd": disruption.savings.to_f64(),
    })
}
