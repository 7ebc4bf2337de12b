//! Calls to EC2, and to what goes with it, within one budget.

use std::ops::Deref;
use std::sync::Arc;

use aws::budget::CallBudget;
use aws::calls::NoRegion;
use aws::error::Action;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;

/// The clients of EC2, beside those that it goes with.
#[derive(Clone, Debug)]
pub struct Calls {
    others: aws::calls::Calls,
    pub(crate) ec2: aws_sdk_ec2::Client,
    /// For CreateFleet alone: sends each call once.
    pub(crate) launches: aws_sdk_ec2::Client,
}

impl Calls {
    /// Clients of one account and region, from a configuration such as [`aws::sdk::config`] makes.
    pub fn new(config: &SdkConfig, budget: Arc<dyn CallBudget>) -> Result<Self, NoRegion> {
        let once = aws_sdk_ec2::config::Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .build();
        Ok(Self {
            others: aws::calls::Calls::new(config, budget)?,
            ec2: aws_sdk_ec2::Client::new(config),
            launches: aws_sdk_ec2::Client::from_conf(once),
        })
    }
}

/// All calls are sent in the same way.
impl Deref for Calls {
    type Target = aws::calls::Calls;

    fn deref(&self) -> &Self::Target {
        &self.others
    }
}

/// An action of EC2.
pub(crate) const fn ec2(name: &'static str) -> Action {
    Action { service: "ec2", name }
}
