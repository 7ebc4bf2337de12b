//! The claim store, with DynamoDB's semantics: every write is conditional, on absence or on the
//! version that was read.

use std::collections::BTreeMap;
use std::fmt;

use domain::{SignedDuration, Text, Timestamp};

use super::error::PortError;
use crate::record::claim::ClaimRecord;
use crate::record::command::CommandRecord;
use crate::record::fuses::{Counted, RecentActions};
use crate::record::nomination::Nomination;
use crate::record::observation::Observation;
use crate::record::pool::PoolRecord;
use crate::record::spot::SpotRecord;
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

    /// Names of claims that the last [`ClaimStore::claims`] left out because they could not be
    /// read, such as those that a later version wrote. They exist nevertheless: their instances and
    /// objects are no orphans.
    fn unreadable_claims(&self) -> Vec<Text> {
        Vec::new()
    }

    /// The claim with a name.
    async fn claim(&self, name: &str) -> Result<Option<Versioned<ClaimRecord>>, PortError>;

    /// The claim that an instance was launched for. Reads an index that is eventually consistent.
    async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<Versioned<ClaimRecord>>, PortError>;

    /// Creates a claim.
    ///
    /// # Errors
    ///
    /// `Conflict` when it exists, or when `fence` is not the lease in force.
    async fn create_claim(&self, record: &ClaimRecord, fence: &Lease)
    -> Result<Version, PortError>;

    /// Replaces a claim.
    ///
    /// # Errors
    ///
    /// `Conflict` when it is gone or has another version.
    async fn update_claim(
        &self,
        record: &ClaimRecord,
        expected: Version,
    ) -> Result<Version, PortError>;

    /// Deletes a claim; one that is gone counts as deleted.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn delete_claim(&self, name: &str, expected: Version) -> Result<(), PortError>;

    /// All stored disruption commands, by id.
    async fn commands(&self) -> Result<Vec<Versioned<CommandRecord>>, PortError>;

    /// Creates a command.
    ///
    /// # Errors
    ///
    /// `Conflict` when it exists, or when `fence` is not the lease in force.
    async fn create_command(
        &self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, PortError>;

    /// Replaces a command.
    ///
    /// # Errors
    ///
    /// `Conflict` when it is gone or has another version.
    async fn update_command(
        &self,
        record: &CommandRecord,
        expected: Version,
    ) -> Result<Version, PortError>;

    /// Deletes a command; one that is gone counts as deleted.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn delete_command(&self, id: &str, expected: Version) -> Result<(), PortError>;

    /// Offerings marked unavailable. May include expired ones: DynamoDB deletes them lazily.
    async fn unavailable_offerings(&self) -> Result<Vec<UnavailableOffering>, PortError>;

    /// Marks offerings unavailable; marking one again keeps the later expiry.
    async fn mark_unavailable(&self, offerings: &[UnavailableOffering]) -> Result<(), PortError>;

    /// Nominations. May include expired ones.
    async fn nominations(&self) -> Result<Vec<Nomination>, PortError>;

    /// Writes nominations, replacing those of the same nodes.
    async fn nominate(&self, nominations: &[Nomination]) -> Result<(), PortError>;

    /// Records of NodePools, by name.
    async fn pools(&self) -> Result<Vec<Versioned<PoolRecord>>, PortError>;

    /// Writes the record of a NodePool; `expected` is `None` for one that does not exist yet.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn put_pool(
        &self,
        record: &PoolRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError>;

    /// Deletes the record of a NodePool; one that is gone counts as deleted.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn delete_pool(&self, node_pool: &str, expected: Version) -> Result<(), PortError>;

    /// What every cluster of the installation in this region remembers of spot offerings: one
    /// read, as long as all of it is below 1 MB. It may be a few minutes old, but for what this
    /// process wrote.
    async fn spot_records(&self) -> Result<SpotRecords, PortError>;

    /// What this cluster remembers of spot offerings; `None` before anything was seen.
    async fn spot_record(&self) -> Result<Option<Versioned<SpotRecord>>, PortError>;

    /// Writes what this cluster remembers; `expected` is `None` where nothing was there.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn put_spot_record(
        &self,
        record: &SpotRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError>;

    /// What an operator has said of the cluster, by the keys of [`crate::record::controls`]; empty
    /// where nothing was said.
    async fn controls(&self) -> Result<BTreeMap<Text, Text>, PortError>;

    /// What was done in the last hour; `None` where nothing was counted yet.
    async fn recent_actions(
        &self,
        what: Counted,
    ) -> Result<Option<Versioned<RecentActions>>, PortError>;

    /// Writes what was done; `expected` is `None` where nothing was counted yet.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has another version.
    async fn put_recent_actions(
        &self,
        what: Counted,
        actions: &RecentActions,
        expected: Option<Version>,
    ) -> Result<Version, PortError>;

    /// Plans that were not carried out, by function.
    async fn observations(&self) -> Result<Vec<Observation>, PortError>;

    /// Replaces the latest plan of a function that was not carried out.
    async fn put_observation(&self, observation: &Observation) -> Result<(), PortError>;

    /// Acquires the lease of a function, if nobody holds it or its term is over, with the next
    /// fencing token. A holder that asks again has its term extended and keeps its token.
    async fn acquire_lease(
        &self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> Result<LeaseAnswer, PortError>;

    /// A lease as stored; `None` when it was never held, or was released. Its term may be over.
    async fn lease(&self, function: FunctionName) -> Result<Option<Lease>, PortError>;

    /// The fencing token that a function's lease was given last, released or not; `None` when it
    /// was never held.
    async fn last_token(&self, function: FunctionName) -> Result<Option<u64>, PortError>;

    /// Adds a link to the chain of messages by which a function wakes itself, and returns its
    /// number. `after` is the link that it follows, or `None` for the first of a new chain, which
    /// ends any other. Returns `None` where `after` is not the last one: another link has
    /// followed it, or a new chain has begun.
    async fn advance_chain(
        &self,
        function: FunctionName,
        after: Option<u64>,
    ) -> Result<Option<u64>, PortError>;

    /// The last link of that chain; `None` where there never was any.
    async fn last_link(&self, function: FunctionName) -> Result<Option<u64>, PortError>;

    /// Notes that a function did what its schedule woke it for. A moment before the noted one
    /// changes nothing.
    async fn note_success(&self, function: FunctionName, now: Timestamp) -> Result<(), PortError>;

    /// When functions last did what their schedules woke them for, as far as they note it.
    async fn last_successes(&self) -> Result<BTreeMap<FunctionName, Timestamp>, PortError>;

    /// Releases a lease. One that another holder has acquired meanwhile is left alone.
    async fn release_lease(&self, lease: &Lease) -> Result<(), PortError>;
}

/// What the clusters of an installation remember of spot offerings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotRecords {
    /// This cluster's.
    pub own: Option<Versioned<SpotRecord>>,
    /// Those of the others.
    pub others: Vec<SpotRecord>,
}

/// A claim of an installation: events of EC2 name neither its cluster nor the claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimPlace {
    /// The cluster.
    pub cluster: Text,
    /// The claim's name.
    pub claim: Text,
}

/// The number of writes of a record: 1 for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A record with the version that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record.
    pub record: T,
    /// Its version.
    pub version: Version,
}

/// A function of which at most one run works in a cluster at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionName {
    /// Plans and launches nodes. Whoever creates claims from a plan holds this lease, so that no
    /// two plans use the same room under a NodePool's limits.
    Provisioning,
    /// Takes claims through their lifecycle.
    Lifecycle,
    /// Disrupts nodes.
    Disruption,
    /// Hands the cluster back; a call of lifecycle, not a function of its own.
    HandBack,
}

impl FunctionName {
    /// The name in keys and logs.
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

/// The exclusive right to run a function in a cluster, for a limited term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which function.
    pub function: FunctionName,
    /// The id of the run that holds it, or [`crate::handback::HANDED_BACK`].
    pub holder: Text,
    /// Fencing token: grows with every change of holder; a write fenced with an older one is
    /// refused.
    pub token: u64,
    /// End of its term.
    pub until: Timestamp,
}

/// The result of acquiring a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// It is held from now on.
    Acquired(Lease),
    /// Another run holds it.
    Held(Lease),
}
