//! Parts that several kinds have.

use domain::label::{HOSTNAME, NODE_CLASS, NODE_POOL, WELL_KNOWN};
use domain::node_claim::ConditionStatus;
use domain::requirement::Operator;
use domain::taint::TaintEffect;

use super::schema::Schema;
use crate::karpenter::requirement_rule::{MIN_VALUES, REQUIREMENTS_MAX};

const KEY_MAX: usize = 316;
const VALUE_MAX: usize = 63;
pub(super) const DURATION: &str = "^([0-9]+(s|m|h))+$";
pub(super) const DURATION_OR_NEVER: &str = "^(([0-9]+(s|m|h))+|Never)$";
const DURATION_MAX: usize = 64;

/// Whose requirements, as far as the rules differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirements {
    /// Of a NodePool.
    Pool,
    /// Of a NodeClaim, which names its NodePool and may list every type there is.
    Claim,
    /// Of a NodeOverlay: `NotIn` takes values, there is nothing to diversify.
    Overlay,
}

pub(super) fn requirements(of: Requirements) -> Schema {
    let mut values = Schema::list(Schema::text().length(0, VALUE_MAX));
    if of == Requirements::Claim {
        values = values.items(0, 10_000);
    }
    let mut fields =
        vec![("key", key(of)), ("operator", Schema::word_from::<Operator>()), ("values", values)];
    if of != Requirements::Overlay {
        let least = Schema::count(*MIN_VALUES.start()).at_most(*MIN_VALUES.end());
        fields
            .push(("minValues", least.about("How many distinct values a launch must leave open.")));
    }
    let item = Schema::object(fields).required(&["key", "operator"]);
    let listing = if of == Requirements::Overlay { "['In', 'NotIn']" } else { "['In']" };
    let list = Schema::list(item)
        .items(0, REQUIREMENTS_MAX)
        .rule(
            &format!("self.all(r, !(r.operator in {listing}) || (has(r.values) && r.values.size() > 0))"),
            "the operator needs values",
        )
        .rule(
            "self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && r.values.size() == 1 && r.values[0].matches('^[0-9]+$')))",
            "Gt, Lt, Gte and Lte take one whole number, zero or more",
        );
    if of == Requirements::Overlay {
        return list;
    }
    list.rule(
        "self.all(r, r.operator != 'In' || !has(r.minValues) || (has(r.values) && r.values.size() >= r.minValues))",
        "In needs at least minValues values",
    )
}

fn key(of: Requirements) -> Schema {
    let key = Schema::text().length(0, KEY_MAX);
    if of == Requirements::Claim { key } else { unrestricted(key, of) }
}

const RESTRICTED: &str = "keys under karpenter.sh and karpenter.k8s.aws are Karpenter's own, except its well-known labels";

/// Whether what a name stands for in a rule is a key that users may set or require.
fn is_unrestricted(name: &str) -> String {
    let own = WELL_KNOWN.iter().filter(|key| key.starts_with("karpenter."));
    let own: Vec<String> = own.map(|key| format!("'{key}'")).collect();
    format!(
        r"!{name}.find('^[^/]*').matches('(^|[.])karpenter[.](sh|k8s[.]aws)$') || {name} in [{}]",
        own.join(", ")
    )
}

/// A label's key that users may set or require; see the reader's `check_unrestricted`. An overlay
/// may be for the nodes of one NodePool or EC2NodeClass.
fn unrestricted(key: Schema, of: Requirements) -> Schema {
    let is_unrestricted = is_unrestricted("self");
    let key = if of == Requirements::Overlay {
        key.rule(&format!("{is_unrestricted} || self == '{NODE_CLASS}'"), RESTRICTED)
    } else {
        key.rule(&is_unrestricted, RESTRICTED)
            .rule(&format!("self != '{NODE_POOL}'"), "the NodePool itself sets this label")
    };
    key.rule(&format!("self != '{HOSTNAME}'"), "the host name differs on every node")
}

/// Labels that users may give to nodes.
pub(super) fn labels(most: usize) -> Schema {
    let value = Schema::text()
        .length(0, VALUE_MAX)
        .pattern("^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$");
    Schema::map(value)
        .entries_at_most(most)
        .rule(
            &format!("!('{NODE_POOL}' in self)"),
            "the NodePool itself sets label karpenter.sh/nodepool",
        )
        .rule(&format!("!('{HOSTNAME}' in self)"), "the host name differs on every node")
        .rule(&format!("self.all(key, {})", is_unrestricted("key")), RESTRICTED)
}

pub(super) fn taints() -> Schema {
    let taint = Schema::object([
        ("key", Schema::text().length(1, KEY_MAX)),
        ("value", Schema::text().length(0, VALUE_MAX)),
        ("effect", Schema::word_from::<TaintEffect>()),
        ("timeAdded", Schema::time()),
    ]);
    Schema::list(taint.required(&["key", "effect"])).items(0, 100)
}

pub(super) fn node_class_ref() -> Schema {
    Schema::object([
        ("group", Schema::text().at_least_long(1).pattern("^[^/]*$")),
        ("kind", Schema::text().at_least_long(1)),
        ("name", Schema::text().at_least_long(1)),
    ])
    .required(&["group", "kind", "name"])
}

pub(super) fn duration(pattern: &str) -> Schema {
    Schema::text().length(0, DURATION_MAX).pattern(pattern)
}

pub(super) fn resources() -> Schema {
    Schema::map(Schema::quantity())
}

/// `status`, with conditions and whatever else is named; what others write beside it stays.
pub(super) fn status(fields: impl IntoIterator<Item = (&'static str, Schema)>) -> Schema {
    let condition = Schema::object([
        ("type", Schema::text().length(0, 316)),
        ("status", Schema::word_from::<ConditionStatus>()),
        ("lastTransitionTime", Schema::time()),
        ("reason", Schema::text().length(0, 1024)),
        ("message", Schema::text().length(0, 32_768)),
        ("observedGeneration", Schema::count(0)),
    ])
    .required(&["type", "status", "lastTransitionTime", "reason"]);
    let conditions = [("conditions", Schema::list(condition))];
    Schema::object(fields.into_iter().chain(conditions)).open()
}
