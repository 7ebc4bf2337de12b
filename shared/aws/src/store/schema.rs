//! The table: its keys, its attributes, its index.
//!
//! Partition key `cluster`, sort key `record`, typed by prefix. What several clusters share has a partition
//! of its own, whose name no cluster can have (EKS allows letters, digits, `-` and `_`). A sparse index
//! leads from an instance id to the keys of its claim, and attribute `expires` is the table's time to
//! live.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use controllers::ports::{FunctionName, PortError};
use domain::instance_type::CapacityType;

use super::table::action;
use crate::error::{built, port_error};

/// Partition key: the cluster's name.
pub const CLUSTER: &str = "cluster";
/// Sort key.
pub const KEY: &str = "record";
/// The id of a claim's instance; only items that have it are in the index.
pub const INSTANCE: &str = "instanceId";
/// The index on [`INSTANCE`]: keys only.
pub const INSTANCE_INDEX: &str = "instance";
/// Time to live: seconds since 1970.
pub const EXPIRES: &str = "expires";

const CREATE_TABLE: &str = "CreateTable";

/// Which write of the item this is, 1 for the first.
pub(super) const VERSION: &str = "version";
/// Unique to one write: tells our own write, whose answer was lost, from another's.
pub(super) const WRITE: &str = "write";
/// The format of [`BODY`].
pub(super) const FORMAT: &str = "format";
/// A document, compressed.
pub(super) const BODY: &str = "body";
/// Milliseconds since 1970 until which something holds.
pub(super) const UNTIL: &str = "until";
/// Who holds a lease.
pub(super) const HOLDER: &str = "holder";
/// The fencing token of a lease.
pub(super) const TOKEN: &str = "token";

pub(super) const CLAIMS: &str = "claim#";
pub(super) const COMMANDS: &str = "command#";
pub(super) const NOMINATIONS: &str = "nomination#";
pub(super) const POOLS: &str = "pool#";
pub(super) const UNAVAILABLE: &str = "unavailable#";
pub(super) const LEASES: &str = "lease#";
pub(super) const BLOBS: &str = "catalog#";
pub(crate) const THROTTLES: &str = "throttle#";

pub(super) fn claim(name: &str) -> String {
    format!("{CLAIMS}{name}")
}

pub(super) fn command(id: &str) -> String {
    format!("{COMMANDS}{id}")
}

pub(super) fn nomination(node: &str) -> String {
    format!("{NOMINATIONS}{node}")
}

pub(super) fn pool(node_pool: &str) -> String {
    format!("{POOLS}{node_pool}")
}

pub(super) fn lease(function: FunctionName) -> String {
    format!("{LEASES}{function}")
}

pub(super) fn unavailable(instance_type: &str, zone: &str, capacity: CapacityType) -> String {
    format!("{UNAVAILABLE}{instance_type}#{zone}#{capacity}")
}

/// The partition of what all clusters of a region share.
pub fn region_partition(region: &str) -> String {
    format!("region/{region}")
}

/// Makes the table, billed by request; one that is there is left as it is. For tests and local use: an
/// installation's table belongs to its template.
pub async fn create(client: &Client, table: &str) -> Result<(), PortError> {
    let attributes = [CLUSTER, KEY, INSTANCE].map(text_attribute).into_iter();
    let keys = [key_element(CLUSTER, KeyType::Hash), key_element(KEY, KeyType::Range)];
    let created = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes.collect::<Result<_, _>>()?))
        .set_key_schema(Some(keys.into_iter().collect::<Result<_, _>>()?))
        .global_secondary_indexes(instance_index()?)
        .send()
        .await;
    match created {
        Ok(_) => {}
        Err(SdkError::ServiceError(error)) if error.err().is_resource_in_use_exception() => {
            return Ok(());
        }
        Err(error) => return Err(port_error(action(CREATE_TABLE), &error)),
    }
    let time_to_live = TimeToLiveSpecification::builder().attribute_name(EXPIRES).enabled(true);
    let time_to_live = built("UpdateTimeToLive", time_to_live.build())?;
    client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(time_to_live)
        .send()
        .await
        .map_err(|error| port_error(action("UpdateTimeToLive"), &error))?;
    Ok(())
}

fn text_attribute(name: &str) -> Result<AttributeDefinition, PortError> {
    let attribute =
        AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
    built(CREATE_TABLE, attribute.build())
}

fn key_element(name: &str, kind: KeyType) -> Result<KeySchemaElement, PortError> {
    built(CREATE_TABLE, KeySchemaElement::builder().attribute_name(name).key_type(kind).build())
}

fn instance_index() -> Result<GlobalSecondaryIndex, PortError> {
    let index = GlobalSecondaryIndex::builder()
        .index_name(INSTANCE_INDEX)
        .key_schema(key_element(INSTANCE, KeyType::Hash)?)
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    built(CREATE_TABLE, index.build())
}
