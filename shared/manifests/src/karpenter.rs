//! The kinds of Karpenter's API, and those of related projects that request capacity.

mod addresses;
mod block_device;
mod capacity_buffer;
mod cluster_limit;
mod commitment;
mod consolidate_below;
mod crd;
mod disruption;
mod drift_waves;
mod expendable;
mod expiration;
mod image_age;
mod instance_overhead;
mod kubelet;
mod kubelet_rule;
mod metadata;
mod network;
mod node_claim;
mod node_class;
mod node_class_status;
mod node_overlay;
mod node_pool;
mod node_pool_options;
mod off_hours;
mod percent;
mod prewarm_schedule;
mod price;
mod requirement;
mod requirement_rule;
mod scaled_object;
mod selector_term;
mod spot_history;
mod taint;
mod template;
#[cfg(test)]
mod tests;
mod zone_balance;

use crate::object::{Kind, Object};

pub use cluster_limit::unreadable_cluster_limit;
pub use crd::{CustomResource, custom_resources};
pub use spot_history::SpotHistoryObject;

/// The kinds that are read.
pub(crate) const KINDS: [Kind; 10] = [
    Kind {
        group: "karpenter.sh",
        name: "NodePool",
        versions: &["v1"],
        read: |root| node_pool::read_node_pool(root).map(Object::NodePool),
    },
    Kind {
        group: "karpenter.sh",
        name: "NodeClaim",
        versions: &["v1"],
        read: |root| Some(Object::NodeClaim(node_claim::read_node_claim(root))),
    },
    Kind {
        group: "karpenter.k8s.aws",
        name: "EC2NodeClass",
        versions: &["v1"],
        read: |root| {
            let class = node_class::read_node_class(root)?;
            Some(Object::Ec2NodeClass(Box::new(class)))
        },
    },
    Kind {
        group: "karpenter.sh",
        name: "NodeOverlay",
        versions: &["v1alpha1"],
        read: |root| Some(Object::NodeOverlay(node_overlay::read_node_overlay(root))),
    },
    Kind {
        group: "autoscaling.x-k8s.io",
        name: "CapacityBuffer",
        versions: &["v1beta1", "v1alpha1"],
        read: |root| capacity_buffer::read_capacity_buffer(root).map(Object::CapacityBuffer),
    },
    Kind {
        group: "keda.sh",
        name: "ScaledObject",
        versions: &["v1alpha1"],
        read: |root| scaled_object::read_scaled_object(root).map(Object::ScaledObject),
    },
    Kind {
        group: "outrigger.dev",
        name: "ClusterLimit",
        versions: &["v1alpha1"],
        read: |root| cluster_limit::read_cluster_limit(root).map(Object::ClusterLimit),
    },
    Kind {
        group: "outrigger.dev",
        name: "Commitment",
        versions: &["v1alpha1"],
        read: |root| commitment::read_commitment(root).map(Object::Commitment),
    },
    Kind {
        group: "outrigger.dev",
        name: "PrewarmSchedule",
        versions: &["v1alpha1"],
        read: |root| prewarm_schedule::read_prewarm_schedule(root).map(Object::PrewarmSchedule),
    },
    Kind {
        group: "outrigger.dev",
        name: "SpotHistory",
        versions: &["v1alpha1"],
        read: |root| spot_history::read_spot_history(root).map(Object::SpotHistory),
    },
];
