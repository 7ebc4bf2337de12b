//! Whether the object that shows a claim is up to date.

use domain::Timestamp;
use domain::node_claim::{NodeClaim, NodeClaimStatus};

/// Whether an object says what its claim says. Times count in whole seconds, as the API keeps them;
/// annotations that others set on the object do not count.
pub fn is_shown(object: &NodeClaim, claim: &NodeClaim) -> bool {
    object.labels == claim.labels
        && claim.annotations.iter().all(|(key, value)| object.annotations.get(key) == Some(value))
        && in_seconds(&object.status) == in_seconds(&claim.status)
}

fn in_seconds(status: &NodeClaimStatus) -> NodeClaimStatus {
    let whole = |time: Option<Timestamp>| {
        time.and_then(|time| Timestamp::from_second(time.as_second()).ok())
    };
    let mut status = status.clone();
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
