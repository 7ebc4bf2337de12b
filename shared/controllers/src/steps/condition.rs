//! Conditions of claims and objects, and when they changed.

use std::borrow::Cow;

use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim};
use domain::{SignedDuration, Text, Timestamp};

use crate::record::claim::ClaimRecord;
use crate::status::ObjectCondition;

/// Longest message of a condition, in characters, as in Karpenter.
const MESSAGE_CHARS_MAX: usize = 300;

/// What a condition says: its status, with a reason and a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionState<'a> {
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// A CamelCase word; never empty.
    pub reason: &'a str,
    /// A sentence; may be empty. Truncated to 300 characters when it is set.
    pub message: &'a str,
}

impl<'a> ConditionState<'a> {
    /// A state with a given status.
    pub const fn new(status: ConditionStatus, reason: &'a str, message: &'a str) -> Self {
        Self { status, reason, message }
    }

    /// A condition that is not known to hold yet.
    pub const fn unknown(reason: &'a str, message: &'a str) -> Self {
        Self::new(ConditionStatus::Unknown, reason, message)
    }
}

/// Sets a condition. Its transition time changes only with its status.
pub fn set_condition(
    claim: &mut NodeClaim,
    kind: ConditionType,
    state: ConditionState<'_>,
    now: Timestamp,
) {
    let status = state.status;
    let (reason, message): (Text, Text) = (state.reason.into(), within(state.message).into());
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
    state: ConditionState<'_>,
    now: Timestamp,
) {
    let is_set = record.claim.condition(kind).is_some_and(|own| {
        own.status == state.status
            && *own.reason == *state.reason
            && *own.message == *within(state.message)
    });
    if !is_set {
        set_condition(&mut record.to_mut().claim, kind, state, now);
    }
}

/// A message, truncated to what a condition holds.
fn within(message: &str) -> &str {
    let end = message.char_indices().nth(MESSAGE_CHARS_MAX).map_or(message.len(), |(end, _)| end);
    &message[..end]
}

/// Sets a condition to True, with its type as the reason.
pub fn set_true(claim: &mut NodeClaim, kind: ConditionType, now: Timestamp) {
    set_condition(claim, kind, ConditionState::new(ConditionStatus::True, kind.as_str(), ""), now);
}

/// Sets a condition of an object, for a generation of its specification. Its transition time
/// changes only with its status.
pub fn set_object_condition<K: Copy + Ord>(
    conditions: &mut Vec<ObjectCondition<K>>,
    kind: K,
    state: ConditionState<'_>,
    observed_generation: i64,
    now: Timestamp,
) {
    let status = state.status;
    let before = conditions.iter().find(|own| own.kind == kind && own.status == status);
    let changed = before.map_or(now, |own| own.changed);
    let (reason, message) = (state.reason.into(), within(state.message).into());
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
            let message = format!("{} is not True", part.as_str());
            let state = ConditionState::new(status, "UnhealthyDependents", &message);
            set_condition(claim, ConditionType::Ready, state, now);
        }
    }
}
