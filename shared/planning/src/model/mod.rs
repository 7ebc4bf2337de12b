//! A snapshot made ready for planning: labels interned, resources as arrays of integers, instance
//! types as bit sets, pods grouped by shape.
//!
//! Building a [`Model`] decides nothing. It is read-only afterwards; what changes while pods find
//! their places is in [`crate::feasibility::state::State`].

pub(crate) mod commitments;
pub(crate) mod daemon;
pub(crate) mod intern;
pub(crate) mod interruption;
pub(crate) mod memo;
pub(crate) mod node;
pub(crate) mod overlay;
pub(crate) mod pool;
pub(crate) mod repair;
pub(crate) mod resources;
pub(crate) mod shape;
pub(crate) mod successor;
mod volume;
pub(crate) mod weight;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::commitment::Bill;
use domain::label;
use domain::money::UsdPerHour;
use domain::pod::Pod;
use domain::requirement::ValueSet;
use domain::snapshot::ClusterSnapshot;
use rustc_hash::FxHashSet;

use commitments::ModelCommitments;
use intern::{KeyKind, SetId, Sets};
use interruption::{INTERRUPTION_FIELD, Interruptions};
use node::NodeView;
use pool::{Names, Pool};
use resources::ResourceNames;
use shape::{Narrows, Shape, Shapes};
use weight::Weights;

use crate::ids::{IndexVec, NodeIx, PodIx, PoolIx, ShapeIx, ZoneIx, ZoneSet};

/// A snapshot made ready for planning.
pub(crate) struct Model<'a> {
    /// What it was made from.
    pub(crate) snapshot: &'a ClusterSnapshot,
    virtual_pods: &'a [Pod],
    /// By what spot offerings are weighed.
    weights: Weights,
    /// Resource names by index.
    pub(crate) resources: ResourceNames,
    /// NodePools that may launch nodes for pending pods, heaviest first, then by name.
    pub(crate) pools: IndexVec<PoolIx, Pool<'a>>,
    /// Nodes and claims in flight that pods may go to or that hold pods, in the order in which pods
    /// try them.
    pub(crate) nodes: IndexVec<NodeIx, NodeView<'a>>,
    /// What commitments cover; `None` where none holds.
    pub(crate) commitments: Option<ModelCommitments>,
    /// Free addresses of zones; `None` where no EC2NodeClass asks about them.
    pub(crate) addresses: Option<AddressLedger>,
    /// Pods grouped by shape.
    pub(crate) shapes: Shapes<'a>,
    /// Value sets and conjunctions that pods and NodePools name.
    pub(crate) sets: Sets,
    /// What each label key is decided by.
    pub(crate) key_kinds: BTreeMap<Text, KeyKind>,
    /// Zone names by index.
    pub(crate) zones: IndexVec<ZoneIx, Text>,
    /// Bound pods that the NodePools of their nodes count as expendable.
    pub(crate) expendable: FxHashSet<PodIx>,
    /// Values of labels that some pool leaves open, as nodes and other pools have them.
    open_labels: BTreeMap<Text, BTreeSet<Text>>,
    /// See [`Self::key_rank`]; empty until that is asked.
    key_ranks: OnceLock<IndexVec<PodIx, usize>>,
}

impl<'a> Model<'a> {
    /// Prepares a snapshot. `virtual_pods` take part like pending pods.
    pub(crate) fn new(snapshot: &'a ClusterSnapshot, virtual_pods: &'a [Pod]) -> Self {
        Self::weighted_by(Weights::of(snapshot), snapshot, virtual_pods)
    }

    /// This model with offerings at their prices, whatever interruptions cost.
    pub(crate) fn at_cost(&self) -> Self {
        Self::weighted_by(Weights::NONE, self.snapshot, self.virtual_pods)
    }

    fn weighted_by(
        weights: Weights,
        snapshot: &'a ClusterSnapshot,
        virtual_pods: &'a [Pod],
    ) -> Self {
        let resources = ResourceNames::of(snapshot);
        let mut sets = Sets::default();
        let key_kinds = key_kinds(snapshot);
        let zones = zones(snapshot);
        let addresses = AddressLedger::of(snapshot);
        let interruptions = Interruptions::of(snapshot);
        let names = Names {
            resources: &resources,
            key_kinds: &key_kinds,
            zones: &zones,
            addresses: addresses.as_ref(),
            interruptions: &interruptions.all(snapshot),
        };
        let pools = pool::pools(snapshot, &weights, names, &mut sets);
        let mut nodes = node::nodes(snapshot, &weights, &resources);
        let commitments = ModelCommitments::of(snapshot, &mut nodes);
        let narrows =
            Narrows { interruptions, are_distinct: pools.iter().any(Pool::tells_pods_apart) };
        let shapes = Shapes::of(snapshot, virtual_pods, &resources, narrows, &mut sets);
        let open_labels = open_labels(&pools, &nodes, &shapes, &sets);
        let expendable = expendable(&nodes, &shapes);
        Self {
            snapshot,
            virtual_pods,
            weights,
            resources,
            pools,
            nodes,
            commitments,
            addresses,
            shapes,
            sets,
            key_kinds,
            zones,
            expendable,
            open_labels,
            key_ranks: OnceLock::new(),
        }
    }

    /// Values that a label of the user's own may get on new nodes, sorted: those that a list names.
    /// Where any value would do, those that nodes or other pools have or pods name: a value of its
    /// own would be a topology domain that no pod is in. Without any, one that is always the same.
    pub(crate) fn label_values(&self, key: &Text, allowed: &ValueSet) -> Vec<Text> {
        if let Some(list) = allowed.as_list() {
            return list.to_vec();
        }
        let known = self.open_labels.get(key).into_iter().flatten();
        let values: Vec<Text> = known.filter(|value| allowed.contains(value)).cloned().collect();
        if values.is_empty() { allowed.representative().into_iter().collect() } else { values }
    }

    /// Whether some NodePool chooses among offerings by more than their prices.
    pub(crate) fn is_weighted(&self) -> bool {
        self.pools.iter().any(|pool| pool.is_weighted)
    }

    /// Whether offerings are chosen at other prices than they cost.
    pub(crate) fn chooses_beside_cost(&self) -> bool {
        self.is_weighted() || self.weights.is_any_skipped()
    }

    /// Whether pods differ in what their interruptions cost, in some NodePool.
    pub(crate) fn tells_pods_apart(&self) -> bool {
        self.pools.iter().any(Pool::tells_pods_apart)
    }

    /// What a node would be weighed at with more pods; `None` where the catalogue does not say.
    pub(crate) fn price_with(&self, node: NodeIx, pods: &[PodIx]) -> Option<UsdPerHour> {
        let view = &self.nodes[node];
        let is_committed = |own: &ModelCommitments| own.of_node(node).is_some();
        if self.commitments.as_ref().is_some_and(is_committed) {
            return view.price();
        }
        let pods = view.bound.iter().chain(pods).map(|pod| self.pod(*pod));
        node::weighted(&self.weights, view, self.snapshot, pods)
    }

    /// A shape by index.
    pub(crate) fn shape(&self, shape: ShapeIx) -> &Shape<'a> {
        &self.shapes.list[shape]
    }

    /// The pod at an index of the shapes' list of pods.
    pub(crate) fn pod(&self, pod: PodIx) -> &'a Pod {
        self.shapes.pods[pod]
    }

    /// A number by which pods compare as their keys do, for those who sort pods again and again.
    pub(crate) fn key_rank(&self, pod: PodIx) -> usize {
        self.key_ranks.get_or_init(|| key_ranks(&self.shapes.pods))[pod]
    }
}

/// The number of different keys that come before that of each pod.
fn key_ranks(pods: &IndexVec<PodIx, &Pod>) -> IndexVec<PodIx, usize> {
    let key = |pod: PodIx| &pods[pod].key;
    // Pods are mostly listed by key.
    if pods.iter().is_sorted_by(|a, b| a.key < b.key) {
        return (0..pods.len()).collect();
    }
    let mut order: Vec<PodIx> = pods.indices().collect();
    order.sort_by(|a, b| key(*a).cmp(key(*b)));
    let mut ranks = IndexVec::filled(0, pods.len());
    for (rank, same) in order.chunk_by(|a, b| key(*a) == key(*b)).enumerate() {
        for pod in same {
            ranks[*pod] = rank;
        }
    }
    ranks
}

/// What commitments cover of the nodes of a snapshot; `None` where none holds.
pub(crate) fn committed(snapshot: &ClusterSnapshot) -> Option<Bill> {
    let (_, own) = repriced_nodes(snapshot)?;
    Some(own.commitments.apply(own.all()))
}

/// What removing an on-demand node alone would save; `None` of others, and where no commitment
/// holds.
pub(crate) fn price_beyond_commitments(
    snapshot: &ClusterSnapshot,
    name: &str,
) -> Option<UsdPerHour> {
    let (nodes, own) = repriced_nodes(snapshot)?;
    let index = nodes.position(|node| **node.name == *name)?;
    own.of_node(index).and_then(|_| nodes[index].price())
}

/// The nodes of a snapshot, priced by what commitments leave of them; `None` where none holds.
fn repriced_nodes(
    snapshot: &ClusterSnapshot,
) -> Option<(IndexVec<NodeIx, NodeView<'_>>, ModelCommitments)> {
    if snapshot.objects.commitments.is_empty() {
        return None;
    }
    let mut nodes = node::nodes(snapshot, &Weights::NONE, &ResourceNames::default());
    let own = ModelCommitments::of(snapshot, &mut nodes)?;
    Some((nodes, own))
}

/// Bound pods that need no other place: the NodePools of their nodes count them as expendable, or a
/// rollout replaces them.
fn expendable(nodes: &IndexVec<NodeIx, NodeView>, shapes: &Shapes) -> FxHashSet<PodIx> {
    let of_node = |node: &'_ NodeView| -> Vec<PodIx> {
        let rolling = node.rolling();
        let goes = |pod: &Pod| node.has_expendable(pod) || rolling.contains(&pod.key);
        node.bound.iter().copied().filter(|pod| goes(shapes.pods[*pod])).collect()
    };
    nodes.iter().flat_map(of_node).collect()
}

/// Values that nodes and pools have, and pods name, of each label for which some pool names no list
/// of values. Where pods name only what they do not want, a value that they may get counts as
/// named: it is a domain for all others as well.
fn open_labels(
    pools: &IndexVec<PoolIx, Pool>,
    nodes: &IndexVec<NodeIx, NodeView>,
    shapes: &Shapes,
    sets: &Sets,
) -> BTreeMap<Text, BTreeSet<Text>> {
    let mut values: BTreeMap<Text, BTreeSet<Text>> = pools
        .iter()
        .flat_map(|pool| pool.own.iter())
        .filter(|(_, rule)| rule.values.as_list().is_none())
        .map(|(key, _)| (key.clone(), BTreeSet::new()))
        .collect();
    for (key, known) in &mut values {
        let stays = nodes.iter().filter(|node| !node.is_leaving());
        known.extend(stays.filter_map(|node| node.labels.get(key).cloned()));
        for pool in pools {
            let listed = pool.own.get(key).and_then(|rule| rule.values.as_list());
            known.extend(listed.unwrap_or_default().iter().cloned());
            known.extend(pool.fixed_label(key).cloned());
        }
        let wanted: FxHashSet<SetId> =
            shapes.list.iter().flat_map(|shape| wanted_of(shape, key, sets)).collect();
        let wanted = || wanted.iter().map(|set| sets.get(*set));
        known.extend(wanted().flat_map(|set| set.as_list().unwrap_or_default().to_vec()));
        let open = pools.iter().filter_map(|pool| Some(&pool.own.get(key)?.values));
        let open = open.filter(|own| own.as_list().is_none());
        let possible = open.flat_map(|own| {
            std::iter::once(own.clone()).chain(wanted().map(|set| own.intersection(&set)))
        });
        let unnamed = possible.filter(|allowed| !known.iter().any(|own| allowed.contains(own)));
        let unnamed: Vec<Text> = unnamed.filter_map(|allowed| allowed.representative()).collect();
        known.extend(unnamed);
    }
    values
}

/// What a shape's requirements and preferences want of a label.
fn wanted_of(shape: &Shape, key: &Text, sets: &Sets) -> impl Iterator<Item = SetId> {
    let preferred = shape.preferences.iter().map(|(_, preference)| preference);
    shape.alternatives.iter().chain(preferred).filter_map(|way| {
        let rules = sets.rules(*way);
        rules.iter().find(|rule| rule.key == *key).map(|rule| rule.set)
    })
}

/// What decides each label key that a launch decides.
fn key_kinds(snapshot: &ClusterSnapshot) -> BTreeMap<Text, KeyKind> {
    let mut kinds: BTreeMap<Text, KeyKind> = BTreeMap::new();
    let types = &snapshot.instance_types;
    for list in std::iter::once(&types.default).chain(types.by_node_class.values()) {
        let summary = list.summary();
        for (key, has_several) in &summary.label_keys {
            match kinds.get_mut(key) {
                Some(KeyKind::InstanceType { has_several_values }) => {
                    *has_several_values |= has_several;
                }
                Some(_) => {}
                None => {
                    let kind = KeyKind::InstanceType { has_several_values: *has_several };
                    kinds.insert(key.clone(), kind);
                }
            }
        }
    }
    for key in label::OF_RESERVATION {
        kinds.insert(key.into(), KeyKind::Reservation);
    }
    kinds.insert(label::ZONE.into(), KeyKind::Zone);
    kinds.insert(label::CAPACITY_TYPE.into(), KeyKind::CapacityType);
    kinds.insert(label::HOSTNAME.into(), KeyKind::Hostname);
    kinds.insert(INTERRUPTION_FIELD.into(), KeyKind::Interruption);
    if types.region.is_some() {
        kinds.insert(label::REGION.into(), KeyKind::Region);
    }
    if !types.zone_ids.is_empty() {
        kinds.insert(label::ZONE_ID.into(), KeyKind::ZoneId);
    }
    kinds
}

fn zones(snapshot: &ClusterSnapshot) -> IndexVec<ZoneIx, Text> {
    let types = &snapshot.instance_types;
    let lists = std::iter::once(&types.default).chain(types.by_node_class.values());
    let zones: BTreeSet<&Text> = lists.flat_map(|list| &list.summary().zones).collect();
    let mut zones: Vec<Text> = zones.into_iter().cloned().collect();
    // Masks hold 64 zones; no region has a quarter of that.
    zones.truncate(ZoneSet::MAX_LEN);
    zones.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Idx;
    use crate::testing::{cluster, pod};

    #[test]
    fn pods_compare_by_key_in_whatever_order_they_are_listed() {
        for listed in [["a", "b", "c"], ["c", "a", "b"]] {
            let world = listed.iter().fold(cluster(), |world, name| world.pod(pod(name)));
            let model = Model::new(&world.0, &[]);
            let mut pods: Vec<PodIx> = (0..listed.len()).map(PodIx::new).collect();
            pods.sort_by_key(|pod| model.key_rank(*pod));
            let names = pods.iter().map(|pod| &*model.pod(*pod).key.name);
            assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
        }
    }
}
