//! Drifted nodes by reason.

use std::collections::BTreeMap;

use domain::Text;
use domain::drift::DriftReason;

use super::pod_names::counted;

/// The nodes of each reason, both in order of names.
pub(crate) fn by_reason(nodes: &BTreeMap<Text, DriftReason>) -> BTreeMap<String, Vec<&Text>> {
    let mut by_reason: BTreeMap<String, Vec<&Text>> = BTreeMap::new();
    for (node, reason) in nodes {
        by_reason.entry(reason.to_string()).or_default().push(node);
    }
    by_reason
}

/// How many, and what becomes of them.
pub(crate) fn about(count: usize) -> String {
    let it = if count == 1 { "is" } else { "are" };
    format!(
        "{} that {it} replaced for it, as fast as budgets and their pods allow",
        counted(count, "node")
    )
}
