//! Port `Cluster` over the world's API server.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use controllers::event::Event;
use controllers::ports::cluster::{
    ClusterListing, ControlsObject, FinalizerChange, NamespacedRef, NodeClaimObject,
    NodeClassUpdate, NodePatch, NodePoolUpdate, PodDeletionCost, PodNomination, VolumeAttachment,
    WorkloadRef,
};
use controllers::ports::{
    Cluster, Demand, ErrorKind, Eviction, NodeRef, ObjectRef, PodRef, PortError,
};
use controllers::record::controls::INSTALLATION;
use controllers::status::CapacityBufferStatus;
use domain::addresses::free_addresses_entries;
use domain::buffer::CapacityBuffer;
use domain::drift_waves::{DriftHalt, DriftWaves};
use domain::image_age::held_back_entries;
use domain::label::{AMIS_HELD_BACK, DRIFT_FAILURES, DRIFT_HALTED, FREE_ADDRESSES, Labels};
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::rollout::Deployment;
use domain::snapshot::ClusterObjects;
use domain::volume::PersistentVolumeClaim;
use domain::{Text, Timestamp};
use manifests::{DaemonSetObject, WorkloadObject};

use super::shared_world::{PendingDemand, SharedWorld};
use crate::api::{ApiError, Object, WorkloadId};
use crate::report::Happening;
use crate::scheduler::volume::claim_key;
use crate::workload::{deployment_of, restart};
use crate::world::{Deletion, World};

fn gone(operation: &'static str, name: &str) -> PortError {
    PortError::new(ErrorKind::NotFound, operation, format!("{name} is not there"))
}

fn list<T: Object>(world: &World) -> Vec<T> {
    world.api.list::<T>().cloned().collect()
}

/// The uid of the claim that an object mirrors; `None` for an object that a claim was adopted from,
/// as nothing on it says so. One that goes is taken for one of ours whose record was lost.
fn mirror_of(world: &World, object: &NodeClaim) -> Option<Text> {
    let uid = world.mirrors.get(&object.name)?;
    (*uid != object.uid || object.deleted.is_some()).then(|| uid.clone())
}

/// Everything that decisions depend on.
pub(crate) fn listing_of(world: &World) -> ClusterListing {
    let node_claims = world
        .api
        .list::<NodeClaim>()
        .map(|claim| NodeClaimObject { claim: claim.clone(), mirror_of: mirror_of(world, claim) })
        .collect();
    let objects = ClusterObjects {
        node_pools: list(world),
        node_classes: list(world),
        node_overlays: list(world),
        nodes: world.api.node_list(),
        pods: world.api.pod_list(),
        daemon_sets: world
            .api
            .list::<DaemonSetObject>()
            .filter(|object| object.deleted.is_none())
            .map(|object| object.daemon_set.clone())
            .collect(),
        workloads: world
            .api
            .list::<WorkloadObject>()
            .map(|object| object.workload.clone())
            .collect(),
        pod_templates: list(world),
        pod_disruption_budgets: list(world),
        persistent_volume_claims: list(world),
        persistent_volumes: list(world),
        storage_classes: list(world),
        csi_nodes: list(world),
        namespaces: list(world),
        services: list(world),
        capacity_buffers: list(world),
        scaled_objects: list(world),
        prewarm_schedules: list(world),
        cluster_limits: list(world),
        commitments: list(world),
        scheduler: list(world).pop().unwrap_or_default(),
    };
    ClusterListing {
        objects,
        node_claims,
        node_pool_states: world.node_pool_states.clone(),
        node_class_states: world.node_class_states.clone(),
        capacity_buffer_states: world.capacity_buffer_states.clone(),
        // What cannot be read never gets into a simulated cluster.
        unreadable_sources: Vec::new(),
        unreadable_objects: Vec::new(),
        object_warnings: BTreeMap::new(),
        pod_fingerprints: world.pod_fingerprints.clone(),
    }
}

/// Whether the Node that is meant is there.
fn is_there(world: &World, node: &NodeRef) -> bool {
    world.api.get::<Node>(&node.name).is_some_and(|own| own.uid == node.uid)
}

impl Cluster for SharedWorld {
    async fn observe(&self) -> Result<ClusterListing, PortError> {
        let mut world = self.call("list objects").await?;
        // Controllers of the cluster are never behind: a request of a moment ago has been carried
        // out.
        world.settle();
        *self.demand.borrow_mut() = pending_demand(&world);
        Ok(listing_of(&world))
    }

    async fn controls(&self) -> Result<Option<ControlsObject>, PortError> {
        Ok(Some(self.read().controls.clone()))
    }

    async fn mark_owner(&self, installation: &str, seen: &ControlsObject) -> Result<(), PortError> {
        let mut world = self.change();
        if world.controls != *seen {
            let why = "it was changed concurrently";
            return Err(PortError::new(ErrorKind::Conflict, "patch ConfigMap", why));
        }
        world.controls.data.insert(INSTALLATION.into(), installation.into());
        world.effects += 1;
        Ok(())
    }

    async fn karpenter_renewed(&self) -> Result<Option<Timestamp>, PortError> {
        Ok(None)
    }

    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError> {
        self.outlive_last_call().await;
        poll_fn(|_| {
            if self.has_new_demand() {
                Poll::Ready(Ok(Demand::Changed))
            } else {
                self.poll_moment(until).map(|()| Ok(Demand::Unchanged))
            }
        })
        .await
    }

    async fn follow_demand(&self) -> Result<Demand, PortError> {
        self.demand_now().await
    }

    async fn demand_now(&self) -> Result<Demand, PortError> {
        drop(self.call("list pods").await?);
        let is_known = !self.has_new_demand();
        Ok(if is_known { Demand::Unchanged } else { Demand::Changed })
    }

    async fn volume_attachments(&self, node: &str) -> Result<Vec<VolumeAttachment>, PortError> {
        let world = self.call("list volume attachments").await?;
        Ok(attachments(&world, node))
    }

    async fn patch_node(&self, node: &NodeRef, patch: &NodePatch) -> Result<(), PortError> {
        let mut world = self.call("patch node").await?;
        if !is_there(&world, node) {
            return Err(gone("patch node", &node.name));
        }
        let before = world.api.get::<Node>(&node.name).cloned();
        world
            .api
            .update::<Node>(&node.name, None, |own| patched(own, patch))
            .map_err(|error| refused("patch node", error))?;
        match patch.finalizer {
            FinalizerChange::Keep => {}
            FinalizerChange::Add => {
                world.node_finalizers.insert(node.name.clone());
            }
            FinalizerChange::Remove => {
                world.node_finalizers.remove(&node.name);
                if before.is_some_and(|own| own.deleted.is_some()) {
                    world.remove_node(&node.name);
                }
            }
        }
        Ok(())
    }

    async fn delete_node(&self, node: &NodeRef) -> Result<(), PortError> {
        let mut world = self.call("delete node").await?;
        if is_there(&world, node) {
            world.ask_node_deletion(&node.name);
        }
        Ok(())
    }

    async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError> {
        let mut world = self.call("evict pod").await?;
        world.settle();
        world.check_eviction(&pod.key);
        Ok(match world.evict(&pod.key, &pod.uid) {
            Ok(()) => Eviction::Accepted,
            Err(ApiError::NotFound { .. }) => Eviction::Gone,
            Err(error) => {
                world.note_eviction_refused(&pod.key, &error);
                Eviction::Blocked { message: error.to_string().into() }
            }
        })
    }

    async fn nominate_pod(&self, nomination: &PodNomination) -> Result<(), PortError> {
        let mut world = self.call("nominate pod").await?;
        world.settle();
        let PodNomination { pod, seen, node } = nomination;
        let operation = || format!("patch pods/status {}", pod.key);
        match world.api.get::<Pod>(&pod.key) {
            Some(own) if own.uid == pod.uid => {
                if own.node_name.is_some() || own.nominated_node_name != *seen {
                    let cause = "it is bound by now, or nominated by somebody else";
                    return Err(PortError::new(ErrorKind::Conflict, operation(), cause));
                }
            }
            _ => return Err(PortError::new(ErrorKind::NotFound, operation(), "it is not there")),
        }
        // kube-scheduler does not try a pod again for a change of its status.
        let nominate = |own: &mut Pod| own.nominated_node_name.clone_from(node);
        world.api.alter_unheard::<Pod>(&pod.key, nominate);
        Ok(())
    }

    async fn set_pod_deletion_cost(&self, change: &PodDeletionCost) -> Result<(), PortError> {
        let mut world = self.call("set deletion cost").await?;
        let PodDeletionCost { pod, cost } = change;
        let operation = || format!("patch pods/status {}", pod.key);
        match world.api.get::<Pod>(&pod.key) {
            Some(own) if own.uid == pod.uid => {
                if own.deletion_cost.is_some_and(|own| own != *cost) {
                    let cause = "somebody else has set the annotation";
                    return Err(PortError::new(ErrorKind::Conflict, operation(), cause));
                }
            }
            _ => return Err(PortError::new(ErrorKind::NotFound, operation(), "it is not there")),
        }
        // Nobody acts on it: ReplicaSets read it when they shrink.
        let set = |own: &mut Pod| own.managed_deletion_cost = *cost;
        world.api.alter_unheard::<Pod>(&pod.key, set);
        Ok(())
    }

    async fn delete_pod(&self, pod: &PodRef, grace_seconds: u32) -> Result<(), PortError> {
        let mut world = self.call("delete pod").await?;
        let is_it = world.api.get::<Pod>(&pod.key).is_some_and(|own| own.uid == pod.uid);
        if is_it {
            world.check_forced_deletion(&pod.key);
            world.delete_pod(&pod.key, Deletion::Within(grace_seconds.max(1)));
        }
        Ok(())
    }

    async fn mirror_node_claim(&self, claim: &NodeClaim) -> Result<(), PortError> {
        let mut world = self.call("apply node claim").await?;
        let name = &claim.name;
        if let Some(object) = world.api.get::<NodeClaim>(name) {
            let shown = world.mirrors.get(name).unwrap_or(&object.uid);
            if *shown != claim.uid {
                let message = format!("{name} belongs to another claim");
                return Err(PortError::new(ErrorKind::Conflict, "apply node claim", message));
            }
            world.mirrors.insert(name.clone(), claim.uid.clone());
            world
                .api
                .update::<NodeClaim>(name, None, |own| *own = mirrored(claim, own))
                .map_err(|error| refused("apply node claim", error))?;
            return Ok(());
        }
        world.mirrors.insert(name.clone(), claim.uid.clone());
        let now = world.now;
        let object = NodeClaim { uid: "".into(), deleted: None, ..claim.clone() };
        world.api.create(object, now).map_err(|error| refused("create node claim", error))?;
        Ok(())
    }

    async fn remove_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        let mut world = self.call("delete node claim").await?;
        let name = Text::from(name);
        let Some(object) = world.api.get::<NodeClaim>(&name) else { return Ok(()) };
        let is_its = world.mirrors.get(&name).is_some_and(|uid| &**uid == claim_uid)
            || &*object.uid == claim_uid;
        if is_its {
            world.mirrors.remove(&name);
            world
                .api
                .remove::<NodeClaim>(&name)
                .map_err(|error| refused("delete node claim", error))?;
        }
        Ok(())
    }

    async fn release_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        let mut world = self.call("apply node claim").await?;
        if world.mirrors.get(name).is_some_and(|uid| &**uid == claim_uid) {
            world.mirrors.remove(name);
        }
        Ok(())
    }

    async fn update_node_pool(
        &self,
        node_pool: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError> {
        let mut world = self.call("patch node pool").await?;
        let name = &node_pool.name;
        if world.api.get::<NodePool>(name).is_none_or(|own| own.uid != node_pool.uid) {
            return Err(gone("patch node pool", name));
        }
        let annotate = |own: &mut NodePool| {
            own.annotations.extend(update.annotations.clone());
            if let Some(waves) = &mut own.options.drift_waves {
                record_drift(waves, &update.annotations);
            }
        };
        world
            .api
            .update::<NodePool>(name, None, annotate)
            .map_err(|error| refused("patch node pool", error))?;
        if let Some(status) = &update.status {
            world.node_pool_states.entry(name.clone()).or_default().status = status.clone();
        }
        Ok(())
    }

    async fn update_node_class(
        &self,
        node_class: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError> {
        let mut world = self.call("patch node class").await?;
        let name = &node_class.name;
        if world.api.get::<Ec2NodeClass>(name).is_none_or(|own| own.uid != node_class.uid) {
            return Err(gone("patch node class", name));
        }
        let annotate = |own: &mut Ec2NodeClass| {
            own.annotations.extend(update.annotations.clone());
            if let Some(held_back) = update.annotations.get(AMIS_HELD_BACK) {
                own.image_age.held_back = held_back_entries(held_back).flatten().collect();
            }
            let free = update.annotations.get(FREE_ADDRESSES);
            if let Some((policy, free)) = own.addresses.as_mut().zip(free) {
                policy.free = free_addresses_entries(free).flatten().collect();
                policy.free.sort();
            }
            // Drift is found by it.
            if let Some(status) = &update.status {
                own.status.amis.clone_from(&status.amis);
            }
        };
        world
            .api
            .update::<Ec2NodeClass>(name, None, annotate)
            .map_err(|error| refused("patch node class", error))?;
        let state = world.node_class_states.entry(name.clone()).or_default();
        match update.finalizer {
            FinalizerChange::Keep => {}
            FinalizerChange::Add => state.has_finalizer = true,
            FinalizerChange::Remove => state.has_finalizer = false,
        }
        if let Some(status) = &update.status {
            state.status = status.clone();
        }
        Ok(())
    }

    async fn scale_workload(&self, workload: &WorkloadRef, replicas: u32) -> Result<(), PortError> {
        let mut world = self.call("scale workload").await?;
        let target = WorkloadId { kind: workload.kind, key: workload.key.clone() };
        let from = world.scale(&target, replicas);
        let from = from.ok_or_else(|| gone("scale workload", &workload.key.name))?;
        let now = world.now;
        let scaled = Happening::Scaled { workload: target.to_string().into(), from, to: replicas };
        world.journal.add(now, scaled);
        Ok(())
    }

    async fn deployment_of(
        &self,
        replica_set: &NamespacedRef,
    ) -> Result<Option<Deployment>, PortError> {
        let world = self.call("get deployment").await?;
        Ok(deployment_of(&world, &replica_set.key))
    }

    async fn restart_deployment(
        &self,
        deployment: &Deployment,
        at: Timestamp,
    ) -> Result<(), PortError> {
        let mut world = self.call("patch deployment").await?;
        if !restart(&mut world, &deployment.key, at) {
            return Err(gone("patch deployment", &deployment.key.name));
        }
        let now = world.now;
        let workload = format!("Deployment {}", deployment.key).into();
        world.journal.add(now, Happening::RolloutStarted { workload });
        Ok(())
    }

    async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError> {
        let mut world = self.call("patch capacity buffer").await?;
        let own = world.api.get::<CapacityBuffer>(&buffer.key);
        if own.is_none_or(|own| own.uid != buffer.uid) {
            return Err(gone("patch capacity buffer", &buffer.key.name));
        }
        let state = world.capacity_buffer_states.entry(buffer.key.clone()).or_default();
        state.status = status.clone();
        Ok(())
    }

    async fn record_events(&self, events: &[Event]) -> Result<(), PortError> {
        let mut world = self.call("create events").await?;
        for event in events {
            world.note_event(event);
        }
        Ok(())
    }
}

impl SharedWorld {
    /// Takes what demands a node now for what was listed.
    pub(crate) fn note_demand(&self) {
        *self.demand.borrow_mut() = pending_demand(&self.read());
    }

    /// Whether a pod or Node demands a node that did not at the last call.
    fn has_new_demand(&self) -> bool {
        let world = self.read();
        let mut known = self.demand.borrow_mut();
        if known.revision == world.api.revision() {
            return false;
        }
        let current = pending_demand(&world);
        let has_grown = !current.uids.is_subset(&known.uids);
        *known = current;
        has_grown
    }
}

/// The demand for nodes: unschedulable pods, and Nodes that are being disrupted.
fn pending_demand(world: &World) -> PendingDemand {
    let pods = world.api.pods().unbound().filter(|pod| is_waiting(pod)).map(|pod| &pod.uid);
    let nodes = world.api.list::<Node>().filter(|node| node.is_disrupted()).map(|node| &node.uid);
    PendingDemand { revision: world.api.revision(), uids: pods.chain(nodes).cloned().collect() }
}

/// Whether a pod waits for a node that only provisioning can bring.
fn is_waiting(pod: &Pod) -> bool {
    pod.node_name.is_none() && pod.marked_unschedulable && pod.is_active() && !pod.is_daemon()
}

fn refused(operation: &'static str, error: ApiError) -> PortError {
    let kind = match &error {
        ApiError::NotFound { .. } => ErrorKind::NotFound,
        ApiError::AlreadyExists { .. } | ApiError::Conflict { .. } => ErrorKind::Conflict,
        ApiError::TooManyRequests { .. } => ErrorKind::Throttled,
        ApiError::SeveralBudgets { .. } => ErrorKind::Unavailable,
    };
    PortError::new(kind, operation, error.to_string()).because(error)
}

/// The object after it was brought up to date: its own uid and deletion, annotations of others
/// kept.
fn mirrored(claim: &NodeClaim, own: &NodeClaim) -> NodeClaim {
    let mut annotations = own.annotations.clone();
    annotations.extend(claim.annotations.clone());
    NodeClaim {
        uid: own.uid.clone(),
        created: own.created,
        deleted: own.deleted,
        annotations,
        ..claim.clone()
    }
}

fn patched(node: &mut Node, patch: &NodePatch) {
    let NodePatch {
        labels,
        remove_labels,
        annotations,
        add_taints,
        remove_taints,
        finalizer: _,
        owner: _,
    } = patch;
    node.labels.extend(labels.clone());
    for key in remove_labels {
        node.labels.remove(key);
    }
    node.annotations.extend(annotations.clone());
    node.taints.retain(|own| {
        !remove_taints.iter().any(|(key, effect)| *key == own.key && *effect == own.effect)
    });
    for taint in add_taints {
        let same =
            |own: &&mut domain::taint::Taint| own.key == taint.key && own.effect == taint.effect;
        match node.taints.iter_mut().find(same) {
            Some(own) => *own = taint.clone(),
            None => node.taints.push(taint.clone()),
        }
    }
}

/// A volume stays attached while a pod that uses it is on the node.
fn attachments(world: &World, node: &str) -> Vec<VolumeAttachment> {
    world
        .api
        .list::<Pod>()
        .filter(|pod| pod.node_name.as_deref() == Some(node) && !pod.is_terminal())
        .flat_map(|pod| pod.spec.volumes.iter().map(|volume| claim_key(&pod.key, volume)))
        .filter_map(|key| world.api.get::<PersistentVolumeClaim>(&key)?.spec.volume_name.clone())
        .map(|volume| VolumeAttachment {
            name: format!("csi-{volume}-{node}").into(),
            node: node.into(),
            persistent_volume: Some(volume),
        })
        .collect()
}

/// Annotations of a NodePool, as a reader of the object would take them.
fn record_drift(waves: &mut DriftWaves, annotations: &Labels) {
    if let Some(failures) = annotations.get(DRIFT_FAILURES) {
        waves.failures = failures.parse().unwrap_or_default();
    }
    if let Some(halted) = annotations.get(DRIFT_HALTED) {
        waves.halted = (!halted.is_empty()).then(|| DriftHalt::read(halted));
    }
}
