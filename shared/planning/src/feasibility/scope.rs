//! What planning works on.

use super::topology::Topology;
use crate::model::Model;
use crate::model::memo::Memo;

/// A model, its topology groups, and what was worked out about its NodePools.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'m, 'a> {
    /// The model.
    pub(crate) model: &'m Model<'a>,
    /// Groups of the model's shapes.
    pub(crate) topology: &'m Topology,
    /// What was worked out so far.
    pub(crate) memo: &'m Memo,
}
