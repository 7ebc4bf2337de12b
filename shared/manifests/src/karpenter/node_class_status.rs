//! `status` of an EC2NodeClass: what its selectors were resolved to.

use domain::node_class::{
    Ec2NodeClassStatus, ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet,
};

use super::metadata::read_ready;
use super::requirement::{RequirementsOf, read_requirements};
use crate::field::Field;

/// Reads the status. A controller wrote it, so fields that are not known are passed over.
pub(crate) fn read_node_class_status(status: Field<'_>) -> Ec2NodeClassStatus {
    Ec2NodeClassStatus {
        subnets: status.get("subnets").items().filter_map(read_subnet).collect(),
        security_groups: status
            .get("securityGroups")
            .items()
            .filter_map(|group| group.get("id").required().text())
            .collect(),
        amis: status.get("amis").items().filter_map(read_ami).collect(),
        capacity_reservations: status
            .get("capacityReservations")
            .items()
            .filter_map(read_reservation)
            .collect(),
        instance_profile: status.get("instanceProfile").text(),
        ready: read_ready(status),
    }
}

fn read_subnet(item: Field<'_>) -> Option<ResolvedSubnet> {
    let (id, zone) = (item.get("id").required().text(), item.get("zone").required().text());
    Some(ResolvedSubnet { id: id?, zone: zone?, zone_id: item.get("zoneID").text() })
}

fn read_ami(item: Field<'_>) -> Option<ResolvedAmi> {
    Some(ResolvedAmi {
        id: item.get("id").required().text()?,
        name: item.get("name").text(),
        is_deprecated: item.get("deprecated").bool().unwrap_or(false),
        requirements: read_requirements(item.get("requirements"), RequirementsOf::Image),
    })
}

fn read_reservation(item: Field<'_>) -> Option<ResolvedCapacityReservation> {
    let required = |key| item.get(key).required().text();
    let (id, instance_type) = (required("id"), required("instanceType"));
    // Reports of before 1.6 name neither the zone's type of reservation nor its state.
    let zone = item.get("availabilityZone").text().or_else(|| item.get("zone").text());
    let state = item.get("state").choice(&[(false, "active"), (true, "expiring")]);
    let kind = item
        .get("reservationType")
        .choice(&[("default", "default"), ("capacity-block", "capacity-block")]);
    Some(ResolvedCapacityReservation {
        id: id?,
        instance_type: instance_type?,
        zone: zone.unwrap_or_default(),
        is_expiring: state.unwrap_or(false),
        reservation_type: item.reader().interner().text(kind.unwrap_or("default")),
        is_interruptible: item.get("interruptible").bool().unwrap_or(false),
    })
}
