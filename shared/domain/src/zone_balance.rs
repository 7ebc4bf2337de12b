//! Balance of a NodePool's nodes over zones: `outrigger.dev/zone-balance` and
//! `zone-balance-premium`.

/// How evenly new nodes of a NodePool are spread over zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneBalance {
    /// By how many percent of the even share a zone may exceed it (`outrigger.dev/zone-balance`).
    pub above_percent: u8,
    /// By how many percent a node may become dearer so that zones are even
    /// (`outrigger.dev/zone-balance-premium`).
    pub premium_percent: u8,
}

impl ZoneBalance {
    /// The premium where no annotation says it.
    pub const PREMIUM_PERCENT: u8 = 5;

    /// The most nodes, of all of the pool, that one of so many zones gets: the even share and what
    /// may be above it, rounded down, and never less than the even share rounded up.
    pub fn most_in_zone(self, nodes: u32, zones: u32) -> u32 {
        let (nodes, zones) = (u64::from(nodes), u64::from(zones.max(1)));
        let above = nodes * (100 + u64::from(self.above_percent)) / (100 * zones);
        u32::try_from(above.max(nodes.div_ceil(zones))).unwrap_or(u32::MAX)
    }

    /// Whether a price is within the premium over another, both in billionths of a dollar.
    pub fn is_worth(self, price: i64, least: i64) -> bool {
        i128::from(price) * 100
            <= i128::from(least) * i128::from(100 + u32::from(self.premium_percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_gets_the_even_share_and_what_may_be_above_it() {
        let balance = ZoneBalance { above_percent: 20, premium_percent: 5 };
        for (nodes, zones, most) in
            [(9, 3, 3), (10, 3, 4), (30, 3, 12), (4, 6, 1), (1, 3, 1), (0, 3, 0)]
        {
            assert_eq!(balance.most_in_zone(nodes, zones), most, "{nodes} nodes, {zones} zones");
        }
        assert_eq!(balance.most_in_zone(7, 0), 8, "without zones there is one");
    }

    #[test]
    fn a_price_is_worth_it_up_to_the_premium() {
        let balance = ZoneBalance { above_percent: 0, premium_percent: 5 };
        assert!(balance.is_worth(105, 100) && !balance.is_worth(106, 100));
        assert!(balance.is_worth(i64::MAX, i64::MAX));
    }
}
