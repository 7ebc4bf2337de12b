//! The kinds of Karpenter's API and those of its neighbours that ask for capacity.

mod block_device;
mod disruption;
mod duration;
mod kubelet;
mod kubelet_rule;
mod label_rule;
mod metadata;
mod network;
mod node_claim;
mod node_class;
mod node_class_status;
mod node_pool;
mod price;
mod requirement;
mod requirement_rule;
mod selector_term;
mod taint;
mod template;
#[cfg(test)]
mod tests;

use crate::object::Object;
use crate::reader::ReadKind;

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(kind: &str) -> Option<(&'static str, ReadKind)> {
    let reader: (&'static str, ReadKind) = match kind {
        "NodePool" => {
            ("karpenter.sh", |root| node_pool::read_node_pool(root).map(Object::NodePool))
        }
        "NodeClaim" => {
            ("karpenter.sh", |root| node_claim::read_node_claim(root).map(Object::NodeClaim))
        }
        "EC2NodeClass" => ("karpenter.k8s.aws", |root| {
            node_class::read_node_class(root).map(|class| Object::Ec2NodeClass(Box::new(class)))
        }),
        _ => return None,
    };
    Some(reader)
}
