//! What IAM has to permit for a call to DynamoDB. DynamoDB Local asks nobody, so the gate does: it
//! lets pass what the caller's role may do, and keeps what was asked for, with the facts that
//! conditions read.
//!
//! Source:
//! <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html>

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::{Head, Side};
use crate::cloud::{ACCOUNT, REGION};

/// The table's partition key, and that of each of its indexes.
const KEYS: [&str; 2] = ["cluster", "instanceId"];

/// An action on a table or an index, and the partitions that it touches (`dynamodb:LeadingKeys`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Permission {
    /// `dynamodb:PutItem`.
    pub(super) action: String,
    /// Its ARN.
    pub(super) resource: String,
    /// The values of partition keys.
    pub(super) partitions: BTreeSet<String>,
}

/// What a call takes; nothing where it is not one of DynamoDB.
pub(super) fn needed(head: &Head) -> Vec<Permission> {
    let name = head.action.strip_prefix("dynamodb:").filter(|_| head.side == Side::DynamoDb);
    let Some(name) = name else { return Vec::new() };
    let Ok(asked) = serde_json::from_str::<Value>(&head.detail) else { return Vec::new() };
    match name {
        // Each part is asked for as what it is.
        "TransactWriteItems" => parts(&asked["TransactItems"])
            .filter_map(|(kind, part)| {
                let action = match kind {
                    "Put" => "PutItem",
                    "Update" => "UpdateItem",
                    "Delete" => "DeleteItem",
                    "ConditionCheck" => "ConditionCheckItem",
                    _ => return None,
                };
                Some(one(action, part))
            })
            .collect(),
        "BatchWriteItem" => {
            let tables = asked["RequestItems"].as_object().into_iter().flatten();
            tables
                .map(|(table, writes)| Permission {
                    action: head.action.clone(),
                    resource: arn(table, None),
                    partitions: parts(writes).filter_map(|(_, write)| partition(write)).collect(),
                })
                .collect()
        }
        _ => vec![one(name, &asked)],
    }
}

/// The elements of a list of `{KIND: PART}`.
fn parts(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let elements = list.as_array().into_iter().flatten().filter_map(Value::as_object);
    elements.flatten().map(|(kind, part)| (&**kind, part))
}

fn one(action: &str, asked: &Value) -> Permission {
    Permission {
        action: format!("dynamodb:{action}"),
        resource: arn(asked["TableName"].as_str().unwrap_or_default(), asked["IndexName"].as_str()),
        partitions: partition(asked).into_iter().collect(),
    }
}

/// The partition of an item, a key, or the condition of a query, which compares the partition key
/// first.
fn partition(asked: &Value) -> Option<String> {
    let of =
        |holder: &Value| KEYS.iter().find_map(|key| holder[*key]["S"].as_str()).map(str::to_owned);
    of(&asked["Item"]).or_else(|| of(&asked["Key"])).or_else(|| {
        let (_, compared) = asked["KeyConditionExpression"].as_str()?.split_once('=')?;
        let name = compared.split_whitespace().next()?;
        asked["ExpressionAttributeValues"][name]["S"].as_str().map(str::to_owned)
    })
}

fn arn(table: &str, index: Option<&str>) -> String {
    let index = index.map(|index| format!("/index/{index}")).unwrap_or_default();
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}{index}")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    fn asks(name: &str, document: &Value) -> Vec<String> {
        let needed = needed(&Head {
            side: Side::DynamoDb,
            caller: "ASIA1".to_owned(),
            region: REGION.to_owned(),
            action: format!("dynamodb:{name}"),
            path: "/".to_owned(),
            detail: document.to_string(),
            received: Instant::now(),
        });
        let text = |own: &Permission| {
            let table = own.resource.rsplit_once("table/").map_or("", |(_, table)| table);
            format!("{} {table} {:?}", own.action, own.partitions)
        };
        needed.iter().map(text).collect()
    }

    #[test]
    fn a_transaction_takes_the_rights_of_its_parts() {
        let of = |cluster: &str| json!({"cluster": {"S": cluster}, "record": {"S": "r"}});
        let parts = json!({"TransactItems": [
            {"Put": {"TableName": "t", "Item": of("shop")}},
            {"ConditionCheck": {"TableName": "t", "Key": of("shop")}},
        ]});
        assert_eq!(
            asks("TransactWriteItems", &parts),
            ["dynamodb:PutItem t {\"shop\"}", "dynamodb:ConditionCheckItem t {\"shop\"}"]
        );
        let writes = json!({"RequestItems": {"t": [
            {"PutRequest": {"Item": of("shop")}},
            {"DeleteRequest": {"Key": of("other")}},
        ]}});
        assert_eq!(
            asks("BatchWriteItem", &writes),
            ["dynamodb:BatchWriteItem t {\"other\", \"shop\"}"]
        );
    }

    #[test]
    fn a_query_touches_the_partition_that_it_names() {
        let query = json!({
            "TableName": "t",
            "IndexName": "instance",
            "KeyConditionExpression": "#instanceId = :instance",
            "ExpressionAttributeValues": {":instance": {"S": "i-1"}},
        });
        assert_eq!(asks("Query", &query), ["dynamodb:Query t/index/instance {\"i-1\"}"]);
        assert_eq!(asks("Scan", &json!({"TableName": "t"})), ["dynamodb:Scan t {}"], "everything");
    }
}
