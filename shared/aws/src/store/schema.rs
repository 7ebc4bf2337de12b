//! The table: its keys, its attributes, its index.
//!
//! The partition key is `cluster`, the sort key `record`, typed by prefix. Data that several
//! clusters share has a partition whose name no cluster can have (EKS allows letters, digits, `-`
//! and `_`). A sparse index maps an instance id to the keys of its claim, and attribute `expires`
//! is the time to live.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use controllers::ports::{FunctionName, PortError};
use controllers::record::fuses::Counted;
use controllers::record::observation::Observer;
use domain::instance_type::CapacityType;

use crate::calls::dynamodb;
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

/// The version of the item, 1 for the first write.
pub(super) const VERSION: &str = "version";
/// Unique to one write: recognises a write whose answer was lost.
pub(super) const WRITE: &str = "write";
/// The format of [`BODY`].
pub(super) const FORMAT: &str = "format";
/// A document, compressed.
pub(super) const BODY: &str = "body";
/// When a record expires, milliseconds since 1970.
pub(super) const UNTIL: &str = "until";
/// Who holds a lease.
pub(super) const HOLDER: &str = "holder";
/// The fencing token of a lease.
pub(super) const TOKEN: &str = "token";
/// How many of a lease's holders announce what they write: its token without those that do not.
pub(super) const ANNOUNCING: &str = "announcing";
/// The last holder of a lease that announces what it writes.
pub(super) const ANNOUNCER: &str = "announcer";
/// The latest announcement of writes.
pub(super) const LATEST: &str = "latest";
/// Announcements that were not withdrawn: a set of text.
pub(super) const OPEN: &str = "open";
/// The number of the last link of a chain of messages.
pub(super) const LINK: &str = "link";

pub(super) const CLAIMS: &str = "claim#";
pub(super) const COMMANDS: &str = "command#";
pub(super) const NOMINATIONS: &str = "nomination#";
pub(super) const POOLS: &str = "pool#";
pub(super) const UNAVAILABLE: &str = "unavailable#";
pub(super) const OBSERVATIONS: &str = "observation#";
pub(super) const RECENT: &str = "recent#";
/// The item with what an operator has said: attributes of text.
pub(super) const CONTROLS: &str = "controls";
pub(super) const SPOT: &str = "spot#";
/// The partition of what all clusters of the installation remember of spot offerings. A table is
/// of one region.
pub(super) const SPOT_PARTITION: &str = "region/spot";
pub(super) const LEASES: &str = "lease#";
/// The item in which writes of claims are announced. It lies among the leases, so that one query
/// reads all of them.
pub(super) const CLAIM_WRITES: &str = "lease#claims";
/// The item with the moments at which functions succeeded last.
pub(super) const SUCCESSES: &str = "successes";
pub(super) const CHAINS: &str = "chain#";
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

pub(super) fn observation(function: Observer) -> String {
    format!("{OBSERVATIONS}{function}")
}

pub(super) fn spot(cluster: &str) -> String {
    format!("{SPOT}{cluster}")
}

pub(super) fn recent(what: Counted) -> String {
    format!("{RECENT}{what}")
}

pub(super) fn lease(function: FunctionName) -> String {
    format!("{LEASES}{function}")
}

pub(super) fn chain(function: FunctionName) -> String {
    format!("{CHAINS}{function}")
}

pub(super) fn unavailable(instance_type: &str, zone: &str, capacity: CapacityType) -> String {
    format!("{UNAVAILABLE}{instance_type}#{zone}#{capacity}")
}

/// The partition of data that all clusters of a region share.
pub fn region_partition(region: &str) -> String {
    format!("region/{region}")
}

/// Creates the table, billed by request; an existing one is left unchanged. For tests and local
/// use: the table of an installation belongs to its template.
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
        Err(error) => return Err(port_error(dynamodb(CREATE_TABLE), &error)),
    }
    let time_to_live = TimeToLiveSpecification::builder().attribute_name(EXPIRES).enabled(true);
    let time_to_live = built("UpdateTimeToLive", time_to_live.build())?;
    client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(time_to_live)
        .send()
        .await
        .map_err(|error| port_error(dynamodb("UpdateTimeToLive"), &error))?;
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
