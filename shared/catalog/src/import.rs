//! A catalogue with exact prices, from what the command line of AWS prints.
//!
//! Four lists make one: `InstanceTypes` (`aws ec2 describe-instance-types`),
//! `InstanceTypeOfferings` (`aws ec2 describe-instance-type-offerings --location-type
//! availability-zone`), `SpotPriceHistory` (`aws ec2 describe-spot-price-history`) and `PriceList`
//! (`aws pricing get-products --service-code AmazonEC2`). Each may come in any number of documents
//! in any order, as the command prints it, or as the bare rows; what a document is shows in its
//! content. On-demand prices there must be. For what else is missing something stands in, and a
//! remark says what.
//!
//! A row that cannot be read, or is of another region, is a problem and costs the others nothing.

mod fault;
mod gathered;
mod remark;
mod row;
mod row_kind;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use documents::Source;
use domain::Text;
use domain::instance_type::{InstanceTypes, PriceSource, Pricing};
use domain::node_class::Ec2NodeClass;

use crate::catalog::Catalog;
use crate::describe::{self, Answer};
use crate::facts::{Feature, InstanceTypeFacts};
use crate::options::{CatalogOptions, SpotPrices};
use crate::region::Region;
use gathered::{Gathered, OfRegion};

pub use fault::{ImportFault, ImportProblem};
pub use remark::ImportRemark;
pub use row_kind::RowKind;

/// A catalogue from lists of AWS.
#[derive(Clone, Debug)]
pub struct ImportedCatalog {
    /// The region that it is of.
    pub region: Text,
    /// Types, zones and on-demand prices.
    pub catalog: Catalog,
    /// Spot prices; `None` without a history of them: estimates stand in.
    pub spot_prices: Option<Arc<SpotPrices>>,
    /// Zone ids by zone name, as the history of spot prices gives them: those of its account.
    pub zone_ids: BTreeMap<Text, Text>,
    /// Where prices come from.
    pub pricing: Pricing,
}

/// What an import yields.
#[derive(Debug)]
#[must_use]
pub struct Import {
    /// The catalogue, or why there is none.
    pub catalog: Result<ImportedCatalog, ImportError>,
    /// Rows and documents that were left out because something is wrong with them.
    pub problems: Vec<ImportProblem>,
    /// What was missing, and what was left out because it is of no use.
    pub remarks: Vec<ImportRemark>,
}

/// Why lists of AWS make no catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No list names a zone or a region.
    #[error("nothing says which region the catalogue is of: give --region")]
    NoRegion,
    /// There is no price to be exact about.
    #[error(
        "there is no on-demand price of region {0}: give what `aws pricing get-products \
         --service-code AmazonEC2` prints for it"
    )]
    NoPrices(Text),
    /// Neither the lists nor the embedded catalogue know the region's zones.
    #[error(
        "nothing says in which zones of {0} types are sold: give what `aws ec2 \
         describe-instance-type-offerings --location-type availability-zone` prints"
    )]
    NoZones(Text),
    /// The region's zones are more than a catalogue holds.
    #[error("region {0} has more zones than a catalogue holds")]
    TooManyZones(Text),
}

/// Makes a catalogue of the lists in the sources, for a region or else for the one that they name.
///
/// `known` is the embedded catalogue: what it has of types and zones stands in where a list is
/// missing, and it knows figures that EC2's API lacks. Its prices are not used.
pub fn import(sources: &[Source], region: Option<&str>, known: &Catalog) -> Import {
    let mut gathered = Gathered::default();
    for source in sources {
        gathered.read(source);
    }
    let Some(region) = region.map(Text::from).or_else(|| gathered.region()) else {
        let Gathered { problems, .. } = gathered;
        return Import { catalog: Err(ImportError::NoRegion), problems, remarks: Vec::new() };
    };
    let mut own = gathered.of_region(&region);
    let problems = std::mem::take(&mut own.problems);
    let mut remarks = std::mem::take(&mut own.remarks);
    let catalog = catalog(own, region, known, &mut remarks);
    Import { catalog, problems, remarks }
}

fn catalog(
    own: OfRegion,
    region: Text,
    known: &Catalog,
    remarks: &mut Vec<ImportRemark>,
) -> Result<ImportedCatalog, ImportError> {
    let OfRegion { types, offerings, on_demand, spot, zone_ids, .. } = own;
    if on_demand.is_empty() {
        return Err(ImportError::NoPrices(region));
    }
    let (has_types, has_offerings) = (!types.is_empty(), !offerings.is_empty());
    if !has_types {
        remarks.push(ImportRemark::NoInstanceTypes);
    }
    if !has_offerings {
        remarks.push(ImportRemark::NoOfferings);
    }
    let offered: BTreeSet<Text> =
        offerings.iter().map(|own| Text::from(own.instance_type.as_str())).collect();
    let answers = [Answer::of(types, offerings)];
    let known = known.clone().without_prices();
    let described = if has_types {
        describe::catalog(&answers, &known)
    } else {
        let regions = describe::regions(&answers, known.types());
        Catalog::of(known.types().to_vec(), regions)
    };
    let sold =
        if has_offerings { described } else { with_known_zones(&described, &region, &known)? };
    if !sold.knows_region(&region) {
        return Err(ImportError::TooManyZones(region));
    }
    let priced = sold.with_prices(&on_demand.by_type());
    remarks.extend(undescribed(&offered, &priced, &known));
    remarks.extend(unpriced(&priced, &region));
    let days = [
        on_demand.published().cloned(),
        spot.latest().map(|time| Text::from(time.strftime("%Y-%m-%d").to_string())),
    ];
    let spot_prices = (!spot.is_empty()).then(|| Arc::new(spot.into_prices()));
    if spot_prices.is_none() {
        remarks.push(ImportRemark::NoSpotPrices);
    }
    let spot = if spot_prices.is_some() { PriceSource::Imported } else { PriceSource::Estimated };
    let as_of = days.into_iter().flatten().max();
    let pricing = Pricing { source: PriceSource::Imported, spot, as_of };
    Ok(ImportedCatalog { region, catalog: priced, spot_prices, zone_ids, pricing })
}

/// The types with the zones in which the embedded catalogue knows them to be sold.
fn with_known_zones(
    described: &Catalog,
    region: &Text,
    known: &Catalog,
) -> Result<Catalog, ImportError> {
    let of_type = |facts: &InstanceTypeFacts| -> Vec<Text> {
        known.zones_of(region, &facts.name).cloned().collect()
    };
    let sold: Vec<Vec<Text>> = described.types().iter().map(of_type).collect();
    let zones: BTreeSet<Text> = sold.iter().flatten().cloned().collect();
    if zones.is_empty() {
        return Err(ImportError::NoZones(region.clone()));
    }
    let own = Region::of(zones.into_iter().collect(), &sold)
        .ok_or_else(|| ImportError::TooManyZones(region.clone()))?;
    Ok(Catalog::of(described.types().to_vec(), [(region.clone(), own)].into()))
}

/// Whether Linux nodes can run on a type and it is sold on demand.
fn is_for_nodes(facts: &InstanceTypeFacts) -> bool {
    let features = facts.features;
    facts.architecture.is_some() && features.has(Feature::Hvm) && features.has(Feature::OnDemand)
}

/// Types that are offered and not described, but for those that no node can run on.
fn undescribed(
    offered: &BTreeSet<Text>,
    described: &Catalog,
    known: &Catalog,
) -> Option<ImportRemark> {
    let is_missing =
        |name: &&Text| described.find(name).is_none() && known.find(name).is_none_or(is_for_nodes);
    let types: Vec<Text> = offered.iter().filter(is_missing).cloned().collect();
    (!types.is_empty()).then_some(ImportRemark::Undescribed(types))
}

/// Types that are sold in the region on demand and have no price.
fn unpriced(catalog: &Catalog, region: &str) -> Option<ImportRemark> {
    let is_sold = |facts: &&InstanceTypeFacts| {
        is_for_nodes(facts) && catalog.zones_of(region, &facts.name).next().is_some()
    };
    let sold: Vec<&InstanceTypeFacts> = catalog.types().iter().filter(is_sold).collect();
    let without = sold.iter().filter(|facts| facts.on_demand.is_none());
    let types: Vec<Text> = without.map(|facts| facts.name.clone()).collect();
    (!types.is_empty()).then_some(ImportRemark::Unpriced { types, of: sold.len() })
}

impl ImportedCatalog {
    /// What each node class sees, and as the default what one without settings sees: the very
    /// labels, amounts and offerings that the functions compute.
    pub fn instance_types(&self, node_classes: &[Ec2NodeClass]) -> InstanceTypes {
        let options = CatalogOptions {
            pricing: self.pricing.clone(),
            spot_prices: self.spot_prices.clone(),
            ..CatalogOptions::of(&self.region)
        };
        let mut types = self.catalog.instance_types(node_classes, &options);
        for (zone, id) in &self.zone_ids {
            types.zone_ids.entry(zone.clone()).or_insert_with(|| id.clone());
        }
        types
    }
}

#[cfg(test)]
mod tests;
