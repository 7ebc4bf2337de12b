//! The table of the stack, as the template makes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http;

/// What the keys of claims begin with.
const CLAIMS: &str = "claim#";

/// Makes the table anew: what was in it is gone.
pub async fn create(endpoint: &str, name: &str) -> Result<()> {
    if let Err(error) = call(endpoint, "DeleteTable", &json!({"TableName": name})).await
        && !error.to_string().contains("ResourceNotFoundException")
    {
        return Err(error);
    }
    let key = |attribute: &str, kind: &str| json!({"AttributeName": attribute, "KeyType": kind});
    let text = |attribute: &str| json!({"AttributeName": attribute, "AttributeType": "S"});
    let attributes = ["cluster", "record", "instanceId"].map(text);
    let table = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes,
        "KeySchema": [key("cluster", "HASH"), key("record", "RANGE")],
        "GlobalSecondaryIndexes": [{
            "IndexName": "instance",
            "KeySchema": [key("instanceId", "HASH")],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    call(endpoint, "CreateTable", &table).await?;
    let expiry = json!({
        "TableName": name,
        "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"},
    });
    call(endpoint, "UpdateTimeToLive", &expiry).await?;
    Ok(())
}

/// All items, in DynamoDB's own JSON.
pub async fn scan(endpoint: &str, name: &str) -> Result<Vec<Value>> {
    let mut answer =
        call(endpoint, "Scan", &json!({"TableName": name, "ConsistentRead": true})).await?;
    match answer["Items"].take() {
        Value::Array(items) => Ok(items),
        other => bail!("a scan without items: {other}"),
    }
}

/// Puts items, in DynamoDB's own JSON.
pub async fn put(endpoint: &str, name: &str, items: &[Value]) -> Result<()> {
    // What a batch may hold.
    for batch in items.chunks(25) {
        let requests: Vec<_> =
            batch.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
        let answer =
            call(endpoint, "BatchWriteItem", &json!({"RequestItems": {name: requests}})).await?;
        let left = answer["UnprocessedItems"].as_object().map_or(0, serde_json::Map::len);
        ensure!(left == 0, "items were not put: {answer}");
    }
    Ok(())
}

/// Has all leases run out: what time does to those of a process that was killed.
pub async fn end_leases(endpoint: &str, name: &str) -> Result<()> {
    for item in scan(endpoint, name).await? {
        if item["record"]["S"].as_str().is_some_and(|key| key.starts_with("lease#")) {
            let update = json!({
                "TableName": name,
                "Key": {"cluster": item["cluster"], "record": item["record"]},
                "UpdateExpression": "SET #until = :now",
                "ExpressionAttributeNames": {"#until": "until"},
                "ExpressionAttributeValues": {":now": {"N": "0"}},
            });
            call(endpoint, "UpdateItem", &update).await?;
        }
    }
    Ok(())
}

/// Sets back when a function succeeded last.
pub async fn age_success(endpoint: &str, name: &str, function: &str, by: Duration) -> Result<()> {
    let items = scan(endpoint, name).await?;
    let noted = items.into_iter().find(|item| item["record"]["S"] == "successes");
    let mut item = noted.context("a record of successes")?;
    let last: u128 = item[function]["N"].as_str().context("a moment")?.parse()?;
    item[function]["N"] = (last - by.as_millis()).to_string().into();
    put(endpoint, name, &[item]).await
}

/// Sets back every moment that claims know of: what time does to those that nothing happens to.
pub async fn age_claims(endpoint: &str, name: &str, by: Duration) -> Result<()> {
    rewrite(endpoint, name, CLAIMS, |document| set_back(document, by)).await
}

/// Sets back the moment of every proposal of a disruption.
pub async fn age_proposals(endpoint: &str, name: &str, by: Duration) -> Result<()> {
    let age = |document: &mut Value| {
        if document["phase"] == "Proposed" {
            set_back(&mut document["proposed"], by);
        }
    };
    rewrite(endpoint, name, "command#", age).await
}

/// The documents of all records of a kind, in the order of their keys.
pub async fn documents(endpoint: &str, name: &str, kind: &str) -> Result<Vec<Value>> {
    let mut found = BTreeMap::new();
    for item in scan(endpoint, name).await? {
        let key = item["record"]["S"].as_str().unwrap_or_default();
        if key.starts_with(kind) {
            let body = item["body"]["B"].as_str().context("a record's body")?;
            found.insert(key.to_owned(), unpack(body)?);
        }
    }
    Ok(found.into_values().collect())
}

/// Changes the documents of all records of a kind. Claims are announced first, as by any writer:
/// processes that keep what they read of claims read them anew.
pub async fn rewrite(
    endpoint: &str,
    name: &str,
    kind: &str,
    change: impl Fn(&mut Value),
) -> Result<()> {
    let mut changed = Vec::new();
    for mut item in scan(endpoint, name).await? {
        if item["record"]["S"].as_str().is_some_and(|key| key.starts_with(kind)) {
            let body = item["body"]["B"].as_str().context("a record's body")?;
            let mut document = unpack(body)?;
            change(&mut document);
            item["body"]["B"] = pack(&document)?.into();
            // As every write does: whoever kept what was there before sees it.
            let write = item["write"]["S"].as_str().context("a record's write")?;
            item["write"]["S"] = format!("{write}-aged").into();
            changed.push(item);
        }
    }
    if kind == CLAIMS {
        let clusters: BTreeSet<_> =
            changed.iter().filter_map(|item| item["cluster"]["S"].as_str()).collect();
        for cluster in clusters {
            announce(endpoint, name, cluster).await?;
        }
    }
    put(endpoint, name, &changed).await
}

/// Announces writes of a cluster's claims that are over before anybody reads.
async fn announce(endpoint: &str, name: &str, cluster: &str) -> Result<()> {
    let announcement = format!("rig-{}", Timestamp::now().as_nanosecond());
    let update = json!({
        "TableName": name,
        "Key": {"cluster": {"S": cluster}, "record": {"S": "lease#claims"}},
        "UpdateExpression": "SET #latest = :latest",
        "ExpressionAttributeNames": {"#latest": "latest"},
        "ExpressionAttributeValues": {":latest": {"S": announcement}},
    });
    call(endpoint, "UpdateItem", &update).await?;
    Ok(())
}

fn set_back(document: &mut Value, by: Duration) {
    match document {
        Value::String(text) => {
            if let Ok(moment) = text.parse::<Timestamp>() {
                *text = (moment - by).to_string();
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|own| set_back(own, by)),
        Value::Object(fields) => fields.values_mut().for_each(|own| set_back(own, by)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn unpack(body: &str) -> Result<Value> {
    let mut text = String::new();
    GzDecoder::new(&*STANDARD.decode(body)?).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

fn pack(document: &Value) -> Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(document.to_string().as_bytes())?;
    Ok(STANDARD.encode(encoder.finish()?))
}

async fn call(endpoint: &str, action: &str, document: &Value) -> Result<Value> {
    let request = Request::post(endpoint)
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("DynamoDB_20120810.{action}"))
        // DynamoDB Local wants a credential and does not check it.
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=rig/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        )
        .body(Full::from(document.to_string()))?;
    let answer = http::client().request(request).await.with_context(|| action.to_owned())?;
    let is_good = answer.status().is_success();
    let bytes = answer.into_body().collect().await?.to_bytes();
    if !is_good {
        bail!("{action}: {}", String::from_utf8_lossy(&bytes));
    }
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_document_are_set_back_and_nothing_else_is() {
        let body = pack(&json!({"name": "a", "since": ["2026-01-01T12:00:00Z"], "count": 3}));
        let mut document = unpack(&body.unwrap()).unwrap();
        set_back(&mut document, Duration::from_mins(20));
        assert_eq!(document, json!({"name": "a", "since": ["2026-01-01T11:40:00Z"], "count": 3}));
    }
}
