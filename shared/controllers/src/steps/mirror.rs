//! Whether the object that shows a claim is up to date.

use domain::Timestamp;
use domain::node_claim::{NodeClaim, NodeClaimStatus};

/// Whether an object says what its claim says. Times count in whole seconds, as the API keeps them;
/// annotations that others set on the object do not count, nor does what the API has no field for.
pub fn is_shown(object: &NodeClaim, claim: &NodeClaim) -> bool {
    object.labels == claim.labels
        && claim.annotations.iter().all(|(key, value)| object.annotations.get(key) == Some(value))
        && as_kept(&object.status) == as_kept(&claim.status)
}

/// A status as the API keeps it.
fn as_kept(status: &NodeClaimStatus) -> NodeClaimStatus {
    let whole = |time: Option<Timestamp>| {
        time.and_then(|time| Timestamp::from_second(time.as_second()).ok())
    };
    let mut status = NodeClaimStatus { network: None, ..status.clone() };
    status.last_pod_event = whole(status.last_pod_event);
    for condition in &mut status.conditions {
        condition.changed = whole(condition.changed);
    }
    status.conditions.sort_by_key(|condition| condition.kind);
    status
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
        assert!(is_shown(&object, &claim));
    }

    #[test]
    fn fractions_of_a_second_and_annotations_of_others_make_no_difference() {
        let claim = initialized_record("web-1", at(0) + SignedDuration::from_millis(345)).claim;
        let mut object = initialized_record("web-1", at(0)).claim;
        object.annotations.insert("team".into(), "blue".into());
        assert!(is_shown(&object, &claim));
        object.status.node_name = None;
        assert!(!is_shown(&object, &claim));
    }
}
