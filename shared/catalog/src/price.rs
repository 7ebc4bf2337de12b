//! What an hour costs.
//!
//! On-demand prices are the list prices of us-east-1. Elsewhere they are estimates: the same
//! figures. Spot prices are estimates everywhere, because real ones change by the hour: a share of
//! the on-demand price by the kind of type ([`spot_share_permille`]), moved by up to 6 % either way
//! for each type and zone so that zones differ as they do in EC2, and rounded to EC2's four
//! decimals. The estimate depends on the names alone: the same today and tomorrow, here and there.

use domain::money::UsdPerHour;

use crate::facts::{Feature, InstanceTypeFacts};

/// The region whose list prices the catalogue holds.
pub const PRICED_REGION: &str = "us-east-1";

/// How much a price can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceBasis {
    /// As AWS publishes it.
    Published,
    /// Derived from a published price by a rule.
    Estimate,
}

/// What on-demand prices of a region are based on; spot prices are estimates in every region.
pub fn on_demand_basis(region: &str) -> PriceBasis {
    if region == PRICED_REGION { PriceBasis::Published } else { PriceBasis::Estimate }
}

/// What to say beside prices of the region, in a sentence.
pub fn note(region: &str) -> &'static str {
    match on_demand_basis(region) {
        PriceBasis::Published => "spot prices are estimates, on-demand prices are list prices",
        PriceBasis::Estimate => {
            "prices are estimates: on-demand from the list prices of us-east-1, spot a share of them"
        }
    }
}

/// How far zones' spot prices lie from the type's, at most, in thousandths.
const ZONE_VARIATION_PERMILLE: u64 = 60;
/// Spot prices have four decimals.
const SPOT_STEP_NANOS: i64 = 100_000;
/// Upstream divides on-demand prices by this for reservations, which are paid for anyway: what is
/// left keeps the order among them.
const RESERVED_DIVISOR: i64 = 10_000_000;

/// The share of the on-demand price that spot costs, in thousandths.
///
/// Accelerated types are sought after and dear; older generations lie idle and are cheap; bare
/// metal is cheap, since few can use it; everything else is in between.
pub fn spot_share_permille(facts: &InstanceTypeFacts) -> u32 {
    if !facts.gpus.is_empty() || !facts.accelerators.is_empty() || !facts.neuron_devices.is_empty()
    {
        return 450;
    }
    if facts.features.has(Feature::BareMetal) {
        return 300;
    }
    let Some((category, generation)) = facts.category_and_generation() else { return 400 };
    match (category, generation.parse().unwrap_or(0)) {
        ("c" | "m" | "r", 0..=4) => 330,
        ("c" | "m" | "r", 5) => 360,
        ("t", _) | ("c" | "m" | "r", 6) => 380,
        ("c" | "m" | "r", 7) => 400,
        ("c" | "m" | "r", _) => 420,
        ("d" | "h" | "i" | "im" | "is", _) => 340,
        _ => 400,
    }
}

/// The estimated spot price of a type in a zone.
pub fn spot_estimate(facts: &InstanceTypeFacts, on_demand: UsdPerHour, zone: &str) -> UsdPerHour {
    let hash = fnv1a(facts.name.bytes().chain([0]).chain(zone.bytes()));
    let spread = 2 * ZONE_VARIATION_PERMILLE + 1;
    let factor = 1000 - ZONE_VARIATION_PERMILLE + hash % spread;
    let exact =
        i128::from(on_demand.nanos()) * i128::from(spot_share_permille(facts)) * i128::from(factor)
            / 1_000_000;
    let step = i128::from(SPOT_STEP_NANOS);
    let rounded = ((exact + step / 2) / step).max(1) * step;
    UsdPerHour::from_nanos(i64::try_from(rounded).unwrap_or(i64::MAX))
}

/// The token price of reserved capacity.
pub fn reserved(on_demand: UsdPerHour) -> UsdPerHour {
    UsdPerHour::from_nanos((on_demand.nanos() / RESERVED_DIVISOR).max(1))
}

/// FNV-1a, for its stability: the standard library's hashes may change between releases.
///
/// Source: <https://datatracker.ietf.org/doc/draft-eastlake-fnv/>.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Its low bits follow the last byte closely; the zones' last letters are what must spread.
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::facts;

    const ON_DEMAND: UsdPerHour = UsdPerHour::from_nanos(96_000_000);

    #[test]
    fn spot_lies_within_its_share_of_the_on_demand_price() {
        let m5 = facts("m5.large");
        for zone in ["us-east-1a", "us-east-1b", "ap-northeast-2c"] {
            let nanos = spot_estimate(&m5, ON_DEMAND, zone).nanos();
            let middle = 96_000_000 * 36 / 100;
            assert!((middle * 94 / 100 - 50_000..=middle * 106 / 100 + 50_000).contains(&nanos));
            assert_eq!(nanos % SPOT_STEP_NANOS, 0);
        }
    }

    #[test]
    fn zones_differ_and_stay_the_same() {
        let m5 = facts("m5.24xlarge");
        let price = |zone| spot_estimate(&m5, ON_DEMAND * 48, zone);
        assert_ne!(price("us-east-1a"), price("us-east-1b"));
        assert_eq!(price("us-east-1a"), price("us-east-1a"));
    }

    #[test]
    fn newer_generations_have_less_discount() {
        let share = |name| spot_share_permille(&facts(name));
        assert!(share("m4.large") < share("m5.large"));
        assert!(share("m5.large") < share("m7i.large"));
        assert!(share("m7i.large") < share("g5.xlarge"));
    }

    #[test]
    fn a_reservation_costs_next_to_nothing() {
        assert_eq!(reserved(ON_DEMAND).nanos(), 9);
        assert_eq!(reserved(UsdPerHour::from_nanos(1)).nanos(), 1);
    }

    #[test]
    fn only_the_priced_region_has_published_prices() {
        assert_eq!(on_demand_basis("us-east-1"), PriceBasis::Published);
        assert_eq!(on_demand_basis("eu-west-1"), PriceBasis::Estimate);
        assert!(note("us-east-1").starts_with("spot prices are estimates"));
        assert!(note("eu-west-1").starts_with("prices are estimates"));
    }
}
