//! Asking EC2 for all of it: the use case of the function `catalog`.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use controllers::ports::PortError;
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

use super::price_list;
use super::{Catalogue, offered, spot};
use crate::calls::Calls;

/// A fresh catalogue, and what of it is not fresh.
#[derive(Debug)]
#[must_use]
pub struct Refreshed {
    /// The catalogue.
    pub catalogue: Catalogue,
    /// Prices that could not be had; those known before stay in force.
    pub stale: Vec<PortError>,
}

/// Asks EC2 and the price list for everything that a catalogue holds. `before` is the catalogue so far,
/// whose figures stay where nothing newer is said.
///
/// Fails where types or offerings could not be listed. Prices that could not be had are no failure: older
/// ones still rank the types.
pub async fn refresh(
    calls: &Calls,
    before: &Catalogue,
    now: Timestamp,
) -> Result<Refreshed, PortError> {
    let mut stale = Vec::new();
    let mut catalog = offered::offered(calls, &before.catalog).await?;
    if price_list::is_listed(&before.region) {
        match price_list::on_demand_prices(calls, &before.region).await {
            Ok(prices) => {
                let (prices, unreadable) = prices.readable();
                catalog = priced(&catalog, &prices);
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
    Ok(Refreshed { catalogue: Catalogue { region, catalog, spot_prices, made: Some(now) }, stale })
}

/// The catalogue with the prices that are listed.
fn priced(catalog: &Catalog, prices: &BTreeMap<Text, UsdPerHour>) -> Catalog {
    let mut types = catalog.types().to_vec();
    for facts in &mut types {
        if let Some(price) = prices.get(&facts.name) {
            facts.on_demand = Some(*price);
        }
    }
    let regions = catalog.regions().map(|(name, region)| (name.clone(), region.clone()));
    Catalog::of(types, regions.collect())
}
