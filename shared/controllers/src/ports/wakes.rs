//! Messages by which functions wake each other, and themselves after a pause.

use domain::{SignedDuration, Timestamp};

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
    /// What it checks, where it does not run at once: see [`crate::provisioning::demand_check`].
    pub demand_check: Option<DemandCheck>,
}

/// One of a series of messages by which provisioning checks every few seconds whether it has
/// anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandCheck {
    /// The number of the series, as [`ClaimStore::advance_chain`] gave it to who sent its messages.
    ///
    /// [`ClaimStore::advance_chain`]: super::ClaimStore::advance_chain
    pub link: u64,
    /// From when the function runs, whatever it sees; `None` for not before demand has changed.
    pub run_at: Option<Timestamp>,
    /// Of the last message of its series: how many checks the next series has, which it sends
    /// where nothing has changed. `None` for the others.
    pub next_series: Option<u32>,
}

/// What sends wake messages.
///
/// A message may be lost, late, delivered twice or before another one: the function's schedule
/// makes up for one that is lost, and fencing tokens tell which are out of date.
pub trait Wakes {
    /// Sends a message.
    fn wake(&self, wake: Wake) -> impl Future<Output = Result<(), PortError>>;

    /// Sends messages of one function at once. Where one of them cannot be sent the others may have
    /// been.
    fn wake_all(&self, wakes: &[Wake]) -> impl Future<Output = Result<(), PortError>>;
}
