//! The suite, asked of every store there is: the simulation's, and DynamoDB as far as one is at
//! hand.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

mod server;

use aws::budget::{Bucket, CallBudget as _};
use aws::store::CatalogStore as _;
use aws::store::{DynamoStore, RegionBlobs, Table};
use aws::throttle::SharedBudget;
use claim_store::records::{at, claim, launched};
use claim_store::{cases, hold_all};
use controllers::ports::{ClaimStore as _, FunctionName, LeaseAnswer};
use domain::SignedDuration;
use domain::instance_type::InstanceTypes;
use server::Server;
use simulation::ec2::Supply;
use simulation::ports::SharedWorld;
use simulation::world::{World, WorldOptions};

#[tokio::test]
async fn the_simulation_has_the_semantics_of_a_claim_store() {
    hold_all(|| {
        let supply = Supply::Fixed(InstanceTypes::default());
        SharedWorld::new(World::new(WorldOptions::new(1, at(0)), supply))
    })
    .await
    .unwrap();
}

/// A table on a DynamoDB that is at hand; without one, the caller's test is skipped.
async fn table() -> Option<(Server, Table)> {
    let Some(server) = Server::at_hand() else {
        eprintln!("skipped: neither DYNAMODB_ENDPOINT nor moto_server is there");
        return None;
    };
    let table = server.new_table().await;
    Some((server, table))
}

#[tokio::test]
async fn dynamodb_has_the_semantics_of_a_claim_store() {
    let Some((_server, table)) = table().await else { return };
    let mut clusters = 0;
    hold_all(|| {
        clusters += 1;
        DynamoStore::new(table.clone(), &format!("cluster-{clusters}"))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn clusters_share_a_table_and_see_nothing_of_each_other_but_by_instance() {
    let Some((_server, table)) = table().await else { return };
    let (ours, theirs) =
        (DynamoStore::new(table.clone(), "a"), DynamoStore::new(table.clone(), "b"));
    let term = SignedDuration::from_secs(60);
    let LeaseAnswer::Acquired(lease) =
        ours.acquire_lease(FunctionName::Provisioning, "run", at(0), term).await.unwrap()
    else {
        panic!("nobody else asked")
    };
    ours.create_claim(&launched(claim("c"), "i-1"), &lease).await.unwrap();
    assert!(theirs.claims().await.unwrap().is_empty());
    assert!(theirs.claim_of_instance("i-1").await.unwrap().is_none());
    let place = table.claim_of_instance("i-1").await.unwrap().unwrap();
    assert_eq!((&*place.cluster, &*place.claim), ("a", "c"));
    assert!(theirs.create_claim(&claim("d"), &lease).await.is_err(), "a lease is of one cluster");
}

#[tokio::test]
async fn a_list_longer_than_a_page_is_read_to_its_end() {
    let Some((_server, table)) = table().await else { return };
    let store = DynamoStore::new(table, "large");
    let term = SignedDuration::from_secs(60);
    let LeaseAnswer::Acquired(lease) =
        store.acquire_lease(FunctionName::Provisioning, "run", at(0), term).await.unwrap()
    else {
        panic!("nobody else asked")
    };
    // A page is 1 MB; names without a pattern keep each claim above 100 KB.
    let mut state = 5_u64;
    for index in 0..15 {
        let mut record = claim(&format!("claim-{index:02}"));
        record.pods = (0..8_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                domain::pod::PodKey::new("a", format!("{state:x}"))
            })
            .collect();
        store.create_claim(&record, &lease).await.unwrap();
    }
    let claims = store.claims().await.unwrap();
    assert_eq!(claims.len(), 15);
    assert!(claims.iter().all(|own| own.record.pods.len() == 8_000));
}

#[tokio::test]
async fn processes_see_each_others_writes_although_each_keeps_what_it_has_read() {
    let supply = Supply::Fixed(InstanceTypes::default());
    let ours = SharedWorld::new(World::new(WorldOptions::new(1, at(0)), supply));
    let theirs = ours.clone();
    cases::each_of_two_sees_what_the_other_writes(&ours, &theirs).await.unwrap();
    let Some((_server, table)) = table().await else { return };
    let (ours, theirs) =
        (DynamoStore::new(table.clone(), "shared"), DynamoStore::new(table, "shared"));
    cases::each_of_two_sees_what_the_other_writes(&ours, &theirs).await.unwrap();
}

#[tokio::test]
async fn of_many_who_want_a_lease_at_once_one_gets_it() {
    let Some((server, table)) = table().await else { return };
    if !server.has_atomic_updates() {
        eprintln!(
            "skipped: moto checks a condition and writes in two steps; DYNAMODB_ENDPOINT is needed"
        );
        return;
    }
    for round in 0..5 {
        let cluster = format!("race-{round}");
        let ask = |who: usize| {
            let store = DynamoStore::new(table.clone(), &cluster);
            async move {
                let (holder, term) = (format!("run-{who}"), SignedDuration::from_secs(60));
                let asked = store.acquire_lease(FunctionName::Lifecycle, &holder, at(0), term);
                matches!(asked.await.unwrap(), LeaseAnswer::Acquired(_))
            }
        };
        let (a, b, c, d) = tokio::join!(ask(1), ask(2), ask(3), ask(4));
        assert_eq!([a, b, c, d].iter().filter(|got| **got).count(), 1);
    }
}

#[tokio::test]
async fn a_blob_of_any_size_is_read_as_it_was_written_last() {
    let Some((_server, table)) = table().await else { return };
    let blobs = RegionBlobs::new(table, "eu-west-1");
    assert_eq!(blobs.get("none").await.unwrap(), None);
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).take(1_500_000).collect();
    for bytes in [vec![], b"small".to_vec(), large.clone(), b"small again".to_vec(), large] {
        blobs.put("catalogue/v1", bytes.clone()).await.unwrap();
        assert!(blobs.get("catalogue/v1").await.unwrap() == Some(bytes));
    }
}

#[tokio::test]
async fn budgets_of_several_processes_share_one_bucket() {
    let Some((_server, table)) = table().await else { return };
    // EC2's launches: 37 at once, 4 a second.
    let processes: Vec<SharedBudget> =
        (0..3).map(|_| SharedBudget::new(table.clone(), "eu-west-1")).collect();
    let started = std::time::Instant::now();
    for _ in 0..15 {
        for budget in &processes {
            budget.acquire(Bucket::Launch, 1).await;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    // 45 calls: 37 are there, the others come back at 4 a second; each process may keep a batch of
    // 4.
    assert!(seconds >= (45.0 - 37.0) / 4.0 - 0.5, "{seconds} s");
    assert!(seconds < 30.0, "{seconds} s");
}
