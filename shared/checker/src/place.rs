//! Places for pods: Nodes, NodeClaims in flight, and claims that the plan wants launched.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use domain::Text;
use domain::label::{HOSTNAME, INITIALIZED, INSTANCE_TYPE, Labels, NODE_POOL};
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::plan::PlannedNodeClaim;
use domain::resource::Resources;
use domain::taint::{DISRUPTED, Taint};

use crate::cluster_index::ClusterIndex;
use crate::label_state::{ABSENT, Expression, LabelState};
use crate::launch::Launch;
use crate::pods::{PodId, TermsId};
use crate::pool::NEW_NODE;
use crate::terms::{LabelView, NODE_NAME, Verdict};

/// A place, as an index of [`crate::plan_index::PlanIndex::places`].
pub(crate) type PlaceId = usize;

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A Node.
    Node,
    /// A NodeClaim that has no Node yet.
    InFlight,
    /// A claim that the plan launches for pending pods.
    New,
    /// A claim that the plan launches in place of disrupted nodes.
    Replacement,
}

/// What is known of a place's labels.
enum KnownLabels<'w> {
    Settled(BTreeMap<Text, LabelState>),
    Launch(Rc<Launch<'w>>),
}

/// Where pods run, or will.
pub(crate) struct Place<'w> {
    pub(crate) kind: PlaceKind,
    pub(crate) name: Text,
    known_labels: KnownLabels<'w>,
    /// The host name's domain of a place whose host name is not known yet: its own, shared with
    /// nobody.
    own_host: LabelState,
    /// Labels of the Node or the NodeClaim.
    pub(crate) labels: Option<&'w Labels>,
    /// The taints that a pod must tolerate to come here.
    pub(crate) taints: Vec<Taint>,
    /// What pods may use; `None` where it is not known or differs by what is launched.
    pub(crate) allocatable: Option<Resources>,
    /// What counts against NodePool limits.
    pub(crate) capacity: Resources,
    /// The NodePool, as an index, where it is there.
    pub(crate) pool: Option<usize>,
    pub(crate) node: Option<&'w Node>,
    pub(crate) claim: Option<&'w NodeClaim>,
    /// Whether a NodePool or a NodeClaim stands behind it.
    pub(crate) is_managed: bool,
    pub(crate) is_initialized: bool,
    pub(crate) is_deleting: bool,
    /// Pods on it now, ended ones left out.
    pub(crate) bound: Vec<PodId>,
    /// Pods that the launch puts on it; for a replacement, the pods it takes over.
    pub(crate) placed: Vec<PodId>,
    /// Pods of disrupted nodes that move to it.
    pub(crate) moved_in: Vec<PodId>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            PlaceKind::Node => "node",
            PlaceKind::InFlight => "claim in flight",
            PlaceKind::New => "new claim",
            PlaceKind::Replacement => "replacement",
        };
        write!(f, "{kind} {}", self.name)
    }
}

impl<'w> Place<'w> {
    fn new(kind: PlaceKind, name: Text, known_labels: KnownLabels<'w>) -> Self {
        let host = match kind {
            PlaceKind::Node => ABSENT.clone(),
            // A space keeps it apart from every label value.
            PlaceKind::InFlight | PlaceKind::New => LabelState::one(format!("claim {name}").into()),
            PlaceKind::Replacement => LabelState::one(format!("replacement {name}").into()),
        };
        Self {
            kind,
            name,
            known_labels,
            own_host: host,
            labels: None,
            taints: Vec::new(),
            allocatable: None,
            capacity: Resources::new(),
            pool: None,
            node: None,
            claim: None,
            is_managed: false,
            is_initialized: false,
            is_deleting: false,
            bound: Vec::new(),
            placed: Vec::new(),
            moved_in: Vec::new(),
        }
    }

    /// A Node, and the NodeClaim behind it.
    pub(crate) fn of_node(
        cluster: &ClusterIndex<'w>,
        node: &'w Node,
        claim: Option<&'w NodeClaim>,
    ) -> Self {
        let known =
            node.labels.iter().map(|(key, value)| (key.clone(), LabelState::one(value.clone())));
        let mut known: BTreeMap<Text, LabelState> = known.collect();
        known.entry(HOSTNAME.into()).or_insert_with(|| LabelState::one(node.name.clone()));
        known.insert(NODE_NAME.into(), LabelState::one(node.name.clone()));
        let labelled_initialized =
            node.labels.get(INITIALIZED).is_some_and(|value| &**value == "true");
        let pool = node.labels.get(NODE_POOL);
        let mut place = Self::new(PlaceKind::Node, node.name.clone(), KnownLabels::Settled(known));
        place.labels = Some(&node.labels);
        place.taints.clone_from(&node.taints);
        place.capacity = node.capacity.clone();
        if place.capacity.is_empty() {
            place.capacity.clone_from(&node.allocatable);
        }
        place.pool = pool.and_then(|pool| cluster.pool(pool));
        place.node = Some(node);
        place.claim = claim;
        place.is_managed = claim.is_some() || pool.is_some();
        place.is_initialized =
            labelled_initialized || claim.is_some_and(|claim| claim.is(ConditionType::Initialized));
        place.is_deleting =
            node.deleted.is_some() || claim.is_some_and(|claim| claim.deleted.is_some());
        let mut allocatable = node.allocatable.clone();
        if place.is_managed && !labelled_initialized {
            place.drop_passing_taints(cluster);
            // A device plugin that has not reported yet shows zero; the claim says what there will
            // be.
            for (resource, amount) in claim.iter().flat_map(|claim| claim.status.allocatable.iter())
            {
                if allocatable.get(resource) == 0 {
                    allocatable.set(resource, amount);
                }
            }
        }
        place.allocatable = Some(allocatable);
        place
    }

    /// Leaves out the taints that a starting node wears only until it is up.
    fn drop_passing_taints(&mut self, cluster: &ClusterIndex<'w>) {
        let of_claim = self.claim.map(|claim| claim.startup_taints.as_slice()).unwrap_or_default();
        let of_pool = self
            .pool
            .map(|pool| cluster.pools[pool].spec.template.startup_taints.as_slice())
            .unwrap_or_default();
        let startup = if of_claim.is_empty() { of_pool } else { of_claim };
        self.taints.retain(|taint| {
            let is_startup = startup
                .iter()
                .any(|passing| passing.key == taint.key && passing.effect == taint.effect);
            !is_startup && !taint.is_ephemeral()
        });
    }

    /// A NodeClaim that has no Node yet.
    pub(crate) fn in_flight(cluster: &ClusterIndex<'w>, claim: &'w NodeClaim) -> Self {
        let labels = claim.labels.iter();
        let mut known: BTreeMap<Text, LabelState> =
            labels.map(|(key, value)| (key.clone(), LabelState::one(value.clone()))).collect();
        for requirement in claim.requirements.iter().filter(|r| &*r.key != HOSTNAME) {
            let before = known.get(&requirement.key).cloned().unwrap_or_else(LabelState::unknown);
            known.insert(requirement.key.clone(), before.narrowed(&Expression::of(requirement)));
        }
        for key in [HOSTNAME, NODE_NAME] {
            known.insert(key.into(), LabelState::one(NEW_NODE.into()));
        }
        let pool = claim.node_pool().and_then(|pool| cluster.pool(pool));
        let instance_type = known.get(INSTANCE_TYPE).and_then(LabelState::settled);
        let instance_type = instance_type
            .and_then(|name| cluster.catalogue_of_class(&claim.node_class_ref.name)?.find(name));
        let allocatable = Some(&claim.status.allocatable)
            .filter(|allocatable| !allocatable.is_empty())
            .or(instance_type.map(|known| &known.allocatable));
        let capacity = Some(&claim.status.capacity)
            .filter(|capacity| !capacity.is_empty())
            .or(instance_type.map(|known| &known.capacity))
            .or(allocatable);
        let (allocatable, capacity) = (allocatable.cloned(), capacity.cloned());
        let mut place =
            Self::new(PlaceKind::InFlight, claim.name.clone(), KnownLabels::Settled(known));
        place.labels = Some(&claim.labels);
        place.taints.clone_from(&claim.taints);
        place.allocatable = allocatable;
        place.capacity = capacity.unwrap_or_default();
        place.pool = pool;
        place.claim = Some(claim);
        place.is_managed = true;
        place.is_deleting = claim.deleted.is_some();
        place
    }

    /// A claim that the plan wants launched.
    pub(crate) fn planned(
        kind: PlaceKind,
        claim: &PlannedNodeClaim,
        pool: Option<usize>,
        launch: Rc<Launch<'w>>,
        taints: Vec<Taint>,
    ) -> Self {
        let mut place = Self::new(kind, claim.name.clone(), KnownLabels::Launch(launch));
        place.taints = taints;
        place.pool = pool;
        place.is_managed = true;
        place
    }

    /// What it may be launched as, for a claim of the plan.
    pub(crate) fn launch(&self) -> Option<&Rc<Launch<'w>>> {
        match &self.known_labels {
            KnownLabels::Settled(_) => None,
            KnownLabels::Launch(launch) => Some(launch),
        }
    }

    /// The labels of a place that is one thing.
    pub(crate) fn known_labels(&self) -> Option<&BTreeMap<Text, LabelState>> {
        match &self.known_labels {
            KnownLabels::Settled(known) => Some(known),
            KnownLabels::Launch(_) => None,
        }
    }

    /// Whether it is on its way out, so that its pods need another place.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_deleting || self.taints.iter().any(|taint| &*taint.key == DISRUPTED)
    }

    /// How node selection terms fare here.
    pub(crate) fn verdict(&self, cluster: &ClusterIndex<'_>, id: TermsId) -> Verdict {
        let terms = cluster.pods.terms.get(id);
        match &self.known_labels {
            KnownLabels::Settled(known) => terms.verdict(known),
            KnownLabels::Launch(launch) => launch.verdict(id, terms),
        }
    }

    /// Whether node selection terms hold here whatever the place turns out to be.
    pub(crate) fn meets(&self, cluster: &ClusterIndex<'_>, id: TermsId) -> bool {
        self.verdict(cluster, id).certain
    }

    /// The topology domains that it may be in.
    pub(crate) fn domain(&self, key: &str) -> &LabelState {
        match &self.known_labels {
            _ if key == HOSTNAME && self.kind != PlaceKind::Node => &self.own_host,
            KnownLabels::Settled(known) => known.state(key),
            KnownLabels::Launch(launch) => launch.domains.state(key),
        }
    }
}

/// Every Node, and every NodeClaim that has no Node; with the pods that are on them.
///
/// A NodeClaim belongs to the Node of its provider id, or else to the Node that its status names.
pub(crate) fn existing_places<'w>(cluster: &ClusterIndex<'w>) -> Vec<Place<'w>> {
    use rustc_hash::FxHashMap;
    let snapshot = cluster.snapshot;
    let mut by_name: FxHashMap<&Text, usize> = FxHashMap::default();
    let mut by_provider: FxHashMap<&Text, &Text> = FxHashMap::default();
    for node in &snapshot.objects.nodes {
        by_name.insert(&node.name, by_name.len());
        if let Some(id) = node.provider_id.as_ref().filter(|id| !id.is_empty()) {
            by_provider.insert(id, &node.name);
        }
    }
    let mut claim_of_node: FxHashMap<&Text, &'w NodeClaim> = FxHashMap::default();
    let mut in_flight = Vec::new();
    for claim in &snapshot.node_claims {
        let by_id = claim.status.provider_id.as_ref().and_then(|id| by_provider.get(id).copied());
        let named = claim.status.node_name.as_ref().filter(|name| by_name.contains_key(name));
        match by_id.or(named) {
            Some(node) => {
                claim_of_node.insert(node, claim);
            }
            None => in_flight.push(claim),
        }
    }
    let mut places: Vec<Place<'w>> =
        Vec::with_capacity(snapshot.objects.nodes.len() + in_flight.len());
    for node in &snapshot.objects.nodes {
        places.push(Place::of_node(cluster, node, claim_of_node.get(&node.name).copied()));
    }
    for claim in in_flight {
        if !by_name.contains_key(&claim.name) {
            by_name.insert(&claim.name, places.len());
            places.push(Place::in_flight(cluster, claim));
        }
    }
    for (id, entry) in cluster.pods.list.iter().enumerate() {
        let place = entry.pod.node_name.as_ref().and_then(|name| by_name.get(name));
        if let Some(place) = place.filter(|_| !entry.pod.is_terminal()) {
            places[*place].bound.push(id);
        }
    }
    places
}
