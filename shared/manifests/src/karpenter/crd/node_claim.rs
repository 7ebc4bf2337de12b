//! NodeClaim.

use super::common::{
    DURATION, DURATION_OR_NEVER, Requirements, duration, node_class_ref, requirements, resources,
    status, taints,
};
use super::kind::{AGE, Kind, READY, column, wide};
use super::schema::Schema;

pub(super) fn kind() -> Kind {
    let spec = Schema::object([
        ("nodeClassRef", node_class_ref()),
        ("requirements", requirements(Requirements::Claim)),
        ("resources", Schema::object([("requests", resources().entries_at_most(100))])),
        ("taints", taints()),
        ("startupTaints", taints()),
        ("terminationGracePeriod", duration(DURATION)),
        ("expireAfter", duration(DURATION_OR_NEVER).default("720h")),
    ])
    .required(&["nodeClassRef", "requirements"])
    .rule("self == oldSelf", "spec is immutable");
    Kind {
        group: "karpenter.sh",
        version: "v1",
        name: "NodeClaim",
        plural: "nodeclaims",
        short_names: &[],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "A request for one node, kept from before its launch until its instance is gone.",
        spec,
        status: Some(status([
            ("nodeName", Schema::text()),
            ("providerID", Schema::text()),
            ("imageID", Schema::text()),
            ("lastPodEventTime", Schema::time()),
            ("capacity", resources()),
            ("allocatable", resources()),
        ])),
        scale: None,
        columns: vec![
            column("Type", "string", r".metadata.labels.node\.kubernetes\.io/instance-type"),
            column("Capacity", "string", r".metadata.labels.karpenter\.sh/capacity-type"),
            column("Zone", "string", r".metadata.labels.topology\.kubernetes\.io/zone"),
            column("Node", "string", ".status.nodeName"),
            READY,
            AGE,
            wide("ImageID", "string", ".status.imageID"),
            wide("ID", "string", ".status.providerID"),
            wide("NodePool", "string", r".metadata.labels.karpenter\.sh/nodepool"),
            wide("NodeClass", "string", ".spec.nodeClassRef.name"),
            wide("Drifted", "string", r#".status.conditions[?(@.type=="Drifted")].status"#),
        ],
    }
}
