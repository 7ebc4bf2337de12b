//! Records to write.

use controllers::ports::cloud::{Instance, InstanceState};
use controllers::record::claim::ClaimRecord;
use controllers::record::command::{CommandPhase, CommandRecord};
use controllers::record::launch::LaunchRequest;
use controllers::record::unavailable::UnavailableOffering;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::node_pool::NodeClassRef;
use domain::plan::{LaunchOffering, PlannedDisruption};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;
use domain::resource::Resources;
use domain::{SignedDuration, Timestamp};

/// So many seconds after a moment that never changes.
pub fn at(seconds: i64) -> Timestamp {
    // The fifth of January 2026, nine o'clock.
    Timestamp::from_second(1_767_603_600 + seconds).unwrap_or(Timestamp::MAX)
}

/// A claim to which nothing has happened yet.
pub fn claim(name: &str) -> ClaimRecord {
    let uid = format!("uid-of-{name}");
    ClaimRecord {
        claim: testkit::node_claim(name)
            .uid(uid.as_str())
            .created(at(0))
            .node_pool("default")
            .with(|claim| {
                claim.requests = Resources::new().with("cpu", 900);
                claim.node_class_ref = NodeClassRef::default();
                claim.termination_grace_period = Some(SignedDuration::from_mins(5));
            })
            .build(),
        launch: LaunchRequest {
            token: uid.as_str().into(),
            claim: name.into(),
            node_pool: "default".into(),
            node_class: "default".into(),
            offerings: vec![LaunchOffering {
                price: UsdPerHour::from_nanos(96_000_000),
                instance_type: "m5.large".into(),
                zone: "eu-west-1a".into(),
                capacity_type: CapacityType::Spot,
                reservation_id: None,
            }],
            ..LaunchRequest::default()
        }
        .into(),
        launch_failures: 0,
        launch_not_before: None,
        instance: None,
        pods: vec![PodKey::new("default", "web-0")],
        replaces: None,
        pods_fingerprint: None,
        ending: None,
    }
}

/// The claim record once it has an instance.
pub fn launched(record: ClaimRecord, instance_id: &str) -> ClaimRecord {
    let instance = Instance {
        id: instance_id.into(),
        provider_id: format!("aws:///eu-west-1a/{instance_id}").into(),
        instance_type: "m5.large".into(),
        zone: "eu-west-1a".into(),
        capacity_type: CapacityType::Spot,
        reservation_id: None,
        price: None,
        image_id: "ami-1".into(),
        launched: at(1),
        state: InstanceState::Pending,
        claim: Some(record.claim.name.clone()),
        claim_uid: Some(record.claim.uid.clone()),
        installation: Some("own/1".into()),
        node_pool: Some("default".into()),
    };
    ClaimRecord { instance: Some(instance), ..record }
}

/// A command that was proposed.
pub fn command(id: &str) -> CommandRecord {
    CommandRecord {
        id: id.into(),
        disruption: PlannedDisruption {
            reason: DisruptionReason::Empty,
            nodes: vec!["ip-10-0-0-1".into()],
            pods: Vec::new(),
            replacements: Vec::new(),
            moves: Vec::new(),
            savings: UsdPerHour::ZERO,
        },
        candidates: vec!["default-abcde".into()],
        proposed: at(0),
        phase: CommandPhase::Proposed,
    }
}

/// An unavailable offering: an instance type without capacity in zone `a` until a moment.
pub fn unavailable(instance_type: &str, until: Timestamp) -> UnavailableOffering {
    UnavailableOffering {
        instance_type: instance_type.into(),
        zone: "eu-west-1a".into(),
        capacity_type: CapacityType::Spot,
        code: "InsufficientInstanceCapacity".into(),
        until,
    }
}
