//! What EC2 has on offer, as the scheduler sees it.
//!
//! [`document`] reads and writes the `InstanceCatalog` file of the command line.

pub mod document;
mod error;

pub use error::{CatalogError, FieldProblem};
