//! Free addresses of zones, less what starting nodes are going to take.

use domain::address_ledger::AddressLedger;
use domain::addresses::{AddressPolicy, FreeAddresses};
use domain::label;
use domain::pod::PodKey;
use domain::snapshot::ClusterSnapshot;
use domain::{Text, Timestamp};
use testkit::node_class;

use crate::testing::node;

fn free(zone: &str, subnet: &str, count: u32) -> FreeAddresses {
    FreeAddresses { zone: zone.into(), subnet: subnet.into(), count }
}

fn snapshot(free: Vec<FreeAddresses>) -> ClusterSnapshot {
    let mut snapshot = ClusterSnapshot::empty(Timestamp::UNIX_EPOCH);
    let mut class = node_class("default");
    class.addresses = Some(AddressPolicy { per_pod: 1, min_free: 10, daemon_pods: 0, free });
    snapshot.objects.node_classes = vec![class];
    snapshot
}

#[test]
fn what_one_class_takes_of_a_subnet_another_lacks() {
    let mut snapshot = snapshot(vec![free("a", "subnet-1", 50), free("a", "subnet-2", 30)]);
    let mut other = snapshot.objects.node_classes[0].clone();
    other.name = "other".into();
    other.addresses = Some(AddressPolicy {
        per_pod: 1,
        min_free: 0,
        daemon_pods: 0,
        free: vec![free("a", "subnet-1", 50)],
    });
    snapshot.objects.node_classes.push(other);
    let (default, other): (Text, Text) = ("default".into(), "other".into());
    let mut ledger = AddressLedger::of(&snapshot).unwrap();
    assert_eq!((ledger.left(&default, "a"), ledger.left(&other, "a")), (Some(70), Some(50)));
    ledger.take(&default, "a", 60);
    assert_eq!((ledger.left(&default, "a"), ledger.left(&other, "a")), (Some(10), Some(0)));
    assert!(ledger.has_room(&default, "a", 9) && !ledger.has_room(&default, "a", 10));
    assert_eq!(ledger.left(&default, "b"), None, "nothing is known of it");
    assert!(ledger.has_room(&default, "b", 1_000));
}

#[test]
fn a_node_that_starts_counts_with_its_pods_and_one_that_is_ready_does_not() {
    let mut snapshot = snapshot(vec![free("a", "subnet-1", 50), free("b", "subnet-2", 50)]);
    let mut starting = node("n").claim;
    starting.node_class_ref.name = "default".into();
    starting.labels.insert(label::ZONE.into(), "a".into());
    starting.status.conditions.clear();
    let pods = ["p", "q"].map(|name| PodKey { namespace: "default".into(), name: name.into() });
    snapshot.nominations.insert(starting.name.clone(), pods.to_vec());
    snapshot.node_claims = vec![starting.clone()];
    let left = |snapshot: &ClusterSnapshot| {
        let ledger = AddressLedger::of(snapshot).unwrap();
        ["a", "b"].map(|zone| ledger.left(&"default".into(), zone).unwrap())
    };
    assert_eq!(left(&snapshot), [37, 40]);
    snapshot.node_claims[0].labels.remove(label::ZONE);
    snapshot.node_claims[0].requirements = Vec::new().into();
    assert_eq!(left(&snapshot), [37, 37], "it may turn out to be in either");
    snapshot.node_claims[0].status.conditions = node("n").claim.status.conditions;
    assert_eq!(left(&snapshot), [40, 40]);
}
