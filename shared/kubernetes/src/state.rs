//! Reads `status` of NodePools, EC2NodeClasses and CapacityBuffers, which `manifests` does not.

use controllers::status::{
    CapacityBufferCondition, CapacityBufferStatus, NodeClassCondition, NodeClassStatus,
    NodePoolCondition, NodePoolStatus, ObjectCondition, Observed, ReservationStatus,
    ResolvedSecurityGroup,
};
use domain::node_claim::ConditionStatus;
use domain::node_class::{ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet};
use domain::requirement::{Operator, Requirement};
use domain::{Text, Timestamp};
use manifests::Field;

/// The finalizer of EC2NodeClasses.
pub(crate) const NODE_CLASS_FINALIZER: &str = "karpenter.k8s.aws/termination";

pub(crate) fn node_pool(root: Field<'_>) -> Observed<NodePoolStatus> {
    let status = root.get("status");
    Observed {
        generation: generation(root),
        has_finalizer: false,
        status: NodePoolStatus {
            resources: status.get("resources").resources(),
            nodes: status.get("nodes").count().unwrap_or_default(),
            node_class_observed_generation: status
                .get("nodeClassObservedGeneration")
                .integer()
                .unwrap_or_default(),
            conditions: conditions(status, NodePoolCondition::parse),
        },
    }
}

pub(crate) fn node_class(root: Field<'_>) -> Observed<NodeClassStatus> {
    let status = root.get("status");
    let finalizers = root.get("metadata").get("finalizers");
    Observed {
        generation: generation(root),
        has_finalizer: finalizers.items().any(|item| item.str() == Some(NODE_CLASS_FINALIZER)),
        status: NodeClassStatus {
            subnets: status.get("subnets").items().filter_map(subnet).collect(),
            security_groups: status.get("securityGroups").items().filter_map(group).collect(),
            amis: status.get("amis").items().filter_map(ami).collect(),
            capacity_reservations: status
                .get("capacityReservations")
                .items()
                .filter_map(reservation)
                .collect(),
            instance_profile: status.get("instanceProfile").text(),
            conditions: conditions(status, NodeClassCondition::parse),
        },
    }
}

pub(crate) fn capacity_buffer(root: Field<'_>) -> Observed<CapacityBufferStatus> {
    let status = root.get("status");
    Observed {
        generation: generation(root),
        has_finalizer: false,
        status: CapacityBufferStatus {
            pod_template: status.get("podTemplateRef").get("name").text(),
            pod_template_generation: status.get("podTemplateGeneration").integer(),
            replicas: status.get("replicas").count(),
            provisioning_strategy: text(status, "provisioningStrategy"),
            conditions: conditions(status, CapacityBufferCondition::parse),
        },
    }
}

fn generation(root: Field<'_>) -> i64 {
    root.get("metadata").get("generation").integer().unwrap_or_default()
}

fn subnet(item: Field<'_>) -> Option<ResolvedSubnet> {
    Some(ResolvedSubnet {
        id: item.get("id").text()?,
        zone: item.get("zone").text()?,
        zone_id: item.get("zoneID").text(),
    })
}

fn group(item: Field<'_>) -> Option<ResolvedSecurityGroup> {
    Some(ResolvedSecurityGroup { id: item.get("id").text()?, name: item.get("name").text() })
}

fn ami(item: Field<'_>) -> Option<ResolvedAmi> {
    Some(ResolvedAmi {
        id: item.get("id").text()?,
        name: item.get("name").text(),
        is_deprecated: item.get("deprecated").bool().unwrap_or_default(),
        requirements: item.get("requirements").items().filter_map(requirement).collect(),
    })
}

/// A requirement of a resolved image.
fn requirement(item: Field<'_>) -> Option<Requirement> {
    Some(Requirement {
        key: item.get("key").text()?,
        operator: item.get("operator").str().and_then(Operator::parse)?,
        values: item.get("values").texts(),
        min_values: None,
    })
}

fn reservation(item: Field<'_>) -> Option<ReservationStatus> {
    let text_or = |key, default: &str| {
        item.get(key).text().unwrap_or_else(|| item.reader().interner().text(default))
    };
    Some(ReservationStatus {
        reservation: ResolvedCapacityReservation {
            id: item.get("id").text()?,
            instance_type: item.get("instanceType").text()?,
            zone: text_or("availabilityZone", ""),
            is_expiring: item.get("state").str() == Some("expiring"),
            reservation_type: text_or("reservationType", "default"),
            is_interruptible: item.get("interruptible").bool().unwrap_or_default(),
        },
        owner_id: text_or("ownerID", ""),
        match_criteria: text_or("instanceMatchCriteria", ""),
        end: item.get("endTime").timestamp(),
    })
}

/// The conditions that we write; those of other controllers are left out.
fn conditions<K>(status: Field<'_>, parse: fn(&str) -> Option<K>) -> Vec<ObjectCondition<K>> {
    let read = |item: Field<'_>| {
        Some(ObjectCondition {
            kind: item.get("type").str().and_then(parse)?,
            status: condition_status(item.get("status").str()?),
            reason: text(item, "reason"),
            message: text(item, "message"),
            changed: item.get("lastTransitionTime").timestamp().unwrap_or(Timestamp::UNIX_EPOCH),
            observed_generation: item.get("observedGeneration").integer().unwrap_or_default(),
        })
    };
    status.get("conditions").items().filter_map(read).collect()
}

fn text(item: Field<'_>, key: &'static str) -> Text {
    item.get(key).text().unwrap_or_default()
}

fn condition_status(word: &str) -> ConditionStatus {
    match word {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}
