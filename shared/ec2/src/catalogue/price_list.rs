//! On-demand prices, from the price list service.
//!
//! Source: <https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html>.

use std::collections::BTreeMap;

use aws::budget::Bucket;
use aws::calls::pricing;
use aws::error::built;
use aws_sdk_pricing::types::{Filter, FilterType};
use catalog::price_list::{OnDemandPrices, Product, ProductError};
use controllers::ports::{ErrorKind, PortError};
use domain::Text;
use domain::money::UsdPerHour;

use crate::calls::Calls;

const PRODUCTS_A_PAGE: i32 = 100;

/// Tenancy and product family: shared hardware, and bare metal, which is always dedicated.
const KINDS: [(&str, &str); 2] =
    [("Shared", "Compute Instance"), ("Dedicated", "Compute Instance (bare metal)")];

/// Prices by instance type, and products whose form is not known.
#[derive(Debug, Default)]
pub(super) struct FetchedPrices {
    of: OnDemandPrices,
    unreadable: usize,
    /// Why the first of these products cannot be parsed.
    why: Option<ProductError>,
}

impl FetchedPrices {
    fn add(&mut self, product: &str) {
        match Product::from_text(product) {
            Ok(Product::OnDemand(price)) => self.of.add(price),
            // What the filters let through and no node pays.
            Ok(Product::Other(_)) => {}
            Err(error) => {
                self.unreadable += 1;
                self.why.get_or_insert(error);
            }
        }
    }

    /// The prices, and an error if some products could not be parsed.
    pub(super) fn readable(self) -> (BTreeMap<Text, UsdPerHour>, Option<PortError>) {
        let unreadable = self.why.map(|why| {
            let message = format!("{} products cannot be read", self.unreadable);
            PortError::new(ErrorKind::Invalid, "GetProducts", message).because(why)
        });
        (self.of.by_type(), unreadable)
    }
}

/// Whether the service has prices of the region.
pub(super) fn is_listed(region: &str) -> bool {
    !region.starts_with("us-gov-") && !region.starts_with("eusc-") && !region.contains("-iso")
}

/// The on-demand price of each instance type of the region, for Linux.
pub(super) async fn on_demand_prices(
    calls: &Calls,
    region: &str,
) -> Result<FetchedPrices, PortError> {
    let mut prices = FetchedPrices::default();
    for (tenancy, family) in KINDS {
        let filter = |field: &str, value: &str| {
            Filter::builder().r#type(FilterType::TermMatch).field(field).value(value).build()
        };
        let filters = [
            ("regionCode", region),
            ("serviceCode", "AmazonEC2"),
            ("preInstalledSw", "NA"),
            ("operatingSystem", "Linux"),
            ("capacitystatus", "Used"),
            ("marketoption", "OnDemand"),
            ("tenancy", tenancy),
            ("productFamily", family),
        ]
        .map(|(field, value)| built("GetProducts", filter(field, value)))
        .into_iter()
        .collect::<Result<_, _>>()?;
        let pages = calls
            .pricing
            .get_products()
            .service_code("AmazonEC2")
            .set_filters(Some(filters))
            .into_paginator()
            .page_size(PRODUCTS_A_PAGE)
            .send();
        let pages = calls.pages(Bucket::Pricing, pricing("GetProducts"), pages).await?;
        for product in pages.iter().flat_map(|page| page.price_list()) {
            prices.add(product);
        }
    }
    Ok(prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"{
        "product": {"productFamily": "Compute Instance", "sku": "2223B6PCG6QAUYY6",
            "attributes": {"instanceType": "m5.large", "regionCode": "eu-west-1"}},
        "terms": {"OnDemand": {"2223B6PCG6QAUYY6.JRTCKXETXF": {"priceDimensions": {
            "2223B6PCG6QAUYY6.JRTCKXETXF.6YS6EN2CT7":
                {"unit": "Hrs", "pricePerUnit": {"USD": "0.1070000000"}}}}}}
    }"#;

    #[test]
    fn products_that_cannot_be_read_are_told_and_cost_the_others_nothing() {
        let mut prices = FetchedPrices::default();
        for product in ["not JSON", LISTED, "{}"] {
            prices.add(product);
        }
        let (prices, unreadable) = prices.readable();
        assert_eq!(prices["m5.large"], UsdPerHour::from_nanos(107_000_000));
        assert_eq!(prices.len(), 1);
        let error = unreadable.unwrap();
        assert!(error.to_string().contains("2 products cannot be read"), "{error}");
    }

    #[test]
    fn regions_of_other_partitions_than_the_chinese_have_no_price_list() {
        for region in ["us-gov-west-1", "us-iso-east-1", "eu-isoe-west-1", "eusc-de-east-1"] {
            assert!(!is_listed(region), "{region}");
        }
        for region in ["us-west-1", "cn-north-1", "me-central-1", "ap-southeast-7", "mx-central-1"]
        {
            assert!(is_listed(region), "{region}");
        }
    }
}
