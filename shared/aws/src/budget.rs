//! The call budget: limits how often AWS is called.
//!
//! EC2 throttles an account and region, so that many clusters share one quota. The budget is a port
//! of this crate: functions put a token bucket behind it that all clusters share.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

/// A kind of call that AWS throttles separately.
///
/// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bucket {
    /// EC2 calls that only read.
    Describe,
    /// EC2 calls that change something, except CreateFleet and TerminateInstances.
    Mutate,
    /// CreateFleet.
    Launch,
    /// TerminateInstances.
    Terminate,
    /// IAM, in any region.
    Iam,
    /// Systems Manager parameters.
    Ssm,
    /// Price lists.
    Pricing,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Describe,
        Self::Mutate,
        Self::Launch,
        Self::Terminate,
        Self::Iam,
        Self::Ssm,
        Self::Pricing,
    ];

    /// Its name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "ec2-describe",
            Self::Mutate => "ec2-mutate",
            Self::Launch => "ec2-launch",
            Self::Terminate => "ec2-terminate",
            Self::Iam => "iam",
            Self::Ssm => "ssm",
            Self::Pricing => "pricing",
        }
    }
}

/// Decides when the next call may be sent.
pub trait CallBudget: Debug + Send + Sync {
    /// Waits until the bucket has that many tokens, and takes them. A budget that is unavailable
    /// lets the call through: AWS itself throttles excess calls, and those are retried.
    fn acquire(&self, bucket: Bucket, tokens: u32) -> Acquired<'_>;
}

/// The wait for tokens.
pub type Acquired<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// No budget: every call is sent at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl CallBudget for Unmetered {
    fn acquire(&self, _: Bucket, _: u32) -> Acquired<'_> {
        Box::pin(std::future::ready(()))
    }
}
