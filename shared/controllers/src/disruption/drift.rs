//! Condition Drifted and the hashes on claims, kept up to date whether or not drifted nodes are
//! replaced.

use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;

use super::run_state::DisruptionRun;
use crate::ports::Ports;
use crate::record::claim::ClaimRecord;
use crate::run::change_claim;
use crate::steps::drift::{Origins, is_drift_shown, show_drift, stamps_due};

impl<P: Ports> DisruptionRun<'_, P> {
    /// Updates condition Drifted of every claim, and its hashes when there is a newer version of
    /// the hash rules. A claim that gets new hashes is compared by them in the next run: hashes of
    /// different versions cannot be compared.
    pub(super) async fn update_drift(&mut self) {
        let observed = self.observed;
        let now = observed.now;
        let drifted = (self.run.core.drift)(self.snapshot);
        for claim in observed.claims.iter().filter(|claim| claim.record.ending.is_none()) {
            let name = &claim.record.claim.name;
            let drift = drifted.get(name);
            let origins = self.origins(&claim.record);
            let is_kept = |record: &ClaimRecord| {
                stamps_due(&record.claim, origins, drift).is_empty()
                    && is_drift_shown(&record.claim, drift)
            };
            if is_kept(&claim.record) {
                continue;
            }
            let changed = change_claim(self.ports.store(), claim.clone(), |mut record| {
                let stamps = stamps_due(&record.claim, origins, drift);
                if record.ending.is_some() {
                    return record;
                }
                if stamps.is_empty() {
                    show_drift(&mut record.claim, drift, now);
                } else {
                    record.claim.annotations.extend(stamps);
                }
                record
            })
            .await;
            self.report.problems.record(|| format!("record the drift of claim {name}"), changed);
        }
    }

    fn origins(&self, record: &ClaimRecord) -> Origins<'_> {
        let listing = &self.observed.listing;
        let is_pool = |pool: &&NodePool| record.claim.node_pool() == Some(&pool.name);
        let is_class = |class: &&Ec2NodeClass| class.name == record.launch.node_class;
        Origins {
            pool: listing.objects.node_pools.iter().find(is_pool),
            class: listing.objects.node_classes.iter().find(is_class),
        }
    }
}
