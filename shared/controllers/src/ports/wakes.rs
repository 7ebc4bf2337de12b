//! Messages by which functions wake each other, and themselves after a pause.

use domain::SignedDuration;

use super::claim_store::FunctionName;
use super::error::PortError;

/// The longest by which SQS delays a message.
///
/// Source: SQS's API reference, `DelaySeconds` of `SendMessage`.
pub const WAKE_AFTER_MAX: SignedDuration = SignedDuration::from_mins(15);

/// A message that wakes a function for the cluster whose ports send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The function.
    pub function: FunctionName,
    /// The fencing token of the run whose work the function goes on with. Where another run of it
    /// has taken place since, the message has nothing left to do. `None` for news, which concerns
    /// every run.
    pub continues: Option<u64>,
    /// From sending the message until it is delivered: up to [`WAKE_AFTER_MAX`].
    pub after: SignedDuration,
}

/// What sends wake messages.
///
/// A message may be lost, late, delivered twice or before another one: the function's schedule
/// makes up for one that is lost, and fencing tokens tell which are out of date.
pub trait Wakes {
    /// Sends a message.
    fn wake(&self, wake: Wake) -> impl Future<Output = Result<(), PortError>>;
}
