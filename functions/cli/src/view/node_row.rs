//! One row per node with its usage and price, as users of eks-node-viewer know it.

use std::collections::{HashMap, HashSet};

use domain::fargate::is_fargate;
use domain::instance_type::CapacityType;
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_offering::{NodeCapacityType, fargate_price};
use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::{Pod, PodKey};
use domain::reason::DisruptionReason;
use domain::resource::{CPU, MEMORY, Resources};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, Timestamp};
use planning::AppliedOverlays;
use planning::explain::{SpotPassedOver, SpotWeight, SpotWeights};
use simulation::report;

/// A node, or a node that is still to be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRow {
    /// The Node's name; the claim's for one without a Node.
    pub(crate) name: Text,
    /// Its NodePool; `None` for a node that no NodePool manages.
    pub(crate) node_pool: Option<Text>,
    /// The instance type.
    pub(crate) instance_type: Option<Text>,
    /// The zone.
    pub(crate) zone: Option<Text>,
    /// How it is bought.
    pub(crate) capacity_type: Option<NodeCapacityType>,
    /// CPU in use, in millicores.
    pub(crate) cpu: Usage,
    /// Memory in use, in bytes.
    pub(crate) memory: Usage,
    /// Pods on it, those of DaemonSets included.
    pub(crate) pods: usize,
    /// Virtual pods that it keeps room for.
    pub(crate) virtual_pods: usize,
    /// Time since its creation.
    pub(crate) age: Option<SignedDuration>,
    /// Its hourly price; `None` where the catalogue has none.
    pub(crate) price: Option<UsdPerHour>,
    /// What is remembered of its offering; `None` of one that is not spot, and without a history.
    pub(crate) spot: Option<SpotWeight>,
    /// Of a node that the plan launches on demand: the spot offering that is cheaper, but for what
    /// interruptions of its pods would cost.
    pub(crate) spot_passed_over: Option<SpotPassedOver>,
    /// Its state.
    pub(crate) state: NodeState,
}

/// Requested and allocatable amount of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// What pods request.
    pub(crate) used: i64,
    /// What pods may use.
    pub(crate) allocatable: i64,
}

impl Usage {
    /// In percent, rounded down so that only a full node shows 100; `None` without anything to use.
    pub(crate) fn percent(self) -> Option<u32> {
        (self.allocatable > 0).then(|| {
            let percent = i128::from(self.used.max(0)) * 100 / i128::from(self.allocatable);
            u32::try_from(percent).unwrap_or(u32::MAX)
        })
    }
}

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// It runs pods.
    Ready,
    /// It reports that it is not ready.
    NotReady,
    /// Its instance boots.
    Launching,
    /// It has joined and is not ready for pods yet.
    Joining,
    /// The plan launches it.
    Planned,
    /// The plan disrupts it.
    Disrupted(DisruptionReason),
    /// It is already being drained.
    Draining,
}

impl NodeState {
    /// One or two words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Launching => "launching",
            Self::Joining => "joining",
            Self::Planned => "new",
            Self::Disrupted(reason) => reason.as_str(),
            Self::Draining => "draining",
        }
    }
}

impl NodeRow {
    /// The number of pods on it, with virtual pods apart: `3 + 5 virtual`.
    pub(crate) fn shown_pods(&self) -> String {
        match self.virtual_pods {
            0 => self.pods.to_string(),
            count => format!("{} + {count} virtual", self.pods),
        }
    }
}

impl From<&report::NodeRow> for NodeRow {
    fn from(row: &report::NodeRow) -> Self {
        let report::NodeRow {
            name,
            state,
            node_pool,
            instance_type,
            zone,
            capacity_type,
            cpu,
            memory,
            pods,
            age,
            price,
        } = row;
        let non_empty = |text: &Text| (!text.is_empty()).then(|| text.clone());
        let usage =
            |usage: &report::Usage| Usage { used: usage.used, allocatable: usage.allocatable };
        Self {
            name: name.clone(),
            node_pool: node_pool.clone(),
            instance_type: non_empty(instance_type),
            zone: non_empty(zone),
            capacity_type: capacity_type.map(NodeCapacityType::Instance),
            cpu: usage(cpu),
            memory: usage(memory),
            pods: usize::try_from(pods.used).unwrap_or(0),
            virtual_pods: 0,
            age: Some(*age),
            price: *price,
            spot: None,
            spot_passed_over: None,
            state: match state {
                report::NodeState::Launching => NodeState::Launching,
                report::NodeState::Joining => NodeState::Joining,
                report::NodeState::Ready => NodeState::Ready,
                report::NodeState::NotReady => NodeState::NotReady,
                report::NodeState::Draining => NodeState::Draining,
            },
        }
    }
}

/// The nodes of a snapshot as a plan leaves them.
///
/// Nodes that remain hold the pods that the plan places on them, disrupted ones are marked, and
/// planned ones come last.
pub(crate) fn rows(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<NodeRow> {
    let index = Index::new(snapshot, plan);
    let mut rows: Vec<NodeRow> =
        snapshot.objects.nodes.iter().map(|node| index.node_row(node)).collect();
    let without_node = snapshot.node_claims.iter().filter(|claim| !index.has_node(claim));
    rows.extend(without_node.map(|claim| index.claim_row(claim)));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let replacements = plan.disruptions.iter().flat_map(|disruption| &disruption.replacements);
    rows.extend(plan.node_claims.iter().chain(replacements).map(|c| index.planned_row(c)));
    add_spot(&mut rows, snapshot, plan);
    rows
}

/// Adds what is remembered of the spot offerings of nodes, where anything is.
fn add_spot(rows: &mut [NodeRow], snapshot: &ClusterSnapshot, plan: &Plan) {
    let Some(weights) = SpotWeights::of(snapshot) else { return };
    let pods_of = pods_by_place(snapshot, plan);
    let replacements = plan.disruptions.iter().flat_map(|disruption| &disruption.replacements);
    let claims: HashMap<&str, &PlannedNodeClaim> =
        plan.node_claims.iter().chain(replacements).map(|claim| (&*claim.name, claim)).collect();
    for row in rows {
        let pods = pods_of.get(&*row.name).map(Vec::as_slice).unwrap_or_default();
        if row.capacity_type == Some(NodeCapacityType::Instance(CapacityType::Spot)) {
            let known = row.instance_type.as_deref().zip(row.zone.as_deref());
            let Some(offering) = known else { continue };
            let price = row.price.unwrap_or_default();
            row.spot = weights.get(row.node_pool.as_deref(), offering, price, pods);
        } else if let Some(claim) = claims.get(&*row.name) {
            row.spot_passed_over = weights.passed_over(claim, pods);
        }
    }
}

/// Pods by where they run or are to go.
fn pods_by_place<'a>(
    snapshot: &'a ClusterSnapshot,
    plan: &'a Plan,
) -> HashMap<&'a str, Vec<&'a Pod>> {
    let pods = &snapshot.objects.pods;
    let by_key: HashMap<&PodKey, &Pod> = pods.iter().map(|pod| (&pod.key, pod)).collect();
    let bound = pods.iter().filter(|pod| !pod.is_terminal());
    let bound = bound.filter_map(|pod| Some((pod.node_name.as_deref()?, pod)));
    let placed = plan.placements.iter().map(|own| (&*own.node, &own.pod));
    let replacements = plan.disruptions.iter().flat_map(|disruption| &disruption.replacements);
    let claims = plan.node_claims.iter().chain(replacements);
    let launched = claims.flat_map(|claim| claim.pods.iter().map(|pod| (&*claim.name, pod)));
    let coming = placed.chain(launched).filter_map(|(place, key)| Some((place, *by_key.get(key)?)));
    let mut by_place: HashMap<&str, Vec<&Pod>> = HashMap::new();
    for (place, pod) in bound.chain(coming) {
        by_place.entry(place).or_default().push(pod);
    }
    by_place
}

/// Nodes that are there and that the catalogue does not price, by name.
pub(crate) fn without_price(rows: &[NodeRow]) -> Vec<&str> {
    rows.iter().filter(|row| row.price.is_none()).map(|row| &*row.name).collect()
}

/// What rows look up by name. The maps are never iterated, so that hash order shows nowhere.
struct Index<'a> {
    snapshot: &'a ClusterSnapshot,
    /// Requests and number of the pods on each node: those bound, and those that the plan places.
    held: HashMap<&'a str, (Resources, usize)>,
    /// Number of virtual pods on each node and planned claim.
    virtual_pods: HashMap<&'a str, usize>,
    /// Pods on each node of Fargate.
    fargate_pods: HashMap<&'a str, Vec<&'a Pod>>,
    /// Claims by provider id.
    claims_by_provider_id: HashMap<&'a str, &'a NodeClaim>,
    /// Claims by the name of their Node.
    claims_by_node: HashMap<&'a str, &'a NodeClaim>,
    /// Nodes by name and by provider id.
    nodes: HashSet<&'a str>,
    /// Why nodes go, by name.
    disrupted: HashMap<&'a str, DisruptionReason>,
    overlays: AppliedOverlays<'a>,
}

impl<'a> Index<'a> {
    fn new(snapshot: &'a ClusterSnapshot, plan: &'a Plan) -> Self {
        let claims = || snapshot.node_claims.iter();
        let provider_ids =
            snapshot.objects.nodes.iter().filter_map(|node| node.provider_id.as_deref());
        Self {
            snapshot,
            held: held(snapshot, plan),
            virtual_pods: virtual_pods_by_place(plan),
            fargate_pods: fargate_pods(snapshot),
            claims_by_provider_id: claims()
                .filter_map(|claim| Some((claim.status.provider_id.as_deref()?, claim)))
                .collect(),
            claims_by_node: claims()
                .filter_map(|claim| Some((claim.status.node_name.as_deref()?, claim)))
                .collect(),
            nodes: snapshot
                .objects
                .nodes
                .iter()
                .map(|node| &*node.name)
                .chain(provider_ids)
                .collect(),
            disrupted: plan
                .disruptions
                .iter()
                .flat_map(|taken| taken.nodes.iter().map(|node| (&**node, taken.reason)))
                .collect(),
            overlays: AppliedOverlays::of(snapshot),
        }
    }

    fn claim_of(&self, node: &Node) -> Option<&'a NodeClaim> {
        node.provider_id
            .as_deref()
            .and_then(|id| self.claims_by_provider_id.get(id))
            .or_else(|| self.claims_by_node.get(&*node.name))
            .copied()
    }

    fn has_node(&self, claim: &NodeClaim) -> bool {
        [&claim.status.provider_id, &claim.status.node_name]
            .into_iter()
            .flatten()
            .any(|known| self.nodes.contains(&**known))
    }

    fn usage(&self, node: &str, allocatable: &Resources) -> (Usage, Usage, usize) {
        let held = self.held.get(node);
        let usage = |resource| Usage {
            used: held.map_or(0, |(requests, _)| requests.get(resource)),
            allocatable: allocatable.get(resource),
        };
        (usage(CPU), usage(MEMORY), held.map_or(0, |(_, count)| *count))
    }

    fn node_row(&self, node: &Node) -> NodeRow {
        let claim = self.claim_of(node);
        let is_leaving = node.deleted.is_some()
            || node.is_disrupted()
            || claim.is_some_and(|claim| claim.deleted.is_some());
        let state = match self.disrupted.get(&*node.name) {
            Some(reason) => NodeState::Disrupted(*reason),
            None if is_leaving => NodeState::Draining,
            None if node.is_not_ready() => NodeState::NotReady,
            None => NodeState::Ready,
        };
        let (cpu, memory, pods) = self.usage(&node.name, &node.allocatable);
        let row = self.row_of(&node.labels);
        NodeRow {
            name: node.name.clone(),
            price: row.price.or_else(|| self.fargate_price(node)),
            cpu,
            memory,
            pods,
            virtual_pods: self.virtual_pods_on(&node.name),
            age: self.age(node.created),
            state,
            ..row
        }
    }

    /// The columns that a node's labels give; all others are blank.
    fn row_of(&self, labels: &label::Labels) -> NodeRow {
        NodeRow {
            name: "".into(),
            node_pool: labels.get(label::NODE_POOL).cloned(),
            instance_type: labels.get(label::INSTANCE_TYPE).cloned(),
            zone: labels.get(label::ZONE).cloned(),
            capacity_type: NodeCapacityType::of(labels),
            cpu: Usage::default(),
            memory: Usage::default(),
            pods: 0,
            virtual_pods: 0,
            age: None,
            price: self.price(labels),
            spot: None,
            spot_passed_over: None,
            state: NodeState::Ready,
        }
    }

    /// What an instance of a node's type costs in its zone and capacity type.
    fn price(&self, labels: &label::Labels) -> Option<UsdPerHour> {
        let name = labels.get(label::INSTANCE_TYPE)?;
        let mut pools = self.snapshot.objects.node_pools.iter();
        let node_class = labels
            .get(label::NODE_POOL)
            .and_then(|pool| pools.find(|known| known.name == *pool))
            .map_or("", |pool| &*pool.template.node_class_ref.name);
        let types = self.snapshot.instance_types.of(node_class);
        let instance_type = types.iter().find(|instance_type| instance_type.name == *name)?;
        self.overlays.price(labels, instance_type)
    }

    /// What a node of Fargate costs, by the pod on it.
    fn fargate_price(&self, node: &Node) -> Option<UsdPerHour> {
        let rates = self.snapshot.instance_types.fargate?;
        let pods = self.fargate_pods.get(&*node.name)?;
        fargate_price(&node.labels, pods.iter().copied(), &rates)
    }

    fn claim_row(&self, claim: &NodeClaim) -> NodeRow {
        let state = match self.disrupted.get(&*claim.name) {
            Some(reason) => NodeState::Disrupted(*reason),
            None if claim.deleted.is_some() => NodeState::Draining,
            None => NodeState::Launching,
        };
        let (cpu, memory, pods) = self.usage(&claim.name, &claim.status.allocatable);
        NodeRow {
            name: claim.name.clone(),
            cpu,
            memory,
            pods,
            virtual_pods: self.virtual_pods_on(&claim.name),
            age: self.age(claim.created),
            state,
            ..self.row_of(&claim.labels)
        }
    }

    fn planned_row(&self, claim: &PlannedNodeClaim) -> NodeRow {
        let offering = &claim.offering;
        let instance_type = self
            .snapshot
            .instance_types
            .of(&claim.node_class)
            .iter()
            .find(|known| known.name == offering.instance_type);
        let usage = |resource| Usage {
            used: claim.requests.get(resource),
            allocatable: instance_type.map_or(0, |known| known.allocatable.get(resource)),
        };
        NodeRow {
            name: claim.name.clone(),
            node_pool: Some(claim.node_pool.clone()),
            instance_type: Some(offering.instance_type.clone()),
            zone: Some(offering.zone.clone()),
            capacity_type: Some(NodeCapacityType::Instance(offering.capacity_type)),
            cpu: usage(CPU),
            memory: usage(MEMORY),
            pods: usize::try_from(claim.requests.get(domain::resource::PODS))
                .unwrap_or(0)
                .saturating_sub(self.virtual_pods_on(&claim.name)),
            virtual_pods: self.virtual_pods_on(&claim.name),
            age: None,
            price: Some(offering.price),
            spot: None,
            spot_passed_over: None,
            state: NodeState::Planned,
        }
    }

    fn virtual_pods_on(&self, place: &str) -> usize {
        self.virtual_pods.get(place).copied().unwrap_or(0)
    }

    fn age(&self, created: Option<Timestamp>) -> Option<SignedDuration> {
        // `--now` may be before what is there was made.
        let age = |created| self.snapshot.now.duration_since(created).max(SignedDuration::ZERO);
        created.map(age)
    }
}

fn fargate_pods(snapshot: &ClusterSnapshot) -> HashMap<&str, Vec<&Pod>> {
    let nodes = snapshot.objects.nodes.iter().filter(|node| is_fargate(&node.labels));
    let mut pods: HashMap<&str, Vec<&Pod>> = nodes.map(|node| (&*node.name, Vec::new())).collect();
    if !pods.is_empty() {
        for pod in &snapshot.objects.pods {
            if let Some(own) = pod.node_name.as_deref().and_then(|node| pods.get_mut(node)) {
                own.push(pod);
            }
        }
    }
    pods
}

fn virtual_pods_by_place(plan: &Plan) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for place in plan.virtual_pods.iter().filter_map(|own| own.place.as_deref()) {
        *counts.entry(place).or_default() += 1;
    }
    counts
}

fn held<'a>(snapshot: &'a ClusterSnapshot, plan: &'a Plan) -> HashMap<&'a str, (Resources, usize)> {
    fn hold<'a>(held: &mut HashMap<&'a str, (Resources, usize)>, node: &'a str, pod: &Pod) {
        let (requests, count) = held.entry(node).or_default();
        requests.add(&pod.spec.requests);
        *count += 1;
    }
    let mut held = HashMap::new();
    let mut pods: HashMap<&PodKey, &Pod> = HashMap::new();
    for pod in &snapshot.objects.pods {
        pods.insert(&pod.key, pod);
        if let Some(node) = &pod.node_name
            && !pod.is_terminal()
        {
            hold(&mut held, node, pod);
        }
    }
    let moves = plan.disruptions.iter().flat_map(|disruption| &disruption.moves);
    for placement in plan.placements.iter().chain(moves) {
        if let Some(pod) = pods.get(&placement.pod) {
            hold(&mut held, &placement.node, pod);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use domain::overlay::{NodeOverlay, PriceChange};

    use super::*;
    use crate::testing;

    #[test]
    fn virtual_pods_are_counted_apart() {
        let rows = rows(&testing::snapshot(), &testing::plan_with_virtual_pods());
        let shown = |name: &str| {
            rows.iter().find(|row| &*row.name == name).map(NodeRow::shown_pods).unwrap()
        };
        assert_eq!(shown("default-x7k2p"), "1 + 3 virtual");
        assert_eq!(shown("ip-10-0-0-1"), "2 + 1 virtual");
        assert_eq!(shown("ip-10-0-0-7"), "1");
    }

    #[test]
    fn a_node_costs_what_overlays_make_of_its_price() {
        let mut snapshot = testing::snapshot();
        snapshot.objects.node_pools.push(testkit::node_pool("default").build());
        let price = |snapshot: &ClusterSnapshot| {
            let rows = rows(snapshot, &testing::plan());
            rows.iter().find(|row| &*row.name == "ip-10-0-0-1").unwrap().price
        };
        assert_eq!(price(&snapshot), Some(testing::usd(0.1008)));
        snapshot.objects.node_overlays.push(NodeOverlay {
            name: "charge".into(),
            requirements: Vec::new(),
            price: Some(PriceChange::Add(testing::usd(0.025))),
            capacity: Resources::new(),
            weight: 0,
        });
        assert_eq!(price(&snapshot), Some(testing::usd(0.1258)));
    }

    #[test]
    fn only_a_full_node_shows_a_hundred_percent() {
        let percent = |used, allocatable| Usage { used, allocatable }.percent();
        assert_eq!(percent(999, 1000), Some(99));
        assert_eq!(percent(1000, 1000), Some(100));
        assert_eq!(percent(0, 1000), Some(0));
        assert_eq!(percent(5, 0), None);
    }
}
