//! Calls to AWS: sent within a budget, their errors classified.

use std::future::Future;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use controllers::ports::PortError;
use domain::{Text, Timestamp};

use crate::budget::{Bucket, CallBudget};
use crate::error::{Action, port_error};

/// The clients that launches depend on, but EC2's own, and the budget that calls share.
#[derive(Clone, Debug)]
pub struct Calls {
    /// IAM, for instance profiles.
    pub iam: aws_sdk_iam::Client,
    /// Systems Manager, for the ids of images.
    pub ssm: aws_sdk_ssm::Client,
    /// Price lists, at the endpoint for the region.
    pub pricing: aws_sdk_pricing::Client,
    /// The region of the clients.
    pub region: Text,
    budget: Arc<dyn CallBudget>,
}

/// No region was configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no AWS region is configured: set AWS_REGION")]
pub struct NoRegion;

impl Calls {
    /// Clients of one account and region, from a configuration such as [`crate::sdk::config`]
    /// makes.
    pub fn new(config: &SdkConfig, budget: Arc<dyn CallBudget>) -> Result<Self, NoRegion> {
        let region = config.region().ok_or(NoRegion)?.as_ref().to_owned();
        let prices_from = aws_sdk_pricing::config::Region::from_static(pricing_region(&region));
        let pricing = aws_sdk_pricing::config::Builder::from(config).region(prices_from).build();
        Ok(Self {
            iam: aws_sdk_iam::Client::new(config),
            ssm: aws_sdk_ssm::Client::new(config),
            pricing: aws_sdk_pricing::Client::from_conf(pricing),
            region: region.into(),
            budget,
        })
    }

    /// Sends a call once the budget allows it. The future of an SDK builder's `.send()` sends
    /// nothing before it is polled, so it can be passed as it is.
    pub fn send<'a, T, E, R>(
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
        let call = self.send_raw(bucket, call);
        async move { call.await.map_err(|error| port_error(action, &error)) }
    }

    /// Sends a call once the budget allows it. Returns the SDK's error, for calls some of whose
    /// errors are expected answers.
    pub fn send_raw<'a, T, E, R>(
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

    /// All pages of a list. Each page takes a token of the budget.
    pub async fn pages<T, E, R>(
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
        self.budget.acquire(bucket, 1).await;
        while let Some(page) = pages.next().await {
            all.push(page.map_err(|error| port_error(action, &error))?);
            // Only once it is there is it known that there is a further page to pay for.
            if all.len() > 1 {
                self.budget.acquire(bucket, 1).await;
            }
        }
        Ok(all)
    }
}

/// The region whose price list endpoint covers a region: the service has four endpoints.
///
/// Source: <https://docs.aws.amazon.com/general/latest/gr/billing.html>.
fn pricing_region(region: &str) -> &'static str {
    match region.split_once('-').map_or(region, |(area, _)| area) {
        "ap" => "ap-south-1",
        "cn" => "cn-northwest-1",
        "eu" => "eu-central-1",
        _ => "us-east-1",
    }
}

/// An action of IAM.
pub const fn iam(name: &'static str) -> Action {
    Action { service: "iam", name }
}

/// An action of Systems Manager.
pub const fn ssm(name: &'static str) -> Action {
    Action { service: "ssm", name }
}

/// An action of DynamoDB.
pub(crate) const fn dynamodb(name: &'static str) -> Action {
    Action { service: "dynamodb", name }
}

/// An action of the price list service.
pub const fn pricing(name: &'static str) -> Action {
    Action { service: "pricing", name }
}

/// A time as a type of the SDKs.
pub fn to_aws_time(time: Timestamp) -> aws_smithy_types::DateTime {
    aws_smithy_types::DateTime::from_millis(time.as_millisecond())
}

/// A time as a type of the domain; `None` beyond the year 9999.
pub fn from_aws_time(time: &aws_smithy_types::DateTime) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.to_millis().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use aws_script::Script;

    use super::*;
    use crate::budget::Acquired;

    /// Counts the tokens that calls take.
    #[derive(Debug, Default)]
    struct Counted(AtomicU32);

    impl CallBudget for Counted {
        fn acquire(&self, _: Bucket, tokens: u32) -> Acquired<'_> {
            self.0.fetch_add(tokens, Ordering::SeqCst);
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn a_list_takes_a_token_for_each_of_its_pages_and_no_other() {
        let page = |rest: &str| {
            format!(
                "<ListInstanceProfilesResult><InstanceProfiles/>{rest}</ListInstanceProfilesResult>"
            )
        };
        let more = page("<IsTruncated>true</IsTruncated><Marker>next</Marker>");
        let last = page("<IsTruncated>false</IsTruncated>");
        for pages in [vec![&last], vec![&more, &last]] {
            let action = "ListInstanceProfiles";
            let script =
                pages.iter().fold(Script::default(), |own, page| own.answers(action, page));
            let budget = Arc::new(Counted::default());
            let calls = Calls::new(&script.config(), Arc::clone(&budget) as _).unwrap();
            let list = calls.iam.list_instance_profiles().into_paginator().send();
            let found = calls.pages(Bucket::Iam, iam(action), list).await.unwrap();
            assert_eq!((found.len(), script.asked(action).len()), (pages.len(), pages.len()));
            assert_eq!(budget.0.load(Ordering::SeqCst) as usize, pages.len());
        }
    }

    #[test]
    fn each_region_asks_the_price_list_endpoint_of_its_part_of_the_world() {
        assert_eq!(pricing_region("us-west-2"), "us-east-1");
        assert_eq!(pricing_region("ap-northeast-1"), "ap-south-1");
        assert_eq!(pricing_region("eu-west-1"), "eu-central-1");
        assert_eq!(pricing_region("cn-north-1"), "cn-northwest-1");
        assert_eq!(pricing_region("sa-east-1"), "us-east-1");
    }
}
