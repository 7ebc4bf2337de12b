use controllers::ports::{ClaimStore, ErrorKind, Version};
use controllers::record::claim::ClaimRecord;
use controllers::record::launch::LaunchRequest;
use serde_json::{Value, json};

use super::*;
use aws_script::Script;

fn nothing() -> Value {
    json!({ "Items": [] })
}

fn store(script: &Script) -> DynamoStore {
    DynamoStore::new(Table::new(&script.config(), "records"), "prod")
}

/// An item among leases that says that a process has announced writes, and withdrawn that.
fn announced(name: &str) -> Value {
    let (cluster, key) = (json!({ "S": "prod" }), json!({ "S": "lease#claims" }));
    json!({ "Items": [{ "cluster": cluster, "record": key, "latest": { "S": name } }] })
}

/// Queries of the claims themselves, of all queries.
fn reads_of_claims(script: &Script) -> usize {
    script.asked("Query").iter().filter(|body| body.contains(r#"{"S":"claim#"}"#)).count()
}

async fn update(store: &DynamoStore) -> Result<Version, PortError> {
    let record = ClaimRecord {
        claim: ::testkit::node_claim("a").build(),
        launch: LaunchRequest::default().into(),
        launch_failures: 0,
        launch_not_before: None,
        instance: None,
        pods: Vec::new(),
        replaces: None,
        pods_fingerprint: None,
        ending: None,
    };
    store.update_claim(&record, Version(1)).await
}

#[tokio::test]
async fn claims_are_read_once_for_as_long_as_nobody_announces_a_write() {
    let script = Script::default()
        .answers_json("Query", &announced("w1"))
        .answers_json("Query", &nothing())
        .answers_json("Query", &announced("w1"))
        .answers_json("Query", &announced("w2"))
        .answers_json("Query", &nothing());
    let store = store(&script);
    for reads in [1, 1, 2] {
        assert!(store.claims().await.unwrap().is_empty());
        assert_eq!(reads_of_claims(&script), reads);
    }
}

#[tokio::test]
async fn a_write_of_a_claim_is_announced_before_and_withdrawn_after() {
    let script = Script::default();
    let store = store(&script);
    update(&store).await.unwrap();
    assert_eq!(script.actions(), ["UpdateItem", "PutItem", "UpdateItem"]);
    let changes = script.asked("UpdateItem");
    assert!(changes[0].contains("ADD #open") && changes[1].contains("DELETE #open"));
    store.delete_claim("a", Version(1)).await.unwrap();
    assert_eq!(script.actions()[3..], ["UpdateItem", "DeleteItem", "UpdateItem"]);
}

#[tokio::test]
async fn a_write_of_which_nothing_is_known_stays_announced() {
    let script = Script::default().refuses_json("PutItem", "AccessDeniedException");
    let store = store(&script);
    let failed = update(&store).await.unwrap_err();
    assert!(failed.kind != ErrorKind::Conflict);
    update(&store).await.unwrap();
    let of_the_second = ["UpdateItem", "PutItem", "UpdateItem"];
    let all = script.actions();
    assert_eq!(all[all.len() - 3..], of_the_second, "it is announced under another name");
    assert_eq!(script.asked("UpdateItem").iter().filter(|own| own.contains("DELETE")).count(), 1);
}

#[tokio::test]
async fn what_cannot_be_announced_is_not_written() {
    let script = Script::default().refuses_json("UpdateItem", "AccessDeniedException");
    assert!(update(&store(&script)).await.is_err());
    assert_eq!(script.asked("PutItem"), [""; 0]);
}

#[tokio::test]
async fn other_records_are_written_without_an_announcement() {
    let script = Script::default();
    store(&script).delete_command("c", Version(1)).await.unwrap();
    assert_eq!(script.actions(), ["DeleteItem"]);
}
