//! What an hour costs.
//!
//! On-demand prices are the list prices of us-east-1. Elsewhere they are estimates: those figures
//! times the region's factor ([`factor_permille`]). Spot prices are estimates everywhere, because
//! real ones change by the hour: a share of the on-demand price by the kind of type
//! ([`spot_share_permille`]), moved by up to 6 % either way for each type and zone so that zones
//! differ as they do in EC2, and rounded to EC2's four decimals. The estimate depends on the names
//! alone: the same today and tomorrow, here and there. Fargate's prices are its list prices of
//! us-east-1, elsewhere times the same factor; they do not depend on the catalogue.

use domain::fargate::{FargateRate, FargateRates};
use domain::instance_type::{PriceSource, Pricing};
use domain::money::UsdPerHour;

use crate::facts::{Feature, InstanceTypeFacts};

/// The region whose list prices the catalogue holds.
pub const PRICED_REGION: &str = "us-east-1";

/// The month in which AWS published them.
pub const PRICED_IN: &str = "2026-07";

/// What regions cost beside us-east-1, in thousandths: the list price of m5.large there, or of
/// m6i.large where m5 is not sold. Other types differ by a few percent from that. For ca-west-1,
/// il-central-1 and ap-southeast-5 a region near by stands in.
const FACTORS_PERMILLE: [(&str, u32); 31] = [
    ("af-south-1", 1323),
    ("ap-east-1", 1375),
    ("ap-northeast-1", 1292),
    ("ap-northeast-2", 1229),
    ("ap-northeast-3", 1292),
    ("ap-south-1", 1052),
    ("ap-south-2", 1052),
    ("ap-southeast-1", 1250),
    ("ap-southeast-2", 1250),
    ("ap-southeast-3", 1250),
    ("ap-southeast-4", 1250),
    ("ap-southeast-5", 1250),
    ("ca-central-1", 1115),
    ("ca-west-1", 1115),
    ("eu-central-1", 1198),
    ("eu-central-2", 1318),
    ("eu-north-1", 1063),
    ("eu-south-1", 1167),
    ("eu-south-2", 1115),
    ("eu-west-1", 1115),
    ("eu-west-2", 1156),
    ("eu-west-3", 1167),
    ("il-central-1", 1198),
    ("me-central-1", 1229),
    ("me-south-1", 1229),
    ("sa-east-1", 1594),
    ("us-east-1", 1000),
    ("us-east-2", 1000),
    ("us-gov-west-1", 1260),
    ("us-west-1", 1167),
    ("us-west-2", 1000),
];

/// What a region costs beside us-east-1, in thousandths; `None` for a region of which nothing is
/// known.
pub fn factor_permille(region: &str) -> Option<u32> {
    let index = FACTORS_PERMILLE.binary_search_by(|(name, _)| (*name).cmp(region)).ok()?;
    FACTORS_PERMILLE.get(index).map(|(_, factor)| *factor)
}

/// The on-demand price in a region of which that in us-east-1 is given. A region of which nothing
/// is known is taken to cost the same.
pub fn on_demand(list_price: UsdPerHour, region: &str) -> UsdPerHour {
    let factor = factor_permille(region).unwrap_or(1000);
    let nanos = i128::from(list_price.nanos()) * i128::from(factor) / 1000;
    UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// What Fargate charges for Linux in us-east-1, for a vCPU and for a GB, in billionths of a dollar.
///
/// Source: <https://aws.amazon.com/fargate/pricing/>.
const FARGATE_AMD64: (i64, i64) = (40_480_000, 4_445_000);
const FARGATE_ARM64: (i64, i64) = (32_380_000, 3_560_000);

/// What Fargate charges in a region: its list prices of us-east-1 times the region's factor.
pub fn fargate(region: &str) -> FargateRates {
    let rate = |(vcpu, gb): (i64, i64)| FargateRate {
        vcpu: on_demand(UsdPerHour::from_nanos(vcpu), region),
        gb: on_demand(UsdPerHour::from_nanos(gb), region),
    };
    FargateRates { amd64: rate(FARGATE_AMD64), arm64: rate(FARGATE_ARM64) }
}

/// What the embedded catalogue's prices of a region are.
pub fn pricing(region: &str) -> Pricing {
    let source = if region == PRICED_REGION { PriceSource::Listed } else { PriceSource::Estimated };
    Pricing { source, spot: PriceSource::Estimated, as_of: Some(PRICED_IN.into()) }
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
    fn regions_are_listed_by_name_once() {
        assert!(FACTORS_PERMILLE.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn other_regions_are_priced_by_their_factor() {
        assert_eq!(on_demand(ON_DEMAND, "us-east-1"), ON_DEMAND);
        assert_eq!(on_demand(ON_DEMAND, "ap-northeast-2").nanos(), 117_984_000);
        assert_eq!(on_demand(ON_DEMAND, "moon-1"), ON_DEMAND);
        assert_eq!(fargate("us-east-1").amd64.vcpu.nanos(), 40_480_000);
        assert_eq!(fargate("ap-northeast-2").arm64.gb.nanos(), 4_375_240);
        assert_eq!(pricing("us-east-1").source, PriceSource::Listed);
        assert_eq!(pricing("eu-west-1").source, PriceSource::Estimated);
    }
}
