//! A plan's disruptions carried out on a snapshot at once: every pod is where the plan puts it, and
//! new nodes are as old as nodes have to be before anything is decided about them.

use std::collections::{BTreeMap, BTreeSet};

use domain::instance_type::InstanceType;
use domain::label::{self, Labels};
use domain::node::{Node, NodeCondition};
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::{Owner, OwnerKind, Pod, PodKey, PodPhase, PodSpec};
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text};
use std::sync::Arc;

/// The age that new nodes have.
const AGE: SignedDuration = SignedDuration::from_hours(2);

/// Takes the nodes of a plan's disruptions away, launches their replacements and moves the pods.
/// Pods that wait in the snapshot still do.
pub(super) fn carry_out(snapshot: &mut ClusterSnapshot, plan: &Plan) {
    let going: BTreeSet<Text> =
        plan.disruptions.iter().flat_map(|own| own.nodes.iter().cloned()).collect();
    let replacements: Vec<&PlannedNodeClaim> =
        plan.disruptions.iter().flat_map(|own| &own.replacements).collect();
    let mut places: BTreeMap<PodKey, Text> = BTreeMap::new();
    for placement in plan.disruptions.iter().flat_map(|own| &own.moves) {
        places.insert(placement.pod.clone(), placement.node.clone());
    }
    for claim in &replacements {
        places.extend(claim.pods.iter().map(|pod| (pod.clone(), claim.name.clone())));
    }
    let is_going = |name: &Option<Text>| name.as_ref().is_some_and(|own| going.contains(own));
    let ids: BTreeSet<Text> = snapshot
        .objects
        .nodes
        .iter()
        .filter(|node| going.contains(&node.name))
        .filter_map(|node| node.provider_id.clone())
        .collect();
    snapshot.node_claims.retain(|claim| {
        let has_its_id = claim.status.provider_id.as_ref().is_some_and(|own| ids.contains(own));
        !is_going(&claim.status.node_name) && !has_its_id && !going.contains(&claim.name)
    });
    snapshot.objects.nodes.retain(|node| !going.contains(&node.name));
    snapshot.objects.pods.retain(|pod| !is_going(&pod.node_name) || pod.is_reschedulable());
    for pod in &mut snapshot.objects.pods {
        if is_going(&pod.node_name) {
            pod.node_name = places.get(&pod.key).cloned();
        }
    }
    for claim in replacements {
        launch(snapshot, claim);
    }
}

fn launch(snapshot: &mut ClusterSnapshot, claim: &PlannedNodeClaim) {
    let types = snapshot.instance_types.of(&claim.node_class);
    let own = types.iter().find(|own| own.name == claim.offering.instance_type);
    let Some(own) = own.cloned() else { return };
    let provider_id: Text = format!("aws:///{}/{}", claim.offering.zone, claim.name).into();
    let made = snapshot.now.checked_sub(AGE).unwrap_or(snapshot.now);
    let labels = labels(claim, &own);
    let daemons = daemons(snapshot, claim);
    snapshot.objects.pods.extend(daemons);
    snapshot.objects.nodes.push(Node {
        name: claim.name.clone(),
        uid: claim.name.clone(),
        created: Some(made),
        deleted: None,
        labels: labels.clone(),
        annotations: Labels::new(),
        taints: claim.taints.clone(),
        provider_id: Some(provider_id.clone()),
        capacity: own.capacity.clone(),
        allocatable: own.allocatable.clone(),
        conditions: vec![NodeCondition {
            kind: "Ready".into(),
            status: ConditionStatus::True,
            changed: Some(made),
        }],
    });
    let is_true = |kind| Condition {
        kind,
        status: ConditionStatus::True,
        reason: "".into(),
        message: "".into(),
        changed: Some(made),
    };
    let conditions = [
        ConditionType::Launched,
        ConditionType::Registered,
        ConditionType::Initialized,
        ConditionType::Consolidatable,
        ConditionType::Ready,
    ];
    let pools = &snapshot.objects.node_pools;
    let pool = pools.iter().find(|pool| pool.name == claim.node_pool);
    let template = pool.map(|pool| pool.template.clone()).unwrap_or_default();
    snapshot.node_claims.push(NodeClaim {
        name: claim.name.clone(),
        uid: claim.name.clone(),
        created: Some(made),
        deleted: None,
        labels,
        annotations: template.annotations.clone(),
        requirements: Arc::new(claim.requirements.clone()),
        requests: claim.requests.clone(),
        taints: claim.taints.clone(),
        startup_taints: template.startup_taints.clone(),
        node_class_ref: template.node_class_ref.clone(),
        termination_grace_period: template.termination_grace_period,
        expire_after: template.expire_after,
        status: NodeClaimStatus {
            node_name: Some(claim.name.clone()),
            provider_id: Some(provider_id),
            capacity: own.capacity,
            allocatable: own.allocatable,
            conditions: conditions.map(is_true).into(),
            ..NodeClaimStatus::default()
        },
    });
}

fn labels(claim: &PlannedNodeClaim, own: &InstanceType) -> Labels {
    let mut labels = Labels::new();
    for (key, values) in &own.labels {
        if let [value, ..] = values.as_slice() {
            labels.insert(key.clone(), value.clone());
        }
    }
    labels.extend(claim.labels.clone());
    let offering = &claim.offering;
    let more: [(&str, Text); 8] = [
        (label::INSTANCE_TYPE, offering.instance_type.clone()),
        (label::ZONE, offering.zone.clone()),
        (label::CAPACITY_TYPE, offering.capacity_type.as_str().into()),
        (label::HOSTNAME, claim.name.clone()),
        (label::NODE_POOL, claim.node_pool.clone()),
        (label::NODE_CLASS, claim.node_class.clone()),
        (label::REGISTERED, "true".into()),
        (label::INITIALIZED, "true".into()),
    ];
    labels.extend(more.map(|(key, value)| (Text::from(key), value)));
    labels
}

/// One pod in place of those of all DaemonSets on a new node: it requests what its claim counts for
/// them.
fn daemons(snapshot: &ClusterSnapshot, claim: &PlannedNodeClaim) -> Option<Pod> {
    let own: BTreeSet<&PodKey> = claim.pods.iter().collect();
    let mut requests = claim.requests.clone();
    for pod in snapshot.objects.pods.iter().filter(|pod| own.contains(&pod.key)) {
        requests.subtract(&pod.spec.requests);
    }
    let is_nothing = |requests: &Resources| requests.iter().all(|(_, amount)| amount <= 0);
    let template = snapshot.objects.pods.iter().find(|pod| pod.is_daemon())?;
    if is_nothing(&requests) {
        return None;
    }
    let spec = PodSpec { requests, ..PodSpec::default() };
    Some(Pod {
        key: PodKey::new("kube-system", format!("daemons-of-{}", claim.name)),
        uid: claim.name.clone(),
        labels: Arc::default(),
        owner: Some(Owner { kind: OwnerKind::DaemonSet, name: "daemons".into(), uid: "".into() }),
        spec: Arc::new(spec),
        node_name: Some(claim.name.clone()),
        phase: PodPhase::Running,
        ..template.clone()
    })
}
