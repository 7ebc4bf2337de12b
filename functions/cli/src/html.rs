//! Output as one self-contained HTML page, without fonts, images or scripts from elsewhere.
//!
//! A page begins with its result in a sentence and a few figures. Below stand charts, which a
//! script of ours draws from a data block in the page, and then tables, which say the same without
//! a script. The templates escape every text.

pub(crate) mod comparison;
pub(crate) mod data;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod node_table;
pub(crate) mod page;
pub(crate) mod plan;
mod planned;
pub(crate) mod series;
pub(crate) mod simulation;
pub(crate) mod top;
pub(crate) mod until_stable;
