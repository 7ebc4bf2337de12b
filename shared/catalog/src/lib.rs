//! What EC2 has on offer, as the scheduler sees it.
//!
//! [`embedded`] is the catalogue of EC2's instance types that is part of the program;
//! [`Catalog::instance_types`] computes from it what node classes see in a region: labels,
//! capacity, allocatable, offerings with prices. [`document`] reads and writes the
//! `InstanceCatalog` file of the command line, which stands in for all of that. [`import`] makes a
//! catalogue with exact prices from what the command line of AWS prints, by way of [`describe`]
//! (types and zones), [`price_list`] and [`spot_history`], which fetching a catalogue uses too.

mod capacity;
mod catalog;
mod compatibility;
pub mod describe;
pub mod document;
mod error;
pub mod facts;
pub mod figures;
pub mod import;
mod labels;
mod launch;
mod offerings;
mod options;
mod overhead;
pub mod price;
pub mod price_list;
pub mod region;
pub mod spot_history;
pub mod table;
#[cfg(test)]
mod testkit;
mod text;
mod view;

pub use catalog::{Catalog, embedded, embedded_in};
pub use error::{CatalogError, FieldProblem, TextError};
pub use launch::LaunchFacts;
pub use options::{CatalogOptions, OfferingKey, SpotPrices, VM_MEMORY_OVERHEAD_PPM};
