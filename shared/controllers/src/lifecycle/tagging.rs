//! Tagging instances whose Nodes have joined.

use super::LifecycleRun;
use crate::ports::cloud::TagRequest;
use crate::ports::error::found;
use crate::ports::{Cloud, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::run::change_claim;
use crate::steps::tagging::{missing_tags, tagged};

/// Most instances tagged in one run.
const TAGGED_MAX: usize = 100;

impl<P: Ports> LifecycleRun<'_, P> {
    /// Tags instances that lack their names. Failures are retried in the next run.
    pub(super) async fn tag(&mut self, cluster: &str) {
        let lacking: Vec<(&Versioned<ClaimRecord>, TagRequest)> = self
            .observed
            .claims
            .iter()
            .filter(|claim| claim.record.ending.is_none())
            .filter_map(|claim| {
                let class = self.class_of(&claim.record);
                Some((claim, missing_tags(&claim.record, class, cluster)?))
            })
            .take(TAGGED_MAX)
            .collect();
        if lacking.is_empty() {
            return;
        }
        let requests: Vec<TagRequest> =
            lacking.iter().map(|(_, request)| request.clone()).collect();
        let answer = self.ports.cloud().tag(&requests).await;
        let operation = || format!("tag {} instances", requests.len());
        let Some(outcomes) = self.report.problems.record(operation, answer) else { return };
        for ((claim, request), outcome) in lacking.into_iter().zip(outcomes) {
            let operation = || format!("tag instance {}", request.instance_id);
            // An instance that is gone needs no tags; its claim ends by itself.
            if self.report.problems.record(operation, found(outcome)).flatten().is_none() {
                continue;
            }
            let changed = change_claim(self.ports.store(), claim.clone(), tagged).await;
            let operation = || format!("note the tags of claim {}", claim.record.claim.name);
            if let Some(Some(claim)) = self.report.problems.record(operation, changed) {
                self.mirror(&claim.record).await;
            }
        }
    }
}
