//! Whether a Node has the capacity that its claim promised, condition ConsistentStateFound: of the
//! resources that the claim requests, since devices that nobody asked for may come late or never.
//!
//! Source: Karpenter `pkg/controllers/nodeclaim/consistency/nodeshape.go`.

use std::borrow::Cow;

use domain::Timestamp;
use domain::node::Node;
use domain::node_claim::{ConditionStatus, ConditionType};

use super::condition::{ConditionState, set_condition_of};
use crate::record::claim::ClaimRecord;

/// Least share of the expected amount of each resource, in percent.
const ENOUGH_PERCENT: i128 = 90;

/// Sets condition ConsistentStateFound. Returns what the Node lacks, if anything.
pub fn check_consistency(
    record: &mut Cow<'_, ClaimRecord>,
    node: &Node,
    now: Timestamp,
) -> Option<String> {
    let lack = lacking(record, node);
    let kind = ConditionType::ConsistentStateFound;
    let state = match &lack {
        None => ConditionState::new(ConditionStatus::True, kind.as_str(), ""),
        Some(message) => {
            ConditionState::new(ConditionStatus::False, "ConsistencyCheckFailed", message)
        }
    };
    set_condition_of(record, kind, state, now);
    lack
}

fn lacking(record: &ClaimRecord, node: &Node) -> Option<String> {
    record
        .claim
        .status
        .capacity
        .iter()
        .filter(|(name, expected)| *expected > 0 && record.claim.requests.get(name) > 0)
        .find(|(name, expected)| {
            i128::from(node.capacity.get(name)) * 100 < i128::from(*expected) * ENOUGH_PERCENT
        })
        .map(|(name, expected)| {
            format!(
                "the Node has {} of {name}, where {expected} was expected",
                node.capacity.get(name)
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, node_of, room};
    use domain::resource::{MEMORY, Resources};

    #[test]
    fn a_node_may_have_a_tenth_less_than_expected_and_no_more() {
        let mut record = initialized_record("web-1", at(0));
        record.claim.status.capacity = room().with("vpc.amazonaws.com/efa", 1);
        record.claim.requests = Resources::new().with(MEMORY, 1);
        let mut node = node_of(&record);
        let expected = room().get(MEMORY);
        let check = |node: &Node| {
            let mut record = Cow::Borrowed(&record);
            let lack = check_consistency(&mut record, node, at(1));
            (record.claim.is(ConditionType::ConsistentStateFound), lack.is_some())
        };
        assert_eq!(check(&node), (true, false));
        node.capacity = node.capacity.with(MEMORY, expected / 10 * 9 + 10);
        assert_eq!(check(&node), (true, false));
        node.capacity = node.capacity.with(MEMORY, expected / 10 * 8);
        assert_eq!(check(&node), (false, true));
    }
}
