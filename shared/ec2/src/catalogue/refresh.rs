//! Fetching the catalogue from EC2: the use case of the function `catalog`.

use std::sync::Arc;

use controllers::ports::PortError;
use domain::Timestamp;

use super::price_list;
use super::{Catalogue, offered, spot};
use crate::calls::Calls;

/// A fresh catalogue, and which prices of it are not.
#[derive(Debug)]
#[must_use]
pub struct Refreshed {
    /// The catalogue.
    pub catalogue: Catalogue,
    /// Why prices could not be fetched; the previous ones stay in use.
    pub stale: Vec<PortError>,
}

/// Fetches types, offerings and prices. `before` is the previous catalogue, whose figures stay
/// where nothing newer was fetched.
///
/// Fails where types or offerings could not be listed. Missing prices are not a failure: older ones
/// still rank the types.
pub async fn refresh(
    calls: &Calls,
    before: &Catalogue,
    now: Timestamp,
) -> Result<Refreshed, PortError> {
    let mut stale = Vec::new();
    let mut priced = before.priced;
    let mut catalog = offered::offered(calls, &before.catalog).await?;
    if price_list::is_listed(&before.region) {
        match price_list::on_demand_prices(calls, &before.region).await {
            Ok(prices) => {
                let (prices, unreadable) = prices.readable();
                catalog = catalog.with_prices(&prices);
                priced = Some(now);
                stale.extend(unreadable);
            }
            Err(error) => stale.push(error),
        }
    }
    let spot_prices = match spot::spot_prices(calls, now).await {
        Ok(prices) => Some(Arc::new(prices)),
        Err(error) => {
            stale.push(error);
            before.spot_prices.clone()
        }
    };
    let region = before.region.clone();
    let made = Some(now);
    Ok(Refreshed { catalogue: Catalogue { region, catalog, spot_prices, made, priced }, stale })
}
