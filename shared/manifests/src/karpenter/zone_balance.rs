//! Annotations `outrigger.dev/zone-balance` and `zone-balance-premium` of a NodePool.

use domain::label::{ZONE_BALANCE, ZONE_BALANCE_PREMIUM};
use domain::zone_balance::ZoneBalance;

use super::percent::read_percent;
use crate::field::Field;

/// How evenly new nodes are spread. What is no percentage counts as not there.
pub(super) fn read_zone_balance(annotations: Field<'_>) -> Option<ZoneBalance> {
    let balance = annotations.get(ZONE_BALANCE);
    let premium = annotations.get(ZONE_BALANCE_PREMIUM);
    let premium_percent = read_percent(premium, 0, "zones are even for up to 5 % more");
    if premium.exists() && !balance.exists() {
        premium.warn(format!("{ZONE_BALANCE} is needed beside it: it has no effect"));
    }
    Some(ZoneBalance {
        above_percent: read_percent(balance, 0, "zones are not evened")?,
        premium_percent: premium_percent.unwrap_or(ZoneBalance::PREMIUM_PERCENT),
    })
}
