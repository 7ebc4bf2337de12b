//! What is remembered between runs, with DynamoDB's semantics: every write is conditional, on absence or
//! on the version that was read.

use std::fmt;

use domain::{SignedDuration, Text, Timestamp};

use super::error::PortError;
use crate::record::claim::ClaimRecord;
use crate::record::command::CommandRecord;
use crate::record::nomination::Nomination;
use crate::record::pool::PoolRecord;
use crate::record::unavailable::UnavailableOffering;

/// The records of one cluster.
///
/// Reads are strongly consistent, except [`ClaimStore::claim_of_instance`], which reads an index.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait ClaimStore {
    /// All claims, by name.
    async fn claims(&self) -> Result<Vec<Versioned<ClaimRecord>>, PortError>;

    /// Names of claims that the last [`ClaimStore::claims`] left out because they could not be read, such as
    /// those that a later version wrote. They are there all the same: what is theirs is no orphan.
    fn unreadable_claims(&self) -> Vec<Text> {
        Vec::new()
    }

    /// A claim by name.
    async fn claim(&self, name: &str) -> Result<Option<Versioned<ClaimRecord>>, PortError>;

    /// The claim that an instance was launched for. Reads an index that may lag by a moment.
    async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<Versioned<ClaimRecord>>, PortError>;

    /// Writes a claim that must not be there yet. `Conflict` where it is, or where `fence` is no longer
    /// the lease in force.
    async fn create_claim(&self, record: &ClaimRecord, fence: &Lease)
    -> Result<Version, PortError>;

    /// Replaces a claim. `Conflict` where its version is not the one expected, or it is gone.
    async fn update_claim(
        &self,
        record: &ClaimRecord,
        expected: Version,
    ) -> Result<Version, PortError>;

    /// Removes a claim. `Conflict` where its version is not the one expected; gone already is done.
    async fn delete_claim(&self, name: &str, expected: Version) -> Result<(), PortError>;

    /// All disruption commands under way, by id.
    async fn commands(&self) -> Result<Vec<Versioned<CommandRecord>>, PortError>;

    /// Writes a command that must not be there yet. `Conflict` as for [`ClaimStore::create_claim`].
    async fn create_command(
        &self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, PortError>;

    /// Replaces a command. `Conflict` where its version is not the one expected, or it is gone.
    async fn update_command(
        &self,
        record: &CommandRecord,
        expected: Version,
    ) -> Result<Version, PortError>;

    /// Removes a command. `Conflict` where its version is not the one expected; gone already is done.
    async fn delete_command(&self, id: &str, expected: Version) -> Result<(), PortError>;

    /// Offerings marked unavailable. May include some that have expired: a table's time to live is lazy.
    async fn unavailable_offerings(&self) -> Result<Vec<UnavailableOffering>, PortError>;

    /// Marks offerings unavailable; marking one again moves its end to the later of the two.
    async fn mark_unavailable(&self, offerings: &[UnavailableOffering]) -> Result<(), PortError>;

    /// Pods that were given a place on a node. May include some that have expired.
    async fn nominations(&self) -> Result<Vec<Nomination>, PortError>;

    /// Writes nominations, replacing those of the same nodes.
    async fn nominate(&self, nominations: &[Nomination]) -> Result<(), PortError>;

    /// What is remembered of NodePools, by name.
    async fn pools(&self) -> Result<Vec<Versioned<PoolRecord>>, PortError>;

    /// Writes what is remembered of a NodePool: `None` expects that nothing is yet. `Conflict` where the
    /// version is not the one expected.
    async fn put_pool(
        &self,
        record: &PoolRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError>;

    /// Forgets a NodePool. `Conflict` where its version is not the one expected; gone already is done.
    async fn delete_pool(&self, node_pool: &str, expected: Version) -> Result<(), PortError>;

    /// Takes the lease of a function, if nobody has it or its term is over, and gives it the next
    /// fencing token. A holder that asks again gets its term extended and keeps its token.
    async fn acquire_lease(
        &self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> Result<LeaseAnswer, PortError>;

    /// A lease as it stands; `None` where nobody ever had it or its holder gave it back. Its term may be over.
    async fn lease(&self, function: FunctionName) -> Result<Option<Lease>, PortError>;

    /// Gives a lease back. One that somebody else has taken over meanwhile is left alone.
    async fn release_lease(&self, lease: &Lease) -> Result<(), PortError>;
}

/// Where a claim is: EC2's events name neither.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimPlace {
    /// The cluster.
    pub cluster: Text,
    /// The claim's name.
    pub claim: Text,
}

/// Which write of a record this is: 1 for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A record and the version that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record.
    pub record: T,
    /// Its version.
    pub version: Version,
}

/// A function that must not run twice at once for one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionName {
    /// Plans and launches nodes. Whoever creates claims from a plan holds this one, so that no two plans
    /// spend the same room under a NodePool's limits.
    Provisioning,
    /// Brings claims through their lives.
    Lifecycle,
    /// Takes nodes away.
    Disruption,
    /// Hands the cluster back: not a function of its own but one call of lifecycle.
    HandBack,
}

impl FunctionName {
    /// The word in keys and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Lifecycle => "lifecycle",
            Self::Disruption => "disruption",
            Self::HandBack => "hand-back",
        }
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The right to run a function, for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which function.
    pub function: FunctionName,
    /// Who has it: unique to one run.
    pub holder: Text,
    /// Grows with every change of holder; a write fenced with an older one is refused.
    pub token: u64,
    /// Until when.
    pub until: Timestamp,
}

/// The answer to a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// It is ours.
    Acquired(Lease),
    /// Somebody else runs.
    Held(Lease),
}
