//! What nodes of a NodePool drift to, and which of them are there.

use std::fmt::Write as _;

use crate::drift::fnv;
use crate::node::Node;
use crate::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use crate::node_class::Ec2NodeClass;
use crate::node_pool::NodePool;
use crate::stamp::Stamp;
use crate::{SignedDuration, Text, Timestamp};

/// What nodes of a NodePool drift to: a hash of everything that says what they are made from.
pub fn drift_target(pool: &NodePool, class: Option<&Ec2NodeClass>) -> Text {
    let mut all = String::new();
    let stamp = pool.stamp().or_else(|| Stamp::of_node_pool(&pool.annotations));
    let of_class = class.and_then(|class| Stamp::of_node_class(&class.annotations));
    for hash in [stamp, of_class] {
        let _infallible = write!(all, "{}|", hash.map(|own| own.hash).unwrap_or_default());
    }
    let mut parts: Vec<String> =
        pool.template.requirements.iter().map(ToString::to_string).collect();
    parts.extend(
        class.into_iter().flat_map(|class| &class.status.amis).map(|ami| ami.id.to_string()),
    );
    parts.sort();
    all.push_str(&parts.join("|"));
    format!("{:016x}", fnv(all.as_bytes())).into()
}

/// Whether a claim was made from what its NodePool and EC2NodeClass say now, by what is recorded
/// on it: hashes, labels and image. What is not known on both sides is not compared.
pub fn is_made_from(claim: &NodeClaim, pool: &NodePool, class: Option<&Ec2NodeClass>) -> bool {
    let agree = |own: Option<Stamp>, wanted: Option<Stamp>| match (own, wanted) {
        (Some(own), Some(wanted)) => own.version != wanted.version || own.hash == wanted.hash,
        _ => true,
    };
    let wanted = pool.stamp().or_else(|| Stamp::of_node_pool(&pool.annotations));
    let of_class = class.and_then(|class| Stamp::of_node_class(&class.annotations));
    let amis = class.map(|class| class.status.amis.as_slice()).unwrap_or_default();
    let image = claim.status.image_id.as_ref();
    agree(Stamp::of_node_pool(&claim.annotations), wanted)
        && agree(Stamp::of_node_class(&claim.annotations), of_class)
        && pool.template.requirements.iter().all(|own| own.holds_for(&claim.labels))
        && (amis.is_empty() || image.is_none_or(|image| amis.iter().any(|ami| ami.id == *image)))
}

/// Whether a node has been initialized and ready for so long. One that reports no condition Ready
/// counts as ready since it was initialized; what has no time counts as long ago.
pub fn is_soaked(
    claim: &NodeClaim,
    node: Option<&Node>,
    soak: SignedDuration,
    now: Timestamp,
) -> bool {
    let Some(node) = node.filter(|node| !node.is_not_ready()) else { return false };
    let initialized = claim.condition(ConditionType::Initialized);
    let Some(initialized) = initialized.filter(|own| own.status == ConditionStatus::True) else {
        return false;
    };
    let ready = node.condition("Ready").and_then(|own| own.changed);
    let since = initialized.changed.max(ready);
    since.is_none_or(|since| now.duration_since(since) >= soak)
}
