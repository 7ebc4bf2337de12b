//! How often AWS may be called: what is asked before each call.
//!
//! EC2 meters an account and region, so that many clusters share what there is. The budget is a port of
//! this crate: the function puts a token bucket behind it that all clusters share.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

/// A kind of call that AWS meters on its own.
///
/// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bucket {
    /// EC2 calls that only read.
    Describe,
    /// EC2 calls that change something, with the exception of the next two.
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

    /// The bucket's name, as it is stored.
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

/// What says when the next call may go out.
pub trait CallBudget: Debug + Send + Sync {
    /// Waits until so many tokens of the bucket are there, and takes them. A budget that cannot be asked
    /// lets the call through: AWS itself refuses what is too much, and that is answered by trying again.
    fn acquire(&self, bucket: Bucket, tokens: u32) -> Acquired<'_>;
}

/// The wait for tokens.
pub type Acquired<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// No budget at all: every call goes out at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl CallBudget for Unmetered {
    fn acquire(&self, _: Bucket, _: u32) -> Acquired<'_> {
        Box::pin(std::future::ready(()))
    }
}
