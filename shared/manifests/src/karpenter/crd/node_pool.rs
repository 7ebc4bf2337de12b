//! NodePool.

use domain::node_pool::ConsolidationPolicy;
use serde_json::json;

use super::common::{
    DURATION, DURATION_OR_NEVER, Requirements, duration, labels, node_class_ref, requirements,
    resources, status, taints,
};
use super::kind::{AGE, Kind, READY, column, wide};
use super::schema::Schema;
use crate::karpenter::disruption::{LIST_MAX, REASONS};
use crate::karpenter::node_pool::LABELS_MAX;

pub(super) fn kind() -> Kind {
    Kind {
        group: "karpenter.sh",
        version: "v1",
        name: "NodePool",
        plural: "nodepools",
        short_names: &[],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "Which nodes may be launched, how many, and when they may go.",
        spec: spec(),
        status: Some(status([
            ("nodes", Schema::count(0)),
            ("nodeClassObservedGeneration", Schema::count(0)),
            ("resources", resources()),
        ])),
        scale: Some([".spec.replicas", ".status.nodes"]),
        columns: vec![
            column("NodeClass", "string", ".spec.template.spec.nodeClassRef.name"),
            column("Nodes", "string", ".status.nodes"),
            READY,
            AGE,
            wide("Weight", "integer", ".spec.weight"),
            wide("CPU", "string", ".status.resources.cpu"),
            wide("Memory", "string", ".status.resources.memory"),
        ],
    }
}

fn spec() -> Schema {
    Schema::object([
        ("template", template()),
        ("disruption", disruption()),
        (
            "limits",
            resources().about("No node is launched that would exceed them; `nodes` counts nodes."),
        ),
        (
            "weight",
            Schema::count_32(1).at_most(100).about("Pools of greater weight are tried first."),
        ),
        (
            "replicas",
            Schema::count(0).about("The number of nodes at all times, whatever pods there are."),
        ),
    ])
    .required(&["template"])
    .rule(
        "has(self.replicas) == has(oldSelf.replicas)",
        "replicas cannot be set or removed later: make another NodePool",
    )
    .rule(
        "!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",
        "beside replicas, limits may only hold nodes",
    )
    .rule("!has(self.replicas) || !has(self.weight)", "replicas and weight exclude each other")
}

fn template() -> Schema {
    let metadata = Schema::object([
        ("labels", labels(LABELS_MAX)),
        ("annotations", Schema::map(Schema::text())),
    ]);
    let class = node_class_ref()
        .rule("self.group == oldSelf.group", "group is immutable")
        .rule("self.kind == oldSelf.kind", "kind is immutable");
    let spec = Schema::object([
        ("nodeClassRef", class),
        ("requirements", requirements(Requirements::Pool)),
        ("taints", taints()),
        ("startupTaints", taints().about("Taints that are removed once a node is set up.")),
        ("terminationGracePeriod", duration(DURATION)),
        ("expireAfter", duration(DURATION_OR_NEVER).default("720h")),
    ])
    .required(&["nodeClassRef", "requirements"]);
    Schema::object([("metadata", metadata), ("spec", spec)])
        .required(&["spec"])
        .about("What every NodeClaim of the pool is made from.")
}

fn disruption() -> Schema {
    let budget = Schema::object([
        ("nodes", Schema::text().default("10%").pattern("^((100|[0-9]{1,2})%|[0-9]+)$")),
        ("reasons", Schema::list(Schema::word(&REASONS)).items(0, LIST_MAX)),
        ("schedule", Schema::text().about("When the budget becomes active, as a cron schedule.").pattern(
            r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$",
        )),
        ("duration", Schema::text().pattern("^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$")),
        (
            "timeZone",
            Schema::text()
                .length(1, 64)
                .about("The IANA time zone of the schedule, such as Europe/Berlin; UTC if left out."),
        ),
    ])
    .required(&["nodes"])
    .rule("has(self.schedule) == has(self.duration)", "schedule and duration go together")
    .rule("!has(self.timeZone) || has(self.schedule)", "timeZone needs schedule beside it");
    let policy = Schema::word_from::<ConsolidationPolicy>().default("WhenEmptyOrUnderutilized");
    Schema::object([
        ("consolidateAfter", duration(DURATION_OR_NEVER).default("0s")),
        ("consolidationPolicy", policy),
        (
            "budgets",
            Schema::list(budget)
                .items(0, LIST_MAX)
                .default(json!([{"nodes": "10%"}]))
                .about("How many nodes may be disrupted at a time; the smallest budget that applies counts."),
        ),
    ])
    .default(json!({"consolidateAfter": "0s"}))
}
