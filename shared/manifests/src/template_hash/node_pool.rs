//! The hash of a NodePool's template, version `v3`.
//!
//! Requirements do not count: they are compared with a node's labels. Neither does anything outside
//! the template. Source: Karpenter `pkg/apis/v1/nodepool.go`, `NodePool.Hash`.

use documents::Value;
use domain::Text;

use super::fields::{Fields, duration, nanoseconds, set, text, texts};
use super::hashstructure::Shape;

/// `expireAfter` when unset: 720h, as the CRD fills in.
const DEFAULT_LIFETIME_NANOS: i64 = 720 * 3600 * 1_000_000_000;

/// The hash of `spec.template`, in decimal as the annotation holds it; `None` where it cannot be
/// computed.
pub(crate) fn node_pool_hash(template: &Value<'_>) -> Option<Text> {
    let mut own = Fields::of(Some(template))
        .with(("ObjectMeta", "metadata"), metadata)
        .with(("Spec", "spec"), spec);
    // Metadata without labels and annotations is Go's zero value.
    let is_zero = |shape: &Shape| matches!(shape, Shape::Struct(_, fields) if fields.is_empty());
    own.list.retain(|(name, shape)| *name != "ObjectMeta" || !is_zero(shape));
    own.finish("NodeClaimTemplate").map(|shape| shape.hash().to_string().into())
}

fn metadata<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("Labels", "labels"), texts)
        .with(("Annotations", "annotations"), texts)
        .finish("ObjectMeta")
}

fn spec<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    let mut fields = Fields::of(Some(value))
        .with(("Taints", "taints"), taints)
        .with(("StartupTaints", "startupTaints"), taints)
        .with(("NodeClassRef", "nodeClassRef"), node_class_ref)
        .with(("TerminationGracePeriod", "terminationGracePeriod"), duration)
        .beside(&["requirements", "expireAfter"]);
    match fields.get("expireAfter") {
        None => fields.list.push(("ExpireAfter", lifetime(DEFAULT_LIFETIME_NANOS))),
        // Go's zero value.
        Some(own) if own.as_str() == Some("Never") => {}
        Some(_) => {
            fields =
                fields.with(("ExpireAfter", "expireAfter"), |own| nanoseconds(own).map(lifetime));
        }
    }
    fields.finish("NodeClaimTemplateSpec")
}

/// Go holds a pointer to this duration: zero counts, unlike that of a plain duration.
fn lifetime(nanos: i64) -> Shape<'static> {
    Shape::Struct("NillableDuration", vec![("Duration", Shape::Int64(nanos))])
}

fn taints<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    set(value, |taint| {
        // When a taint was added hashes as Go's binary form of a time, which nobody writes into a
        // template.
        if taint.get("timeAdded").is_some() {
            return None;
        }
        Fields::of(Some(taint))
            .with_nonzero(("Key", "key"), text)
            .with_nonzero(("Value", "value"), text)
            .with_nonzero(("Effect", "effect"), text)
            .finish("Taint")
    })
}

fn node_class_ref<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with_nonzero(("Kind", "kind"), text)
        .with_nonzero(("Name", "name"), text)
        .with_nonzero(("Group", "group"), text)
        .finish("NodeClassReference")
}
