//! Whether a NodeClaim object is up to date with its claim.

use domain::Timestamp;
use domain::node_claim::{Condition, NodeClaim, NodeClaimStatus};

/// Whether an object shows its claim. Times are compared in whole seconds, as the API stores them;
/// other annotations of the object do not count, nor do fields that the API lacks.
pub fn is_up_to_date(object: &NodeClaim, claim: &NodeClaim) -> bool {
    object.labels == claim.labels
        && claim.annotations.iter().all(|(key, value)| object.annotations.get(key) == Some(value))
        && is_equal_status(&object.status, &claim.status)
}

/// Whether two statuses are equal as the API stores them.
fn is_equal_status(object: &NodeClaimStatus, claim: &NodeClaimStatus) -> bool {
    let NodeClaimStatus {
        node_name,
        provider_id,
        image_id,
        capacity,
        allocatable,
        last_pod_event,
        network: _,
        conditions,
    } = object;
    *node_name == claim.node_name
        && *provider_id == claim.provider_id
        && *image_id == claim.image_id
        && *capacity == claim.capacity
        && *allocatable == claim.allocatable
        && seconds(*last_pod_event) == seconds(claim.last_pod_event)
        && conditions.len() == claim.conditions.len()
        && conditions
            .iter()
            .all(|own| claim.conditions.iter().any(|other| is_equal_condition(own, other)))
}

fn is_equal_condition(own: &Condition, other: &Condition) -> bool {
    let Condition { kind, status, reason, message, changed } = own;
    *kind == other.kind
        && *status == other.status
        && *reason == other.reason
        && *message == other.message
        && seconds(*changed) == seconds(other.changed)
}

fn seconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record};
    use domain::SignedDuration;
    use domain::node_claim::InstanceNetwork;

    #[test]
    fn what_the_api_has_no_field_for_makes_no_difference() {
        let object = initialized_record("web-1", at(0)).claim;
        let mut claim = object.clone();
        let subnet = "subnet-1".into();
        claim.status.network = Some(InstanceNetwork { subnet, security_groups: Vec::new() });
        assert!(is_up_to_date(&object, &claim));
    }

    #[test]
    fn fractions_of_a_second_and_annotations_of_others_make_no_difference() {
        let claim = initialized_record("web-1", at(0) + SignedDuration::from_millis(345)).claim;
        let mut object = initialized_record("web-1", at(0)).claim;
        object.annotations.insert("team".into(), "blue".into());
        assert!(is_up_to_date(&object, &claim));
        object.status.node_name = None;
        assert!(!is_up_to_date(&object, &claim));
    }
}
