//! The instance catalogue of a region: types, offerings and prices. One function gathers it every
//! hour and stores it as one small document, which all others load in milliseconds instead of
//! making a hundred calls.
//!
//! Images are not part of it: they are resolved for each node class, into its status.

mod document;
mod offered;
mod price_list;
mod refresh;
mod spot;

use std::sync::Arc;

use aws::store::CatalogStore;
use catalog::{Catalog, CatalogError, SpotPrices};
use controllers::ports::PortError;
use domain::instance_type::{CapacityType, PriceSource, Pricing};
use domain::money::UsdPerHour;
use domain::plan::LaunchOffering;
use domain::{Text, Timestamp};

pub use document::DocumentError;
pub use refresh::{Refreshed, refresh};

/// The instance types, offerings and prices of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// The region.
    pub region: Text,
    /// Instance types and the zones that offer them, with on-demand prices.
    pub catalog: Catalog,
    /// Spot prices; `None` before they were first fetched.
    pub spot_prices: Option<Arc<SpotPrices>>,
    /// When it was fetched from EC2; `None` for the embedded catalogue.
    pub made: Option<Timestamp>,
    /// When on-demand prices were last fetched from the price list; `None` where they are the
    /// embedded ones, as in partitions without a price list.
    pub priced: Option<Timestamp>,
}

/// Why a catalogue could not be loaded or saved.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The store failed.
    #[error("the stored catalogue could not be read")]
    Store(#[from] PortError),
    /// The stored document is damaged.
    #[error("the stored catalogue is damaged")]
    Document(#[from] DocumentError),
    /// The embedded catalogue is damaged.
    #[error("the embedded catalogue is damaged")]
    Embedded(#[from] CatalogError),
}

impl Catalogue {
    /// The catalogue embedded in the program, with estimated prices; in us-east-1, list prices.
    pub fn embedded(region: &str) -> Result<Self, CatalogError> {
        let catalog = catalog::embedded_in(region)?;
        Ok(Self { region: region.into(), catalog, spot_prices: None, made: None, priced: None })
    }

    /// Loads the stored catalogue of the region; the embedded one where none is stored yet.
    pub async fn load<S: CatalogStore>(store: &S, region: &str) -> Result<Self, CatalogueError> {
        match store.get(&key(region)).await? {
            Some(bytes) => Ok(document::decode(&bytes)?),
            None => Ok(Self::embedded(region)?),
        }
    }

    /// Where its prices come from, by kind: fetched from AWS, or embedded.
    pub fn pricing(&self) -> Pricing {
        let embedded = catalog::price::pricing(&self.region);
        let day = |time: Timestamp| Text::from(time.strftime("%Y-%m-%d").to_string());
        let (source, as_of) = match self.priced {
            Some(priced) => (PriceSource::Imported, Some(day(priced))),
            None => (embedded.source, embedded.as_of),
        };
        let has_spot = self.spot_prices.is_some();
        let spot = if has_spot { PriceSource::Imported } else { embedded.spot };
        Pricing { source, spot, as_of }
    }

    /// The hourly price of the offering; `None` where the catalogue has none.
    pub(crate) fn price_of(&self, offering: &LaunchOffering) -> Option<UsdPerHour> {
        let facts = self.catalog.find(&offering.instance_type)?;
        match (offering.capacity_type, &self.spot_prices) {
            (CapacityType::OnDemand, _) => facts.on_demand,
            (CapacityType::Reserved, _) => facts.on_demand.map(catalog::price::reserved),
            (CapacityType::Spot, Some(prices)) => {
                prices.get(&offering.instance_type)?.get(&offering.zone).copied()
            }
            (CapacityType::Spot, None) => {
                Some(catalog::price::spot_estimate(facts, facts.on_demand?, &offering.zone))
            }
        }
    }

    /// Stores it for all functions of the region.
    pub async fn save<S: CatalogStore>(&self, store: &S) -> Result<(), CatalogueError> {
        let bytes = document::encode(self)?;
        store.put(&key(&self.region), bytes).await?;
        Ok(())
    }
}

/// The name of a region's stored catalogue. It contains the version of the document, so that old
/// and new versions of the program run side by side during a rollout.
fn key(region: &str) -> String {
    format!("instance-types/v{}/{region}", document::VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_say_whether_they_were_fetched() {
        let embedded = Catalogue::embedded("eu-west-1").unwrap();
        assert_eq!(embedded.pricing(), catalog::price::pricing("eu-west-1"));
        let spot_prices = Some(Arc::new(SpotPrices::new()));
        let priced = Some("2026-11-24T17:02:00Z".parse().unwrap());
        let fetched = Catalogue { spot_prices: spot_prices.clone(), priced, ..embedded };
        let (source, as_of) = (PriceSource::Imported, Some("2026-11-24".into()));
        assert_eq!(fetched.pricing(), Pricing { source, spot: source, as_of });
        let without_list =
            Catalogue { spot_prices, ..Catalogue::embedded("us-gov-west-1").unwrap() };
        let pricing = without_list.pricing();
        assert_eq!(pricing.source, PriceSource::Estimated);
        assert_eq!(pricing.spot, PriceSource::Imported);
    }
}
