//! Output as one self-contained page: no script, no font, no image from elsewhere. The templates escape
//! every text that they are given.

pub(crate) mod comparison;
pub(crate) mod node_table;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod simulation;
