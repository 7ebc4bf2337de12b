//! Nodes as planning sees them: a Node with its NodeClaim, or a NodeClaim whose Node is not there
//! yet.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::expiration::Expiration;
use domain::fargate::is_fargate;
use domain::instance_type::{CapacityType, InstanceType};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::node_offering::{capacity_type_of, fargate_price, offering_of};
use domain::node_pool::NodePool;
use domain::off_hours::OffPeriod;
use domain::pod::{Pod, PodKey, PodSpec};
use domain::resource::Resources;
use domain::rollout::pods_rolling;
use domain::snapshot::ClusterSnapshot;
use domain::spot::PodInterruption;
use domain::taint::{CANDIDATE, Taint};
use domain::{Text, Timestamp};
use rustc_hash::FxHashMap;

use super::daemon::Daemons;
use super::interruption::counts;
use super::overlay::AppliedOverlays;
use super::resources::ResourceNames;
use super::weight::Weights;
use crate::ids::{Idx, IndexVec, NodeIx, PodIx};

/// A node, or a claim in flight.
pub(crate) struct NodeView<'a> {
    /// The Node's name; the NodeClaim's where there is no Node.
    pub(crate) name: &'a Text,
    /// The Node.
    pub(crate) node: Option<&'a Node>,
    /// The NodeClaim.
    pub(crate) claim: Option<&'a NodeClaim>,
    /// Its NodePool, by the label.
    pub(crate) node_pool: Option<&'a NodePool>,
    /// The off hours that its NodePool is in: it goes whatever budgets say, and takes no more pods.
    pub(crate) off: Option<OffPeriod>,
    /// Labels; for a claim in flight those that are settled.
    pub(crate) labels: Cow<'a, Labels>,
    /// Taints that pods must tolerate: while it starts, those that will pass are left out.
    pub(crate) taints: Cow<'a, [Taint]>,
    /// What is free once bound pods and DaemonSets still to come have taken theirs, by resource
    /// index; may be negative.
    pub(crate) free: Vec<i64>,
    /// What it has, as limits count it.
    pub(crate) capacity: Resources,
    /// Belongs to Karpenter or Outrigger.
    pub(crate) is_managed: bool,
    /// Ready for pods, by label or condition.
    pub(crate) is_initialized: bool,
    /// The Node or its claim is being deleted.
    pub(crate) is_deleting: bool,
    /// Pods bound to it that take room, as indices into the snapshot's pods.
    pub(crate) bound: Vec<PodIx>,
    /// Its instance type, where the catalogue knows it.
    pub(crate) instance_type: Option<&'a InstanceType>,
    price: Option<UsdPerHour>,
    cost: Option<UsdPerHour>,
    list_price: Option<UsdPerHour>,
}

impl NodeView<'_> {
    /// Marked as one of the next to go.
    pub(crate) fn is_candidate(&self) -> bool {
        self.taints.iter().any(|taint| &*taint.key == CANDIDATE)
    }

    /// Going away: being deleted, or tainted for it. Its pods need another place, and no pod goes
    /// there.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_deleting || self.node.is_some_and(Node::is_disrupted)
    }

    /// Whether a pod on it is expendable by its NodePool: it needs no place when the node goes.
    pub(crate) fn has_expendable(&self, pod: &Pod) -> bool {
        self.node_pool.is_some_and(|pool| pool.options.is_expendable(pod.spec.priority))
    }

    /// Its pods that a rollout ends and replaces; only a node that is leaving has any.
    pub(crate) fn rolling(&self) -> BTreeSet<PodKey> {
        let claim = self.claim.filter(|_| self.is_leaving());
        let annotation = claim.and_then(|claim| claim.annotations.get(label::PODS_ROLLING));
        annotation.map(|own| pods_rolling(own).collect()).unwrap_or_default()
    }

    /// Whether it has expired, so that it goes whatever holds it. A claim in flight is given up by
    /// its time-outs, not replaced.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        let Some(claim) = self.claim.filter(|_| self.node.is_some()) else { return false };
        self.expiration().forced(claim).is_some_and(|forced| now >= forced)
    }

    /// Whether it is past its age limit, and its pool's nodes expire gracefully.
    pub(crate) fn is_past_expiry(&self, now: Timestamp) -> bool {
        let Some(claim) = self.claim.filter(|_| self.node.is_some()) else { return false };
        let expiration = self.expiration();
        expiration.is_graceful && expiration.due(claim).is_some_and(|due| now >= due)
    }

    /// How it expires. A node whose pool is gone expires as without annotations.
    pub(crate) fn expiration(&self) -> Expiration {
        self.node_pool.map(|pool| pool.options.expiration).unwrap_or_default()
    }

    /// How it was bought, by its labels.
    pub(crate) fn capacity_type(&self) -> Option<CapacityType> {
        capacity_type_of(&self.labels)
    }

    /// What it is weighed at against others: what it costs, and what its interruptions cost where
    /// its NodePool says that; `None` where the catalogue does not say.
    /// Where commitments cover it, what removing it alone would save.
    pub(crate) fn price(&self) -> Option<UsdPerHour> {
        self.price
    }

    /// Weighs it at what removing it would save, where that is not its price.
    pub(super) fn reprice(&mut self, saved: UsdPerHour) {
        self.price = Some(saved);
    }

    /// What it costs, overlays applied; `None` where the catalogue does not say.
    pub(crate) fn cost(&self) -> Option<UsdPerHour> {
        self.cost
    }

    /// What it costs by the catalogue, whatever overlays say.
    pub(crate) fn list_price(&self) -> Option<UsdPerHour> {
        self.list_price
    }
}

/// What an instance with these labels costs by the catalogue.
fn price_of(labels: &Labels, instance_type: Option<&InstanceType>) -> Option<UsdPerHour> {
    offering_of(labels, instance_type?).map(|offering| offering.price)
}

/// The nodes of a snapshot in the order in which pods try them: initialized ones, then those still
/// starting, then claims without a Node; by name within each.
pub(crate) fn nodes<'a>(
    snapshot: &'a ClusterSnapshot,
    weights: &Weights,
    resources: &ResourceNames,
) -> IndexVec<NodeIx, NodeView<'a>> {
    nodes_with(snapshot, &snapshot.objects.pods, weights, resources)
}

/// The nodes of a snapshot as if they were empty, in the same order: quicker for whoever looks at
/// nodes alone.
pub(crate) fn empty_nodes(snapshot: &ClusterSnapshot) -> IndexVec<NodeIx, NodeView<'_>> {
    nodes_with(snapshot, &[], &Weights::NONE, &ResourceNames::default())
}

fn nodes_with<'a>(
    snapshot: &'a ClusterSnapshot,
    pods: &'a [Pod],
    weights: &Weights,
    resources: &ResourceNames,
) -> IndexVec<NodeIx, NodeView<'a>> {
    let index = Index::of(snapshot, pods, resources);
    let mut views: Vec<NodeView> =
        snapshot.objects.nodes.iter().map(|node| index.node(node, resources)).collect();
    views.extend(index.in_flight.iter().map(|claim| index.claim(claim, resources)));
    for view in &mut views {
        let pods = view.bound.iter().map(|pod| &pods[pod.index()]);
        view.price = weighted(weights, view, snapshot, pods);
    }
    views.sort_by(|a, b| {
        (!a.is_initialized && a.is_managed, a.node.is_none(), a.name).cmp(&(
            !b.is_initialized && b.is_managed,
            b.node.is_none(),
            b.name,
        ))
    });
    views.into()
}

/// What a node with these pods is weighed at.
pub(super) fn weighted<'p>(
    weights: &Weights,
    view: &NodeView,
    snapshot: &ClusterSnapshot,
    pods: impl Iterator<Item = &'p Pod>,
) -> Option<UsdPerHour> {
    let cost = view.cost?;
    let bought = view.labels.get(label::ZONE).zip(view.capacity_type());
    let (Some((zone, capacity_type)), Some(own)) = (bought, view.instance_type) else {
        return Some(cost);
    };
    let pods = pods.filter(|pod| counts(pod)).map(|pod| PodInterruption::of(pod, snapshot.now));
    Some(weights.of_node(view.node_pool, pods, own, ((zone, capacity_type), cost)))
}

struct Index<'a> {
    snapshot: &'a ClusterSnapshot,
    pods: &'a [Pod],
    claim_of_node: FxHashMap<&'a str, &'a NodeClaim>,
    in_flight: Vec<&'a NodeClaim>,
    pools: BTreeMap<&'a str, &'a NodePool>,
    /// NodePools in their off hours, by name.
    off: BTreeMap<&'a str, OffPeriod>,
    bound: FxHashMap<&'a str, Vec<PodIx>>,
    requests: Requests,
    overlays: AppliedOverlays<'a>,
}

/// What pods request, by resource index.
struct Requests {
    /// Of pods of one workload, which stand together, once.
    distinct: Vec<Vec<i64>>,
    /// By pod, an index of these.
    of_pod: Vec<usize>,
}

impl<'a> Index<'a> {
    fn of(snapshot: &'a ClusterSnapshot, pods: &'a [Pod], resources: &ResourceNames) -> Self {
        let by_provider: FxHashMap<&str, &Node> = snapshot
            .objects
            .nodes
            .iter()
            .filter_map(|node| node.provider_id.as_deref().map(|id| (id, node)))
            .collect();
        let by_name: FxHashMap<&str, &Node> =
            snapshot.objects.nodes.iter().map(|node| (&*node.name, node)).collect();
        let mut claim_of_node = FxHashMap::default();
        let mut in_flight = Vec::new();
        for claim in &snapshot.node_claims {
            let status = &claim.status;
            let node = status
                .provider_id
                .as_deref()
                .and_then(|id| by_provider.get(id))
                .or_else(|| status.node_name.as_deref().and_then(|name| by_name.get(name)));
            match node {
                Some(node) => {
                    claim_of_node.insert(&*node.name, claim);
                }
                None => in_flight.push(claim),
            }
        }
        let mut bound: FxHashMap<&str, Vec<PodIx>> = FxHashMap::default();
        for (index, pod) in pods.iter().enumerate() {
            if let Some(node) = pod.node_name.as_deref().filter(|_| !pod.is_terminal()) {
                bound.entry(node).or_default().push(PodIx::new(index));
            }
        }
        let requests = Requests::of(pods, resources);
        let pools = snapshot.objects.node_pools.iter();
        // Asked once a pool: a schedule is looked up for it.
        let off = |pool: &'a NodePool| Some((&*pool.name, pool.options.off_period(snapshot.now)?));
        let off = pools.clone().filter_map(off).collect();
        let pools = pools.map(|pool| (&*pool.name, pool)).collect();
        let overlays = AppliedOverlays::of(snapshot);
        Self { snapshot, pods, claim_of_node, in_flight, pools, off, bound, requests, overlays }
    }

    fn type_of(&self, labels: &Labels, pool: Option<&NodePool>) -> Option<&'a InstanceType> {
        let name = labels.get(label::INSTANCE_TYPE)?;
        let offered = &self.snapshot.instance_types;
        let class = pool.map(|pool| &*pool.template.node_class_ref.name);
        class.and_then(|class| offered.of(class).named(name)).or_else(|| {
            // Nodes of other pools are of types that some class sees; the last that does counts.
            let lists = std::iter::once(&offered.default).chain(offered.by_node_class.values());
            lists.rev().find_map(|list| list.named(name))
        })
    }

    fn fargate_price(&self, node: &Node, bound: &[PodIx]) -> Option<UsdPerHour> {
        let rates = self.snapshot.instance_types.fargate.filter(|_| is_fargate(&node.labels))?;
        let pods = bound.iter().map(|pod| &self.pods[pod.index()]);
        fargate_price(&node.labels, pods, &rates)
    }

    fn node(&self, node: &'a Node, resources: &ResourceNames) -> NodeView<'a> {
        let claim = self.claim_of_node.get(&*node.name).copied();
        let pool_name = node.labels.get(label::NODE_POOL);
        let node_pool = pool_name.and_then(|name| self.pools.get(&**name)).copied();
        let is_managed = claim.is_some() || pool_name.is_some();
        let labelled = node.labels.get(label::INITIALIZED).is_some_and(|value| &**value == "true");
        let starts = is_managed && !labelled;
        let mut allocatable = node.allocatable.clone();
        let known = if node.capacity.is_empty() { &node.allocatable } else { &node.capacity };
        let mut capacity = known.clone();
        let instance_type = self.type_of(&node.labels, node_pool);
        if let Some(claim) = claim.filter(|_| starts) {
            fill(&mut allocatable, &claim.status.allocatable);
            fill(&mut capacity, &claim.status.capacity);
        }
        let taints = if starts {
            passing_left_out(&node.taints, startup_taints(claim, node_pool)).into()
        } else {
            Cow::Borrowed(node.taints.as_slice())
        };
        let bound = self.bound.get(&*node.name).cloned().unwrap_or_default();
        let fargate_price = self.fargate_price(node, &bound);
        let mut view = NodeView {
            name: &node.name,
            node: Some(node),
            claim,
            node_pool,
            off: node_pool.and_then(|pool| self.off.get(&*pool.name)).copied(),
            labels: Cow::Borrowed(&node.labels),
            taints,
            free: resources.array(&allocatable),
            capacity,
            is_managed,
            is_initialized: labelled
                || claim.is_some_and(|claim| claim.is(ConditionType::Initialized)),
            is_deleting: node.deleted.is_some()
                || claim.is_some_and(|claim| claim.deleted.is_some()),
            price: None,
            cost: fargate_price.or_else(|| self.overlays.price(&node.labels, instance_type?)),
            list_price: fargate_price.or_else(|| price_of(&node.labels, instance_type)),
            bound,
            instance_type,
        };
        self.take_bound(&mut view, resources);
        view
    }

    fn claim(&self, claim: &'a NodeClaim, resources: &ResourceNames) -> NodeView<'a> {
        let mut labels = claim.labels.clone();
        let requirements = domain::requirement::Requirements::of(claim.requirements.iter());
        for (key, rule) in requirements.iter() {
            if let Some(value) = rule.values.single() {
                labels.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        labels.entry(label::HOSTNAME.into()).or_insert_with(|| claim.name.clone());
        let node_pool =
            labels.get(label::NODE_POOL).and_then(|name| self.pools.get(&**name)).copied();
        let instance_type = self.type_of(&labels, node_pool);
        let reported = |amounts: &Resources, of: fn(&InstanceType) -> &Resources| {
            if amounts.is_empty() {
                instance_type.map(of).cloned().unwrap_or_default()
            } else {
                amounts.clone()
            }
        };
        let allocatable = reported(&claim.status.allocatable, |known| &known.allocatable);
        let mut view = NodeView {
            name: &claim.name,
            node: None,
            claim: Some(claim),
            node_pool,
            off: node_pool.and_then(|pool| self.off.get(&*pool.name)).copied(),
            price: None,
            cost: instance_type.and_then(|own| self.overlays.price(&labels, own)),
            list_price: price_of(&labels, instance_type),
            labels: Cow::Owned(labels),
            taints: passing_left_out(&claim.taints, &[]).into(),
            free: resources.array(&allocatable),
            capacity: reported(&claim.status.capacity, |known| &known.capacity),
            is_managed: true,
            is_initialized: false,
            is_deleting: claim.deleted.is_some(),
            bound: self.bound.get(&*claim.name).cloned().unwrap_or_default(),
            instance_type,
        };
        self.take_bound(&mut view, resources);
        view
    }

    /// Takes what bound pods use and keeps room for DaemonSet pods that have not come yet.
    fn take_bound(&self, view: &mut NodeView<'a>, resources: &ResourceNames) {
        let has: Vec<bool> = view.free.iter().map(|free| *free > 0).collect();
        let daemons =
            Daemons::tolerating(&self.snapshot.objects.daemon_sets, &view.taints, resources);
        let mut to_come = daemons.requests_on(&view.labels, resources.len());
        for pod in view.bound.iter().map(|pod| pod.index()) {
            let requests = self.requests.of_pod(pod);
            for (free, amount) in view.free.iter_mut().zip(requests) {
                *free -= amount;
            }
            if self.pods[pod].is_daemon() {
                for (to_come, amount) in to_come.iter_mut().zip(requests) {
                    *to_come -= amount;
                }
            }
        }
        for ((free, amount), has) in view.free.iter_mut().zip(&to_come).zip(has) {
            *free -= (*amount).max(0);
            // What a node does not have it cannot run short of: a pod that requests it waits.
            if !has {
                *free = (*free).max(0);
            }
        }
    }
}

impl Requests {
    fn of(pods: &[Pod], resources: &ResourceNames) -> Self {
        let mut own = Self { distinct: Vec::new(), of_pod: Vec::with_capacity(pods.len()) };
        let mut last: Option<&Arc<PodSpec>> = None;
        for pod in pods {
            if !last.is_some_and(|last| Arc::ptr_eq(last, &pod.spec)) {
                own.distinct.push(resources.array(&pod.spec.requests));
                last = Some(&pod.spec);
            }
            own.of_pod.push(own.distinct.len() - 1);
        }
        own
    }

    fn of_pod(&self, pod: usize) -> &[i64] {
        &self.distinct[self.of_pod[pod]]
    }
}

fn startup_taints<'a>(claim: Option<&'a NodeClaim>, pool: Option<&'a NodePool>) -> &'a [Taint] {
    match claim {
        Some(claim) if !claim.startup_taints.is_empty() => &claim.startup_taints,
        _ => pool.map_or(&[], |pool| &pool.template.startup_taints),
    }
}

/// Sets what a node that starts does not report yet to what is promised of it.
fn fill(amounts: &mut Resources, promises: &Resources) {
    for (name, promised) in promises.iter() {
        if amounts.get(name) == 0 {
            amounts.set(name, promised);
        }
    }
}

/// Taints without those that pass while a node starts: well-known ones and the pool's startup
/// taints.
fn passing_left_out(taints: &[Taint], startup: &[Taint]) -> Vec<Taint> {
    let passes = |taint: &Taint| {
        taint.is_ephemeral()
            || startup.iter().any(|own| own.key == taint.key && own.effect == taint.effect)
    };
    taints.iter().filter(|taint| !passes(taint)).cloned().collect()
}
