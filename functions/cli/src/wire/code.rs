//! Codes beside texts: what a script compares, where a text is for people and may change.
//!
//! Each is one word in the style of Kubernetes' reasons. A code never changes its meaning; every
//! typed reason has one, as the matches here have no default. Their meanings are the descriptions
//! in the schemas, and stand in `docs/json.md`.

mod blocked;
mod blocker;
mod disruption;
mod drain_hold;
mod drift;
mod filter;
mod invariant;
mod node_refusal;
mod suggestion;
mod threshold;
mod timeline;
mod unschedulable;
mod violation;

pub(super) use blocked::BlockedCode;
pub(super) use blocker::BlockerCode;
pub(super) use disruption::DisruptionCode;
pub(super) use drain_hold::DrainHoldCode;
pub(super) use drift::DriftCode;
pub(super) use filter::FilterCode;
pub(super) use invariant::InvariantCode;
pub(super) use node_refusal::NodeRefusalCode;
pub(super) use suggestion::SuggestionCode;
pub(super) use threshold::ThresholdCode;
pub(super) use timeline::TimelineCode;
pub(super) use unschedulable::{NodePoolCode, UnschedulableCode};
pub(super) use violation::ViolationCode;
