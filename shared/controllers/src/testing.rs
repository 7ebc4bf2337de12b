//! Builders of test values.

pub(crate) mod core;
pub(crate) mod scheduled_scaling;
pub(crate) mod store;
pub(crate) mod world;

use std::sync::Arc;

use domain::instance_type::{CapacityType, InstanceType, Offering};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::{NeverOr, NodeClassRef, NodePool};
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::pod::{Pod, PodPhase};
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::snapshot::ClusterObjects;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};
use domain::{SignedDuration, Timestamp};

use crate::ports::cloud::{Instance, InstanceState};
use crate::ports::cluster::ClusterListing;
use crate::ports::error::{ErrorKind, PortError};
use crate::record::claim::ClaimRecord;
use crate::record::launch::LaunchRequest;
use crate::steps::condition::{set_true, update_ready};

/// The moment this many seconds into the test.
pub(crate) fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

/// A listing of objects, without NodeClaims and with no status written yet.
pub(crate) fn listing_of(objects: ClusterObjects) -> ClusterListing {
    ClusterListing { objects, ..ClusterListing::default() }
}

/// A failed call.
pub(crate) fn failure(kind: ErrorKind) -> PortError {
    PortError::new(kind, "test", "injected by the test")
}

/// A price in thousandths of a dollar per hour.
pub(crate) fn milli_usd(price: i64) -> UsdPerHour {
    UsdPerHour::from_nanos(price * 1_000_000)
}

pub(crate) fn offering(zone: &str, capacity_type: &str, price: i64) -> Offering {
    Offering {
        zone: zone.into(),
        capacity_type: CapacityType::parse(capacity_type).unwrap(),
        price: milli_usd(price),
        available: true,
        reservation: None,
    }
}

pub(crate) fn room() -> Resources {
    Resources::new().with(CPU, 2000).with(MEMORY, 8 << 30).with(PODS, 29)
}

pub(crate) fn instance_type(
    name: &str,
    offerings: impl IntoIterator<Item = Offering>,
) -> InstanceType {
    InstanceType {
        name: name.into(),
        labels: [(label::INSTANCE_TYPE.into(), vec![name.into()])].into(),
        capacity: room(),
        allocatable: room(),
        offerings: offerings.into_iter().collect(),
    }
}

/// A planned node of pool `default` and type m5.large.
pub(crate) fn planned_claim(name: &str) -> PlannedNodeClaim {
    let offering = LaunchOffering {
        price: UsdPerHour::ZERO,
        instance_type: "m5.large".into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
        reservation_id: None,
    };
    PlannedNodeClaim {
        name: name.into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        instance_types: vec!["m5.large".into()],
        requirements: Vec::new(),
        offerings: vec![offering.clone()],
        offering,
        labels: Labels::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        requests: Resources::new(),
        pods: Vec::new(),
    }
}

pub(crate) fn node_pool(name: &str) -> NodePool {
    testkit::node_pool(name)
        .with(|pool| {
            pool.uid = format!("uid-{name}").into();
            pool.template = Arc::default();
        })
        .build()
}

pub(crate) fn node_class(name: &str) -> Ec2NodeClass {
    Ec2NodeClass { uid: format!("uid-{name}").into(), ..testkit::node_class(name) }
}

/// A claim of pool `default` that has awaited an m5.large since second 0.
pub(crate) fn record(name: &str) -> ClaimRecord {
    let labels: Labels = [(label::NODE_POOL.into(), "default".into())].into();
    let mut claim = NodeClaim {
        created: Some(at(0)),
        labels: labels.clone(),
        requests: Resources::new().with(CPU, 1000),
        node_class_ref: NodeClassRef::default(),
        expire_after: NeverOr::default(),
        ..testkit::node_claim(name).uid(format!("uid-{name}")).build()
    };
    crate::steps::create::await_everything(&mut claim, at(0));
    ClaimRecord {
        launch: LaunchRequest {
            token: claim.uid.clone(),
            claim: claim.name.clone(),
            node_pool: "default".into(),
            node_class: "default".into(),
            offerings: vec![LaunchOffering {
                price: milli_usd(40),
                instance_type: "m5.large".into(),
                zone: "a".into(),
                capacity_type: CapacityType::Spot,
                reservation_id: None,
            }],
            labels,
            ..LaunchRequest::default()
        }
        .into(),
        claim,
        launch_failures: 0,
        launch_not_before: None,
        instance: None,
        pods: Vec::new(),
        replaces: None,
        pods_fingerprint: None,
        ending: None,
    }
}

pub(crate) fn instance(id: &str, record: &ClaimRecord, launched: Timestamp) -> Instance {
    Instance {
        id: id.into(),
        provider_id: format!("aws:///a/{id}").into(),
        instance_type: "m5.large".into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
        reservation_id: None,
        price: Some(milli_usd(40)),
        image_id: "ami-1".into(),
        launched,
        state: InstanceState::Running,
        claim: Some(record.claim.name.clone()),
        claim_uid: Some(record.claim.uid.clone()),
        installation: None,
        node_pool: Some("default".into()),
    }
}

/// A claim whose instance `i-NAME` was launched at a moment.
pub(crate) fn launched_record(name: &str, now: Timestamp) -> ClaimRecord {
    let record = record(name);
    let instance = instance(&format!("i-{name}"), &record, now);
    let catalogue = domain::instance_type::InstanceTypes::default();
    crate::steps::launch_outcome::launched(record, instance, &catalogue, now)
}

/// A claim that has been initialized since a moment.
pub(crate) fn initialized_record(name: &str, now: Timestamp) -> ClaimRecord {
    let mut record = launched_record(name, now);
    record.claim.status.node_name = Some(format!("node-{name}").into());
    set_true(&mut record.claim, ConditionType::Registered, now);
    set_true(&mut record.claim, ConditionType::Initialized, now);
    update_ready(&mut record.claim, now);
    record
}

/// The Node of a launched claim, just joined and ready.
pub(crate) fn node_of(record: &ClaimRecord) -> Node {
    let name = format!("node-{}", record.claim.name);
    let unregistered =
        Taint { key: UNREGISTERED.into(), value: "".into(), effect: TaintEffect::NoExecute };
    let node = testkit::node(name.as_str()).created(at(0)).resources(&room()).ready(Some(at(0)));
    Node {
        uid: format!("uid-{name}").into(),
        labels: record.claim.labels.clone(),
        taints: vec![unregistered],
        provider_id: record.claim.status.provider_id.clone(),
        ..node.build()
    }
}

pub(crate) fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoSchedule }
}

/// A running pod on a node.
pub(crate) fn pod_on(name: &str, node: &Node) -> Pod {
    Pod {
        node_name: Some(node.name.clone()),
        phase: PodPhase::Running,
        started: Some(at(0)),
        ..pending_pod(name)
    }
}

/// A pending pod, marked unschedulable.
pub(crate) fn pending_pod(name: &str) -> Pod {
    testkit::pod(name)
        .request(CPU, 100)
        .request(PODS, 1)
        .unschedulable()
        .with(|pod| {
            pod.uid = format!("uid-{name}").into();
            pod.created = Some(at(0));
        })
        .build()
}
