//! Claims in capacity reservations that end before the claims do.

use domain::instance_type::{CapacityType, InstanceTypes};
use domain::label;
use domain::node_class::Ec2NodeClass;

use crate::ports::cloud::Instance;
use crate::ports::cluster::NodePatch;
use crate::record::claim::ClaimRecord;

const CAPACITY_BLOCK: &str = "capacity-block";

/// Whether a claim's capacity block expires soon, so that its pods must leave before.
pub fn is_expiring(record: &ClaimRecord, class: Option<&Ec2NodeClass>) -> bool {
    let own = record.instance.as_ref().and_then(|instance| instance.reservation_id.as_ref());
    let (Some(own), Some(class)) = (own, class) else { return false };
    class.status.capacity_reservations.iter().any(|reservation| {
        reservation.id == *own
            && reservation.is_expiring
            && &*reservation.reservation_type == CAPACITY_BLOCK
    })
}

/// The claim relabelled as on-demand and the change of its Node, when its instance has left its
/// reservation and is billed as on-demand. `None` otherwise.
pub fn demoted(
    record: &ClaimRecord,
    listed: Option<&Instance>,
    catalogue: &InstanceTypes,
) -> Option<(ClaimRecord, NodePatch)> {
    let own = record.instance.as_ref()?;
    let is_demoted = own.capacity_type == CapacityType::Reserved
        && listed.is_some_and(|listed| listed.reservation_id.is_none() && listed.state.is_alive());
    if !is_demoted {
        return None;
    }
    let mut record = record.clone();
    let on_demand: domain::Text = CapacityType::OnDemand.as_str().into();
    record.claim.labels.insert(label::CAPACITY_TYPE.into(), on_demand.clone());
    for key in label::OF_RESERVATION {
        record.claim.labels.remove(key);
    }
    let types = catalogue.of(&record.launch.node_class);
    if let Some(instance) = &mut record.instance {
        let offering =
            types.iter().find(|own| own.name == instance.instance_type).and_then(|own| {
                own.offerings.iter().find(|offering| {
                    offering.zone == instance.zone
                        && offering.capacity_type == CapacityType::OnDemand
                })
            });
        instance.price = offering.map(|offering| offering.price).or(instance.price);
        instance.capacity_type = CapacityType::OnDemand;
        instance.reservation_id = None;
    }
    let patch = NodePatch {
        labels: [(label::CAPACITY_TYPE.into(), on_demand)].into(),
        remove_labels: label::OF_RESERVATION.map(Into::into).to_vec(),
        ..NodePatch::default()
    };
    Some((record, patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, instance_type, node_class, offering};
    use domain::node_class::ResolvedCapacityReservation;

    fn reserved() -> ClaimRecord {
        let mut record = initialized_record("web-1", at(0));
        let instance = record.instance.as_mut().unwrap();
        instance.capacity_type = CapacityType::Reserved;
        instance.reservation_id = Some("cr-1".into());
        record.claim.labels.insert(label::RESERVATION_ID.into(), "cr-1".into());
        record.claim.labels.insert(label::CAPACITY_TYPE.into(), "reserved".into());
        record
    }

    #[test]
    fn an_instance_that_left_its_reservation_is_labelled_and_priced_on_demand() {
        let record = reserved();
        let mut listed = record.instance.clone().unwrap();
        let types = vec![instance_type("m5.large", [offering("a", "on-demand", 96)])];
        let catalogue = InstanceTypes { default: types.into(), ..InstanceTypes::default() };
        assert_eq!(demoted(&record, Some(&listed), &catalogue), None);
        assert_eq!(demoted(&record, None, &catalogue), None, "a list may lag");
        listed.reservation_id = None;
        let (record, patch) = demoted(&record, Some(&listed), &catalogue).unwrap();
        assert_eq!(record.claim.labels[label::CAPACITY_TYPE], "on-demand".into());
        assert!(!record.claim.labels.contains_key(label::RESERVATION_ID));
        assert_eq!(record.instance.as_ref().unwrap().price, Some(offering("a", "spot", 96).price));
        assert!(patch.remove_labels.contains(&label::RESERVATION_ID.into()));
        assert_eq!(demoted(&record, Some(&listed), &catalogue), None, "once is enough");
    }

    #[test]
    fn a_capacity_block_that_ends_soon_ends_its_claims() {
        let record = reserved();
        let mut class = node_class("default");
        class.status.capacity_reservations = vec![ResolvedCapacityReservation {
            id: "cr-1".into(),
            instance_type: "m5.large".into(),
            zone: "a".into(),
            is_expiring: true,
            reservation_type: CAPACITY_BLOCK.into(),
            is_interruptible: false,
        }];
        assert!(is_expiring(&record, Some(&class)));
        class.status.capacity_reservations[0].reservation_type = "default".into();
        assert!(!is_expiring(&record, Some(&class)));
        assert!(!is_expiring(&record, None));
    }
}
