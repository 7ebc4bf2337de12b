//! Rebuilding records that were lost, from the NodeClaim objects and Nodes of the cluster: as long
//! as either names an instance, the instance has a claim.

use domain::label;

use super::ownership::Ownership;
use super::{Change, LifecycleRun};
use crate::launch::write_claims;
use crate::ports::{Lease, Ports};
use crate::record::claim::ClaimRecord;
use crate::steps::restore::{restored_from_node, restored_from_object};

impl<P: Ports> LifecycleRun<'_, P> {
    /// Writes the records again of claims whose instances run. The next run takes each on from
    /// where it was: a claim whose object is being deleted ends.
    pub(super) async fn restore(&mut self, lease: &Lease) {
        let records = self.lost_records();
        if records.is_empty() {
            return;
        }
        let store = self.ports.store();
        let written = write_claims(store, records, lease, &mut self.report.problems).await;
        let operation = || "restore claims".to_owned();
        let Some(written) = self.report.problems.record(operation, written) else { return };
        for claim in written {
            self.mirror(&claim.record).await;
            self.record_change(&claim.record, Change::Restored);
        }
        self.requeue_after(super::RESTORED_REQUEUE_INTERVAL);
    }

    /// By name; a name is a claim's key, and the one that has a record keeps it.
    fn lost_records(&self) -> Vec<ClaimRecord> {
        let owners = Ownership::of(self);
        let listing = &self.observed.listing;
        let from_objects = listing.node_claims.iter().filter_map(|object| {
            let is_lost = owners.is_without_record(object);
            let instance = owners.instance_for(object).filter(|_| is_lost)?;
            restored_from_object(object, instance, self.now)
        });
        let from_nodes = listing.objects.nodes.iter().filter_map(|node| {
            let is_ours = node.labels.contains_key(label::REGISTERED) && node.deleted.is_none();
            let instance = owners.instance_of(node).filter(|_| is_ours)?;
            let is_claimed = owners.is_recorded(instance) || owners.has_object(instance);
            let pools = &listing.objects.node_pools;
            if is_claimed { None } else { restored_from_node(node, instance, pools, self.now) }
        });
        let mut records: Vec<ClaimRecord> = from_objects.chain(from_nodes).collect();
        records.retain(|record| self.observed.claim(record.name()).is_none());
        records.sort_by(|a, b| a.name().cmp(b.name()));
        records.dedup_by(|later, first| later.name() == first.name());
        for record in &mut records {
            self.price(record);
        }
        records
    }

    /// EC2's list names no prices; the catalogue does.
    fn price(&self, record: &mut ClaimRecord) {
        let types = self.observed.instance_types.of(&record.launch.node_class);
        let Some(instance) = &mut record.instance else { return };
        let offering = types
            .iter()
            .filter(|own| own.name == instance.instance_type)
            .flat_map(|own| &own.offerings)
            .find(|offering| {
                offering.zone == instance.zone
                    && offering.capacity_type == instance.capacity_type
                    && offering.reservation.as_ref().map(|own| &own.id)
                        == instance.reservation_id.as_ref()
            });
        instance.price = instance.price.or(offering.map(|offering| offering.price));
    }
}
