//! Whether a claim must end.

use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::{SignedDuration, Timestamp};

use super::join::overdue;
use crate::ports::cloud::Instance;
use crate::ports::cluster::NodeClaimObject;
use crate::record::claim::{ClaimRecord, EndReason, later};

/// How long a list of instances may lack a new one, or its tags, by which they are listed: EC2 is
/// eventually consistent, and gives no bound.
///
/// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html>; seconds are
/// usual.
pub const INSTANCE_GRACE: SignedDuration = SignedDuration::from_secs(90);

/// Until when an instance of the attempt that is under way may appear, of a claim that has none;
/// `None` where no attempt is.
pub fn may_be_launched_until(record: &ClaimRecord) -> Option<Timestamp> {
    let attempt = &record.launch.attempt;
    (!attempt.is_over).then(|| later(attempt.since, INSTANCE_GRACE)).flatten()
}

/// The objects and the instance of a claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counterparts<'a> {
    /// Its NodeClaim object.
    pub object: Option<&'a NodeClaimObject>,
    /// Its Node.
    pub node: Option<&'a Node>,
    /// Its instance, if the cloud lists it.
    pub instance: Option<&'a Instance>,
}

/// Why a claim that is not ending must end now.
///
/// A user deleted its NodeClaim or its Node; it was not launched or registered in time; or its
/// instance is gone and its Node, if there is one, is not ready.
pub fn end_reason(
    record: &ClaimRecord,
    outside: Counterparts<'_>,
    now: Timestamp,
) -> Option<EndReason> {
    if outside.object.is_some_and(|object| object.claim.deleted.is_some()) {
        return Some(EndReason::NodeClaimDeleted);
    }
    if outside.node.is_some_and(|node| node.deleted.is_some()) {
        return Some(EndReason::NodeDeleted);
    }
    if let Some(own) = &record.instance {
        let is_alive = outside.instance.is_some_and(|instance| instance.state.is_alive());
        let is_new = now.duration_since(own.launched) <= INSTANCE_GRACE;
        let is_ready = outside.node.is_some_and(|node| !node.is_not_ready());
        if !is_alive && !is_new && !is_ready {
            return Some(EndReason::InstanceGone);
        }
        if record.claim.is(ConditionType::Registered) && outside.node.is_none() {
            return Some(EndReason::NodeDeleted);
        }
    }
    overdue(record, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, launched_record, node_of, record};
    use domain::node_claim::ConditionStatus;

    #[test]
    fn deleting_the_object_or_the_node_ends_the_claim() {
        let claim = initialized_record("web-1", at(0));
        let mut object = NodeClaimObject {
            claim: claim.claim.clone(),
            mirror_of: Some(claim.claim.uid.clone()),
        };
        object.claim.deleted = Some(at(50));
        let outside = Counterparts { object: Some(&object), ..Counterparts::default() };
        assert_eq!(end_reason(&claim, outside, at(60)), Some(EndReason::NodeClaimDeleted));
        let mut node = node_of(&claim);
        node.deleted = Some(at(50));
        let outside = Counterparts { node: Some(&node), ..Counterparts::default() };
        assert_eq!(end_reason(&claim, outside, at(60)), Some(EndReason::NodeDeleted));
    }

    #[test]
    fn a_claim_whose_instance_is_gone_ends_unless_its_node_is_ready_or_it_is_new() {
        let claim = initialized_record("web-1", at(0));
        let mut node = node_of(&claim);
        let outside = Counterparts { node: Some(&node), ..Counterparts::default() };
        assert_eq!(end_reason(&claim, outside, at(100)), None);
        node.conditions[0].status = ConditionStatus::Unknown;
        let outside = Counterparts { node: Some(&node), ..Counterparts::default() };
        assert_eq!(end_reason(&claim, outside, at(90)), None, "the list may lag");
        assert_eq!(end_reason(&claim, outside, at(91)), Some(EndReason::InstanceGone));
        let booting = launched_record("web-1", at(0));
        let nothing = Counterparts::default();
        assert_eq!(end_reason(&booting, nothing, at(91)), Some(EndReason::InstanceGone));
    }

    #[test]
    fn a_claim_that_still_waits_for_its_launch_goes_on() {
        assert_eq!(end_reason(&record("web-1"), Counterparts::default(), at(60)), None);
    }
}
