//! Pods that no existing node takes, as placement hands them to packing.

use std::sync::Arc;

use crate::feasibility::fit::Fit;
use crate::ids::{PodIx, ShapeIx};
use crate::model::intern::ConjunctionId;

/// Pods of one shape that need new nodes of one kind.
#[derive(Clone)]
pub(crate) struct Item {
    /// The shape.
    pub(crate) shape: ShapeIx,
    /// What the node must meet: one alternative, preferences that can be met, and pinned domains.
    pub(crate) conjunction: ConjunctionId,
    /// Where such a node could come from.
    pub(crate) fit: Arc<Fit>,
    /// The pods.
    pub(crate) pods: Vec<PodIx>,
}
