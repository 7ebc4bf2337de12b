//! NodeOverlay (`karpenter.sh/v1alpha1`).

use domain::overlay::{NodeOverlay, PriceChange};
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources};

use super::metadata::read_metadata;
use super::price::{parse_adjustment, parse_price};
use super::requirement::{RequirementsOf, read_requirements};
use crate::field::Field;

/// What `weight` may be.
const WEIGHT: std::ops::RangeInclusive<i64> = 1..=10_000;

/// Resources that no overlay may set. Devices may be set, `nvidia.com/gpu` among them: GPUs that
/// pods share are more than the type has.
pub(super) const NATIVE_RESOURCES: [&str; 4] = [CPU, MEMORY, EPHEMERAL_STORAGE, PODS];

/// Which rule a NodeOverlay breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverlayRule {
    /// Two prices.
    #[error("price cannot stand beside priceAdjustment")]
    TwoPrices,
    /// A resource that instance types have by themselves.
    #[error(
        "{0} cannot be overlaid: instance types have it by themselves; only devices and other extended resources can be set"
    )]
    NativeResource(String),
    /// Weight out of range.
    #[error("weight {0} is out of range: it takes 1 to 10000")]
    Weight(i64),
}

/// Reads a NodeOverlay.
pub(crate) fn read_node_overlay(root: Field<'_>) -> NodeOverlay {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    spec.only(&["requirements", "price", "priceAdjustment", "capacity", "weight"]);
    let requirements = spec.get("requirements").required();
    NodeOverlay {
        name: metadata.name,
        requirements: read_requirements(requirements, RequirementsOf::NodeOverlay),
        price: read_price(spec),
        capacity: read_capacity(spec.get("capacity")),
        weight: read_weight(spec.get("weight")),
    }
}

fn read_price(spec: Field<'_>) -> Option<PriceChange> {
    let (price, adjustment) = (spec.get("price"), spec.get("priceAdjustment"));
    if price.exists() && adjustment.exists() {
        price.note_rule(OverlayRule::TwoPrices);
    }
    price.parsed(parse_price).or_else(|| adjustment.parsed(parse_adjustment))
}

fn read_capacity(capacity: Field<'_>) -> Resources {
    for (name, field) in capacity.entries() {
        if NATIVE_RESOURCES.contains(&name) {
            field.note_rule(OverlayRule::NativeResource(name.to_owned()));
        }
    }
    capacity.resources()
}

fn read_weight(field: Field<'_>) -> u32 {
    let weight = field.integer();
    if let Some(weight) = weight.filter(|weight| !WEIGHT.contains(weight)) {
        field.note_rule(OverlayRule::Weight(weight));
    }
    weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or(0)
}
