//! NodeOverlay.

use super::common::{Requirements, requirements, resources, status};
use super::kind::{AGE, Kind, READY, wide};
use super::schema::Schema;
use crate::karpenter::node_overlay::NATIVE_RESOURCES;

pub(super) fn kind() -> Kind {
    let adjustment = r"^(([+-]\d+(\.\d+)?)|(\+\d+(\.\d+)?%)|(-\d{1,2}(\.\d+)?%)|(-100%))$";
    let own = NATIVE_RESOURCES.map(|name| format!("'{name}'")).join(", ");
    let spec = Schema::object([
        ("requirements", requirements(Requirements::Overlay)),
        ("price", Schema::text().pattern(r"^\d+(\.\d+)?$").about("Dollars an hour.")),
        ("priceAdjustment", Schema::text().pattern(adjustment)),
        (
            "capacity",
            resources().entries_at_most(100).rule(
                &format!("self.all(name, !(name in [{own}]))"),
                "only extended resources can be added",
            ),
        ),
        (
            "weight",
            Schema::count_32(1)
                .at_most(10_000)
                .about("Where overlays conflict, the one of greater weight applies."),
        ),
    ])
    .required(&["requirements"])
    .rule(
        "!has(self.price) || !has(self.priceAdjustment)",
        "price and priceAdjustment exclude each other",
    );
    Kind {
        group: "karpenter.sh",
        version: "v1alpha1",
        name: "NodeOverlay",
        plural: "nodeoverlays",
        short_names: &["overlays"],
        categories: &["karpenter"],
        is_namespaced: false,
        about: "Prices and extended resources that differ from what the cloud says.",
        spec,
        status: Some(status([])),
        scale: None,
        columns: vec![READY, AGE, wide("Weight", "integer", ".spec.weight")],
    }
}
