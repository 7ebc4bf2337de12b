//! Conditions of claims and objects, and when they changed.

use std::borrow::Cow;

use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim};
use domain::{SignedDuration, Text, Timestamp};

use crate::record::claim::ClaimRecord;
use crate::status::ObjectCondition;

/// Longest message of a condition, in characters, as in Karpenter.
const MESSAGE_CHARS_MAX: usize = 300;

/// Sets a condition. Its transition time changes only with its status.
pub fn set_condition(
    claim: &mut NodeClaim,
    kind: ConditionType,
    status: ConditionStatus,
    (reason, message): (&str, &str),
    now: Timestamp,
) {
    let (reason, message): (Text, Text) = (reason.into(), within(message).into());
    let conditions = &mut claim.status.conditions;
    if let Some(condition) = conditions.iter_mut().find(|condition| condition.kind == kind) {
        if condition.status != status {
            condition.changed = Some(now);
        }
        condition.status = status;
        condition.reason = reason;
        condition.message = message;
    } else {
        conditions.push(Condition { kind, status, reason, message, changed: Some(now) });
        conditions.sort_by_key(|condition| condition.kind);
    }
}

/// Sets a condition of a record, which is copied only if that changes anything.
pub(super) fn set_condition_of(
    record: &mut Cow<'_, ClaimRecord>,
    kind: ConditionType,
    status: ConditionStatus,
    (reason, message): (&str, &str),
    now: Timestamp,
) {
    let message = within(message);
    let says_so = record.claim.condition(kind).is_some_and(|own| {
        own.status == status && *own.reason == *reason && *own.message == *message
    });
    if !says_so {
        set_condition(&mut record.to_mut().claim, kind, status, (reason, message), now);
    }
}

/// A message, truncated to what a condition holds.
fn within(message: &str) -> &str {
    let end = message.char_indices().nth(MESSAGE_CHARS_MAX).map_or(message.len(), |(end, _)| end);
    &message[..end]
}

/// Sets a condition to True, with its type as the reason.
pub fn set_true(claim: &mut NodeClaim, kind: ConditionType, now: Timestamp) {
    set_condition(claim, kind, ConditionStatus::True, (kind.as_str(), ""), now);
}

/// Sets a condition of an object, for a generation of its specification. Its transition time
/// changes only with its status.
pub fn set_object_condition<K: Copy + Ord>(
    conditions: &mut Vec<ObjectCondition<K>>,
    kind: K,
    status: ConditionStatus,
    (reason, message): (&str, &str),
    observed_generation: i64,
    now: Timestamp,
) {
    let before = conditions.iter().find(|own| own.kind == kind && own.status == status);
    let changed = before.map_or(now, |own| own.changed);
    let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    let (reason, message) = (reason.into(), message.into());
    conditions.retain(|own| own.kind != kind);
    conditions.push(ObjectCondition {
        kind,
        status,
        reason,
        message,
        changed,
        observed_generation,
    });
    conditions.sort_by_key(|own| own.kind);
}

/// Removes a condition.
pub fn clear(claim: &mut NodeClaim, kind: ConditionType) {
    claim.status.conditions.retain(|condition| condition.kind != kind);
}

/// How long a condition has had its status; `None` when the condition is missing or has no
/// transition time.
pub fn since(claim: &NodeClaim, kind: ConditionType, now: Timestamp) -> Option<SignedDuration> {
    claim
        .condition(kind)
        .and_then(|condition| condition.changed)
        .map(|changed| now.duration_since(changed))
}

/// Updates condition Ready from Launched, Registered and Initialized.
pub fn update_ready(claim: &mut NodeClaim, now: Timestamp) {
    let parts = [ConditionType::Launched, ConditionType::Registered, ConditionType::Initialized];
    match parts.into_iter().find(|part| !claim.is(*part)) {
        None => set_true(claim, ConditionType::Ready, now),
        Some(part) => {
            let failed =
                claim.condition(part).is_some_and(|part| part.status == ConditionStatus::False);
            let status = if failed { ConditionStatus::False } else { ConditionStatus::Unknown };
            let why = ("UnhealthyDependents", format!("{} is not True", part.as_str()));
            set_condition(claim, ConditionType::Ready, status, (why.0, &why.1), now);
        }
    }
}
