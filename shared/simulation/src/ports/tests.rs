use super::*;
use crate::ec2::{Ec2Behaviour, FleetErrorCode, Supply};
use crate::testing::{instance_types, node, pod, start};
use crate::world::{World, WorldOptions};
use controllers::ports::LaunchCall;
use controllers::ports::cluster::{FinalizerChange, NodePatch};
use controllers::ports::{
    Cloud, Cluster, ErrorKind, Eviction, LaunchOutcome, NodeRef, PodRef, Termination,
};
use controllers::record::launch::{LaunchAttempt, LaunchRequest};
use domain::SignedDuration;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::plan::LaunchOffering;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};
use pollster::block_on;

fn world() -> SharedWorld {
    world_behaving(Ec2Behaviour::default())
}

fn world_behaving(ec2: Ec2Behaviour) -> SharedWorld {
    let options = WorldOptions { ec2, ..WorldOptions::new(1, start()) };
    SharedWorld::new(World::new(options, Supply::Fixed(instance_types())))
}

fn node_class() -> Ec2NodeClass {
    testkit::node_class("default")
}

fn request() -> LaunchRequest {
    LaunchRequest {
        token: "uid-1".into(),
        attempt: LaunchAttempt { since: start(), ..LaunchAttempt::default() },
        claim: "pool-abcde".into(),
        node_pool: "pool".into(),
        node_class: "default".into(),
        offerings: vec![LaunchOffering {
            price: UsdPerHour::from_nanos(96_000_000),
            instance_type: "m5.large".into(),
            zone: "a".into(),
            capacity_type: CapacityType::OnDemand,
            reservation_id: None,
        }],
        labels: Labels::from([("team".into(), "x".into())]),
        taints: vec![testkit::taint("gpu")],
        ..LaunchRequest::default()
    }
}

fn call() -> LaunchCall {
    LaunchCall { request: request().into(), is_repeat: false }
}

fn the_node(world: &SharedWorld) -> Node {
    world.read().api().list::<Node>().next().unwrap().clone()
}

#[test]
fn a_launch_joins_as_user_data_says_and_bears_the_tags_of_its_claim() {
    let world = world();
    let outcome = block_on(world.launch(&[call()], &[node_class()])).unwrap();
    assert!(matches!(outcome.as_slice(), [LaunchOutcome::Launched { .. }]), "{outcome:?}");
    let instances = block_on(world.instances()).unwrap();
    assert_eq!(instances[0].claim.as_deref(), Some("pool-abcde"));
    assert_eq!(instances[0].claim_uid.as_deref(), Some("uid-1"));
    let end = start() + SignedDuration::from_secs(70);
    world.change().advance_to(end);
    let node = the_node(&world);
    let keys: Vec<_> = node.taints.iter().map(|taint| &*taint.key).collect();
    assert_eq!(keys, ["gpu", UNREGISTERED]);
    assert_eq!(node.labels.get("team").map(|value| &**value), Some("x"));
}

#[test]
fn a_launch_from_a_node_class_that_is_not_there_says_so() {
    let world = world();
    let outcome = block_on(world.launch(&[call()], &[])).unwrap();
    assert!(matches!(outcome.as_slice(), [LaunchOutcome::NodeClassNotReady { .. }]), "{outcome:?}");
}

#[test]
fn a_patch_changes_a_node_in_one_write_and_never_its_successor() {
    let world = world();
    world.change().apply(node("a").taint("old", TaintEffect::NoSchedule).build());
    let own = NodeRef::from(&the_node(&world));
    let patch = NodePatch {
        labels: Labels::from([("x".into(), "y".into())]),
        add_taints: vec![Taint::disrupted()],
        remove_taints: vec![("old".into(), TaintEffect::NoSchedule)],
        finalizer: FinalizerChange::Add,
        ..NodePatch::default()
    };
    block_on(world.patch_node(&own, &patch)).unwrap();
    assert_eq!(the_node(&world).taints, [Taint::disrupted()]);
    let other = NodeRef { uid: "another".into(), ..own.clone() };
    let refused = block_on(world.patch_node(&other, &patch)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotFound);
    block_on(world.delete_node(&own)).unwrap();
    assert!(the_node(&world).deleted.is_some());
    let release = NodePatch { finalizer: FinalizerChange::Remove, ..NodePatch::default() };
    block_on(world.patch_node(&own, &release)).unwrap();
    assert_eq!(world.read().api().list::<Node>().count(), 0);
}

#[test]
fn the_object_that_a_claim_was_adopted_from_shows_its_status_and_is_nobody_elses() {
    let world = world();
    let given = testkit::node_claim("theirs").uid("uid-theirs").build();
    world.change().apply(given.clone());
    let object = || listing_of(&world.read()).node_claims[0].clone();
    let mut claim = object().claim;
    claim.status.node_name = Some("a".into());
    block_on(world.mirror_node_claim(&claim)).unwrap();
    assert_eq!(object().claim.status, claim.status);
    assert_eq!(object().mirror_of, None, "it bears no other claim's uid");
    let another = NodeClaim { uid: "uid-another".into(), ..claim };
    let refused = block_on(world.mirror_node_claim(&another)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
}

#[test]
fn a_pod_of_another_uid_counts_as_gone() {
    let world = world();
    world.change().apply(node("a").build());
    world.change().create_pod(pod("p").on("a").build());
    let key = domain::pod::ObjectKey::new("default", "p");
    let other = PodRef { key: key.clone(), uid: "another".into() };
    assert_eq!(block_on(world.evict_pod(&other)).unwrap(), Eviction::Gone);
    let uid = world.read().api().get::<domain::pod::Pod>(&key).unwrap().uid.clone();
    assert_eq!(block_on(world.evict_pod(&PodRef { key, uid })).unwrap(), Eviction::Accepted);
}

#[test]
fn a_node_claim_is_mirrored_once_and_only_its_own_claim_may_change_it() {
    let world = world();
    let claim = |uid: &str| testkit::node_claim("pool-abcde").uid(uid).build();
    block_on(world.mirror_node_claim(&claim("one"))).unwrap();
    block_on(world.mirror_node_claim(&claim("one"))).unwrap();
    let refused = block_on(world.mirror_node_claim(&claim("two"))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert!(world.change().delete_node_claim(&"pool-abcde".into()));
    let listing = block_on(world.observe()).unwrap();
    assert!(listing.node_claims[0].claim.deleted.is_some());
    block_on(world.remove_node_claim("pool-abcde", "two")).unwrap();
    assert_eq!(block_on(world.observe()).unwrap().node_claims.len(), 1);
    block_on(world.remove_node_claim("pool-abcde", "one")).unwrap();
    assert!(block_on(world.observe()).unwrap().node_claims.is_empty());
}

fn launch(world: &SharedWorld, request: LaunchRequest) -> LaunchOutcome {
    let call = LaunchCall { request: request.into(), is_repeat: false };
    block_on(world.launch(&[call], &[node_class()])).unwrap().remove(0)
}

/// What is said of a launch that EC2 refuses for a reason inside its answer.
fn refused_for(code: FleetErrorCode) -> LaunchOutcome {
    let behaviour =
        Ec2Behaviour { refusals_per_mille: 1000, refusal: Some(code), ..Ec2Behaviour::default() };
    launch(&world_behaving(behaviour), request())
}

#[test]
fn want_of_capacity_names_offerings_and_any_other_refusal_ends_the_attempt() {
    for code in [FleetErrorCode::VcpuLimit, FleetErrorCode::SubnetFull] {
        let outcome = refused_for(code);
        let LaunchOutcome::OutOfCapacity { exhausted } = outcome else { panic!("{outcome:?}") };
        assert_eq!(&*exhausted[0].code, code.as_str());
    }
    for (code, kind) in [
        (FleetErrorCode::Throttled, ErrorKind::Throttled),
        (FleetErrorCode::Internal, ErrorKind::Unavailable),
        (FleetErrorCode::ProfileUnknown, ErrorKind::Unavailable),
        (FleetErrorCode::Denied, ErrorKind::Denied),
    ] {
        let outcome = refused_for(code);
        let LaunchOutcome::Refused { error, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[test]
fn a_token_with_other_parameters_finds_its_instance_once_ec2_shows_it() {
    let described_after_max = SignedDuration::from_secs(30);
    let world = world_behaving(Ec2Behaviour { described_after_max, ..Ec2Behaviour::default() });
    let first = launch(&world, request());
    let LaunchOutcome::Launched { instance, .. } = first else { panic!("{first:?}") };
    let other = LaunchRequest { taints: Vec::new(), ..request() };
    let hidden = launch(&world, other.clone());
    assert!(matches!(hidden, LaunchOutcome::NotShown { error, .. } if error.is_retryable()));
    world.change().advance_to(start() + described_after_max);
    let found = launch(&world, other);
    let LaunchOutcome::Launched { instance: found, .. } = found else { panic!("{found:?}") };
    assert_eq!(found.id, instance.id);
}

#[test]
fn an_instance_that_is_not_described_yet_is_not_listed_and_looks_gone_to_who_ends_it() {
    let described_after_max = SignedDuration::from_secs(30);
    let world = world_behaving(Ec2Behaviour { described_after_max, ..Ec2Behaviour::default() });
    let outcome = launch(&world, request());
    let LaunchOutcome::Launched { instance, .. } = outcome else { panic!("{outcome:?}") };
    assert!(block_on(world.instances()).unwrap().is_empty());
    let ended = block_on(world.terminate(std::slice::from_ref(&instance.id))).unwrap();
    assert_eq!(ended, [Termination::Unknown]);
    world.change().advance_to(start() + described_after_max);
    assert_eq!(block_on(world.instances()).unwrap().len(), 1, "it lives on");
    let ended = block_on(world.terminate(&[instance.id])).unwrap();
    assert_eq!(ended, [Termination::ShuttingDown]);
}
