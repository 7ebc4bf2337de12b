//! What EC2 has on offer, as the scheduler sees it.
//!
//! [`embedded`] is the catalogue of EC2's instance types that is part of the program;
//! [`Catalog::instance_types`] computes from it what node classes see in a region: labels,
//! capacity, allocatable, offerings with prices. [`document`] reads and writes the
//! `InstanceCatalog` file of the command line, which stands in for all of that. [`describe`]
//! rebuilds the embedded tables from what EC2's own command line prints.

mod capacity;
mod catalog;
mod compatibility;
pub mod describe;
pub mod document;
mod error;
pub mod facts;
pub mod figures;
mod labels;
mod launch;
mod offerings;
mod options;
mod overhead;
pub mod price;
pub mod region;
pub mod table;
#[cfg(test)]
mod testkit;
mod text;
mod view;

pub use catalog::{Catalog, embedded, embedded_in};
pub use error::{CatalogError, FieldProblem, TextError};
pub use launch::LaunchFacts;
pub use options::{CatalogOptions, OfferingKey, SpotPrices, VM_MEMORY_OVERHEAD_PPM};
