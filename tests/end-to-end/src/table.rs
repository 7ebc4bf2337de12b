//! The table of the stack, as the template makes it.

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use serde_json::{Value, json};

use crate::http;

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
