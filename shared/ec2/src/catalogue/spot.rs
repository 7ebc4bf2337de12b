//! Current spot prices.

use aws::budget::Bucket;
use aws::calls::{from_aws_time, to_aws_time};
use aws_sdk_ec2::types::SpotPrice;
use catalog::SpotPrices;
use catalog::spot_history::{LINUX, LatestSpotPrices};
use controllers::ports::PortError;
use domain::Timestamp;
use domain::money::UsdPerHour;

use crate::calls::{Calls, ec2};

const PRICES_A_PAGE: i32 = 1000;

/// The price of each type in each zone in force at `now`.
///
/// A history that starts now holds the price in force of each type and zone
/// (<https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html>).
pub(super) async fn spot_prices(calls: &Calls, now: Timestamp) -> Result<SpotPrices, PortError> {
    let pages = calls
        .ec2
        .describe_spot_price_history()
        .start_time(to_aws_time(now))
        .set_product_descriptions(Some(LINUX.map(str::to_owned).to_vec()))
        .into_paginator()
        .page_size(PRICES_A_PAGE)
        .send();
    let action = ec2("DescribeSpotPriceHistory");
    let pages = calls.pages(Bucket::Describe, action, pages).await?;
    Ok(latest(pages.iter().flat_map(|page| page.spot_price_history())))
}

/// The latest price of each type and zone. An entry without a time is older than any other.
fn latest<'a>(history: impl Iterator<Item = &'a SpotPrice>) -> SpotPrices {
    let mut prices = LatestSpotPrices::default();
    for entry in history {
        let Some((name, zone)) = entry.instance_type().zip(entry.availability_zone()) else {
            continue;
        };
        let since = entry.timestamp().and_then(from_aws_time).unwrap_or(Timestamp::UNIX_EPOCH);
        let price =
            entry.spot_price().and_then(|price| price.parse().ok()).and_then(UsdPerHour::from_f64);
        if let Some(price) = price {
            prices.add(name.as_str(), zone, since, price);
        }
    }
    prices.into_prices()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::primitives::DateTime;

    fn entry(name: &str, zone: &str, price: &str, seconds: i64) -> SpotPrice {
        SpotPrice::builder()
            .instance_type(name.into())
            .availability_zone(zone)
            .spot_price(price)
            .timestamp(DateTime::from_secs(seconds))
            .build()
    }

    #[test]
    fn the_latest_price_of_a_zone_counts() {
        let history = [
            entry("m5.large", "a", "0.040000", 10),
            entry("m5.large", "a", "0.041000", 20),
            entry("m5.large", "a", "0.039000", 5),
            entry("m5.large", "b", "0.035300", 1),
            entry("m5.xlarge", "a", "broken", 1),
        ];
        let prices = latest(history.iter());
        assert_eq!(prices.len(), 1);
        assert_eq!(prices["m5.large"]["a"], UsdPerHour::from_nanos(41_000_000));
        assert_eq!(prices["m5.large"]["b"], UsdPerHour::from_nanos(35_300_000));
    }
}
