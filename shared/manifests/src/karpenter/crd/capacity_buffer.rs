//! CapacityBuffer, whose API is Kubernetes' own: Cluster Autoscaler and Karpenter read it too.
//!
//! Source:
//! <https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/buffers.md>.

use super::common::{resources, status};
use super::kind::{AGE, Kind, column};
use super::schema::Schema;
use crate::karpenter::capacity_buffer::ACTIVE_CAPACITY;

const READY_FOR_PROVISIONING: &str =
    r#".status.conditions[?(@.type=="ReadyForProvisioning")].status"#;
const PROVISIONING: &str = r#".status.conditions[?(@.type=="Provisioning")].status"#;

pub(super) fn kind() -> Kind {
    Kind {
        group: "autoscaling.x-k8s.io",
        version: "v1beta1",
        name: "CapacityBuffer",
        plural: "capacitybuffers",
        short_names: &["cb"],
        categories: &[],
        is_namespaced: true,
        about: "Room that is kept for pods to come.",
        spec: spec(),
        status: Some(status([
            ("podTemplateRef", reference()),
            ("podTemplateGeneration", Schema::count(0)),
            ("replicas", Schema::count_32(0)),
            ("provisioningStrategy", Schema::text()),
        ])),
        scale: None,
        columns: vec![
            column("Strategy", "string", ".status.provisioningStrategy"),
            column("Pods", "integer", ".status.replicas"),
            column("Ready", "string", READY_FOR_PROVISIONING),
            column("Provisioned", "string", PROVISIONING),
            AGE,
        ],
    }
}

fn reference() -> Schema {
    Schema::object([("name", Schema::text().length(1, 253))]).required(&["name"])
}

fn spec() -> Schema {
    let scalable = Schema::object([
        ("apiGroup", Schema::text()),
        ("kind", Schema::text().length(1, 63)),
        ("name", Schema::text().length(1, 253)),
    ])
    .required(&["kind", "name"]);
    Schema::object([
        (
            "provisioningStrategy",
            Schema::text().default(ACTIVE_CAPACITY).about("Whoever knows no other ignores buffers of another strategy."),
        ),
        ("podTemplateRef", reference().about("A PodTemplate of the same namespace.")),
        ("scalableRef", scalable.about("A workload whose pods the room is for.")),
        ("replicas", Schema::count_32(0).about("Room for how many pods.")),
        (
            "percentage",
            Schema::count_32(0).about("Room for how many pods, in percent of the workload's replicas; the larger of both counts."),
        ),
        ("limits", resources().about("The most that all pods of the buffer request together.")),
    ])
    .rule(
        "has(self.podTemplateRef) != has(self.scalableRef)",
        "exactly one of podTemplateRef and scalableRef is needed",
    )
    .rule(
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "podTemplateRef needs replicas or limits beside it",
    )
}
