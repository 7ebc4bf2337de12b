use std::sync::Arc;

use domain::instance_type::CapacityType;
use domain::label::DO_NOT_DISRUPT;
use domain::plan::{Placement, PlannedNodeClaim};
use domain::reason::DisruptionReason;
use domain::resource::CPU;
use domain::snapshot::ClusterObjects;

use super::*;
use crate::pod_fingerprints::PodFingerprints;
use crate::ports::claim_store::Version;
use crate::record::claim::EndReason;
use crate::record::launch::LaunchChoices;
use crate::testing::{
    at, initialized_record, instance_type, listing_of, milli_usd, node_of, offering, planned_claim,
    pod_on, record,
};

fn observation(records: impl IntoIterator<Item = ClaimRecord>) -> ClusterState {
    let version = Version(1);
    let claims: Vec<Versioned<ClaimRecord>> =
        records.into_iter().map(|record| Versioned { record, version }).collect();
    let nodes = claims
        .iter()
        .filter(|claim| claim.record.instance.is_some())
        .map(|claim| Node { taints: Vec::new(), ..node_of(&claim.record) })
        .collect();
    let mut small = instance_type("m5.large", [offering("a", "spot", 40)]);
    small.allocatable = small.allocatable.with(CPU, 1900);
    let mut large = instance_type("m5.xlarge", [offering("a", "spot", 80)]);
    large.capacity = large.capacity.with(CPU, 4000);
    ClusterState {
        now: at(100),
        seed: 7,
        listing: listing_of(ClusterObjects { nodes, ..ClusterObjects::default() }),
        claims,
        commands: Vec::new(),
        unavailable: Vec::new(),
        nominations: Vec::new(),
        spot: SpotMemory::default(),
        instance_types: InstanceTypes {
            default: vec![small, large].into(),
            ..InstanceTypes::default()
        },
    }
}

fn snapshot_of(observed: &ClusterState) -> ClusterSnapshot {
    snapshot(observed, &Settings::default())
}

#[test]
fn a_claim_without_an_instance_has_the_least_room_and_counts_as_the_largest() {
    let mut waiting = record("web-1");
    let mut large = waiting.launch.offerings[0].clone();
    large.instance_type = "m5.xlarge".into();
    Arc::make_mut(&mut waiting.launch).offerings.push(large);
    let claim = snapshot_of(&observation([waiting])).node_claims.remove(0);
    assert_eq!(claim.status.allocatable.get(CPU), 1900);
    assert_eq!(claim.status.capacity.get(CPU), 4000);
    assert_eq!(claim.labels.get(label::ZONE).map(|zone| &**zone), Some("a"));
    assert!(!claim.labels.contains_key(label::INSTANCE_TYPE), "EC2 has not chosen yet");
}

#[test]
fn what_users_write_on_the_object_counts() {
    let own = initialized_record("web-1", at(0));
    let mut object =
        NodeClaimObject { claim: own.claim.clone(), mirror_of: Some(own.claim.uid.clone()) };
    object.claim.annotations.insert(DO_NOT_DISRUPT.into(), "true".into());
    object.claim.deleted = Some(at(90));
    let mut observed = observation([own]);
    observed.listing.node_claims.push(object);
    let claims = snapshot_of(&observed).node_claims;
    assert_eq!(claims.len(), 1, "claim and object are one");
    assert!(claims[0].annotations.contains_key(DO_NOT_DISRUPT));
    assert_eq!(claims[0].deleted, Some(at(90)));
}

/// A command that was proposed for the node of a claim.
fn command_for(claim: &str) -> CommandRecord {
    CommandRecord {
        id: "1".into(),
        disruption: PlannedDisruption {
            reason: DisruptionReason::Underutilized,
            nodes: vec![format!("node-{claim}").into()],
            pods: Vec::new(),
            replacements: Vec::new(),
            moves: Vec::new(),
            savings: domain::money::UsdPerHour::ZERO,
        },
        candidates: vec![claim.into()],
        proposed: at(80),
        phase: CommandPhase::Proposed,
    }
}

#[test]
fn nodes_of_ending_claims_and_of_commands_under_way_are_leaving() {
    let ending = initialized_record("ending", at(0)).ended(
        at(50),
        EndReason::Disrupted(DisruptionReason::Empty),
        None,
    );
    let records = [ending, initialized_record("moving", at(0)), initialized_record("stays", at(0))];
    let mut observed = observation(records);
    let mut command = command_for("moving");
    let leaving = |observed: &ClusterState| -> Vec<String> {
        let nodes = snapshot_of(observed).objects.nodes;
        nodes.iter().filter(|node| node.is_disrupted()).map(|node| node.name.to_string()).collect()
    };
    observed.commands = vec![Versioned { record: command.clone(), version: Version(1) }];
    assert_eq!(leaving(&observed), ["node-ending"], "a proposal moves nothing yet");
    command.phase = CommandPhase::Waiting { since: at(95) };
    observed.commands = vec![Versioned { record: command, version: Version(1) }];
    assert_eq!(leaving(&observed), ["node-ending", "node-moving"]);
}

#[test]
fn offerings_are_unavailable_until_their_time_is_over() {
    let mut observed = observation([]);
    observed.unavailable.push(UnavailableOffering {
        instance_type: "m5.large".into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
        code: "InsufficientInstanceCapacity".into(),
        until: at(101),
    });
    let available = |observed: &ClusterState| -> Vec<bool> {
        let types = snapshot_of(observed).instance_types;
        types.default.iter().map(|one| one.offerings[0].available).collect()
    };
    assert_eq!(available(&observed), [false, true]);
    observed.now = at(101);
    assert_eq!(available(&observed), [true, true]);
    observed.unavailable.push(UnavailableOffering {
        instance_type: ANY.into(),
        zone: ANY.into(),
        capacity_type: CapacityType::Spot,
        code: "MaxSpotInstanceCountExceeded".into(),
        until: at(102),
    });
    let of_spot: Vec<bool> = snapshot_of(&observed)
        .instance_types
        .default
        .iter()
        .flat_map(|own| &own.offerings)
        .filter(|own| own.capacity_type == CapacityType::Spot)
        .map(|own| own.available)
        .collect();
    assert!(of_spot.iter().all(|is_available| !is_available), "{of_spot:?}");
}

#[test]
fn pods_are_expected_where_a_command_under_way_moves_them_until_they_have_moved() {
    let key = |name: &str| PodKey::new("default", name);
    let records = ["moving", "stays", "web-1"].map(|name| initialized_record(name, at(0)));
    let mut observed = observation(records);
    let node = node_of(&initialized_record("moving", at(0)));
    observed.listing.objects.pods = vec![pod_on("a", &node), pod_on("b", &node)].into();
    let mut command = command_for("moving");
    command.disruption.moves = vec![
        Placement { pod: key("a"), node: "node-stays".into() },
        Placement { pod: key("gone"), node: "node-stays".into() },
    ];
    command.disruption.replacements =
        vec![PlannedNodeClaim { pods: vec![key("b")], ..planned_claim("web-1") }];
    let expected = |observed: &ClusterState| snapshot_of(observed).nominations;
    observed.commands = vec![Versioned { record: command.clone(), version: Version(1) }];
    assert!(expected(&observed).is_empty(), "a proposal moves nothing yet");
    command.phase = CommandPhase::Waiting { since: at(95) };
    observed.commands = vec![Versioned { record: command, version: Version(1) }];
    let places =
        [("node-stays", "a"), ("node-web-1", "b")].map(|(node, pod)| (node.into(), vec![key(pod)]));
    assert_eq!(expected(&observed), BTreeMap::from(places));
}

#[test]
fn a_nomination_of_a_claim_counts_for_its_node_and_ends() {
    let mut observed = observation([initialized_record("web-1", at(0))]);
    let pods = vec![PodKey::new("default", "web-0")];
    observed.nominations =
        vec![Nomination { node: "web-1".into(), pods: pods.clone(), until: at(101) }];
    assert_eq!(snapshot_of(&observed).nominations.get("node-web-1"), Some(&pods));
    observed.now = at(101);
    assert!(snapshot_of(&observed).nominations.is_empty());
}

#[test]
fn a_pod_that_left_since_the_last_lifecycle_run_is_a_pod_event() {
    let own = initialized_record("web-1", at(0));
    let pod = pod_on("web-0", &node_of(&own));
    let mut own = Cow::Owned(own);
    record_pod_events(&mut own, &[&pod], &PodFingerprints::default(), at(50));
    let own = own.into_owned();
    let mut observed = observation([own]);
    observed.listing.objects.pods = vec![pod].into();
    let last_event =
        |observed: &ClusterState| snapshot_of(observed).node_claims[0].status.last_pod_event;
    assert_eq!(last_event(&observed), Some(at(0)));
    observed.listing.objects.pods.clear();
    assert_eq!(last_event(&observed), Some(at(100)));
}

#[test]
fn what_is_expected_on_a_claim_is_expected_on_its_node_before_that_is_registered() {
    let booted = crate::testing::launched_record("web-1", at(0));
    let node = node_of(&booted).name;
    let mut observed = observation([booted]);
    assert_eq!(observed.claims[0].record.claim.status.node_name, None);
    let pods = vec![PodKey::new("default", "a")];
    observed.nominations.push(Nomination { node: "web-1".into(), pods, until: at(110) });
    let expected = snapshot_of(&observed).nominations;
    assert_eq!(expected.keys().collect::<Vec<_>>(), [&node]);
}

#[test]
fn room_of_pods_that_end_before_a_new_node_could_be_there_is_free() {
    let record = initialized_record("web-1", at(0));
    let node = node_of(&record);
    let left = |change: &dyn Fn(&mut Pod)| {
        let mut pod = pod_on("a", &node);
        pod.deleted = Some(at(120));
        change(&mut pod);
        let mut observed = observation([record.clone()]);
        observed.listing.objects.pods = vec![pod].into();
        let mut snapshot = snapshot_of(&observed);
        forget_ending_pods(&mut snapshot);
        snapshot.objects.pods.len()
    };
    assert_eq!(left(&|_| ()), 0);
    assert_eq!(left(&|pod| pod.deleted = None), 1);
    assert_eq!(left(&|pod| pod.deleted = Some(at(131))), 1, "a new node is there as soon");
    assert_eq!(left(&|pod| pod.deleted = Some(at(99))), 1, "it is late, and may stay for good");
    let owner =
        domain::pod::Owner { kind: OwnerKind::StatefulSet, name: "db".into(), uid: "u".into() };
    assert_eq!(left(&|pod| pod.owner = Some(owner.clone())), 1, "its successor wants the room");
}

/// A claim that either of two types was asked for, of which EC2 launched one at a second.
fn launched(name: &str, second: i64, instance_type: &str) -> ClaimRecord {
    let mut own = initialized_record(name, at(0));
    let launch = Arc::make_mut(&mut own.launch);
    let [mut m5, mut m5a] = [launch.offerings[0].clone(), launch.offerings[0].clone()];
    (m5.price, m5a.price) = (milli_usd(40), milli_usd(30));
    m5a.instance_type = "m5a.large".into();
    launch.offerings = vec![m5a, m5];
    let instance = own.instance.as_mut().unwrap();
    instance.launched = at(second);
    instance.instance_type = instance_type.into();
    own
}

#[test]
fn spot_that_ec2_skipped_in_its_last_launches_is_known() {
    let skips = |records: &[ClaimRecord]| {
        let snapshot = snapshot_of(&observation(records.iter().cloned()));
        let m5a = instance_type("m5a.large", []);
        snapshot.skipped_spot.surcharge(&m5a, "a", milli_usd(30)) > milli_usd(9)
    };
    let [skipped, not] = [launched("web-1", 10, "m5.large"), launched("web-2", 20, "m5a.large")];
    assert!(skips(std::slice::from_ref(&skipped)));
    assert!(!skips(&[skipped.clone(), not.clone()]), "it was launched since");
    let again = launched("web-3", 30, "m5.large");
    assert!(skips(&[skipped.clone(), not, again]));
    let long_ago = launched("web-1", 100 - SKIPPED_FOR.as_secs(), "m5.large");
    assert!(!skips(&[long_ago]));
    let mut on_demand = skipped.clone();
    on_demand.instance.as_mut().unwrap().capacity_type = CapacityType::OnDemand;
    assert!(!skips(&[on_demand]), "the cheapest on demand was short of capacity");
    let mut elsewhere = skipped.clone();
    let subnets = [("b".into(), "subnet-b".into())].into();
    let only_b = LaunchChoices { subnets, ..LaunchChoices::default() };
    Arc::make_mut(&mut elsewhere.launch).attempt.choices = Some(only_b);
    assert!(!skips(&[elsewhere]), "no subnet of its zone was asked for");
    let mut ordered = skipped;
    let is_overlaid = LaunchChoices { is_overlaid: true, ..LaunchChoices::default() };
    Arc::make_mut(&mut ordered.launch).attempt.choices = Some(is_overlaid);
    assert!(!skips(&[ordered]), "EC2 follows the order that it was given");
}
