//! Whether a node that is there takes one more pod, and the first check that it fails.

use domain::pod::HostPort;
use domain::taint::first_untolerated;

use super::constraint::Constraint;
use super::state::State;
use crate::ids::{NodeIx, ShapeIx};
use crate::model::Model;
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;
use crate::model::shape::Shape;

/// The first check that keeps a pod off a node. What exactly stands in its way is worked out only
/// where it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeRefusal {
    /// The node goes away, or takes no pods for another reason.
    Leaving,
    /// The pod does not tolerate one of its taints.
    Taint,
    /// It meets none of the pod's node affinity terms.
    Requirements,
    /// It has too little of a resource.
    Room,
    /// One of the pod's host ports is taken.
    HostPort,
    /// Another pod uses a volume that only one may use.
    VolumeInUse,
    /// It can attach no more volumes of a driver.
    AttachLimit,
    /// The pod would break a constraint between pods.
    Constraint(Constraint),
}

/// Whether the node's labels and taints admit pods of the shape, whatever else is on it.
pub(crate) fn admits(model: &Model, shape: &Shape, node: &NodeView) -> Result<(), NodeRefusal> {
    if node.is_leaving() {
        return Err(NodeRefusal::Leaving);
    }
    if first_untolerated(&shape.spec.tolerations, &node.taints).is_some() {
        return Err(NodeRefusal::Taint);
    }
    if !shape.alternatives.iter().any(|way| node_meets(model, node, *way)) {
        return Err(NodeRefusal::Requirements);
    }
    Ok(())
}

/// Whether the node has room, ports and volume slots for one more pod of the shape.
pub(crate) fn has_capacity(
    model: &Model,
    state: &State,
    shape: ShapeIx,
    node: NodeIx,
) -> Result<(), NodeRefusal> {
    let own = model.shape(shape);
    if state.closed[node] {
        return Err(NodeRefusal::Leaving);
    }
    if !state.has_room(model, node, &own.requests) {
        return Err(NodeRefusal::Room);
    }
    let ports = &own.spec.host_ports;
    let conflicts = |open: &Vec<HostPort>| {
        ports.iter().any(|port| open.iter().any(|other| port.conflicts_with(other)))
    };
    if !ports.is_empty() && state.ports.get(&node).is_some_and(conflicts) {
        return Err(NodeRefusal::HostPort);
    }
    if own.spec.volumes.is_empty() { Ok(()) } else { attaches(model, state, shape, node) }
}

/// Whether the node can attach the shape's volumes, and no other pod uses those that only one may
/// use.
fn attaches(model: &Model, state: &State, shape: ShapeIx, node: NodeIx) -> Result<(), NodeRefusal> {
    let volumes = &model.shape(shape).volumes;
    if volumes.exclusive.iter().any(|claim| state.exclusive.contains(claim)) {
        return Err(NodeRefusal::VolumeInUse);
    }
    let name = model.nodes[node].name;
    let Some(csi) = model.snapshot.objects.csi_nodes.iter().find(|csi| csi.name == *name) else {
        return Ok(());
    };
    let attached = state.attached.get(&node);
    let has_slots = csi.limits.iter().all(|(driver, limit)| {
        let before =
            attached.map_or(0, |attached| attached.iter().filter(|(own, _)| own == driver).count());
        let mut new: Vec<_> = volumes
            .attachments
            .iter()
            .filter(|volume| volume.0 == *driver)
            .filter(|volume| attached.is_none_or(|attached| !attached.contains(*volume)))
            .collect();
        new.sort();
        new.dedup();
        new.is_empty() || before + new.len() <= *limit as usize
    });
    if has_slots { Ok(()) } else { Err(NodeRefusal::AttachLimit) }
}

/// Whether a node's labels and name meet the requirements.
pub(crate) fn node_meets(model: &Model, node: &NodeView, conjunction: ConjunctionId) -> bool {
    let sets = &model.sets;
    sets.rules(conjunction).iter().all(|rule| {
        let value = if &*rule.key == NODE_NAME_FIELD {
            node.node.map(|node| &node.name)
        } else {
            node.labels.get(&rule.key)
        };
        match value {
            Some(value) => sets.get(rule.set).contains(value),
            None => rule.may_be_absent,
        }
    })
}
