//! What renderers show, gathered once: text and HTML print the same rows.

pub(crate) mod amounts;
pub(crate) mod blocked;
pub(crate) mod cluster_use;
pub(crate) mod comparison;
pub(crate) mod money;
pub(crate) mod node_name;
pub(crate) mod node_row;
pub(crate) mod pod_names;
pub(crate) mod pricing;
pub(crate) mod series;
pub(crate) mod unschedulable;
pub(crate) mod virtual_pods;
