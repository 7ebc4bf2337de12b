//! Calls to AWS: metered, classified.

use std::future::Future;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use controllers::ports::PortError;
use domain::{Text, Timestamp};

use crate::budget::{Bucket, CallBudget};
use crate::catalogue::endpoint_region;
use crate::error::{Action, port_error};

/// The clients of everything that launches depend on, and the budget that all of their calls share.
#[derive(Clone, Debug)]
pub struct Calls {
    pub(crate) ec2: aws_sdk_ec2::Client,
    pub(crate) iam: aws_sdk_iam::Client,
    pub(crate) ssm: aws_sdk_ssm::Client,
    pub(crate) pricing: aws_sdk_pricing::Client,
    pub(crate) region: Text,
    budget: Arc<dyn CallBudget>,
}

/// No region was configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no AWS region is configured: set AWS_REGION")]
pub struct NoRegion;

impl Calls {
    /// Clients of one account and region, from a configuration such as [`crate::sdk::config`] makes.
    pub fn new(config: &SdkConfig, budget: Arc<dyn CallBudget>) -> Result<Self, NoRegion> {
        let region = config.region().ok_or(NoRegion)?.as_ref().to_owned();
        let prices_from = aws_sdk_pricing::config::Region::from_static(endpoint_region(&region));
        let pricing = aws_sdk_pricing::config::Builder::from(config).region(prices_from).build();
        Ok(Self {
            ec2: aws_sdk_ec2::Client::new(config),
            iam: aws_sdk_iam::Client::new(config),
            ssm: aws_sdk_ssm::Client::new(config),
            pricing: aws_sdk_pricing::Client::from_conf(pricing),
            region: region.into(),
            budget,
        })
    }

    /// The region that is asked.
    pub fn region(&self) -> &Text {
        &self.region
    }

    /// Sends a call once the budget allows it. What comes out of `.send()` of an SDK's builder is not sent
    /// before it is awaited, so it can be handed over as it is.
    pub(crate) fn ask<'a, T, E, R>(
        &'a self,
        bucket: Bucket,
        action: Action,
        call: impl Future<Output = Result<T, SdkError<E, R>>> + 'a,
    ) -> impl Future<Output = Result<T, PortError>> + 'a
    where
        T: 'a,
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        let call = self.ask_raw(bucket, call);
        async move { call.await.map_err(|error| port_error(action, &error)) }
    }

    /// As [`Calls::ask`], with the SDK's own error, for calls whose errors are answers.
    pub(crate) fn ask_raw<'a, T, E, R>(
        &'a self,
        bucket: Bucket,
        call: impl Future<Output = Result<T, SdkError<E, R>>> + 'a,
    ) -> impl Future<Output = Result<T, SdkError<E, R>>> + 'a
    where
        T: 'a,
        E: 'a,
        R: 'a,
    {
        // The SDK's futures take tens of KiB, and callers hold many of them.
        let call = Box::pin(call);
        async move {
            self.budget.acquire(bucket, 1).await;
            call.await
        }
    }

    /// All pages of a list, each one a call.
    pub(crate) async fn pages<T, E, R>(
        &self,
        bucket: Bucket,
        action: Action,
        mut pages: PaginationStream<Result<T, SdkError<E, R>>>,
    ) -> Result<Vec<T>, PortError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        let mut all = Vec::new();
        loop {
            self.budget.acquire(bucket, 1).await;
            match pages.next().await {
                Some(Ok(page)) => all.push(page),
                Some(Err(error)) => return Err(port_error(action, &error)),
                None => return Ok(all),
            }
        }
    }
}

/// An action of EC2.
pub(crate) const fn ec2(name: &'static str) -> Action {
    Action { service: "ec2", name }
}

/// An action of IAM.
pub(crate) const fn iam(name: &'static str) -> Action {
    Action { service: "iam", name }
}

/// An action of Systems Manager.
pub(crate) const fn ssm(name: &'static str) -> Action {
    Action { service: "ssm", name }
}

/// An action of the price list service.
pub(crate) const fn pricing(name: &'static str) -> Action {
    Action { service: "pricing", name }
}

/// A time as the SDKs hold it.
pub(crate) fn to_aws_time(time: Timestamp) -> aws_smithy_types::DateTime {
    aws_smithy_types::DateTime::from_millis(time.as_millisecond())
}

/// A time as the domain holds it; one beyond the year 9999 is none.
pub(crate) fn from_aws_time(time: &aws_smithy_types::DateTime) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.to_millis().ok()?).ok()
}
