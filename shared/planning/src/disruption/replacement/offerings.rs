//! Which types and offerings of a pool a replacement may use.

use domain::money::UsdPerHour;

use crate::ids::{PurchaseSet, TypeIx, TypeSet, ZoneSet};
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, Pool};

/// Where and how a node may be launched.
#[derive(Clone, Copy)]
pub(super) struct LaunchScope {
    pub(super) zones: ZoneSet,
    pub(super) purchases: PurchaseSet,
}

impl LaunchScope {
    /// Everywhere, in any way.
    pub(super) const ALL: Self = Self { zones: ZoneSet::ALL, purchases: PurchaseSet::ALL };
}

/// The cheapest type that may be launched, and its price.
pub(super) fn cheapest(
    memo: &Memo,
    pool: &Pool,
    compatible: &Compatible,
) -> Option<(TypeIx, UsdPerHour)> {
    memo.cheapest(pool, compatible.zones, compatible.purchases)
        .iter()
        .find(|priced| compatible.types.contains(priced.index))
        .map(|priced| (priced.index, priced.offering.price))
}

/// Keeps types of which the dearest offering that a launch may get costs less than `ceiling`; one
/// that is interrupted too often is not launched while another remains.
pub(super) fn keep_cheaper(
    pool: &Pool,
    scope: LaunchScope,
    ceiling: UsdPerHour,
    types: &mut TypeSet,
) {
    types.retain(|index| {
        let offerings = pool.types[index].launchable_in(scope.zones, scope.purchases);
        let wanted = offerings.filter(|offering| !offering.is_over);
        wanted.map(|offering| offering.price).max().is_some_and(|worst| worst < ceiling)
    });
}
