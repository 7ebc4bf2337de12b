//! The snapshot to plan from: the cluster as listed, merged with stored records.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use domain::cluster_limit::limits_dollars;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypeList, InstanceTypes};
use domain::label;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_pool::NodePool;
use domain::plan::{LaunchOffering, PlannedDisruption};
use domain::pod::{OwnerKind, Pod, PodKey};
use domain::resource::{Resources, USD_PER_HOUR};
use domain::settings::Settings;
use domain::shared_list::SharedList;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{SKIPPED_FOR, SkippedSpot, SpotHistory};
use domain::taint::Taint;
use domain::{SignedDuration, Text, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::pod_events::record_pod_events;
use crate::ports::claim_store::Versioned;
use crate::ports::cloud::Instance;
use crate::ports::cluster::{ClusterListing, NodeClaimObject};
use crate::record::claim::ClaimRecord;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::record::launch::LaunchRequest;
use crate::record::nomination::Nomination;
use crate::record::spot::SpotRecord;
use crate::record::unavailable::{ANY, UnavailableOffering};

/// The state of a cluster at one moment: what was listed, and what is recorded about it.
#[derive(Clone, Debug)]
pub struct ClusterState {
    /// When the cluster was listed, taken just before.
    pub now: Timestamp,
    /// The seed of the names of new claims.
    pub seed: u64,
    /// What the cluster holds.
    pub listing: ClusterListing,
    /// Claims.
    pub claims: Vec<Versioned<ClaimRecord>>,
    /// Disruption commands.
    pub commands: Vec<Versioned<CommandRecord>>,
    /// Offerings marked unavailable, expired ones included.
    pub unavailable: Vec<UnavailableOffering>,
    /// Nominations, expired ones included.
    pub nominations: Vec<Nomination>,
    /// What is remembered of spot offerings, by this cluster and by all.
    pub spot: SpotMemory,
    /// Instance types with their offerings.
    pub instance_types: InstanceTypes,
}

/// What is remembered of spot offerings.
#[derive(Clone, Debug, Default)]
pub struct SpotMemory {
    /// By all clusters of the installation together.
    pub all: SpotHistory,
    /// This cluster's record.
    pub own: Option<Versioned<SpotRecord>>,
}

impl ClusterState {
    /// The claim with a name.
    pub fn claim(&self, name: &str) -> Option<&Versioned<ClaimRecord>> {
        self.claims.iter().find(|claim| *claim.record.claim.name == *name)
    }

    /// The Node of a claim, by its provider id.
    pub fn node_of(&self, record: &ClaimRecord) -> Option<&Node> {
        let provider_id = record.claim.status.provider_id.as_ref()?;
        self.listing
            .objects
            .nodes
            .iter()
            .find(|node| node.provider_id.as_ref() == Some(provider_id))
    }

    /// Commands that have started and not ended.
    pub fn commands_under_way(&self) -> impl Iterator<Item = &CommandRecord> {
        let records = self.commands.iter().map(|command| &command.record);
        records.filter(|command| command.phase != CommandPhase::Proposed)
    }

    /// The NodeClaim object of a claim.
    pub fn mirror_of(&self, record: &ClaimRecord) -> Option<&NodeClaimObject> {
        self.listing.node_claims.iter().find(|object| object.belongs_to(&record.claim.uid))
    }

    /// Bound pods, by Node name.
    pub fn pods_by_node(&self) -> FxHashMap<&Text, Vec<&Pod>> {
        let mut by_node: FxHashMap<&Text, Vec<&Pod>> = FxHashMap::default();
        for pod in &self.listing.objects.pods {
            if let Some(node) = &pod.node_name {
                by_node.entry(node).or_default().push(pod);
            }
        }
        by_node
    }

    /// What plans call the nodes of claims, by claim name: the Node's name from when it has joined,
    /// registered or not, and the claim's before.
    pub fn names_in_plans(&self) -> FxHashMap<&Text, &Text> {
        let nodes = &self.listing.objects.nodes;
        let joined: FxHashMap<&Text, &Text> = nodes
            .iter()
            .filter_map(|node| Some((node.provider_id.as_ref()?, &node.name)))
            .collect();
        let name = |record: &'_ ClaimRecord| {
            let provider_id = record.claim.status.provider_id.as_ref();
            provider_id.and_then(|id| joined.get(id).copied())
        };
        let claims = self.claims.iter().map(|claim| &claim.record);
        claims
            .map(|own| (&own.claim.name, name(own).unwrap_or_else(|| own.node_or_claim_name())))
            .collect()
    }

    /// The claim that plans refer to by a name: its Node's, or its own.
    pub fn claim_of_node(&self, node_or_claim: &str) -> Option<&Versioned<ClaimRecord>> {
        self.claims.iter().find(|claim| **claim.record.node_or_claim_name() == *node_or_claim)
    }
}

/// The snapshot of a cluster's state.
///
/// Claims come from the store, with annotations and deletion of their objects in the cluster; one
/// without an instance has the room that every type offered for it has. Nodes of claims that are
/// ending, and of commands under way, wear the taint `karpenter.sh/disrupted` whether it was
/// written yet or not. Offerings marked unavailable are not available; those of spot that EC2
/// skipped of late are known as such. A pod that is nominated to a node waits like any other,
/// unless kube-scheduler preempts pods there for it.
pub fn snapshot(observed: &ClusterState, settings: &Settings) -> ClusterSnapshot {
    let mut objects = observed.listing.objects.clone();
    taint_leaving_nodes(observed, &mut objects.nodes);
    forget_own_nominations(observed, &mut objects.pods);
    ClusterSnapshot {
        now: observed.now,
        seed: observed.seed,
        settings: settings.clone(),
        objects,
        node_claims: node_claims(observed),
        instance_types: available_types(
            &observed.instance_types,
            &observed.unavailable,
            observed.now,
        ),
        nominations: expected_pods(observed),
        spot: observed.spot.all.clone(),
        skipped_spot: skipped_spot(observed),
    }
}

/// Spot offerings that EC2 skipped when it launched claims that are there.
fn skipped_spot(observed: &ClusterState) -> SkippedSpot {
    let mut launched: Vec<(&LaunchRequest, &Instance)> = observed
        .claims
        .iter()
        .filter_map(|claim| Some((&*claim.record.launch, claim.record.instance.as_ref()?)))
        .filter(|(_, own)| own.capacity_type == CapacityType::Spot)
        .filter(|(_, own)| observed.now.duration_since(own.launched) < SKIPPED_FOR)
        .collect();
    launched.sort_by_key(|(_, own)| (own.launched, &own.id));
    let mut skipped = SkippedSpot::default();
    for (request, instance) in launched {
        let choices = request.attempt.choices.as_ref();
        // Then EC2 follows an order that it was given.
        let is_ordered = choices.is_some_and(|own| own.is_overlaid);
        // Zones without a subnet that has addresses left are not asked for.
        let is_asked = |own: &&LaunchOffering| {
            let subnets = choices.map(|own| &own.subnets).filter(|own| !own.is_empty());
            subnets.is_none_or(|zones| zones.contains_key(&own.zone))
        };
        let is_launched = |own: &&LaunchOffering| {
            own.instance_type == instance.instance_type && own.zone == instance.zone
        };
        if let (false, Some(own)) = (is_ordered, request.offerings.iter().find(is_launched)) {
            skipped.record(request.offerings.iter().filter(is_asked), own);
        }
    }
    skipped
}

/// How long before its end a pod is left out by [`forget_ending_pods`]: a new node takes longer
/// than this until it is ready.
const ENDS_SOON: SignedDuration = SignedDuration::from_secs(30);

/// Leaves out pods whose room on a node is free before that of a new node could be: pods that wait
/// are planned for that room. A pod that is there past its time counts again.
///
/// Those of a StatefulSet stay: their successors are not made before they are gone, and want the
/// room. So do pods on leaving nodes, which nobody gets the room of.
pub fn forget_ending_pods(snapshot: &mut ClusterSnapshot) {
    let now = snapshot.now;
    let nodes = &snapshot.objects.nodes;
    let staying: BTreeSet<Text> = nodes
        .iter()
        .filter(|node| !node.is_disrupted() && node.deleted.is_none() && !node.is_not_ready())
        .map(|node| node.name.clone())
        .collect();
    let is_forgotten = |pod: &Pod| {
        let ends_soon = pod.deleted.is_some_and(|ends| {
            let left = ends.duration_since(now);
            left >= SignedDuration::ZERO && left <= ENDS_SOON
        });
        let has_successor_waiting = pod.owner_kind() == Some(OwnerKind::StatefulSet);
        let is_on_staying = || pod.node_name.as_ref().is_some_and(|node| staying.contains(node));
        ends_soon && !has_successor_waiting && is_on_staying()
    };
    if snapshot.objects.pods.iter().any(is_forgotten) {
        snapshot.objects.pods.retain(|pod| !is_forgotten(pod));
    }
}

fn node_claims(observed: &ClusterState) -> Vec<NodeClaim> {
    let pods = observed.pods_by_node();
    let objects: FxHashMap<&Text, &NodeClaimObject> =
        observed.listing.node_claims.iter().map(|own| (own.claim_uid(), own)).collect();
    let own = observed.claims.iter().map(|claim| {
        let object = objects.get(&claim.record.claim.uid).copied();
        shown_claim(observed, &claim.record, object, &pods)
    });
    let known: FxHashSet<&Text> =
        observed.claims.iter().map(|claim| &claim.record.claim.name).collect();
    // NodeClaims that others created and lifecycle has not adopted yet: their nodes exist.
    let foreign = observed
        .listing
        .node_claims
        .iter()
        .filter(|object| object.mirror_of.is_none() && !known.contains(&object.claim.name))
        .map(|object| object.claim.clone());
    own.chain(foreign).collect()
}

fn shown_claim(
    observed: &ClusterState,
    record: &ClaimRecord,
    object: Option<&NodeClaimObject>,
    pods: &FxHashMap<&Text, Vec<&Pod>>,
) -> NodeClaim {
    let mut noted = Cow::Borrowed(record);
    if let Some(name) = &record.claim.status.node_name {
        // Lifecycle may not have recorded yet that a pod came or went.
        let pods = pods.get(name).map(Vec::as_slice).unwrap_or_default();
        let known = &observed.listing.pod_fingerprints;
        record_pod_events(&mut noted, pods, known, observed.now);
    }
    let mut claim = noted.claim.clone();
    if let Some(object) = object {
        for (key, value) in &object.claim.annotations {
            if !claim.annotations.contains_key(key) {
                claim.annotations.insert(key.clone(), value.clone());
            }
        }
        claim.deleted = claim.deleted.or(object.claim.deleted);
    }
    if record.instance.is_none() {
        expect_instance(&mut claim, record, &observed.instance_types);
        expect_price(observed, &mut claim, record);
    }
    claim
}

/// Gives a claim without an instance what each of its offerings provides: the least allocatable for
/// pods, the most capacity against limits.
fn expect_instance(claim: &mut NodeClaim, record: &ClaimRecord, catalogue: &InstanceTypes) {
    let offered: BTreeSet<&Text> =
        record.launch.offerings.iter().map(|offering| &offering.instance_type).collect();
    let types: Vec<&InstanceType> = catalogue
        .of(&record.launch.node_class)
        .iter()
        .filter(|instance_type| offered.contains(&instance_type.name))
        .collect();
    for instance_type in &types {
        claim.status.capacity.raise_to(&instance_type.capacity);
    }
    claim.status.allocatable = least(types.iter().map(|instance_type| &instance_type.allocatable));
    let zones: BTreeSet<&Text> =
        record.launch.offerings.iter().map(|offering| &offering.zone).collect();
    let mut set = |key: &str, value: &Text| {
        claim.labels.entry(key.into()).or_insert_with(|| value.clone());
    };
    if let (Some(zone), 1) = (zones.first(), zones.len()) {
        set(label::ZONE, zone);
    }
    if let Some(offering) = record.launch.offerings.first() {
        // All offerings of a launch are of one capacity type.
        set(label::CAPACITY_TYPE, &offering.capacity_type.as_str().into());
    }
    if let (Some(name), 1) = (offered.first(), offered.len()) {
        set(label::INSTANCE_TYPE, name);
    }
    if let Some((first, rest)) = types.split_first() {
        for (key, values) in &first.labels {
            let is_common = rest.iter().all(|other| other.labels.get(key) == Some(values));
            if let ([value], true) = (values.as_slice(), is_common) {
                set(key, value);
            }
        }
    }
}

/// What a claim without an instance may come to, where its NodePool limits dollars: the price of
/// the dearest offering that EC2 is asked for.
fn expect_price(observed: &ClusterState, claim: &mut NodeClaim, record: &ClaimRecord) {
    let pools = &observed.listing.objects.node_pools;
    let is_own = |pool: &&NodePool| record.claim.node_pool() == Some(&pool.name);
    let is_limited = |pool: &NodePool| pool.limits.find(USD_PER_HOUR).is_some();
    let dearest = record.launch.offerings.iter().map(|offering| offering.price).max();
    if let Some(price) = dearest
        && !claim.status.capacity.is_empty()
        && (limits_dollars(&observed.listing.objects.cluster_limits)
            || pools.iter().find(is_own).is_some_and(is_limited))
    {
        claim.status.capacity.set(&USD_PER_HOUR.into(), price.nanos());
    }
}

/// The least of each amount that all have.
fn least<'a>(mut all: impl Iterator<Item = &'a Resources>) -> Resources {
    let Some(first) = all.next() else { return Resources::new() };
    let rest: Vec<&Resources> = all.collect();
    first
        .iter()
        .map(|(name, amount)| {
            let least = rest.iter().map(|other| other.get(name)).fold(amount, i64::min);
            (name.clone(), least)
        })
        .collect()
}

fn taint_leaving_nodes(observed: &ClusterState, nodes: &mut SharedList<Node>) {
    let leaving = leaving_claims(observed);
    let providers: BTreeSet<&Text> = observed
        .claims
        .iter()
        .filter(|claim| leaving.contains(&claim.record.claim.name))
        .filter_map(|claim| claim.record.claim.status.provider_id.as_ref())
        .collect();
    let lacks_taint = |node: &Node| {
        let is_leaving = node.provider_id.as_ref().is_some_and(|id| providers.contains(id));
        is_leaving && !node.is_disrupted()
    };
    if nodes.iter().any(lacks_taint) {
        for node in nodes.iter_mut().filter(|node| lacks_taint(node)) {
            node.taints.push(Taint::disrupted());
        }
    }
}

/// Pods that were nominated by this installation: its records name the node for them.
#[derive(Debug, Default)]
pub struct OwnNominations<'a>(FxHashMap<&'a PodKey, Vec<&'a Text>>);

impl<'a> OwnNominations<'a> {
    /// What the records say, of claims and of nominations, expired ones included: the field of a
    /// pod outlives its nomination.
    pub fn of(observed: &'a ClusterState) -> Self {
        let names = observed.names_in_plans();
        let mut nodes_of: FxHashMap<&PodKey, Vec<&Text>> = FxHashMap::default();
        for claim in &observed.claims {
            if let Some(node) = &claim.record.claim.status.node_name {
                for pod in &claim.record.pods {
                    nodes_of.entry(pod).or_default().push(node);
                }
            }
        }
        for nomination in &observed.nominations {
            let node = names.get(&nomination.node).copied().unwrap_or(&nomination.node);
            for pod in &nomination.pods {
                nodes_of.entry(pod).or_default().push(node);
            }
        }
        Self(nodes_of)
    }

    /// Whether the records name a node for a pod.
    pub fn names(&self, pod: &PodKey, node: &Text) -> bool {
        self.0.get(pod).is_some_and(|nodes| nodes.contains(&node))
    }

    /// Whether the node in a pod's `status.nominatedNodeName` was written there by this
    /// installation.
    pub fn includes(&self, pod: &Pod) -> bool {
        pod.nominated_node_name.as_ref().is_some_and(|node| self.names(&pod.key, node))
    }
}

/// Clears `status.nominatedNodeName` of pods that no other pod makes way for: this installation
/// wrote it, or it is out of date.
fn forget_own_nominations(observed: &ClusterState, pods: &mut SharedList<Pod>) {
    if pods.iter().all(|pod| pod.nominated_node_name.is_none()) {
        return;
    }
    let own = OwnNominations::of(observed);
    let ending = observed.listing.objects.pods.iter().filter(|pod| pod.is_terminating());
    let making_way: BTreeSet<&Text> = ending.filter_map(|pod| pod.node_name.as_ref()).collect();
    let is_forgotten = |pod: &Pod| {
        let is_by_preemption = |node: &Text| making_way.contains(node) && !own.includes(pod);
        pod.nominated_node_name.as_ref().is_some_and(|node| !is_by_preemption(node))
    };
    if pods.iter().any(is_forgotten) {
        for pod in pods.iter_mut().filter(|pod| is_forgotten(pod)) {
            pod.nominated_node_name = None;
        }
    }
}

/// Claims whose nodes are ending, by themselves or because of a command in flight.
fn leaving_claims(observed: &ClusterState) -> BTreeSet<&Text> {
    let ending = observed
        .claims
        .iter()
        .filter(|claim| claim.record.ending.is_some())
        .map(|claim| &claim.record.claim.name);
    let candidates = observed.commands_under_way().flat_map(|command| &command.candidates);
    ending.chain(candidates).collect()
}

/// Destinations of moves of commands in flight, with each pod that has not moved yet.
fn places_of_moves(observed: &ClusterState) -> Vec<(&Text, &PodKey)> {
    let under_way: Vec<&PlannedDisruption> =
        observed.commands_under_way().map(|command| &command.disruption).collect();
    if under_way.is_empty() {
        return Vec::new();
    }
    let moves = under_way.iter().flat_map(|own| &own.moves).map(|own| (&own.node, &own.pod));
    let launched = under_way
        .iter()
        .flat_map(|own| &own.replacements)
        .flat_map(|claim| claim.pods.iter().map(|pod| (&claim.name, pod)));
    let mut places: Vec<(&Text, &PodKey)> = moves.chain(launched).collect();
    let moving: FxHashSet<&PodKey> = places.iter().map(|(_, pod)| *pod).collect();
    let active = observed.listing.objects.pods.iter().filter(|pod| pod.is_active());
    let there: FxHashSet<&PodKey> =
        active.map(|pod| &pod.key).filter(|pod| moving.contains(pod)).collect();
    places.retain(|(_, pod)| there.contains(pod));
    places
}

/// Pods expected on nodes: unexpired nominations, and destinations of commands in flight for pods
/// that have not moved yet. A nomination of a claim counts for its Node once that has joined.
pub(crate) fn expected_pods(observed: &ClusterState) -> BTreeMap<Text, Vec<PodKey>> {
    let names = observed.names_in_plans();
    let name = |node| Text::clone(names.get(node).copied().unwrap_or(node));
    let mut pods_of: BTreeMap<Text, Vec<PodKey>> = BTreeMap::new();
    for nomination in observed.nominations.iter().filter(|one| one.until > observed.now) {
        let pods = nomination.pods.iter().cloned();
        pods_of.entry(name(&nomination.node)).or_default().extend(pods);
    }
    for (node, pod) in places_of_moves(observed) {
        pods_of.entry(name(node)).or_default().push(pod.clone());
    }
    for pods in pods_of.values_mut() {
        pods.sort_unstable();
        pods.dedup();
    }
    pods_of
}

/// The catalogue with unavailable offerings marked.
pub fn available_types(
    catalogue: &InstanceTypes,
    unavailable: &[UnavailableOffering],
    now: Timestamp,
) -> InstanceTypes {
    let unavailable: BTreeSet<_> = unavailable
        .iter()
        .filter(|one| one.until > now)
        .map(|one| (&one.instance_type, &one.zone, one.capacity_type))
        .collect();
    if unavailable.is_empty() {
        return catalogue.clone();
    }
    let any = Text::from(ANY);
    let marked = |types: &InstanceTypeList| -> InstanceTypeList {
        let mut types = types.clone();
        for instance_type in types.types_mut() {
            for offering in &mut instance_type.offerings {
                let key = (&instance_type.name, &offering.zone, offering.capacity_type);
                let all = (&any, &any, offering.capacity_type);
                if unavailable.contains(&key) || unavailable.contains(&all) {
                    offering.available = false;
                }
            }
        }
        types
    };
    InstanceTypes {
        region: catalogue.region.clone(),
        pricing: catalogue.pricing.clone(),
        fargate: catalogue.fargate,
        zone_ids: catalogue.zone_ids.clone(),
        default: marked(&catalogue.default),
        by_node_class: catalogue
            .by_node_class
            .iter()
            .map(|(name, types)| (name.clone(), marked(types)))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
