//! Room that nodes have in some zones only, or bought in some ways only: DaemonSets that run
//! elsewhere take nothing there.
//!
//! What is left for pods on a type is what is left wherever the node may be, as in Karpenter. Where
//! a node may be in fewer places, more may be left; that is asked only where pods find no room
//! otherwise.

use std::sync::OnceLock;

use domain::requirement::Requirements;

use crate::ids::{IndexVec, PurchaseSet, TypeIx, ZoneSet};
use crate::model::daemon::Daemons;

/// Amounts by type and resource.
pub(super) type Amounts = IndexVec<TypeIx, Vec<i64>>;

/// DaemonSets that run on some of a pool's nodes only, and what room that leaves on the others.
pub(super) struct LocalRoom<'a> {
    pub(super) daemons: Daemons<'a>,
    /// What nodes of the pool are sure to have.
    pub(super) own: Requirements,
    pub(super) found: OnceLock<Vec<Narrowing>>,
}

/// Some of the zones and ways of buying of a pool, and the room that its types have only there.
pub(crate) struct Narrowing {
    /// The zones.
    pub(crate) zones: ZoneSet,
    /// The ways of buying.
    pub(crate) purchases: PurchaseSet,
    /// By type, how much more of each resource is left for pods than anywhere else.
    pub(crate) more: Amounts,
}

impl<'a> LocalRoom<'a> {
    pub(super) fn of(daemons: Daemons<'a>, own: Requirements) -> Self {
        Self { daemons, own, found: OnceLock::new() }
    }
}
