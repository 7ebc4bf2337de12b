//! Where kube-scheduler would put pods, whatever a plan would like: each on the node with the most
//! room, or the one that its configuration prefers, one after the other as they come.
//!
//! Source: kube-scheduler's default profile, `NodeResourcesFit` with `LeastAllocated` and
//! `NodeResourcesBalancedAllocation`, over CPU and memory; preferences weigh more than both. Where
//! the cluster says so, `NodeResourcesFit` has another scoring strategy.

use std::sync::Arc;

use domain::Text;
use domain::label;
use domain::pod::PodSpec;
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, Resources};
use domain::scheduler::scoring::{ResourceUse, ScoringType};

use super::counted::ways_to_be_counted;
use super::existing::is_avoided;
use super::placer::Placer;
use crate::feasibility::host::HostCounts;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::{PodsOn, TopologyDomain, room_for};
use crate::ids::{GroupIx, IndexVec, NodeIx, PodIx, PoolIx, ShapeIx, TypeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;
use crate::model::pool::{Pool, TypeOffering};
use crate::work::NewNode;

/// The first resources of every array: CPU and memory.
const SCORED: usize = 2;

/// kube-scheduler gives preferences twice the weight of room.
const PREFERENCE_WEIGHT: i64 = 2;

/// What a `PreferNoSchedule` taint costs a node, with kube-scheduler's threefold weight.
const AVOIDED: i64 = 300;

/// A node that is about to be launched, empty.
#[derive(Clone)]
pub(crate) struct UpcomingNode {
    pool: PoolIx,
    type_index: TypeIx,
    offering: TypeOffering,
    free: Vec<i64>,
    hosts: HostCounts,
    /// CPU and memory that pods may use.
    all: [i64; SCORED],
    /// Everything that pods may use.
    allocatable: Resources,
}

impl UpcomingNode {
    /// The node of a packing as its cheapest offering, without its pods.
    pub(crate) fn of(pools: &IndexVec<PoolIx, Pool>, packed: &NewNode) -> Option<Self> {
        let own = &pools[packed.pool].types[packed.type_index];
        let offering = own.cheapest_in(packed.compatible.zones, packed.compatible.purchases)?;
        Some(Self {
            pool: packed.pool,
            type_index: packed.type_index,
            offering,
            free: own.room.clone(),
            hosts: HostCounts::default(),
            all: scored(&own.instance_type.allocatable),
            allocatable: own.instance_type.allocatable.clone(),
        })
    }
}

/// What became of pods that kube-scheduler put where it likes.
#[derive(Default)]
pub(crate) struct Scored {
    /// Pods on new nodes.
    pub(crate) on_new: Vec<PodIx>,
    /// Pods without a place.
    pub(crate) left: Vec<PodIx>,
}

/// Where a pod could go.
#[derive(Clone, Copy)]
enum Host {
    Existing(NodeIx),
    New(usize),
}

impl Placer<'_, '_> {
    /// Whether the pods all fit in whatever order they come and wherever each goes: as many of the
    /// largest of them in every resource would.
    pub(crate) fn fit_anyhow(&mut self, pods: &[PodIx], new: &[UpcomingNode]) -> bool {
        let mut shapes: Vec<ShapeIx> =
            pods.iter().filter_map(|pod| self.model.shapes.of_pod[*pod]).collect();
        shapes.sort_unstable();
        shapes.dedup();
        if !shapes.iter().all(|shape| self.only_room_counts(*shape)) {
            return false;
        }
        let mut largest = vec![0; self.model.resources.len()];
        for shape in &shapes {
            for (most, amount) in largest.iter_mut().zip(&self.model.shape(*shape).requests) {
                *most = (*most).max(*amount);
            }
        }
        let mut admitting = IndexVec::filled(0_usize, self.model.nodes.len());
        for shape in &shapes {
            for node in self.allowed_nodes(*shape).iter() {
                admitting[*node] += 1;
            }
        }
        let admits_all =
            |node: &NodeIx| admitting[*node] == shapes.len() && !self.state.closed[*node];
        let room = admitting
            .indices()
            .filter(admits_all)
            .map(|node| self.state.room_for(self.model, node, &largest) as usize)
            .sum::<usize>();
        if room >= pods.len() {
            return true;
        }
        let on_new: usize = new
            .iter()
            .filter(|node| shapes.iter().all(|shape| self.takes(*shape, node)))
            .map(|node| room_for(&node.free, &largest) as usize)
            .sum();
        room + on_new >= pods.len()
    }

    /// CPU and memory that pods may use, by node.
    fn scored_of_nodes(&mut self) -> Arc<IndexVec<NodeIx, [i64; SCORED]>> {
        let nodes = &self.model.nodes;
        let known = self.scored.get_or_insert_with(|| {
            let of =
                |node: &NodeView| node.node.map_or([0; SCORED], |own| scored(&own.allocatable));
            Arc::new(nodes.iter().map(of).collect())
        });
        known.clone()
    }

    /// Puts pods where kube-scheduler would, in the order given.
    pub(crate) fn place_by_score(&mut self, pods: &[PodIx], new: &mut [UpcomingNode]) -> Scored {
        let mut scored = Scored::default();
        for pod in pods {
            let Some(shape) = self.model.shapes.of_pod[*pod] else { continue };
            match self.best_by_score(shape, new) {
                Some(Host::Existing(node)) => {
                    self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
                }
                Some(Host::New(index)) => {
                    self.place_on_new(shape, &mut new[index]);
                    scored.on_new.push(*pod);
                }
                None => scored.left.push(*pod),
            }
        }
        scored
    }

    /// Puts one pod where kube-scheduler would; returns whether there is such a node.
    pub(crate) fn place_where_scheduled(&mut self, shape: ShapeIx) -> bool {
        let Some(Host::Existing(node)) = self.best_by_score(shape, &[]) else { return false };
        self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
        true
    }

    fn best_by_score(&mut self, shape: ShapeIx, new: &[UpcomingNode]) -> Option<Host> {
        let own = self.model.shape(shape);
        let has_preferences = !own.preferences.is_empty()
            || self.topology.constraints[shape].owned.iter().any(|owned| owned.weight > 0);
        let constraints = self.node_constraints(shape);
        let all = self.scored_of_nodes();
        let strategy = Strategy::of(self.model, own.spec);
        let strategy = strategy.as_ref();
        let mut best: Option<(i64, Host)> = None;
        for node in self.roomy_nodes(shape).iter().copied() {
            if self.check_capacity(shape, node).is_err() {
                continue;
            }
            let penalty =
                if has_preferences { self.penalty_on(shape, &constraints, node) } else { 0 };
            let avoided = if is_avoided(own, &self.model.nodes[node]) { AVOIDED } else { 0 };
            let free = self.state.free(self.model, node);
            let score = match strategy {
                None => score(free, &own.requests, all[node]),
                Some(strategy) => {
                    let known = self.model.nodes[node].node.map(|own| &own.allocatable);
                    known.map_or(0, |known| strategy.score(free, &own.requests, known))
                }
            };
            let score = score - PREFERENCE_WEIGHT * penalty - avoided;
            if best.is_none_or(|(most, _)| score > most) && self.keeps_required(&constraints, node)
            {
                best = Some((score, Host::Existing(node)));
            }
        }
        for (index, node) in new.iter().enumerate() {
            if room_for(&node.free, &own.requests) == 0 {
                continue;
            }
            let score = match strategy {
                None => score(&node.free, &own.requests, node.all),
                Some(strategy) => strategy.score(&node.free, &own.requests, &node.allocatable),
            };
            if best.is_none_or(|(most, _)| score > most) && self.takes(shape, node) {
                best = Some((score, Host::New(index)));
            }
        }
        best.map(|(_, host)| host)
    }

    /// Whether a new node may host one more pod of the shape.
    fn takes(&mut self, shape: ShapeIx, node: &UpcomingNode) -> bool {
        if node.hosts.room_for(self.model, self.topology, shape, &|_| true) == 0 {
            return false;
        }
        let ways = self.model.shape(shape).alternatives.clone();
        let is_compatible = ways.into_iter().any(|way| {
            let fit = self.fit(shape, way);
            fit.pools.iter().filter(|own| own.pool == node.pool).any(|own| {
                own.compatible.types.contains(node.type_index)
                    && own.compatible.zones.contains(node.offering.zone)
                    && own.compatible.purchases.contains(node.offering.purchase)
            })
        });
        if !is_compatible {
            return false;
        }
        let constraints = self.constraints_of(shape);
        self.domains_of(shape, node).iter().all(|(key, domain)| {
            let score = |domain| self.domain_score(&constraints, key, domain);
            domain.as_ref().and_then(score).is_some()
        })
    }

    /// Keys that tie the shape to where others are, and what the node has of each.
    fn domains_of(&self, shape: ShapeIx, node: &UpcomingNode) -> Vec<(Text, Option<Text>)> {
        let pool = &self.model.pools[node.pool];
        let value = |key: &Text| match &**key {
            label::ZONE => Some(pool.zone(node.offering.zone).clone()),
            label::CAPACITY_TYPE => {
                let purchase = &pool.purchases[node.offering.purchase];
                Some(purchase.capacity_type.as_str().into())
            }
            _ => pool.fixed_label(key).cloned(),
        };
        let keys = self.topology.keys_of(shape).into_iter();
        keys.map(|key| {
            let value = value(&key);
            (key, value)
        })
        .collect()
    }

    /// Whether a spread counts the node.
    fn counts_upcoming(&self, group: GroupIx, node: &UpcomingNode) -> bool {
        let Scope { model, topology, memo } = self.scope();
        let (own, pool) = (&topology.groups[group], &model.pools[node.pool]);
        let admits = |way: ConjunctionId| {
            memo.compatible(model, pool, way).is_ok_and(|own| {
                own.types.contains(node.type_index)
                    && own.zones.contains(node.offering.zone)
                    && own.purchases.contains(node.offering.purchase)
            })
        };
        own.counts_nodes_with(&pool.node_pool.template.taints)
            && ways_to_be_counted(self.scope(), group).into_iter().any(admits)
    }

    fn place_on_new(&mut self, shape: ShapeIx, node: &mut UpcomingNode) {
        let topology = self.topology;
        let selected_by = topology.constraints[shape].selected_by.iter().copied();
        let counted: Vec<GroupIx> =
            selected_by.filter(|group| self.counts_upcoming(*group, node)).collect();
        for (key, domain) in self.domains_of(shape, node) {
            if let Some(domain) = domain {
                let domain = TopologyDomain { key: &key, value: &domain };
                let is_counted = |group: GroupIx| counted.contains(&group);
                self.state.count_new(topology, shape, domain, &is_counted);
            }
        }
        node.hosts.add(self.model, self.topology, shape, 1);
        for (free, amount) in node.free.iter_mut().zip(&self.model.shape(shape).requests) {
            *free -= amount;
        }
        self.state.exclusive.extend(self.model.shape(shape).volumes.exclusive.iter().cloned());
    }
}

/// A scoring strategy other than kube-scheduler's default, made ready for one shape.
struct Strategy<'a> {
    kind: &'a ScoringType,
    resources: Vec<Counted<'a>>,
}

/// A resource that a strategy counts.
struct Counted<'a> {
    name: &'a str,
    /// Its place among amounts.
    index: usize,
    weight: i64,
}

impl<'a> Strategy<'a> {
    /// `None` where pods are scheduled by kube-scheduler's default.
    fn of(model: &Model<'a>, spec: &PodSpec) -> Option<Self> {
        let scoring = model.snapshot.objects.scheduler.scoring_of(spec)?;
        let counted = |name: &'a str, weight| {
            // kube-scheduler counts devices for pods that request them.
            let is_native = [CPU, MEMORY, EPHEMERAL_STORAGE].contains(&name);
            let is_counted = is_native || spec.requests.get(name) > 0;
            let index = model.resources.index(name).filter(|_| is_counted)?;
            Some(Counted { name, index, weight })
        };
        let resources = scoring.resources.iter().filter_map(|own| counted(&own.name, own.weight));
        Some(Self { kind: &scoring.kind, resources: resources.collect() })
    }

    /// What [`score`] is for the default: the sum of both plugins, less 100.
    fn score(&self, free: &[i64], requests: &[i64], allocatable: &Resources) -> i64 {
        let uses = self.resources.iter().map(|own| {
            let allocatable = allocatable.get(own.name);
            let requested = allocatable - free[own.index] + requests[own.index];
            ResourceUse { requested, allocatable, weight: own.weight }
        });
        let [cpu, memory] = shares_left(free, requests, scored(allocatable));
        self.kind.score(uses) - (cpu - memory).abs() / 2
    }
}

fn scored(resources: &Resources) -> [i64; SCORED] {
    [resources.get(CPU), resources.get(MEMORY)]
}

/// The share of CPU or of memory that is left, whichever is less, in percent.
///
/// That is what both plugins come to together, less 100: the mean of the two shares, and 100 less
/// half of their difference.
fn score(free: &[i64], requests: &[i64], all: [i64; SCORED]) -> i64 {
    let [cpu, memory] = shares_left(free, requests, all);
    cpu.min(memory)
}

/// The shares of CPU and of memory that are left, in percent.
fn shares_left(free: &[i64], requests: &[i64], all: [i64; SCORED]) -> [i64; SCORED] {
    let share = |index: usize| {
        let left = (free[index] - requests[index]).max(0);
        if all[index] > 0 { (left * 100 / all[index]).min(100) } else { 0 }
    };
    [share(0), share(1)]
}
