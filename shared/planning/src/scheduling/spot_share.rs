//! At most a share of a workload's replicas on one spot offering, where a NodePool or the pods ask
//! for it.
//!
//! Nodes are packed as if nobody asked. Then one that holds more of a workload than its share
//! becomes several, and each is launched from one offering that has room in the share: the cheapest
//! of those that cost at most half more. Where none has, the one that exceeds its share least is
//! taken: no pod waits for this.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::pod::{OwnerKind, Pod};
use domain::spot::SpotOfferingShare;

use crate::feasibility::fit::fit;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx, TypeIx, TypeSet, ZoneIx, ZoneSet};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::model::pool::{Compatible, Pool};
use crate::work::{Member, NewNode};

/// An offering may cost at most this many percent of the cheapest that hosts the pods.
const PRICE_PERCENT_MAX: i128 = 150;

/// How many numbers of pods a node are tried where one has to become several.
const SIZES_MAX: usize = 24;

/// Pods of one owner: its namespace, kind and name.
type Workload<'m> = (&'m Text, OwnerKind, &'m Text);

/// An instance type and a zone.
type SpotOffering = (Text, Text);

/// How many replicas workloads have, and on which spot offerings.
#[derive(Clone)]
pub(crate) struct SpotShares<'m> {
    replicas: BTreeMap<Workload<'m>, u32>,
    on: BTreeMap<(Workload<'m>, SpotOffering), u32>,
    /// The most of each workload that may be on one offering.
    most: BTreeMap<Workload<'m>, u32>,
}

/// A workload of which more than its share comes to be on a spot offering.
pub(crate) struct Exceeded {
    /// `NAMESPACE/NAME` of its owner.
    pub(crate) workload: Text,
    /// The instance type.
    pub(crate) instance_type: Text,
    /// The zone.
    pub(crate) zone: Text,
}

fn workload_of(pod: &Pod) -> Option<Workload<'_>> {
    let owner = pod.owner.as_ref().filter(|_| pod.is_active() && pod.virtual_of.is_none())?;
    Some((&pod.key.namespace, owner.kind, &owner.name))
}

/// The spot offering that a node was launched from. A Node that has joined and is not registered
/// yet has few labels of its own.
fn spot_offering_of(view: &NodeView) -> Option<SpotOffering> {
    let label = |key: &str| {
        let of_claim = || view.claim?.labels.get(key);
        view.labels.get(key).or_else(of_claim)
    };
    let is_spot = &**label(label::CAPACITY_TYPE)? == CapacityType::Spot.as_str();
    let (instance_type, zone) = (label(label::INSTANCE_TYPE)?, label(label::ZONE)?);
    is_spot.then(|| (instance_type.clone(), zone.clone()))
}

/// The share that counts for a pod on nodes of a NodePool: its own, else the NodePool's.
fn share_in(pod: &Pod, node_pool: Option<&NodePool>) -> Option<SpotOfferingShare> {
    let of_pool = || SpotOfferingShare::of(&node_pool?.annotations);
    pod.spec.spot_offering_share.or_else(of_pool)
}

/// Whether some pod or NodePool asks for a share.
fn is_asked_for(model: &Model) -> bool {
    let of_pool = |pool: &Pool| SpotOfferingShare::of(&pool.node_pool.annotations).is_some();
    model.pools.iter().any(of_pool)
        || model.shapes.list.iter().any(|shape| shape.spec.spot_offering_share.is_some())
}

impl<'m> SpotShares<'m> {
    /// Of the pods that are there, once others have been `placed`; `None` where nobody asks for a
    /// share.
    pub(crate) fn of(model: &Model<'m>, placed: &[(PodIx, NodeIx)]) -> Option<Self> {
        if !is_asked_for(model) {
            return None;
        }
        let mut shares =
            Self { replicas: BTreeMap::new(), on: BTreeMap::new(), most: BTreeMap::new() };
        for pod in &model.snapshot.objects.pods {
            if let Some(workload) = workload_of(pod) {
                *shares.replicas.entry(workload).or_default() += 1;
            }
        }
        for (index, node) in model.nodes.iter_enumerated().filter(|(_, own)| !own.is_leaving()) {
            for pod in &node.bound {
                shares.add_on_node(model, index, *pod);
            }
        }
        shares.place(model, placed);
        Some(shares)
    }

    /// Counts pods on nodes that are there.
    pub(crate) fn place(&mut self, model: &Model<'m>, placed: &[(PodIx, NodeIx)]) {
        for (pod, node) in placed {
            self.add_on_node(model, *node, *pod);
        }
    }

    /// Counts the pods of nodes that go out.
    pub(crate) fn leave(&mut self, model: &Model<'m>, nodes: &[NodeIx]) {
        for node in nodes {
            let view = &model.nodes[*node];
            let Some(offering) = spot_offering_of(view).filter(|_| !view.is_leaving()) else {
                continue;
            };
            for workload in view.bound.iter().filter_map(|pod| workload_of(model.pod(*pod))) {
                if let Some(count) = self.on.get_mut(&(workload, offering.clone())) {
                    *count = count.saturating_sub(1);
                }
            }
        }
    }

    fn add_on_node(&mut self, model: &Model<'m>, node: NodeIx, pod: PodIx) {
        let view = &model.nodes[node];
        let pod = model.pod(pod);
        let share = share_in(pod, view.node_pool);
        let (Some(workload), Some(share)) = (workload_of(pod), share) else { return };
        self.ask(workload, share);
        if let Some(offering) = spot_offering_of(view) {
            *self.on.entry((workload, offering)).or_default() += 1;
        }
    }

    /// The least share that somebody asks for counts.
    fn ask(&mut self, workload: Workload<'m>, share: SpotOfferingShare) {
        let replicas = self.replicas.get(&workload).copied().unwrap_or_default();
        let most = share.most_of(replicas);
        self.most.entry(workload).and_modify(|own| *own = most.min(*own)).or_insert(most);
    }

    /// Workloads with a share among a node's pods, each with how many of them.
    fn asking(&mut self, model: &Model<'m>, node: &NewNode) -> Vec<(Workload<'m>, u32)> {
        let node_pool = model.pools[node.pool].node_pool;
        let mut counts: BTreeMap<Workload, u32> = BTreeMap::new();
        for pod in node.members.iter().flat_map(|member| &member.pods) {
            let pod = model.pod(*pod);
            if let Some((workload, share)) = workload_of(pod).zip(share_in(pod, Some(node_pool))) {
                self.ask(workload, share);
                *counts.entry(workload).or_default() += 1;
            }
        }
        counts.into_iter().collect()
    }

    /// How many replicas beyond their shares would be on an offering with these.
    fn excess(&self, asking: &[(Workload<'m>, u32)], offering: &SpotOffering) -> u32 {
        let beyond = |(workload, count): &(Workload<'m>, u32)| {
            let there = self.on.get(&(*workload, offering.clone())).copied().unwrap_or_default();
            let most = self.most.get(workload).copied().unwrap_or(u32::MAX);
            (there + count).saturating_sub(most)
        };
        asking.iter().map(beyond).sum()
    }

    /// Launches the nodes from offerings that have room in the shares of their pods' workloads; a
    /// node that holds more than a share becomes several, as far as limits allow.
    pub(crate) fn settle(
        &mut self,
        scope: Scope<'_, 'm>,
        limits: &mut Limits,
        nodes: Vec<NewNode>,
    ) -> Vec<NewNode> {
        let mut settled = Vec::with_capacity(nodes.len());
        for node in nodes {
            let parts = self.split(scope, limits, &node).unwrap_or_else(|| vec![node]);
            settled.extend(parts);
        }
        for node in &mut settled {
            self.pin(scope, limits, node);
        }
        settled
    }

    /// Launches each of the nodes from one offering, and none of them as several.
    pub(crate) fn pin_all(
        &mut self,
        scope: Scope<'_, 'm>,
        limits: &mut Limits,
        nodes: &mut [NewNode],
    ) {
        for node in nodes {
            self.pin(scope, limits, node);
        }
    }

    /// The first workload of which more than its share is on an offering, and more than `before`.
    pub(crate) fn exceeded_beyond(&self, before: &Self) -> Option<Exceeded> {
        let is_beyond = |((workload, offering), count): &(&(Workload, SpotOffering), &u32)| {
            let there = before.on.get(&(*workload, offering.clone())).copied().unwrap_or_default();
            self.most.get(workload).is_some_and(|most| *count > most) && **count > there
        };
        self.on.iter().find(is_beyond).map(|(((namespace, _, name), offering), _)| Exceeded {
            workload: format!("{namespace}/{name}").into(),
            instance_type: offering.0.clone(),
            zone: offering.1.clone(),
        })
    }

    /// The node as several of which none holds more of a workload than its share: of a few numbers
    /// of nodes the one that costs least. `None` where it does not need to be, is not on spot, or
    /// cannot be: limits, price, or pods that must be together.
    fn split(
        &mut self,
        scope: Scope<'_, 'm>,
        limits: &mut Limits,
        node: &NewNode,
    ) -> Option<Vec<NewNode>> {
        let Scope { model, memo, .. } = scope;
        if !is_flexible_spot(scope, node) {
            return None;
        }
        let asking = self.asking(model, node);
        let parts = asking.iter().map(|(workload, count)| {
            let most = self.most.get(workload).copied().unwrap_or(u32::MAX);
            count.div_ceil(most.max(1))
        });
        let fewest = parts.max().filter(|parts| *parts > 1)?;
        let pods = node.members.iter().map(|member| member.pods.len()).sum::<usize>();
        // From the most pods a node to one.
        let sizes = (1..=pods.div_ceil(fewest as usize)).rev().take(SIZES_MAX);
        let mut numbers: Vec<usize> = sizes.map(|size| pods.div_ceil(size)).collect();
        numbers.dedup();
        let numbers = numbers.into_iter();
        let found = numbers.filter_map(|parts| parted(scope, limits, node, parts));
        let price = |nodes: &[NewNode]| -> UsdPerHour {
            nodes.iter().filter_map(|own| own.price(model, memo)).sum()
        };
        let priced = found.map(|(nodes, left)| (price(&nodes), nodes, left));
        let (all, nodes, left) = priced.min_by_key(|(price, nodes, _)| (*price, nodes.len()))?;
        let most = i128::from(node.price(model, memo)?.nanos()) * PRICE_PERCENT_MAX;
        if i128::from(all.nanos()) * 100 > most {
            return None;
        }
        *limits = left;
        Some(nodes)
    }

    /// Launches the node from one offering, if its pods' workloads have shares and it is bought on
    /// spot, and counts them there.
    fn pin(&mut self, scope: Scope<'_, 'm>, limits: &mut Limits, node: &mut NewNode) {
        let asking = self.asking(scope.model, node);
        if asking.is_empty() || !is_flexible_spot(scope, node) {
            return;
        }
        let Some((type_index, zone)) = self.offering_for(scope, limits, node, &asking) else {
            return;
        };
        let pool = &scope.model.pools[node.pool];
        let of = |index: TypeIx| &pool.types[index].capacity;
        if type_index != node.type_index {
            limits.give_back(node.pool, of(node.type_index));
            limits.take(node.pool, of(type_index));
        }
        let mut types = TypeSet::empty(pool.types.len());
        types.insert(type_index);
        node.type_index = type_index;
        node.compatible.types = types;
        node.compatible.zones = ZoneSet::one(zone);
        node.compatible.purchases &= pool.bought_as(CapacityType::Spot);
        let name = &pool.types[type_index].instance_type.name;
        let offering = (name.clone(), pool.zone(zone).clone());
        for (workload, count) in asking {
            *self.on.entry((workload, offering.clone())).or_default() += count;
        }
    }

    /// The spot offering that exceeds shares least; of those the cheapest, then by name.
    fn offering_for(
        &self,
        scope: Scope<'_, 'm>,
        limits: &Limits,
        node: &NewNode,
        asking: &[(Workload<'m>, u32)],
    ) -> Option<(TypeIx, ZoneIx)> {
        let pool = &scope.model.pools[node.pool];
        let Compatible { zones, purchases, .. } = node.compatible;
        let spot = purchases & pool.bought_as(CapacityType::Spot);
        let types = pool.with_room(&node.compatible.types, &node.requests);
        let own = &pool.types[node.type_index].capacity;
        let offered = types
            .iter()
            .filter(|index| limits.allow_instead(node.pool, &pool.types[*index].capacity, own));
        let all: Vec<(UsdPerHour, TypeIx, ZoneIx)> = offered
            .flat_map(|index| {
                let offerings = pool.types[index].launchable_in(zones, spot);
                offerings.map(move |own| (own.price, index, own.zone))
            })
            .collect();
        let least = all.iter().map(|(price, ..)| i128::from(price.nanos())).min()?;
        let near = all
            .into_iter()
            .filter(|(price, ..)| i128::from(price.nanos()) * 100 <= least * PRICE_PERCENT_MAX);
        let rank = |(price, index, zone): &(UsdPerHour, TypeIx, ZoneIx)| {
            let name = &pool.types[*index].instance_type.name;
            let offering = (name.clone(), pool.zone(*zone).clone());
            (self.excess(asking, &offering), *price, offering)
        };
        near.min_by_key(rank).map(|(_, index, zone)| (index, zone))
    }
}

/// A node's pods on so many nodes instead, and what that leaves of the limits.
fn parted(
    scope: Scope,
    limits: &Limits,
    node: &NewNode,
    parts: usize,
) -> Option<(Vec<NewNode>, Limits)> {
    let model = scope.model;
    let mut members: Vec<Vec<Member>> = vec![Vec::new(); parts];
    let mut next = 0;
    for member in &node.members {
        let shape = member.pods.first().and_then(|pod| model.shapes.of_pod[*pod])?;
        if !may_be_parted(scope, shape) {
            return None;
        }
        for pod in &member.pods {
            let own = &mut members[next % parts];
            match own.last_mut().filter(|own| own.conjunction == member.conjunction) {
                Some(known) => known.pods.push(*pod),
                None => own.push(Member { conjunction: member.conjunction, pods: vec![*pod] }),
            }
            next += 1;
        }
    }
    let mut left = limits.clone();
    left.give_back(node.pool, &model.pools[node.pool].types[node.type_index].capacity);
    let members = members.into_iter().filter(|members| !members.is_empty());
    let made: Option<Vec<NewNode>> =
        members.map(|members| part(scope, &mut left, node, members)).collect();
    Some((made?, left))
}

/// A node for some of the pods of another, of the cheapest type that limits allow.
pub(super) fn part(
    Scope { model, memo, .. }: Scope,
    limits: &mut Limits,
    of: &NewNode,
    members: Vec<Member>,
) -> Option<NewNode> {
    let pool = &model.pools[of.pool];
    let mut joint: Option<Compatible> = None;
    let mut requests = vec![0; model.resources.len()];
    for member in &members {
        let shape = member.pods.first().and_then(|pod| model.shapes.of_pod[*pod])?;
        let own = fit(model, memo, model.shape(shape), member.conjunction);
        let own = own.pools.iter().find(|own| own.pool == of.pool)?;
        joint = Some(match joint {
            None => (*own.compatible).clone(),
            Some(known) => pool.both(&known, &own.compatible, memo)?,
        });
        let count = i64::try_from(member.pods.len()).unwrap_or(i64::MAX);
        for (sum, amount) in requests.iter_mut().zip(&model.shape(shape).requests) {
            *sum += amount * count;
        }
    }
    let mut compatible = joint?;
    compatible.zones &= of.compatible.zones;
    compatible.purchases &= of.compatible.purchases;
    let viable = memo.viable(pool, compatible.zones, compatible.purchases);
    compatible.types.intersect_with(&viable);
    compatible.types = pool.with_room(&compatible.types, &requests);
    limits.keep_allowed(of.pool, pool, &mut compatible.types);
    let cheapest = memo.cheapest(pool, compatible.zones, compatible.purchases);
    let type_index = cheapest.iter().find(|own| compatible.types.contains(own.index))?.index;
    limits.take(of.pool, &pool.types[type_index].capacity);
    Some(NewNode { pool: of.pool, compatible, type_index, requests, members, types_wanted: None })
}

/// Whether the node is bought on spot, and no `minValues` wants its types.
fn is_flexible_spot(scope: Scope, node: &NewNode) -> bool {
    let Scope { model, memo, .. } = scope;
    let pool = &model.pools[node.pool];
    let types = pool.with_room(&node.compatible.types, &node.requests);
    let compatible = Compatible { types, ..node.compatible.clone() };
    let spot = compatible.purchases & pool.bought_as(CapacityType::Spot);
    let reserved = compatible.purchases & pool.bought_as(CapacityType::Reserved);
    let sold =
        |purchases| !compatible.types.is_disjoint(&memo.viable(pool, compatible.zones, purchases));
    pool.min_values.is_empty()
        && sold(spot)
        && !sold(reserved)
        && !pool.is_dearer_on_spot(memo, &compatible)
}

/// Whether pods of a shape may go to several nodes as well: nothing wants them on one host.
pub(super) fn may_be_parted(scope: Scope, shape: ShapeIx) -> bool {
    let Scope { topology, .. } = scope;
    let constraints = &topology.constraints[shape];
    let is_joined = |group: GroupIx| {
        let group = &topology.groups[group];
        group.is_by_host() && group.rule == Rule::Affinity
    };
    !constraints.owned.iter().any(|owned| is_joined(owned.group))
        && !constraints.selected_by.iter().any(|group| is_joined(*group))
}
