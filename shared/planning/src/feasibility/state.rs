//! What changes while pods find their places: free room, open ports, attached volumes, and how many
//! pods each topology group counts where. Cheap to clone, so that a removal can be tried out.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::plan::PlannedNodeClaim;
use domain::pod::{HostPort, ObjectKey};
use rustc_hash::{FxHashMap, FxHashSet};

use super::constraint::{Constraint, Counted};
use super::topology::{Rule, Topology};
use crate::ids::{GroupIx, Idx, IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::model::repair::{Repair, repairs};
use crate::model::successor::needs_successor;

/// How many pods a group counts, by domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// By value of the key, for keys other than the host name. Never zero.
    pub(crate) by_domain: BTreeMap<Text, u32>,
    /// By node index, for the host name, and for claims in flight of which the value of the key is
    /// still open. Never zero.
    pub(crate) by_node: FxHashMap<NodeIx, u32>,
}

impl Counts {
    /// Pods in all domains.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_domain.is_empty() && self.by_node.is_empty()
    }

    /// Counts pods of a group in or out where a node is. Whoever keeps away from others does so in
    /// every domain that a claim in flight may still be in, and on the claim itself.
    fn change_on(&mut self, topology: &Topology, group: GroupIx, node: NodeIx, by: i64) {
        let own = &topology.groups[group];
        if own.is_by_host() {
            self.change_node(node, by);
        } else if let Some(domain) = topology.domain_of(group, node) {
            self.change_domain(topology.domain_name(group, domain), by);
        } else if own.rule == Rule::AntiAffinity
            && let Some(open) = topology.open_domains(group, node)
        {
            self.change_node(node, by);
            for domain in open {
                self.change_domain(domain, by);
            }
        }
    }

    fn change_node(&mut self, node: NodeIx, by: i64) {
        let count = self.by_node.entry(node).or_default();
        *count = changed(*count, by);
        if *count == 0 {
            self.by_node.remove(&node);
        }
    }

    fn change_domain(&mut self, domain: &Text, by: i64) {
        let known = self.by_domain.get_mut(domain);
        let count = changed(known.as_deref().copied().unwrap_or(0), by);
        match known {
            Some(_) if count == 0 => {
                self.by_domain.remove(domain);
            }
            Some(known) => *known = count,
            None if count == 0 => {}
            None => {
                self.by_domain.insert(domain.clone(), count);
            }
        }
    }
}

fn changed(count: u32, by: i64) -> u32 {
    u32::try_from((i64::from(count) + by).max(0)).unwrap_or(u32::MAX)
}

/// A pod of a shape on a claim that is about to be launched.
#[derive(Clone, Copy)]
pub(crate) struct PodOnClaim<'c> {
    pub(crate) shape: ShapeIx,
    pub(crate) claim: &'c PlannedNodeClaim,
}

/// Pods of one shape on an existing node.
#[derive(Clone, Copy)]
pub(crate) struct PodsOn {
    /// The shape.
    pub(crate) shape: ShapeIx,
    /// The node.
    pub(crate) node: NodeIx,
    /// How many; negative to count them out.
    pub(crate) count: i64,
}

/// A topology domain: a label and one of its values.
#[derive(Clone, Copy)]
pub(crate) struct TopologyDomain<'d> {
    /// The label's key.
    pub(crate) key: &'d Text,
    /// The value.
    pub(crate) value: &'d Text,
}

/// What changes while pods find their places.
#[derive(Clone, Default)]
pub(crate) struct State {
    /// Free room of each node, resource by resource.
    pub(crate) free: Vec<i64>,
    /// Nodes that take no pods.
    pub(crate) closed: IndexVec<NodeIx, bool>,
    /// Pods that each group selects; shared with other states until one counts differently.
    pub(crate) matched: IndexVec<GroupIx, Arc<Counts>>,
    /// Pods that carry each anti-affinity group; shared likewise.
    pub(crate) owners: IndexVec<GroupIx, Arc<Counts>>,
    /// Ports open on nodes.
    pub(crate) ports: FxHashMap<NodeIx, Vec<HostPort>>,
    /// Volumes attached to nodes that have a limit.
    pub(crate) attached: FxHashMap<NodeIx, FxHashSet<(Text, Text)>>,
    /// Claims in use that only one pod may use.
    pub(crate) exclusive: FxHashSet<ObjectKey>,
}

impl State {
    /// Everything as it stands: bound pods where they are. Those of leaving nodes whose successors
    /// wait are on their way out; the others stay and count, as they do for kube-scheduler.
    pub(crate) fn of(model: &Model, topology: &Topology) -> Self {
        let limited: BTreeMap<&str, NodeIx> = model
            .nodes
            .iter_enumerated()
            .filter(|(_, node)| {
                model.snapshot.objects.csi_nodes.iter().any(|csi| csi.name == *node.name)
            })
            .map(|(index, node)| (&**node.name, index))
            .collect();
        let mut state = Self {
            free: model.nodes.iter().flat_map(|node| node.free.iter().copied()).collect(),
            closed: closed(model),
            matched: IndexVec::filled(Arc::default(), topology.groups.len()),
            owners: IndexVec::filled(Arc::default(), topology.groups.len()),
            ports: FxHashMap::default(),
            attached: FxHashMap::default(),
            exclusive: FxHashSet::default(),
        };
        for (index, node) in model.nodes.iter_enumerated() {
            for pod in node.bound.iter().copied() {
                let Some(shape) = model.shapes.of_pod[pod] else { continue };
                let spec = model.shape(shape).spec;
                if !spec.host_ports.is_empty() {
                    state.ports.entry(index).or_default().extend(spec.host_ports.iter().cloned());
                }
                let volumes = &model.shape(shape).volumes;
                if limited.contains_key(&**node.name) {
                    state
                        .attached
                        .entry(index)
                        .or_default()
                        .extend(volumes.attachments.iter().cloned());
                }
                let stays = !node.is_leaving() || !needs_successor(model, pod);
                if model.pod(pod).is_active() && stays {
                    state.exclusive.extend(volumes.exclusive.iter().cloned());
                    let pods = PodsOn { shape, node: index, count: 1 };
                    state.count(model, topology, pods);
                }
            }
        }
        state
    }

    /// The pods that a constraint counts.
    pub(crate) fn counts(&self, constraint: &Constraint) -> &Counts {
        match constraint.counted {
            Counted::Selected => &self.matched[constraint.group],
            Counted::Owners => &self.owners[constraint.group],
        }
    }

    fn matched_mut(&mut self, group: GroupIx) -> &mut Counts {
        Arc::make_mut(&mut self.matched[group])
    }

    fn owners_mut(&mut self, group: GroupIx) -> &mut Counts {
        Arc::make_mut(&mut self.owners[group])
    }

    /// Free room of a node.
    pub(crate) fn free(&self, model: &Model, node: NodeIx) -> &[i64] {
        let width = model.resources.len();
        &self.free[node.index() * width..(node.index() + 1) * width]
    }

    /// How many pods of these requests the node has room for. One that is over-committed takes
    /// none, not even those that request nothing of what is short (Karpenter, `resources.Fits`).
    pub(crate) fn room_for(&self, model: &Model, node: NodeIx, requests: &[i64]) -> u32 {
        let free = self.free(model, node);
        if free.iter().any(|free| *free < 0) {
            return 0;
        }
        room_for(free, requests)
    }

    /// Whether the node has room for one pod of these requests.
    pub(crate) fn has_room(&self, model: &Model, node: NodeIx, requests: &[i64]) -> bool {
        let mut free = self.free(model, node).iter().zip(requests);
        free.all(|(free, amount)| *free >= (*amount).max(0))
    }

    /// Counts pods of a shape in or out on an existing node, where constraints between pods look.
    pub(crate) fn count(&mut self, model: &Model, topology: &Topology, pods: PodsOn) {
        let PodsOn { shape, node, count: by } = pods;
        let view = &model.nodes[node];
        let constraints = &topology.constraints[shape];
        for group in constraints.selected_by.iter().copied() {
            let own = &topology.groups[group];
            let owner = model.shape(topology.first_owner[group]);
            if matches!(own.rule, Rule::Spread { .. }) && !own.counts_node(view, owner.spec) {
                continue;
            }
            self.matched_mut(group).change_on(topology, group, node, by);
        }
        for owned in constraints.owned.iter().filter(|owned| owned.weight == 0) {
            if topology.groups[owned.group].rule == Rule::AntiAffinity {
                self.owners_mut(owned.group).change_on(topology, owned.group, node, by);
            }
        }
    }

    /// Puts pods of a shape on an existing node.
    pub(crate) fn place(&mut self, model: &Model, topology: &Topology, pods: PodsOn) {
        let PodsOn { shape, node, count } = pods;
        let width = model.resources.len();
        let own = model.shape(shape);
        for (free, amount) in self.free[node.index() * width..(node.index() + 1) * width]
            .iter_mut()
            .zip(&own.requests)
        {
            *free -= amount * count;
        }
        if !own.spec.host_ports.is_empty() {
            self.ports.entry(node).or_default().extend(own.spec.host_ports.iter().cloned());
        }
        if !own.volumes.attachments.is_empty() {
            self.attached.entry(node).or_default().extend(own.volumes.attachments.iter().cloned());
        }
        self.exclusive.extend(own.volumes.exclusive.iter().cloned());
        self.count(model, topology, pods);
    }

    /// Counts a pod of a shape in a domain of a key, on a node that is still to be launched, where
    /// the spreads count it that `is_counted` says.
    pub(crate) fn count_new(
        &mut self,
        topology: &Topology,
        shape: ShapeIx,
        domain: TopologyDomain,
        is_counted: &dyn Fn(GroupIx) -> bool,
    ) {
        let TopologyDomain { key, value: domain } = domain;
        let constraints = &topology.constraints[shape];
        for group in constraints.selected_by.iter().copied() {
            let own = &topology.groups[group];
            let is_spread = matches!(own.rule, Rule::Spread { .. });
            if own.key == *key && (!is_spread || is_counted(group)) {
                self.matched_mut(group).change_domain(domain, 1);
            }
        }
        for owned in constraints.owned.iter().filter(|owned| owned.weight == 0) {
            let own = &topology.groups[owned.group];
            if own.rule == Rule::AntiAffinity && own.key == *key {
                self.owners_mut(owned.group).change_domain(domain, 1);
            }
        }
    }

    /// Counts a pod of a shape on a claim that is about to be launched, where other pods'
    /// constraints look: in the domains that the claim settles, except of keys that are `counted`
    /// already.
    pub(crate) fn count_on_claim(
        &mut self,
        model: &Model,
        topology: &Topology,
        PodOnClaim { shape, claim }: PodOnClaim,
        counted: &[Text],
    ) {
        let mut keys = topology.keys_of(shape);
        keys.retain(|key| !counted.contains(key));
        if keys.is_empty() {
            return;
        }
        let labels = claim.settled_labels();
        let is_counted = |group: GroupIx| {
            let owner = model.shape(topology.first_owner[group]).spec;
            topology.groups[group].counts_new_node(claim, &labels, owner)
        };
        for key in &keys {
            if let Some(value) = labels.get(key) {
                let domain = TopologyDomain { key, value };
                self.count_new(topology, shape, domain, &is_counted);
            }
        }
    }

    /// Takes a node away with its pods, which are on their way out, and with those `placed` there.
    pub(crate) fn remove_node(
        &mut self,
        model: &Model,
        topology: &Topology,
        node: NodeIx,
        placed: &[PodIx],
    ) {
        if self.closed[node] {
            return;
        }
        self.closed[node] = true;
        for pod in model.nodes[node].bound.iter().chain(placed).copied() {
            if !model.pod(pod).is_active() {
                continue;
            }
            let Some(shape) = model.shapes.of_pod[pod] else { continue };
            for claim in &model.shape(shape).volumes.exclusive {
                self.exclusive.remove(claim);
            }
            self.count(model, topology, PodsOn { shape, node, count: -1 });
        }
    }
}

/// How many times the requests go into the room.
pub(crate) fn room_for(room: &[i64], requests: &[i64]) -> u32 {
    let mut most = i64::from(u32::MAX);
    for (room, amount) in room.iter().zip(requests) {
        if *amount > 0 {
            if room < amount {
                return 0;
            }
            most = most.min(room / amount);
        }
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}
/// Nodes that take no more pods: they are leaving, or are disrupted next whatever budgets say,
/// since they are expired or unhealthy, or their NodePool is off.
fn closed(model: &Model) -> IndexVec<NodeIx, bool> {
    let (now, repairs) = (model.snapshot.now, repairs(model));
    let is_closed = |(index, node): (NodeIx, &NodeView)| {
        let is_expired = node.is_managed && node.is_expired(now);
        node.is_leaving() || node.off.is_some() || is_expired || repairs[index] == Repair::Due
    };
    model.nodes.iter_enumerated().map(is_closed).collect()
}
