//! Blocked nodes, grouped by reason.

use std::collections::BTreeSet;

use domain::Text;
use domain::plan::BlockedNode;
use domain::reason::NotDisruptable;

/// Nodes blocked for one reason.
#[derive(Debug)]
pub(crate) struct BlockedGroup<'a> {
    /// The nodes, in the plan's order.
    pub(crate) nodes: Vec<Text>,
    /// What blocks them.
    pub(crate) reason: &'a NotDisruptable,
}

/// Groups in the order of their first node.
pub(crate) fn groups(blocked: &[BlockedNode]) -> Vec<BlockedGroup<'_>> {
    let mut groups: Vec<BlockedGroup<'_>> = Vec::new();
    for BlockedNode { node, reason } in blocked {
        match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group.nodes.push(node.clone()),
            None => groups.push(BlockedGroup { nodes: vec![node.clone()], reason }),
        }
    }
    groups
}

/// How many nodes are blocked: one may be for several reasons.
pub(crate) fn nodes(blocked: &[BlockedNode]) -> usize {
    blocked.iter().map(|own| &own.node).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_equal_reasons_are_one_group() {
        let blocked = |node: &str, reason| BlockedNode { node: node.into(), reason };
        let nodes = [
            blocked("a", NotDisruptable::Nominated),
            blocked("b", NotDisruptable::DoNotDisrupt),
            blocked("c", NotDisruptable::Nominated),
        ];
        let groups: Vec<String> =
            groups(&nodes).iter().map(|group| group.nodes.join(" ")).collect();
        assert_eq!(super::nodes(&[nodes.as_slice(), &nodes[..1]].concat()), 3, "one node once");
        assert_eq!(groups, ["a c", "b"]);
    }
}
