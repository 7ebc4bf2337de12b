//! Sets of nodes to try together.

use crate::ids::NodeIx;

/// The first two, three, four, and so on in growing steps, to all.
pub(super) fn prefixes(order: &[NodeIx]) -> impl Iterator<Item = Vec<NodeIx>> {
    let sizes = std::iter::successors(Some(2_usize), |size| Some(size + (size / 2).max(1)));
    let within = sizes.take_while(|size| *size < order.len());
    let all = (order.len() > 1).then_some(order.len());
    within.chain(all).map(|size| order[..size].to_vec())
}

/// Every pair.
pub(super) fn pairs(nodes: &[NodeIx]) -> impl Iterator<Item = Vec<NodeIx>> {
    nodes.iter().enumerate().flat_map(move |(index, first)| {
        nodes[..index].iter().map(move |second| vec![*second, *first])
    })
}

/// Three to `length_max` consecutive nodes, without those that begin with the first.
pub(super) fn runs(nodes: &[NodeIx], length_max: usize) -> impl Iterator<Item = Vec<NodeIx>> {
    (3..=length_max).flat_map(|length| nodes.windows(length).skip(1).map(<[NodeIx]>::to_vec))
}

/// Nodes in ascending order, by which a set is known again.
pub(super) fn in_ascending_order(nodes: &[NodeIx]) -> Vec<NodeIx> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes
}
