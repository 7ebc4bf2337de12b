//! The port `Cluster` over a connection.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use controllers::event::Event;
use controllers::ports::cluster::{
    ControlsObject, NamespacedRef, NodeClassUpdate, NodePatch, NodePoolUpdate, PodDeletionCost,
    PodNomination, VolumeAttachment, WorkloadRef,
};
use controllers::ports::{
    Cluster, ClusterListing, Demand, Eviction, NodeRef, ObjectRef, PodRef, PortError,
};
use controllers::status::CapacityBufferStatus;
use domain::node_claim::NodeClaim;
use domain::rollout::Deployment;
use domain::{Text, Timestamp};
use manifests::Interner;
use tokio::sync::Mutex;

use crate::attachment;
use crate::connection::Connection;
use crate::demand::DemandWatch;
use crate::item::ObjectProblem;
use crate::kind::{Kind, NODE_CLAIM, NODE_CLASS, NODE_POOL};
use crate::list_cluster::{Cache, ListMode, ListedCluster, list_cluster};
use crate::patch::text;
use crate::scheduler_config::KnownSchedulerConfig;
use crate::write::event::Recorder;

/// A Kubernetes cluster behind its API server.
///
/// For a process that does one thing at a time: concurrent listings wait for each other, and a
/// listing waits for [`Cluster::demand_changed`]. A process that is frozen between runs may
/// continue with it.
#[derive(Debug)]
pub struct KubernetesCluster {
    connection: Connection,
    mode: ListMode,
    interner: Interner,
    cache: Mutex<Cache>,
    demand: Mutex<DemandWatch>,
    /// Uids of NodePools, EC2NodeClasses and NodeClaims, as last listed.
    uids: RefCell<BTreeMap<(&'static str, Text), Text>>,
    /// Problems that were logged: each is logged once, until it changes.
    reported: RefCell<BTreeSet<ObjectProblem>>,
    recorder: Recorder,
    /// What ConfigMap `kube-system/outrigger` said of the scheduler when it was read last; `None`
    /// before that.
    scheduler: RefCell<Option<KnownSchedulerConfig>>,
}

impl KubernetesCluster {
    /// The cluster behind a connection.
    pub fn new(connection: Connection, mode: ListMode) -> Self {
        Self {
            connection,
            mode,
            interner: Interner::default(),
            cache: Mutex::default(),
            demand: Mutex::default(),
            uids: RefCell::default(),
            reported: RefCell::default(),
            recorder: Recorder::default(),
            scheduler: RefCell::default(),
        }
    }

    /// The connection.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Lists all objects, at least as new as this call, and what could not be read.
    ///
    /// Kinds that may not be installed are then empty. `Denied` names the verb and resource that
    /// RBAC withholds.
    pub async fn list(&self) -> Result<ListedCluster, PortError> {
        let KnownSchedulerConfig { config, problems, unreadable, text: _ } =
            self.scheduler_config().await;
        let reads_services = config.has_default_constraints();
        let mut cache = self.cache.lock().await;
        let (connection, interner) = (&self.connection, &self.interner);
        let mut listed =
            list_cluster(connection, interner, self.mode, &mut cache, reads_services).await?;
        drop(cache);
        listed.cluster.listing.unreadable_objects.extend(unreadable);
        listed.cluster.listing.objects.scheduler = config;
        listed.cluster.problems.extend(problems);
        listed.cluster.problems.sort();
        self.note_uids(&listed.cluster.listing);
        self.log_problems(&listed.cluster.problems);
        let mut demand = self.demand.lock().await;
        demand.note_listing(&listed.cluster.listing, listed.pods, listed.nodes);
        Ok(listed.cluster)
    }

    /// How the scheduler is configured: as the ConfigMap said when it was read last, or now.
    async fn scheduler_config(&self) -> KnownSchedulerConfig {
        let known = self.scheduler.borrow().clone();
        if let Some(known) = known {
            return known;
        }
        match self.connection.controls().await {
            Ok(object) => self.note_scheduler_config(object.as_ref()),
            // Asked for again by the next listing.
            Err(error) => return KnownSchedulerConfig::unknown(&error),
        }
        self.scheduler.borrow().clone().unwrap_or_default()
    }

    fn note_scheduler_config(&self, object: Option<&ControlsObject>) {
        let mut known = self.scheduler.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.is_of(object)) {
            *known = Some(KnownSchedulerConfig::of(object));
        }
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

    fn log_problems(&self, problems: &[ObjectProblem]) {
        let problems: BTreeSet<ObjectProblem> = problems.iter().cloned().collect();
        let mut reported = self.reported.borrow_mut();
        for problem in problems.difference(&reported) {
            tracing::warn!("{problem}");
        }
        *reported = problems;
    }

    /// The uid of an object: as last listed, or read now.
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
        self.list().await.map(|listed| listed.listing)
    }

    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError> {
        let mut demand = self.demand.lock().await;
        demand.changed(&self.connection, &self.interner, until).await
    }

    async fn follow_demand(&self) -> Result<Demand, PortError> {
        self.demand.lock().await.follow(&self.connection, &self.interner).await
    }

    async fn demand_now(&self) -> Result<Demand, PortError> {
        let mut demand = self.demand.lock().await;
        demand.now(&self.connection, &self.interner).await
    }

    async fn controls(&self) -> Result<Option<ControlsObject>, PortError> {
        let object = self.connection.controls().await?;
        self.note_scheduler_config(object.as_ref());
        Ok(object)
    }

    async fn mark_owner(&self, installation: &str, seen: &ControlsObject) -> Result<(), PortError> {
        self.connection.mark_owner(installation, seen).await
    }

    async fn karpenter_renewed(&self) -> Result<Option<Timestamp>, PortError> {
        self.connection.karpenter_renewed().await
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

    async fn nominate_pod(&self, nomination: &PodNomination) -> Result<(), PortError> {
        self.connection.nominate_pod(nomination).await
    }

    async fn set_pod_deletion_cost(&self, change: &PodDeletionCost) -> Result<(), PortError> {
        self.connection.set_pod_deletion_cost(change).await
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

    async fn deployment_of(
        &self,
        replica_set: &NamespacedRef,
    ) -> Result<Option<Deployment>, PortError> {
        self.connection.deployment_of(replica_set).await
    }

    async fn restart_deployment(
        &self,
        deployment: &Deployment,
        at: Timestamp,
    ) -> Result<(), PortError> {
        self.connection.restart_deployment(deployment, at).await
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
