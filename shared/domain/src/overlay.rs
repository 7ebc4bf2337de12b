//! NodeOverlay (`karpenter.sh/v1alpha1`): changes to the price or the devices of instance types.

use crate::Text;
use crate::money::UsdPerHour;
use crate::requirement::Requirement;
use crate::resource::Resources;

/// A NodeOverlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOverlay {
    /// The name.
    pub name: Text,
    /// Which offerings of which pools it applies to.
    pub requirements: Vec<Requirement>,
    /// What it does to the price.
    pub price: Option<PriceChange>,
    /// Devices that matching instance types have.
    pub capacity: Resources,
    /// Heavier overlays win; 0 when unset.
    pub weight: u32,
}

/// `price` or `priceAdjustment` of a NodeOverlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceChange {
    /// This price.
    Absolute(UsdPerHour),
    /// So much more or less.
    Add(UsdPerHour),
    /// So much more or less, in millionths of the price.
    Scale(i64),
}

impl PriceChange {
    /// The price after the change, never below zero.
    pub fn apply(self, price: UsdPerHour) -> UsdPerHour {
        let changed = match self {
            Self::Absolute(price) => price,
            Self::Add(amount) => price + amount,
            Self::Scale(millionths) => {
                let nanos =
                    i128::from(price.nanos()) * i128::from(1_000_000 + millionths) / 1_000_000;
                UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
            }
        };
        changed.max(UsdPerHour::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_apply_and_stop_at_zero() {
        let price = UsdPerHour::from_nanos(200_000_000);
        let nanos = |change: PriceChange| change.apply(price).nanos();
        assert_eq!(nanos(PriceChange::Absolute(UsdPerHour::from_nanos(5))), 5);
        assert_eq!(nanos(PriceChange::Add(UsdPerHour::from_nanos(-300_000_000))), 0);
        assert_eq!(nanos(PriceChange::Scale(-50_000)), 190_000_000);
        assert_eq!(nanos(PriceChange::Scale(-1_000_000)), 0);
    }
}
