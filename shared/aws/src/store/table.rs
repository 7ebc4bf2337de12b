//! Operations on the table: conditional writes, strongly consistent reads.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    ConditionCheck, DeleteRequest, Put, PutRequest, ReturnValue,
    ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem, WriteRequest,
};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use backon::{BackoffBuilder, ExponentialBuilder};
use controllers::ports::{ErrorKind, PortError};

use super::attribute::{Attributes, Place, text};
use super::expression::{Condition, names_in, some};
use super::retry::Contention;
use super::schema::{INSTANCE, INSTANCE_INDEX};
use super::spot_cache::SpotCache;
use crate::calls::dynamodb;
use crate::error::{built, port_error};

/// Attempts of one call, including the first.
const ATTEMPTS_MAX: u32 = 6;
const BACKOFF_INITIAL: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A page is at most 1 MB: a longer silence means that the connection is lost.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(4);
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// The most writes that BatchWriteItem accepts.
const BATCH_MAX: usize = 25;

/// The outcome of a conditional write.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) enum Written<T = ()> {
    /// It took effect.
    Done(T),
    /// Its condition does not hold for the item that is there, if any.
    Refused(Option<Attributes>),
}

/// A DynamoDB table. Clones share the client, and what was read lately of spot offerings.
#[derive(Clone, Debug)]
pub struct Table {
    client: Client,
    name: Arc<str>,
    spot: Arc<SpotCache>,
}

impl Table {
    /// The table of that name, in the account and region of the configuration.
    pub fn new(config: &SdkConfig, name: &str) -> Self {
        let retries = RetryConfig::standard()
            .with_max_attempts(ATTEMPTS_MAX)
            .with_initial_backoff(BACKOFF_INITIAL)
            .with_max_backoff(BACKOFF_MAX);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let config = aws_sdk_dynamodb::config::Builder::from(config)
            .retry_config(retries)
            .timeout_config(timeouts)
            .retry_classifier(Contention)
            .build();
        Self { client: Client::from_conf(config), name: name.into(), spot: Arc::default() }
    }

    /// The table of that name on a DynamoDB that accepts any credentials, such as DynamoDB Local.
    pub fn local(endpoint: &str, name: &str) -> Self {
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .endpoint_url(endpoint)
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
                "local", "local", None, None, "local",
            )))
            .build();
        Self::new(&config, name)
    }

    /// What was read lately of spot offerings.
    pub(super) fn spot_cache(&self) -> &SpotCache {
        &self.spot
    }

    /// Creates the table if it does not exist: see [`super::schema::create`].
    pub async fn create(&self) -> Result<(), PortError> {
        super::schema::create(&self.client, &self.name).await
    }

    /// Opens the connection ahead of the first call.
    pub async fn warm_up(&self) -> Result<(), PortError> {
        self.get(Place { partition: "region/", key: "warm-up" }).await.map(drop)
    }

    pub(crate) async fn get(&self, place: Place<'_>) -> Result<Option<Attributes>, PortError> {
        let answer = self
            .client
            .get_item()
            .table_name(&*self.name)
            .set_key(Some(place.attributes()))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| self.error("GetItem", &error))?;
        Ok(answer.item)
    }

    /// All items of a partition whose sort key has the prefix, in the order of sort keys.
    pub(crate) async fn query(
        &self,
        partition: &str,
        prefix: &str,
    ) -> Result<Vec<Attributes>, PortError> {
        let condition = "#cluster = :cluster AND begins_with(#record, :prefix)";
        let mut items = self
            .client
            .query()
            .table_name(&*self.name)
            .consistent_read(true)
            .key_condition_expression(condition)
            .set_expression_attribute_names(Some(names_in(&[condition])))
            .expression_attribute_values(":cluster", text(partition))
            .expression_attribute_values(":prefix", text(prefix))
            .into_paginator()
            .items()
            .send();
        let mut found = Vec::new();
        while let Some(item) = items.next().await {
            found.push(item.map_err(|error| self.error("Query", &error))?);
        }
        Ok(found)
    }

    /// Keys of the items of an instance. The index is eventually consistent.
    pub(crate) async fn query_instance(
        &self,
        instance_id: &str,
    ) -> Result<Vec<Attributes>, PortError> {
        let condition = "#instanceId = :instance";
        let answer = self
            .client
            .query()
            .table_name(&*self.name)
            .index_name(INSTANCE_INDEX)
            .key_condition_expression(condition)
            .expression_attribute_names("#instanceId", INSTANCE)
            .expression_attribute_values(":instance", text(instance_id))
            .send()
            .await
            .map_err(|error| self.error("Query", &error))?;
        Ok(answer.items.unwrap_or_default())
    }

    pub(crate) async fn put(
        &self,
        item: Attributes,
        condition: Condition,
    ) -> Result<Written, PortError> {
        let answer = self
            .client
            .put_item()
            .table_name(&*self.name)
            .set_item(Some(item))
            .set_expression_attribute_names(Some(names_in(&[&condition.text])))
            .condition_expression(condition.text)
            .set_expression_attribute_values(some(condition.values))
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await
            .map(drop);
        self.written("PutItem", answer)
    }

    /// Writes an item unconditionally, and returns the previous one.
    pub(crate) async fn replace(&self, item: Attributes) -> Result<Option<Attributes>, PortError> {
        let answer = self
            .client
            .put_item()
            .table_name(&*self.name)
            .set_item(Some(item))
            .return_values(ReturnValue::AllOld)
            .send()
            .await
            .map_err(|error| self.error("PutItem", &error))?;
        Ok(answer.attributes)
    }

    /// Writes an item under a condition, if a condition on another item holds in the same
    /// transaction.
    pub(crate) async fn put_fenced(
        &self,
        item: Attributes,
        condition: Condition,
        fence: Place<'_>,
        fence_condition: Condition,
    ) -> Result<Written, PortError> {
        let put = Put::builder()
            .table_name(&*self.name)
            .set_item(Some(item))
            .set_expression_attribute_names(Some(names_in(&[&condition.text])))
            .condition_expression(condition.text)
            .set_expression_attribute_values(some(condition.values))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let put = built("TransactWriteItems", put.build())?;
        let check = ConditionCheck::builder()
            .table_name(&*self.name)
            .set_key(Some(fence.attributes()))
            .set_expression_attribute_names(Some(names_in(&[&fence_condition.text])))
            .condition_expression(fence_condition.text)
            .set_expression_attribute_values(some(fence_condition.values));
        let check = built("TransactWriteItems", check.build())?;
        let answer = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().put(put).build())
            .transact_items(TransactWriteItem::builder().condition_check(check).build())
            .send()
            .await
            .map(drop);
        self.written("TransactWriteItems", answer)
    }

    /// Changes attributes of an item by an update expression.
    pub(crate) async fn update(
        &self,
        place: Place<'_>,
        expression: &str,
        condition: Condition,
    ) -> Result<Written<Attributes>, PortError> {
        let answer = self
            .client
            .update_item()
            .table_name(&*self.name)
            .set_key(Some(place.attributes()))
            .update_expression(expression)
            .set_expression_attribute_names(Some(names_in(&[expression, &condition.text])))
            .condition_expression(condition.text)
            .set_expression_attribute_values(some(condition.values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await
            .map(|answer| answer.attributes.unwrap_or_default());
        self.written("UpdateItem", answer)
    }

    pub(crate) async fn delete(
        &self,
        place: Place<'_>,
        condition: Condition,
    ) -> Result<Written, PortError> {
        let answer = self
            .client
            .delete_item()
            .table_name(&*self.name)
            .set_key(Some(place.attributes()))
            .set_expression_attribute_names(Some(names_in(&[&condition.text])))
            .condition_expression(condition.text)
            .set_expression_attribute_values(some(condition.values))
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await
            .map(drop);
        self.written("DeleteItem", answer)
    }

    /// Writes items unconditionally, in batches; items that DynamoDB leaves unprocessed are
    /// retried.
    pub(crate) async fn put_all(&self, items: Vec<Attributes>) -> Result<(), PortError> {
        let request = |item| {
            let put = built("BatchWriteItem", PutRequest::builder().set_item(Some(item)).build())?;
            Ok(WriteRequest::builder().put_request(put).build())
        };
        self.write_all(items.into_iter().map(request).collect::<Result<_, _>>()?).await
    }

    /// Deletes items unconditionally, in batches.
    pub(crate) async fn delete_all(&self, keys: Vec<Attributes>) -> Result<(), PortError> {
        let request = |key| {
            let delete =
                built("BatchWriteItem", DeleteRequest::builder().set_key(Some(key)).build())?;
            Ok(WriteRequest::builder().delete_request(delete).build())
        };
        self.write_all(keys.into_iter().map(request).collect::<Result<_, _>>()?).await
    }

    async fn write_all(&self, requests: Vec<WriteRequest>) -> Result<(), PortError> {
        for batch in requests.chunks(BATCH_MAX) {
            self.write_batch(batch.to_vec()).await?;
        }
        Ok(())
    }

    async fn write_batch(&self, mut rest: Vec<WriteRequest>) -> Result<(), PortError> {
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(BACKOFF_INITIAL)
            .with_max_delay(BACKOFF_MAX)
            .with_max_times(ATTEMPTS_MAX as usize)
            .with_jitter()
            .build();
        loop {
            let answer = self
                .client
                .batch_write_item()
                .request_items(&*self.name, rest)
                .send()
                .await
                .map_err(|error| self.error("BatchWriteItem", &error))?;
            rest = answer
                .unprocessed_items
                .unwrap_or_default()
                .remove(&*self.name)
                .unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            let Some(pause) = pauses.next() else {
                let message = format!("{} items were not written in time", rest.len());
                return Err(PortError::new(ErrorKind::Throttled, "BatchWriteItem", message));
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// The outcome of a conditional write. Errors that do not concern its condition stay errors.
    fn written<T, E>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
    ) -> Result<Written<T>, PortError>
    where
        E: Conditional + ProvideErrorMetadata + std::error::Error + 'static,
    {
        let error = match answer {
            Ok(done) => return Ok(Written::Done(done)),
            Err(error) => error,
        };
        match error.as_service_error().and_then(Conditional::refusal) {
            Some(Refusal(item)) => Ok(Written::Refused(item)),
            None => Err(self.error(operation, &error)),
        }
    }

    fn error<E>(&self, operation: &'static str, error: &SdkError<E>) -> PortError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let mut port_error = port_error(dynamodb(operation), error);
        // A missing table must not look like a missing record.
        if port_error.kind == ErrorKind::NotFound {
            port_error.kind = ErrorKind::Invalid;
            port_error.message = format!("table {}: {}", self.name, port_error.message).into();
        }
        port_error
    }
}

/// A condition did not hold: the item that is there, if any.
struct Refusal(Option<Attributes>);

/// Errors of conditional writes.
trait Conditional {
    fn refusal(&self) -> Option<Refusal>;
}

macro_rules! conditional {
    ($($error:ident),+) => {$(
        impl Conditional for $error {
            fn refusal(&self) -> Option<Refusal> {
                match self {
                    Self::ConditionalCheckFailedException(refusal) => {
                        Some(Refusal(refusal.item.clone()))
                    }
                    _ => None,
                }
            }
        }
    )+};
}

conditional!(PutItemError, UpdateItemError, DeleteItemError);

impl Conditional for TransactWriteItemsError {
    /// The refusal of the first write of the transaction whose condition did not hold.
    fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::TransactionCanceledException(canceled) => canceled
                .cancellation_reasons()
                .iter()
                .find(|reason| reason.code() == Some("ConditionalCheckFailed"))
                .map(|reason| Refusal(reason.item.clone())),
            _ => None,
        }
    }
}
