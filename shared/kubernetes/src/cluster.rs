//! The port `Cluster` over a connection.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use controllers::event::Event;
use controllers::ports::cluster::{
    NamespacedRef, NodeClassUpdate, NodePatch, NodePoolUpdate, VolumeAttachment, WorkloadRef,
};
use controllers::ports::{
    Cluster, ClusterListing, Demand, Eviction, NodeRef, ObjectRef, PodRef, PortError,
};
use controllers::status::CapacityBufferStatus;
use domain::node_claim::NodeClaim;
use domain::{Text, Timestamp};
use manifests::Interner;
use tokio::sync::Mutex;

use crate::attachment;
use crate::connection::Connection;
use crate::demand::DemandWatch;
use crate::item::ObjectProblem;
use crate::kind::{Kind, NODE_CLAIM, NODE_CLASS, NODE_POOL};
use crate::look::{Kept, Look, Reading, look};
use crate::patch::text;
use crate::write::Recorder;

/// A Kubernetes cluster behind its API server.
///
/// Made for one process that runs one thing at a time: two looks at once wait for each other, and a look
/// waits for [`Cluster::demand_changed`]. A process that is frozen between runs may go on with it.
#[derive(Debug)]
pub struct KubernetesCluster {
    connection: Connection,
    reading: Reading,
    interner: Interner,
    kept: Mutex<Kept>,
    demand: Mutex<DemandWatch>,
    /// Uids of NodePools, EC2NodeClasses and NodeClaims, as last seen.
    uids: RefCell<BTreeMap<(&'static str, Text), Text>>,
    /// Problems that were logged: each is told once, until it changes.
    told: RefCell<BTreeSet<ObjectProblem>>,
    recorder: Recorder,
}

impl KubernetesCluster {
    /// The cluster that a connection leads to.
    pub fn new(connection: Connection, reading: Reading) -> Self {
        Self {
            connection,
            reading,
            interner: Interner::default(),
            kept: Mutex::default(),
            demand: Mutex::default(),
            uids: RefCell::default(),
            told: RefCell::default(),
            recorder: Recorder::default(),
        }
    }

    /// The connection.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Looks at everything, at least as new as this call, and says what could not be read.
    ///
    /// Kinds that may not be installed are then simply empty. `Denied` names the verb and resource that RBAC
    /// withholds.
    pub async fn look(&self) -> Result<Look, PortError> {
        let mut kept = self.kept.lock().await;
        let seen = look(&self.connection, &self.interner, self.reading, &mut kept).await?;
        drop(kept);
        self.note_uids(&seen.look.listing);
        self.tell(&seen.look.problems);
        self.demand.lock().await.note_look(&seen.look.listing, seen.pods, seen.nodes);
        Ok(seen.look)
    }

    fn note_uids(&self, listing: &ClusterListing) {
        let pools = listing.objects.node_pools.iter().map(|it| (NODE_POOL.name, &it.name, &it.uid));
        let classes =
            listing.objects.node_classes.iter().map(|it| (NODE_CLASS.name, &it.name, &it.uid));
        let claims = listing.node_claims.iter().map(|it| &it.claim);
        let claims = claims.map(|it| (NODE_CLAIM.name, &it.name, &it.uid));
        *self.uids.borrow_mut() = pools
            .chain(classes)
            .chain(claims)
            .map(|(kind, name, uid)| ((kind, name.clone()), uid.clone()))
            .collect();
    }

    fn tell(&self, problems: &[ObjectProblem]) {
        let problems: BTreeSet<ObjectProblem> = problems.iter().cloned().collect();
        let mut told = self.told.borrow_mut();
        for problem in problems.difference(&told) {
            tracing::warn!("{problem}");
        }
        *told = problems;
    }

    /// The uid of an object: as last seen, or as it is.
    async fn uid_of(&self, kind: &'static Kind, name: &Text) -> Result<Option<Text>, PortError> {
        let known = self.uids.borrow().get(&(kind.name, name.clone())).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let object = self.connection.get(kind, name).await?;
        let uid = object.map(|object| Text::from(text(&object, &["metadata", "uid"])));
        if let Some(uid) = &uid {
            self.note_uid(kind, name, uid.clone());
        }
        Ok(uid)
    }

    fn note_uid(&self, kind: &'static Kind, name: &Text, uid: Text) {
        self.uids.borrow_mut().insert((kind.name, name.clone()), uid);
    }
}

impl Cluster for KubernetesCluster {
    async fn observe(&self) -> Result<ClusterListing, PortError> {
        self.look().await.map(|look| look.listing)
    }

    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError> {
        let mut demand = self.demand.lock().await;
        demand.changed(&self.connection, &self.interner, until).await
    }

    async fn volume_attachments(&self, node: &str) -> Result<Vec<VolumeAttachment>, PortError> {
        attachment::of_node(&self.connection, node).await
    }

    async fn patch_node(&self, node: &NodeRef, patch: &NodePatch) -> Result<(), PortError> {
        self.connection.patch_node(node, patch).await
    }

    async fn delete_node(&self, node: &NodeRef) -> Result<(), PortError> {
        self.connection.delete_node(node).await
    }

    async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError> {
        self.connection.evict_pod(pod).await
    }

    async fn delete_pod(&self, pod: &PodRef, grace_seconds: u32) -> Result<(), PortError> {
        self.connection.delete_pod(pod, grace_seconds).await
    }

    async fn mirror_node_claim(&self, claim: &NodeClaim) -> Result<(), PortError> {
        let pool = async || {
            let Some(name) = claim.node_pool() else { return Ok(None) };
            let uid = self.uid_of(&NODE_POOL, name).await?;
            Ok(uid.map(|uid| ObjectRef { name: name.clone(), uid }))
        };
        let uid = self.connection.mirror_node_claim(claim, pool).await?;
        self.note_uid(&NODE_CLAIM, &claim.name, uid.into());
        Ok(())
    }

    async fn remove_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        self.connection.remove_node_claim(name, claim_uid).await
    }

    async fn release_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        self.connection.release_node_claim(name, claim_uid).await
    }

    async fn update_node_pool(
        &self,
        node_pool: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError> {
        self.connection.update_node_pool(node_pool, update).await
    }

    async fn update_node_class(
        &self,
        node_class: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError> {
        self.connection.update_node_class(node_class, update).await
    }

    async fn scale_workload(&self, workload: &WorkloadRef, replicas: u32) -> Result<(), PortError> {
        self.connection.scale_workload(workload, replicas).await
    }

    async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError> {
        self.connection.update_capacity_buffer(buffer, status).await
    }

    async fn record_events(&self, events: &[Event]) -> Result<(), PortError> {
        let uid_of = async |kind: &'static Kind, name: &Text| self.uid_of(kind, name).await;
        self.recorder.record(&self.connection, events, uid_of).await
    }
}
