//! PrewarmSchedule.

use super::common::{DURATION, duration};
use super::kind::{AGE, Kind, column};
use super::schema::Schema;
use crate::karpenter::capacity_buffer::SCALABLE;

pub(super) fn kind() -> Kind {
    Kind {
        group: "outrigger.dev",
        version: "v1alpha1",
        name: "PrewarmSchedule",
        plural: "prewarmschedules",
        short_names: &["prewarm"],
        categories: &["karpenter"],
        is_namespaced: true,
        about: "Capacity that is ready before a load whose time is known.",
        spec: spec(),
        status: None,
        scale: None,
        columns: vec![
            column("Kind", "string", ".spec.scaleTargetRef.kind"),
            column("Target", "string", ".spec.scaleTargetRef.name"),
            column("Start", "string", ".spec.triggers[*].metadata.start"),
            column("Replicas", "string", ".spec.triggers[*].metadata.desiredReplicas"),
            AGE,
        ],
    }
}

fn spec() -> Schema {
    let target = Schema::object([
        ("apiVersion", Schema::text()),
        ("kind", Schema::word(&SCALABLE).default("Deployment")),
        ("name", Schema::text().length(1, 253)),
    ])
    .required(&["name"]);
    let template = Schema::any_object()
        .open()
        .about("A pod template: capacity for pods of this shape, whoever makes them.");
    Schema::object([
        ("scaleTargetRef", target.about("The workload whose replicas are expected.")),
        ("template", template),
        (
            "scaleTarget",
            Schema::boolean().about(
                "Sets the workload's replicas as well: to what triggers want within minReplicas and maxReplicas, and to \
                 minReplicas five minutes after the last window.",
            ),
        ),
        ("minReplicas", Schema::count_32(0).default(0)),
        ("maxReplicas", Schema::count_32(0).default(100)),
        ("leadTime", duration(DURATION).about("How long before the start nodes are wanted; left out, as long as nodes take to join.")),
        ("triggers", Schema::list(trigger()).items(1, 100)),
    ])
    .required(&["triggers"])
    .rule(
        "has(self.scaleTargetRef) != has(self.template)",
        "exactly one of scaleTargetRef and template is needed",
    )
    .rule(
        "!has(self.scaleTarget) || !self.scaleTarget || has(self.scaleTargetRef)",
        "scaleTarget needs scaleTargetRef beside it",
    )
    .rule("self.minReplicas <= self.maxReplicas", "minReplicas is above maxReplicas")
}

fn trigger() -> Schema {
    let cron =
        |about: &str| Schema::text().length(9, 128).pattern(r"^\S+(\s+\S+){4}$").about(about);
    let metadata = Schema::object([
        (
            "timezone",
            Schema::text().length(1, 64).about("A name of the IANA database, such as Asia/Seoul."),
        ),
        (
            "start",
            cron("When the window opens, by the clocks of the time zone: five fields of cron."),
        ),
        ("end", cron("When it closes.")),
        ("desiredReplicas", Schema::number_or_text()),
    ])
    .required(&["timezone", "start", "end", "desiredReplicas"])
    .rule("self.start != self.end", "start and end are the same");
    Schema::object([
        ("type", Schema::word_of(["cron"])),
        ("name", Schema::text()),
        ("metadata", metadata),
    ])
    .required(&["type", "metadata"])
}
