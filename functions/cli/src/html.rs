//! Output as one self-contained HTML page, without scripts, fonts or images from elsewhere.
//!
//! The templates escape every text.

pub(crate) mod comparison;
pub(crate) mod node_table;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod simulation;
pub(crate) mod until_stable;
