//! Which pods of a kind go to which of the nodes that hold some: those that keep others off their
//! hosts are given their nodes first, while most nodes still do for them, and the smallest nodes
//! first, as fewer others are there. Pods that are left then change places with others: a large
//! node has room for many pods, but only for few that keep others off.

use rustc_hash::FxHashMap;

use super::{KindNode, Kinds};
use crate::feasibility::host::HostCounts;
use crate::feasibility::topology::Owned;
use crate::ids::{GroupIx, IndexVec, ItemIx};
use crate::model::pool::Bin;
use crate::packing::packer::Packer;

/// How often it is tried whether pods that are left would do on a node in another order, or in the
/// place of others.
const TRIES_MAX: usize = 20_000;

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
    /// By node, what is left of each resource beside its pods.
    room: Vec<Vec<i64>>,
    /// By item, how many of its pods have no node yet.
    left: IndexVec<ItemIx, u32>,
    /// How often it is still tried whether a node may be changed.
    tries_left: usize,
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
        let room = |node: &KindNode| {
            let Bin { pool, type_index, .. } = self.bins[node.bin].bin;
            packer.setup.model.pools[*pool].types[*type_index].room.clone()
        };
        let pods_of = |item: &crate::work::Item| u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
        let mut sharing = Sharing {
            open,
            hosts: vec![HostCounts::in_any_order(); nodes.len()],
            pods: vec![Vec::new(); nodes.len()],
            room: nodes.iter().map(room).collect(),
            left: packer.items.iter().map(pods_of).collect(),
            tries_left: TRIES_MAX,
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
        self.settle(packer, nodes, &mut sharing);
        sharing.pods
    }

    /// Puts pods that are left on nodes with room to spare, where that is only a matter of the
    /// order in which pods come; or has others go there that leave them their places.
    fn settle(&self, packer: &Packer, nodes: &[KindNode], sharing: &mut Sharing) {
        let items = self.items.iter().enumerate();
        let items = items.flat_map(|(kind, items)| items.iter().map(move |item| (*item, kind)));
        let kind_of: FxHashMap<ItemIx, usize> = items.collect();
        let accepts = |node: usize, item: ItemIx| {
            let kinds = &self.bins[nodes[node].bin].kinds;
            kind_of.get(&item).is_some_and(|kind| kinds.binary_search(kind).is_ok())
        };
        let mut spare: Vec<usize> = sharing.open.iter().flatten().map(|own| own.0).collect();
        spare.sort_unstable();
        spare.dedup();
        for item in self.items.iter().flatten().copied() {
            while sharing.left[item] > 0 {
                let mut changes = spare.iter().filter(|to| accepts(**to, item));
                let change = changes.find_map(|to| {
                    Some(vec![sharing.changed(packer, *to, Change { out: None, into: item })?])
                });
                let change = change.or_else(|| {
                    spare.iter().find_map(|to| sharing.exchanged(packer, &accepts, item, *to))
                });
                let Some(change) = change else { break };
                for own in change {
                    sharing.set(own);
                }
                sharing.left[item] -= 1;
            }
        }
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

/// An order in which pods may come to one node: of those that may come next, always one that the
/// fewest of the others keep off. `None` where that leads nowhere.
fn arrival_order(packer: &Packer, mut pods: Vec<ItemIx>) -> Option<Vec<ItemIx>> {
    let (model, topology) = (packer.setup.model, packer.setup.topology);
    let shape = |item: ItemIx| packer.items[item].shape;
    let mut hosts = HostCounts::in_any_order();
    let mut ordered = Vec::with_capacity(pods.len());
    while !pods.is_empty() {
        let keeps_off = |other: &ItemIx, own: ItemIx| {
            let selected_by = &topology.constraints[shape(own)].selected_by;
            topology.constraints[shape(*other)].owned.iter().any(|owned| {
                let is_by_host = topology.groups[owned.group].is_by_host();
                owned.weight == 0 && is_by_host && selected_by.contains(&owned.group)
            })
        };
        let next = (0..pods.len())
            .filter(|place| hosts.room_for(model, topology, shape(pods[*place]), &|_| true) > 0)
            .min_by_key(|place| pods.iter().filter(|own| keeps_off(own, pods[*place])).count())?;
        let own = pods.remove(next);
        hosts.add(model, topology, shape(own), 1);
        ordered.push(own);
    }
    Some(ordered)
}

/// A pod that comes to a node, and one that leaves it for that.
#[derive(Clone, Copy)]
struct Change {
    out: Option<ItemIx>,
    into: ItemIx,
}

/// A node after a change.
struct Changed {
    node: usize,
    pods: PodsOfNode,
    hosts: HostCounts,
    room: Vec<i64>,
}

impl Sharing {
    /// Two nodes after a pod of another item has gone from one of them to the other, and left its
    /// place to one of the item.
    fn exchanged(
        &mut self,
        packer: &Packer,
        accepts: &impl Fn(usize, ItemIx) -> bool,
        item: ItemIx,
        to: usize,
    ) -> Option<Vec<Changed>> {
        for from in (0..self.pods.len()).filter(|from| *from != to && accepts(*from, item)) {
            for place in 0..self.pods[from].len() {
                let other = self.pods[from][place].0;
                if other == item || !accepts(to, other) {
                    continue;
                }
                let left = Change { out: Some(other), into: item };
                let Some(left) = self.changed(packer, from, left) else { continue };
                let joined = self.changed(packer, to, Change { out: None, into: other });
                if let Some(joined) = joined {
                    return Some(vec![left, joined]);
                }
            }
        }
        None
    }

    /// A node after a change, with pods in an order in which they may come; `None` where it has no
    /// room or no order is found.
    fn changed(&mut self, packer: &Packer, node: usize, change: Change) -> Option<Changed> {
        let (model, topology) = (packer.setup.model, packer.setup.topology);
        let shape = |item: ItemIx| packer.items[item].shape;
        let mut room = self.room[node].clone();
        for (own, sign) in change.out.map(|own| (own, 1)).into_iter().chain([(change.into, -1)]) {
            for (room, amount) in room.iter_mut().zip(&model.shape(shape(own)).requests) {
                *room += amount * sign;
            }
        }
        if room.iter().any(|room| *room < 0) || self.tries_left == 0 {
            return None;
        }
        self.tries_left -= 1;
        let mut pods = self.pods[node].clone();
        for (own, count) in &mut pods {
            *count -= u32::from(change.out == Some(*own));
        }
        pods.push((change.into, 1));
        let (apart, free): (PodsOfNode, PodsOfNode) =
            pods.into_iter().partition(|own| is_kept_apart(packer, own.0));
        let apart =
            apart.into_iter().flat_map(|(own, count)| std::iter::repeat_n(own, count as usize));
        let mut hosts = HostCounts::in_any_order();
        let apart = arrival_order(packer, apart.collect())?.into_iter().map(|own| (own, 1));
        let pods: PodsOfNode = apart.chain(free).filter(|own| own.1 > 0).collect();
        for (own, count) in &pods {
            hosts.add(model, topology, shape(*own), *count);
        }
        Some(Changed { node, pods, hosts, room })
    }

    fn set(&mut self, Changed { node, pods, hosts, room }: Changed) {
        self.pods[node] = pods;
        self.hosts[node] = hosts;
        self.room[node] = room;
    }

    /// Puts pods of an item on a node, after those that are there.
    fn add(&mut self, packer: &Packer, node: usize, item: ItemIx, count: u32) {
        let (model, topology) = (packer.setup.model, packer.setup.topology);
        let shape = packer.items[item].shape;
        self.hosts[node].add(model, topology, shape, count);
        self.pods[node].push((item, count));
        for (room, amount) in self.room[node].iter_mut().zip(&model.shape(shape).requests) {
            *room -= amount * i64::from(count);
        }
    }

    /// Gives pods of an item to nodes that hold some of its kind: one after the other where they
    /// are kept apart, so that they are on many nodes.
    fn give(&mut self, packer: &Packer, kind: usize, item: ItemIx, is_apart: bool) {
        let (model, topology) = (packer.setup.model, packer.setup.topology);
        let shape = packer.items[item].shape;
        let mut open = std::mem::take(&mut self.open[kind]);
        for (node, room) in &mut open {
            if self.left[item] == 0 {
                break;
            }
            let mut count = self.left[item].min(*room);
            if is_apart {
                let hosts = &self.hosts[*node];
                count = count.min(hosts.room_for(model, topology, shape, &|_| true));
            }
            if count == 0 {
                continue;
            }
            self.add(packer, *node, item, count);
            *room -= count;
            self.left[item] -= count;
        }
        open.retain(|(_, room)| *room > 0);
        self.open[kind] = open;
    }
}
