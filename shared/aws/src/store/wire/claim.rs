//! Documents of claims.

use std::sync::Arc;

use controllers::record::claim::{ClaimRecord, EndReason, Ending, PodsFingerprint};
use domain::Text;
use serde::{Deserialize, Serialize};

use super::launch::{InstanceDocument, LaunchDocument};
use super::node_claim::NodeClaimDocument;
use super::scalar::{Moment, Pod, moment, pod_keys, pods, timestamp};
use super::words::DisruptionWord;
use crate::store::error::DocumentError;

#[derive(Serialize, Deserialize)]
pub(crate) struct ClaimDocument {
    claim: NodeClaimDocument,
    launch: LaunchDocument,
    launch_failures: u32,
    launch_not_before: Option<Moment>,
    instance: Option<InstanceDocument>,
    pods: Vec<Pod>,
    replaces: Option<Text>,
    pods_seen: Option<Text>,
    ending: Option<EndingDocument>,
}

impl From<&ClaimRecord> for ClaimDocument {
    fn from(record: &ClaimRecord) -> Self {
        let ClaimRecord {
            claim,
            launch,
            launch_failures,
            launch_not_before,
            instance,
            pods: planned_for,
            replaces,
            pods_fingerprint,
            ending,
        } = record;
        Self {
            claim: claim.into(),
            launch: (&**launch).into(),
            launch_failures: *launch_failures,
            launch_not_before: moment(*launch_not_before),
            instance: instance.as_ref().map(Into::into),
            pods: pods(planned_for),
            replaces: replaces.clone(),
            pods_seen: pods_fingerprint.as_ref().map(|PodsFingerprint(hash)| hash.clone()),
            ending: ending.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<ClaimDocument> for ClaimRecord {
    type Error = DocumentError;

    fn try_from(document: ClaimDocument) -> Result<Self, DocumentError> {
        Ok(Self {
            claim: document.claim.into(),
            launch: Arc::new(document.launch.try_into()?),
            launch_failures: document.launch_failures,
            launch_not_before: timestamp(document.launch_not_before),
            instance: document.instance.map(Into::into),
            pods: pod_keys(document.pods),
            replaces: document.replaces,
            pods_fingerprint: document.pods_seen.map(PodsFingerprint),
            ending: document.ending.map(Into::into),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct EndingDocument {
    since: Moment,
    reason: EndWord,
    deadline: Option<Moment>,
}

impl From<&Ending> for EndingDocument {
    fn from(Ending { since, reason, deadline }: &Ending) -> Self {
        Self { since: Moment(*since), reason: (*reason).into(), deadline: moment(*deadline) }
    }
}

impl From<EndingDocument> for Ending {
    fn from(EndingDocument { since, reason, deadline }: EndingDocument) -> Self {
        Self { since: since.0, reason: reason.into(), deadline: timestamp(deadline) }
    }
}

/// Why a claim ends.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum EndWord {
    Disrupted(DisruptionWord),
    NodeClaimDeleted,
    NodeDeleted,
    LaunchTimeout,
    RegistrationTimeout,
    InstanceGone,
    ReplacementNotNeeded,
}

impl From<EndReason> for EndWord {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Disrupted(reason) => Self::Disrupted(reason.into()),
            EndReason::NodeClaimDeleted => Self::NodeClaimDeleted,
            EndReason::NodeDeleted => Self::NodeDeleted,
            EndReason::LaunchTimeout => Self::LaunchTimeout,
            EndReason::RegistrationTimeout => Self::RegistrationTimeout,
            EndReason::InstanceGone => Self::InstanceGone,
            EndReason::ReplacementNotNeeded => Self::ReplacementNotNeeded,
        }
    }
}

impl From<EndWord> for EndReason {
    fn from(word: EndWord) -> Self {
        match word {
            EndWord::Disrupted(reason) => Self::Disrupted(reason.into()),
            EndWord::NodeClaimDeleted => Self::NodeClaimDeleted,
            EndWord::NodeDeleted => Self::NodeDeleted,
            EndWord::LaunchTimeout => Self::LaunchTimeout,
            EndWord::RegistrationTimeout => Self::RegistrationTimeout,
            EndWord::InstanceGone => Self::InstanceGone,
            EndWord::ReplacementNotNeeded => Self::ReplacementNotNeeded,
        }
    }
}
