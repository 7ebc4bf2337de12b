//! The kinds of Karpenter's API, and those of related projects that request capacity.

mod block_device;
mod capacity_buffer;
mod crd;
mod disruption;
mod kubelet;
mod kubelet_rule;
mod label_rule;
mod metadata;
mod network;
mod node_claim;
mod node_class;
mod node_class_status;
mod node_overlay;
mod node_pool;
mod prewarm_schedule;
mod price;
mod requirement;
mod requirement_rule;
mod scaled_object;
mod selector_term;
mod taint;
mod template;
#[cfg(test)]
mod tests;

use crate::object::{Object, ReadKind};

pub use crd::{CustomResource, custom_resources};

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(kind: &str) -> Option<(&'static str, ReadKind)> {
    let reader: (&'static str, ReadKind) = match kind {
        "NodePool" => {
            ("karpenter.sh", |root| node_pool::read_node_pool(root).map(Object::NodePool))
        }
        "NodeClaim" => {
            ("karpenter.sh", |root| Some(Object::NodeClaim(node_claim::read_node_claim(root))))
        }
        "EC2NodeClass" => ("karpenter.k8s.aws", |root| {
            node_class::read_node_class(root).map(|class| Object::Ec2NodeClass(Box::new(class)))
        }),
        "NodeOverlay" => ("karpenter.sh", |root| {
            Some(Object::NodeOverlay(node_overlay::read_node_overlay(root)))
        }),
        "CapacityBuffer" => ("autoscaling.x-k8s.io", |root| {
            capacity_buffer::read_capacity_buffer(root).map(Object::CapacityBuffer)
        }),
        "ScaledObject" => {
            ("keda.sh", |root| scaled_object::read_scaled_object(root).map(Object::ScaledObject))
        }
        "PrewarmSchedule" => ("outrigger.dev", |root| {
            prewarm_schedule::read_prewarm_schedule(root).map(Object::PrewarmSchedule)
        }),
        _ => return None,
    };
    Some(reader)
}
