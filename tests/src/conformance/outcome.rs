//! The outcome of a plan that expectations are checked against: the place of each pod, and its
//! node.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_type::{InstanceType, InstanceTypes};
use domain::label::{CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, Labels, ZONE, normalized_key};
use domain::node_claim::NodeClaim;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::{ObjectKey, Pod, PodKey};
use domain::requirement::{Operator, Requirements, ValueSet};
use domain::snapshot::ClusterSnapshot;

/// Where a pod ends up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location<'a> {
    /// A Node, or a claim in flight.
    Node(&'a Text),
    /// A new claim.
    Claim(&'a Text),
    /// A claim that replaces disrupted nodes.
    Replacement(&'a Text),
}

impl Location<'_> {
    /// The name of the node or claim.
    pub(super) const fn name(&self) -> &Text {
        match self {
            Self::Node(name) | Self::Claim(name) | Self::Replacement(name) => name,
        }
    }
}

/// A plan over a snapshot, indexed.
pub(super) struct Outcome<'a> {
    pub(super) snapshot: &'a ClusterSnapshot,
    pub(super) plan: &'a Plan,
    pub(super) pods: BTreeMap<&'a PodKey, &'a Pod>,
    /// Where pods are that have a place once the plan is carried out; pods of a disrupted node that
    /// no replacement holds are nowhere that counts.
    pub(super) locations: BTreeMap<&'a PodKey, Location<'a>>,
    /// Pods that the plan gives a place.
    pub(super) scheduled: BTreeSet<&'a PodKey>,
    /// Pods that the plan says have none.
    pub(super) unschedulable: BTreeSet<&'a PodKey>,
    /// Labels of Nodes, and of claims in flight as far as they are settled.
    places: BTreeMap<&'a Text, Labels>,
    claims: BTreeMap<&'a Text, &'a PlannedNodeClaim>,
}

impl<'a> Outcome<'a> {
    /// Of a plan over a snapshot.
    pub(super) fn new(snapshot: &'a ClusterSnapshot, plan: &'a Plan) -> Self {
        let replacements = || plan.disruptions.iter().flat_map(|entry| &entry.replacements);
        let claims = plan.node_claims.iter().chain(replacements());
        let disrupted: BTreeSet<&Text> =
            plan.disruptions.iter().flat_map(|entry| &entry.nodes).collect();
        let mut locations = BTreeMap::new();
        for pod in snapshot.objects.pods.iter().filter(|pod| pod.is_active()) {
            if let Some(node) = pod.node_name.as_ref().filter(|node| !disrupted.contains(node)) {
                locations.insert(&pod.key, Location::Node(node));
            }
        }
        for claim in replacements() {
            locations
                .extend(claim.pods.iter().map(|pod| (pod, Location::Replacement(&claim.name))));
        }
        let mut scheduled = BTreeSet::new();
        for claim in &plan.node_claims {
            locations.extend(claim.pods.iter().map(|pod| (pod, Location::Claim(&claim.name))));
            scheduled.extend(&claim.pods);
        }
        for placement in &plan.placements {
            locations.insert(&placement.pod, Location::Node(&placement.node));
            scheduled.insert(&placement.pod);
        }
        Self {
            snapshot,
            plan,
            pods: snapshot.objects.pods.iter().map(|pod| (&pod.key, pod)).collect(),
            locations,
            scheduled,
            unschedulable: plan.unschedulable.iter().map(|entry| &entry.pod).collect(),
            places: places(snapshot),
            claims: claims.map(|claim| (&claim.name, claim)).collect(),
        }
    }

    /// Pods that a plan must give a place or call unschedulable.
    pub(super) fn pending(&self) -> BTreeSet<&'a PodKey> {
        let waits = |pod: &&Pod| {
            pod.is_active()
                && pod.node_name.is_none()
                && pod.nominated_node_name.is_none()
                && pod.spec.scheduling_gates.is_empty()
                && !pod.is_daemon()
                && !pod.is_static()
        };
        self.snapshot.objects.pods.iter().filter(waits).map(|pod| &pod.key).collect()
    }

    /// Whether there is such a Node, or claim in flight.
    pub(super) fn has_place(&self, name: &str) -> bool {
        self.places.keys().any(|place| &***place == name)
    }

    /// Whether a pod of that name may appear that is not among the objects: a schedule adds pods to
    /// its workload, under names that hold its own or the workload's.
    pub(super) fn may_be_added(&self, key: &ObjectKey) -> bool {
        let named = key.to_string();
        self.snapshot
            .objects
            .scaled_objects
            .iter()
            .any(|scaler| named.contains(&*scaler.key.name) || named.contains(&*scaler.target.1))
    }

    /// The new claim that holds a pod.
    pub(super) fn claim_of(&self, pod: &PodKey) -> Option<&'a PlannedNodeClaim> {
        match self.locations.get(pod)? {
            Location::Claim(name) => self.claims.get(name).copied(),
            _ => None,
        }
    }

    /// The topology domain of a place, as a user would read it off the node; `None` where it is not
    /// settled.
    pub(super) fn domain(&self, location: &Location<'_>, key: &str) -> Option<String> {
        let key = normalized_key(key);
        if key == HOSTNAME {
            return Some(format!("{location:?}"));
        }
        match location {
            Location::Node(name) => self.places.get(name)?.get(key).map(ToString::to_string),
            Location::Claim(name) | Location::Replacement(name) => {
                let claim = self.claims.get(name)?;
                let offering = &claim.offering;
                match key {
                    ZONE => Some(offering.zone.to_string()),
                    CAPACITY_TYPE => Some(offering.capacity_type.to_string()),
                    INSTANCE_TYPE => Some(offering.instance_type.to_string()),
                    _ => {
                        self.claim_label(claim, key, std::slice::from_ref(&offering.instance_type))
                    }
                }
            }
        }
    }

    /// The value that a claim's node has for a label: from its labels, a requirement of one value,
    /// its NodePool's labels, or what all of the instance types say.
    pub(super) fn claim_label(
        &self,
        claim: &PlannedNodeClaim,
        key: &str,
        types: &[Text],
    ) -> Option<String> {
        let key = normalized_key(key);
        if let Some(value) = claim.labels.get(key) {
            return Some(value.to_string());
        }
        for requirement in claim.requirements.iter().filter(|own| &*own.key == key) {
            if let (Operator::In, [value]) = (requirement.operator, &*requirement.values) {
                return Some(value.to_string());
            }
        }
        let pool =
            self.snapshot.objects.node_pools.iter().find(|pool| pool.name == claim.node_pool);
        if let Some(value) = pool.and_then(|pool| pool.template.labels.get(key)) {
            return Some(value.to_string());
        }
        let of = |name| instance_type(&self.snapshot.instance_types, &claim.node_class, name);
        let mut values = types.iter().map(|name| match of(name)?.labels.get(key)?.as_slice() {
            [value] => Some(value),
            _ => None,
        });
        let first = values.next()??;
        values.all(|value| value == Some(first)).then(|| first.to_string())
    }
}

fn instance_type<'a>(
    types: &'a InstanceTypes,
    node_class: &str,
    name: &str,
) -> Option<&'a InstanceType> {
    types.of(node_class).iter().find(|known| &*known.name == name)
}

/// Labels by name of Node, or of claim where it has no Node.
fn places(snapshot: &ClusterSnapshot) -> BTreeMap<&Text, Labels> {
    let mut places: BTreeMap<&Text, Labels> =
        snapshot.objects.nodes.iter().map(|node| (&node.name, node.labels.clone())).collect();
    for claim in &snapshot.node_claims {
        let has_node = snapshot.objects.nodes.iter().any(|node| {
            claim.status.node_name.as_ref() == Some(&node.name)
                || (node.provider_id.is_some() && node.provider_id == claim.status.provider_id)
        });
        if !has_node {
            places.entry(&claim.name).or_insert_with(|| settled_labels(claim));
        }
    }
    places
}

/// What a claim's labels and requirements leave one value for.
fn settled_labels(claim: &NodeClaim) -> Labels {
    let mut required = Requirements::of(claim.requirements.iter());
    for (key, value) in &claim.labels {
        required.add_label(key, value);
    }
    let single = |values: &ValueSet| values.single().cloned();
    required
        .iter()
        .filter_map(|(key, own)| single(&own.values).map(|value| (key.clone(), value)))
        .collect()
}
