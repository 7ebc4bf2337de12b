//! Spot prices in force, from EC2's history of them.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html>.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

use crate::options::SpotPrices;

/// Linux, as accounts of EC2-Classic and later accounts name it.
pub const LINUX: [&str; 2] = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"];

/// The latest price of each type in each zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatestSpotPrices(BTreeMap<(Text, Text), (Timestamp, UsdPerHour)>);

impl LatestSpotPrices {
    /// Takes the price of a type in a zone since a moment. The latest counts, and of several of the
    /// same moment the highest, whatever their order.
    pub fn add(&mut self, instance_type: &str, zone: &str, since: Timestamp, price: UsdPerHour) {
        let key = (Text::from(instance_type), Text::from(zone));
        let own = self.0.entry(key).or_insert((since, price));
        *own = (*own).max((since, price));
    }

    /// Whether there is no price.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The moment of the latest price.
    pub fn latest(&self) -> Option<Timestamp> {
        self.0.values().map(|(since, _)| *since).max()
    }

    /// The prices by type and zone.
    pub fn into_prices(self) -> SpotPrices {
        let mut prices = SpotPrices::new();
        for ((name, zone), (_, price)) in self.0 {
            prices.entry(name).or_default().insert(zone, price);
        }
        prices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_price_of_a_zone_counts_in_any_order() {
        let history = [
            ("m5.large", "a", 10, 40),
            ("m5.large", "a", 20, 41),
            ("m5.large", "a", 20, 38),
            ("m5.large", "a", 5, 39),
            ("m5.large", "b", 1, 35),
        ];
        let add = |prices: &mut LatestSpotPrices, row: &(&str, &str, i64, i64)| {
            let (name, zone, second, nanos) = *row;
            let since = Timestamp::from_second(second).unwrap();
            prices.add(name, zone, since, UsdPerHour::from_nanos(nanos));
        };
        let mut all = [LatestSpotPrices::default(), LatestSpotPrices::default()];
        for (row, reversed) in history.iter().zip(history.iter().rev()) {
            add(&mut all[0], row);
            add(&mut all[1], reversed);
        }
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0].latest(), Timestamp::from_second(20).ok());
        let prices = all[0].clone().into_prices();
        assert_eq!(prices["m5.large"]["a"].nanos(), 41);
        assert_eq!(prices["m5.large"]["b"].nanos(), 35);
    }
}
