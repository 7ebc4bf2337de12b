//! Which pods of a kind go to which of the nodes that hold some: those that keep others off their
//! hosts are given their nodes first, while most nodes still do for them, and the smallest nodes
//! first, as fewer others are there.

use super::{KindNode, Kinds};
use crate::feasibility::host::HostCounts;
use crate::feasibility::topology::Owned;
use crate::ids::{GroupIx, IndexVec, ItemIx};
use crate::packing::packer::Packer;

/// How many pods of which items a node holds, in an order in which they may come.
pub(in crate::packing) type PodsOfNode = Vec<(ItemIx, u32)>;

/// Nodes while pods are shared out.
struct Sharing {
    /// By kind, the nodes that have room for more of its pods, with for how many.
    open: Vec<Vec<(usize, u32)>>,
    /// By node, what its pods count for.
    hosts: Vec<HostCounts>,
    /// By node, its pods.
    pods: Vec<PodsOfNode>,
    /// By item, how many of its pods have no node yet.
    left: IndexVec<ItemIx, u32>,
}

impl Kinds<'_> {
    /// Whether pods of several shapes have to be spread over hosts together, so that which of them
    /// is where makes a difference.
    pub(in crate::packing) fn are_kept_apart(&self, packer: &Packer) -> bool {
        let topology = packer.setup.topology;
        let is_mixed = |owned: &Owned| {
            let is_by_host = topology.groups[owned.group].is_by_host();
            owned.weight == 0 && is_by_host && topology.selects_others(owned.group)
        };
        let shapes = self.items.iter().flatten().map(|item| packer.items[*item].shape);
        shapes.into_iter().any(|shape| topology.constraints[shape].owned.iter().any(is_mixed))
    }

    /// The pods of each node, as many of each kind as it holds if they may be together. Each node
    /// is one node, however often it says that there is one.
    pub(in crate::packing) fn share_pods_out(
        &self,
        packer: &Packer,
        nodes: &[KindNode],
    ) -> Vec<PodsOfNode> {
        let mut open = vec![Vec::new(); self.counts.len()];
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        let size = |node: &usize| nodes[*node].counts.iter().map(|own| own.1).sum::<u32>();
        order.sort_by_key(size);
        for node in order {
            for (kind, count) in &nodes[node].counts {
                open[*kind].push((node, *count));
            }
        }
        let pods_of = |item: &crate::work::Item| u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
        let mut sharing = Sharing {
            open,
            hosts: vec![HostCounts::in_any_order(); nodes.len()],
            pods: vec![Vec::new(); nodes.len()],
            left: packer.items.iter().map(pods_of).collect(),
        };
        let items = self.items.iter().enumerate();
        let items = items.flat_map(|(kind, items)| items.iter().map(move |item| (kind, *item)));
        let (mut apart, free): (Vec<_>, Vec<_>) =
            items.partition(|(_, item)| is_kept_apart(packer, *item));
        apart.sort_by_key(|(kind, item)| (spread_of_others(packer, *item), *kind));
        for (kind, item) in apart {
            sharing.give(packer, kind, item, true);
        }
        for (kind, item) in free {
            sharing.give(packer, kind, item, false);
        }
        sharing.pods
    }
}

/// Whether pods of an item and others may have to be kept off each other's hosts.
fn is_kept_apart(packer: &Packer, item: ItemIx) -> bool {
    let setup = packer.setup;
    let shape = packer.items[item].shape;
    let is_by_host =
        |owned: &Owned| owned.weight == 0 && setup.topology.groups[owned.group].is_by_host();
    setup.topology.constraints[shape].owned.iter().any(is_by_host)
        || !setup.model.shape(shape).shares_hosts_freely()
}

/// The spread over hosts that pods of an item carry without being selected. What such pods have in
/// common with each other hardly keeps them apart, so they are taken together; those without come
/// first.
fn spread_of_others(packer: &Packer, item: ItemIx) -> Option<GroupIx> {
    let topology = packer.setup.topology;
    let mut owned = topology.constraints[packer.items[item].shape].owned.iter();
    owned
        .find(|owned| {
            owned.weight == 0 && !owned.selects_itself && topology.groups[owned.group].is_by_host()
        })
        .map(|owned| owned.group)
}

impl Sharing {
    /// Gives pods of an item to nodes that hold some of its kind: one after the other where they
    /// are kept apart, so that they are on many nodes.
    fn give(&mut self, packer: &Packer, kind: usize, item: ItemIx, is_apart: bool) {
        let (model, topology) = (packer.setup.model, packer.setup.topology);
        let shape = packer.items[item].shape;
        for (node, room) in &mut self.open[kind] {
            let left = &mut self.left[item];
            if *left == 0 {
                break;
            }
            let mut count = (*left).min(*room);
            if is_apart {
                let hosts = &mut self.hosts[*node];
                count = count.min(hosts.room_for(model, topology, shape, &|_| true));
            }
            if count == 0 {
                continue;
            }
            self.hosts[*node].add(model, topology, shape, count);
            self.pods[*node].push((item, count));
            *room -= count;
            *left -= count;
        }
        self.open[kind].retain(|(_, room)| *room > 0);
    }
}
