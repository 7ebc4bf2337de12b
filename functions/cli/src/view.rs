//! What renderers show, gathered once: text and HTML print the same rows.

pub(crate) mod amounts;
pub(crate) mod blocked;
pub(crate) mod cluster_use;
pub(crate) mod committed;
pub(crate) mod comparison;
pub(crate) mod cost_split;
pub(crate) mod diff;
pub(crate) mod diff_row;
pub(crate) mod drains;
pub(crate) mod drifted;
pub(crate) mod money;
pub(crate) mod node_columns;
pub(crate) mod node_name;
pub(crate) mod node_row;
pub(crate) mod outcome;
pub(crate) mod pod_names;
pub(crate) mod pricing;
pub(crate) mod series;
pub(crate) mod share;
pub(crate) mod spot;
pub(crate) mod suggestions;
pub(crate) mod threshold;
#[cfg(any(feature = "live", test))]
pub(crate) mod top_screen;
pub(crate) mod unschedulable;
pub(crate) mod until_stable;
pub(crate) mod virtual_pods;
