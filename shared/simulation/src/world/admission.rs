//! Objects as a scenario applies them: what the API server fills in, and where each kind goes.

use std::sync::Arc;

use domain::Text;
use domain::node_class::Ec2NodeClass;
use domain::pod::{ObjectKey, PodSpec};
use domain::stamp::{NODE_CLASS_RULES, Stamp};
use domain::volume::PersistentVolumeClaim;
use manifests::{Object, PriorityRef};

use super::World;
use super::deletion::Deletion;
use crate::api::{Kind, WorkloadId};
use crate::ec2::select_images;

/// Classes that every cluster has.
///
/// Source:
/// <https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/>
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

impl World {
    /// Stores an object of any kind as `kubectl apply` does. False for kinds that no API server
    /// has.
    pub fn apply_object(&mut self, object: Object) -> bool {
        match object {
            Object::NodePool(object) => self.store(object),
            Object::NodeClaim(object) => self.store(object),
            Object::NodeOverlay(object) => self.store(object),
            Object::Ec2NodeClass(object) => {
                self.apply_node_class(*object);
                self.update_instance_types();
            }
            Object::CapacityBuffer(object) => self.store(object),
            Object::ScaledObject(object) => {
                let scaled_object = object.key.clone();
                // Pods that are replayed came and went as KEDA had it then.
                if self.apply(object) && self.playback.is_none() {
                    self.wake_keda(&scaled_object, self.now);
                }
            }
            Object::PrewarmSchedule(object) => self.store(object),
            Object::ClusterLimit(object) => self.store(object),
            Object::Commitment(object) => self.store(object),
            Object::Pod(mut object) => {
                self.settle_priority(&mut object.pod.spec, &object.priority);
                self.create_pod(object.pod);
            }
            Object::Node(object) => self.adopt_node(object),
            Object::PodTemplate(object) => self.store(object),
            Object::Namespace(object) => self.store(object),
            Object::Service(object) => self.store(object),
            Object::SchedulerConfig(object) => self.store(object),
            Object::PersistentVolume(object) => self.store(object),
            Object::PersistentVolumeClaim(object) => {
                let key = object.key.clone();
                self.apply::<PersistentVolumeClaim>(object);
                self.bind_immediately(&key);
            }
            Object::DaemonSet(mut object) => {
                let priority = object.priority.clone();
                self.settle_priority(&mut object.daemon_set.template.spec, &priority);
                self.apply(object);
            }
            Object::Workload(mut object) => {
                let priority = object.priority.clone();
                self.settle_priority(&mut object.workload.template.spec, &priority);
                self.apply(object);
            }
            Object::StorageClass(object) => self.store(object),
            Object::CsiNode(object) => self.store(object),
            Object::PodDisruptionBudget(object) => self.store(object),
            Object::PriorityClass(object) => {
                self.priority_classes.insert(object.name.clone(), object);
            }
            _ => return false,
        }
        true
    }

    /// Stores an object that means nothing to the world by itself.
    fn store<T: crate::api::Object>(&mut self, object: T) {
        self.apply(object);
    }

    /// A new class is resolved by the time anything is launched from it; one that is changed, once
    /// lifecycle has found that out.
    fn apply_node_class(&mut self, mut class: Ec2NodeClass) {
        if self.api.get::<Ec2NodeClass>(&class.name).is_none() {
            let is_stamped = Stamp::of_node_class(&class.annotations).is_some();
            if let Some(stamp) = class.stamp(NODE_CLASS_RULES, "").filter(|_| !is_stamped) {
                class.annotations.extend(stamp.node_class_annotations());
            }
            if class.status.amis.is_empty() {
                let selected = select_images(&self.images, self.seed, &class, self.now);
                class.status.amis = selected.images;
                class.image_age.held_back = selected.held_back;
            }
        }
        self.note_addresses(&class);
        self.apply(class);
    }

    fn update_instance_types(&mut self) {
        let classes: Vec<_> = self.api.list().cloned().collect();
        self.ec2.types_for(&classes);
    }

    fn settle_priority(&self, spec: &mut Arc<PodSpec>, reference: &PriorityRef) {
        let priority = self.priority_of(reference);
        if spec.priority != priority {
            Arc::make_mut(spec).priority = priority;
        }
    }

    /// The priority that a pod gets; 0 for a class that is not there.
    fn priority_of(&self, reference: &PriorityRef) -> i32 {
        let defaults = self.priority_classes.values().filter(|class| class.is_global_default);
        match (reference.own, &reference.class) {
            (Some(own), _) => own,
            // Of several global defaults the smallest counts, as in the API server.
            (None, None) => defaults.map(|class| class.value).min().unwrap_or(0),
            (None, Some(name)) => {
                let own = self.priority_classes.get(name).map(|class| class.value);
                let system = SYSTEM_CLASSES.iter().find(|(class, _)| **class == **name);
                own.or(system.map(|(_, value)| *value)).unwrap_or(0)
            }
        }
    }

    /// Deletes an object as `kubectl delete` does: finalizers and grace periods hold. False if
    /// there is none.
    pub fn delete_object(&mut self, target: &DeleteTarget) -> bool {
        match target {
            DeleteTarget::Workload(id) => self.delete_workload(id),
            DeleteTarget::Namespaced(kind, key) => self.delete_namespaced(*kind, key),
            DeleteTarget::Cluster(kind, name) => self.delete_of_cluster(*kind, name),
        }
    }

    fn delete_namespaced(&mut self, kind: Kind, key: &ObjectKey) -> bool {
        match kind {
            Kind::Pod => {
                let is_there = self.api.get::<domain::pod::Pod>(key).is_some();
                self.delete_pod(key, Deletion::Graceful);
                is_there
            }
            Kind::DaemonSet => self.delete_daemon_set(key),
            Kind::PodDisruptionBudget => {
                self.api.remove::<domain::pdb::PodDisruptionBudget>(key).is_ok()
            }
            Kind::PersistentVolumeClaim => self.api.remove::<PersistentVolumeClaim>(key).is_ok(),
            Kind::CapacityBuffer => self.api.remove::<domain::buffer::CapacityBuffer>(key).is_ok(),
            Kind::ScaledObject => self.api.remove::<domain::buffer::ScaledObject>(key).is_ok(),
            Kind::ClusterLimit => {
                self.api.remove::<domain::cluster_limit::ClusterLimit>(&key.name).is_ok()
            }
            Kind::Commitment => {
                self.api.remove::<domain::commitment::Commitment>(&key.name).is_ok()
            }
            Kind::PrewarmSchedule => {
                self.api.remove::<domain::buffer::PrewarmSchedule>(key).is_ok()
            }
            Kind::Service => self.api.remove::<domain::workload::Service>(key).is_ok(),
            Kind::PodTemplate => {
                self.api.remove::<domain::workload::PodTemplateObject>(key).is_ok()
            }
            _ => false,
        }
    }

    fn delete_of_cluster(&mut self, kind: Kind, name: &Text) -> bool {
        match kind {
            Kind::Node => {
                let is_there = self.api.get::<domain::node::Node>(name).is_some();
                self.ask_node_deletion(name);
                is_there
            }
            Kind::NodeClaim => self.delete_node_claim(name),
            Kind::NodePool => self.api.remove::<domain::node_pool::NodePool>(name).is_ok(),
            Kind::EC2NodeClass => self.api.remove::<Ec2NodeClass>(name).is_ok(),
            Kind::NodeOverlay => self.api.remove::<domain::overlay::NodeOverlay>(name).is_ok(),
            Kind::StorageClass => self.api.remove::<domain::volume::StorageClass>(name).is_ok(),
            Kind::PersistentVolume => {
                self.api.remove::<domain::volume::PersistentVolume>(name).is_ok()
            }
            Kind::Namespace => self.api.remove::<domain::workload::Namespace>(name).is_ok(),
            _ => false,
        }
    }
}

/// What to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteTarget {
    /// A workload, with its pods.
    Workload(WorkloadId),
    /// An object of a kind that lives in namespaces.
    Namespaced(Kind, ObjectKey),
    /// An object of a kind that does not.
    Cluster(Kind, Text),
}
