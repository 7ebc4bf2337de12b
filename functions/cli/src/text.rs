//! Output as text. Renderers are pure functions of what they show and a [`Canvas`]: nothing here
//! prints or reads the environment.
//!
//! [`Canvas`]: crate::terminal::Canvas

pub(crate) mod age;
pub(crate) mod bar;
pub(crate) mod bundled;
pub(crate) mod catalog;
pub(crate) mod comparison;
mod cost_split;
pub(crate) mod diff;
mod drains;
pub(crate) mod explain;
mod explanation;
pub(crate) mod layout;
pub(crate) mod node_table;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod plan;
mod resident;
pub(crate) mod series;
pub(crate) mod simulation;
pub(crate) mod suggestions;
pub(crate) mod top;
#[cfg(any(feature = "live", test))]
pub(crate) mod top_screen;
pub(crate) mod until_stable;
