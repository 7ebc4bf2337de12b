//! ClusterLimit.

use super::common::resources;
use super::kind::{AGE, Kind, column};
use super::schema::Schema;

pub(super) fn kind() -> Kind {
    let limits = resources().about(
        "No node of any NodePool is launched that would exceed them; `nodes` counts nodes, \
         `outrigger.dev/usd-per-hour` what they cost.",
    );
    Kind {
        group: "outrigger.dev",
        version: "v1alpha1",
        name: "ClusterLimit",
        plural: "clusterlimits",
        short_names: &[],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "What the nodes of all NodePools together may come to.",
        spec: Schema::object([("limits", limits)]).required(&["limits"]),
        status: None,
        scale: None,
        columns: vec![
            column("Nodes", "string", ".spec.limits.nodes"),
            column("CPU", "string", ".spec.limits.cpu"),
            column("Memory", "string", ".spec.limits.memory"),
            AGE,
        ],
    }
}
