//! Adopting NodeClaims that users or another autoscaler created. They get a record and are managed
//! like any other. NodeClaims without a NodePool are valid.

use domain::node_claim::NodeClaim;

use super::{Change, LifecycleRun};
use crate::core::Core;
use crate::launch::write_claims;
use crate::ports::cloud::Instance;
use crate::ports::{Lease, Ports};
use crate::steps::adopt::adopted;

impl<P: Ports> LifecycleRun<'_, P> {
    /// Adopts NodeClaim objects without a record. One whose instance does not exist, or for which
    /// nothing can be launched, is left alone until that changes.
    pub(super) async fn adopt(&mut self, lease: &Lease, core: Core) {
        let observed = self.observed;
        let foreign = observed.listing.node_claims.iter().filter(|object| {
            object.mirror_of.is_none()
                && object.claim.deleted.is_none()
                && observed.claim(&object.claim.name).is_none()
        });
        let records: Vec<_> = foreign
            .filter_map(|object| {
                let provider_id = object.claim.status.provider_id.as_ref();
                let instance: Option<&Instance> =
                    self.instances.values().copied().find(|instance| {
                        instance.state.is_alive() && Some(&instance.provider_id) == provider_id
                    });
                let launchable =
                    |claim: &NodeClaim| (core.offerings_of_claim)(claim, &observed.instance_types);
                adopted(&object.claim, instance, launchable, self.now)
            })
            .collect();
        if records.is_empty() {
            return;
        }
        let store = self.ports.store();
        let written = write_claims(store, records, lease, &mut self.report.problems).await;
        let operation = || "adopt NodeClaims".to_owned();
        let Some(written) = self.report.problems.record(operation, written) else { return };
        for claim in written {
            self.mirror(&claim.record).await;
            self.record_change(&claim.record, Change::Adopted);
        }
    }
}
