//! What EC2 sells in a region, and for how much: gathered once in a while by one function, stored as one
//! small document, and read by all others, which so start in milliseconds instead of a hundred calls.
//!
//! Images are not part of it: those are found for each node class and stand in its status.

mod document;
mod offered;
mod price_list;
mod refresh;
mod spot;

pub(crate) use price_list::endpoint_region;

use std::sync::Arc;

use catalog::{Catalog, CatalogError, SpotPrices};
use controllers::ports::PortError;
use controllers::record::launch::LaunchOffering;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

pub use document::DocumentError;
pub use refresh::{Refreshed, refresh};

/// Where the document is kept: named blobs that survive the process.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait CatalogStore {
    /// Writes a blob, replacing the one of that name as a whole. Some hundred KiB.
    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), PortError>;

    /// Reads a blob; `None` where there is none of that name.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError>;
}

/// What a region sells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// The region.
    pub region: Text,
    /// Instance types and the zones that they are sold in, with on-demand prices.
    pub catalog: Catalog,
    /// Spot prices; `None` before they were asked for the first time.
    pub spot_prices: Option<Arc<SpotPrices>>,
    /// When EC2 was asked; `None` for the catalogue that is part of the program.
    pub made: Option<Timestamp>,
}

/// Why no catalogue could be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The store did not give it.
    #[error("the stored catalogue could not be read")]
    Store(#[from] PortError),
    /// What is stored is none.
    #[error("the stored catalogue is damaged")]
    Document(#[from] DocumentError),
    /// The program's own is none.
    #[error("the embedded catalogue is damaged")]
    Embedded(#[from] CatalogError),
}

impl Catalogue {
    /// The catalogue that is part of the program, with list prices of us-east-1 and estimates.
    pub fn embedded(region: &str) -> Result<Self, CatalogError> {
        let catalog = catalog::embedded()?;
        Ok(Self { region: region.into(), catalog, spot_prices: None, made: None })
    }

    /// The catalogue of the region as it is stored; the embedded one where none is yet.
    pub async fn load<S: CatalogStore>(store: &S, region: &str) -> Result<Self, CatalogueError> {
        match store.get(&key(region)).await? {
            Some(bytes) => Ok(document::decode(&bytes)?),
            None => Ok(Self::embedded(region)?),
        }
    }

    /// What an hour of the offering costs by this catalogue; `None` where it does not say.
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

    /// Stores it for everybody else.
    pub async fn save<S: CatalogStore>(&self, store: &S) -> Result<(), CatalogueError> {
        let bytes = document::encode(self)?;
        store.put(&key(&self.region), bytes).await?;
        Ok(())
    }
}

/// The name under which a region's catalogue is stored. A process that knows another form of the document
/// looks under another name, so that old and new run beside each other while a version is rolled out.
fn key(region: &str) -> String {
    format!("instance-types/v{}/{region}", document::VERSION)
}
