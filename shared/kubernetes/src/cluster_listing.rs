//! Objects of all kinds put together into one listing of the cluster.

use std::collections::BTreeSet;

use controllers::ports::ClusterListing;
use controllers::ports::cluster::NodeClaimObject;
use domain::buffer::{BufferSource, PrewarmTarget};
use domain::node_claim::NodeClaim;
use domain::pod::ObjectKey;
use domain::workload::WorkloadKind;
use manifests::{CollectedObjects, Object, ObjectCollector};

use crate::item::{Item, ObservedStatus};
use crate::kind::{self, Kind};

/// The annotation of a NodeClaim object that says which claim it shows.
pub(crate) const CLAIM_UID: &str = "outrigger.dev/claim-uid";

/// Objects gathered so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Status of objects and what cannot be read; its objects come from `collector` at the end.
    listing: ClusterListing,
    collector: ObjectCollector,
}

impl Gathered {
    /// Takes an object in.
    pub(crate) fn take(&mut self, item: Item) {
        let Self { listing, collector } = self;
        let (object, observed) = match item {
            Item::Pod(pod) => return collector.add(Object::Pod(pod)),
            Item::Other(other) => *other,
            Item::Unreadable(unreadable) => {
                let (source, observed) = *unreadable;
                note_buffer(listing, source.source.key(), observed);
                return listing.unreadable_sources.push(source);
            }
            Item::LeftOut(own) => return listing.unreadable_objects.push(*own),
        };
        if let ObservedStatus::Unreadable(own) = observed {
            listing.unreadable_objects.push(own);
            return collector.add(object);
        }
        match (&object, observed) {
            (Object::NodePool(pool), ObservedStatus::NodePool(state)) => {
                listing.node_pool_states.insert(pool.name.clone(), state);
            }
            (Object::Ec2NodeClass(class), ObservedStatus::NodeClass(state)) => {
                listing.node_class_states.insert(class.name.clone(), state);
            }
            (Object::CapacityBuffer(buffer), observed) => {
                note_buffer(listing, &buffer.key, observed);
            }
            _ => {}
        }
        collector.add(object);
    }

    /// Kinds that what was gathered refers to, and that nothing else needs: ReplicaSets alone may
    /// be many times as many as Deployments.
    pub(crate) fn referred(&self) -> Vec<&'static Kind> {
        let objects = self.collector.added();
        let by_buffers =
            objects.capacity_buffers.iter().filter_map(|buffer| match &buffer.source {
                BufferSource::Workload(kind, _) => Some(*kind),
                BufferSource::PodTemplate(_) | BufferSource::Unsupported(_) => None,
            });
        let by_schedules =
            objects.prewarm_schedules.iter().filter_map(|schedule| match &schedule.target {
                PrewarmTarget::Workload { kind, .. } => Some(*kind),
                PrewarmTarget::Template(_) => None,
            });
        let by_scaled = objects.scaled_objects.iter().map(|object| object.target.0);
        let workloads: BTreeSet<WorkloadKind> =
            by_buffers.chain(by_schedules).chain(by_scaled).collect();
        let names_template = |source: &BufferSource| matches!(source, BufferSource::PodTemplate(_));
        let templates =
            objects.capacity_buffers.iter().any(|buffer| names_template(&buffer.source));
        let templates = templates.then_some(kind::TEMPLATES);
        workloads.into_iter().map(kind::of_workload).chain(templates).collect()
    }

    /// The listing, once every object knows what the others say.
    pub(crate) fn into_listing(self) -> ClusterListing {
        let Self { listing, collector } = self;
        let CollectedObjects { objects, node_claims, spot: _, warnings } = collector.complete();
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let node_claims = node_claims.into_iter().map(claim_object).collect();
        ClusterListing { objects, node_claims, ..listing }
    }
}

/// Notes what a CapacityBuffer, readable or not, says of itself.
fn note_buffer(listing: &mut ClusterListing, key: &ObjectKey, observed: ObservedStatus) {
    if let ObservedStatus::CapacityBuffer(state) = observed {
        listing.capacity_buffer_states.insert(key.clone(), state);
    }
}

/// A NodeClaim object with the claim that it shows.
fn claim_object(mut claim: NodeClaim) -> NodeClaimObject {
    let mirror_of = claim.annotations.remove(CLAIM_UID);
    NodeClaimObject { claim, mirror_of }
}
