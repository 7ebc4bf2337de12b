//! A claim store in memory, with conditional writes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use domain::{SignedDuration, Text, Timestamp};

use super::failure;
use crate::ports::claim_store::{
    ClaimStore, FunctionName, Lease, LeaseAnswer, SpotRecords, Version, Versioned,
};
use crate::ports::error::{ErrorKind, PortError};
use crate::record::claim::ClaimRecord;
use crate::record::command::CommandRecord;
use crate::record::fuses::{Counted, RecentActions};
use crate::record::nomination::Nomination;
use crate::record::observation::Observation;
use crate::record::pool::PoolRecord;
use crate::record::spot::SpotRecord;
use crate::record::unavailable::UnavailableOffering;

type Rows<T> = RefCell<BTreeMap<Text, Versioned<T>>>;

#[derive(Default)]
pub(crate) struct FakeStore {
    claims: Rows<ClaimRecord>,
    commands: Rows<CommandRecord>,
    pools: Rows<PoolRecord>,
    pub(crate) unavailable: RefCell<Vec<UnavailableOffering>>,
    pub(crate) nominations: RefCell<Vec<Nomination>>,
    pub(crate) controls: RefCell<BTreeMap<Text, Text>>,
    recent: RefCell<BTreeMap<Counted, Versioned<RecentActions>>>,
    pub(crate) observations: RefCell<Vec<Observation>>,
    pub(crate) spot: RefCell<Option<Versioned<SpotRecord>>>,
    leases: RefCell<BTreeMap<FunctionName, Lease>>,
    chains: RefCell<BTreeMap<FunctionName, u64>>,
    successes: RefCell<BTreeMap<FunctionName, Timestamp>>,
    /// Names of claims that cannot be read.
    pub(crate) unreadable: RefCell<Vec<Text>>,
    /// The next update or deletion of a claim fails as if another run had been faster.
    pub(crate) loses_next_race: Cell<bool>,
    /// The claims that are read next are deleted by another run right after that.
    pub(crate) deletes_what_is_read: Cell<bool>,
}

impl FakeStore {
    pub(crate) fn records(&self) -> Vec<ClaimRecord> {
        self.claims.borrow().values().map(|row| row.record.clone()).collect()
    }

    pub(crate) fn only_record(&self) -> ClaimRecord {
        let records = self.records();
        assert_eq!(records.len(), 1, "one claim is expected");
        records[0].clone()
    }

    /// Stores a record unconditionally.
    pub(crate) fn put(&self, record: ClaimRecord) {
        let version = Version(1);
        let row = Versioned { record, version };
        self.claims.borrow_mut().insert(row.record.claim.name.clone(), row);
    }

    /// Deletes a record unconditionally.
    pub(crate) fn delete(&self, name: &str) {
        self.claims.borrow_mut().remove(name);
    }

    pub(crate) fn command_records(&self) -> Vec<CommandRecord> {
        self.commands.borrow().values().map(|row| row.record.clone()).collect()
    }

    fn lose_race(&self, name: &str) -> Result<(), PortError> {
        if !self.loses_next_race.take() {
            return Ok(());
        }
        if let Some(row) = self.claims.borrow_mut().get_mut(name) {
            row.version = Version(row.version.0 + 1);
        }
        Err(failure(ErrorKind::Conflict))
    }

    fn check(&self, fence: &Lease) -> Result<(), PortError> {
        let leases = self.leases.borrow();
        let is_current =
            leases.get(&fence.function).is_some_and(|lease| lease.token == fence.token);
        if is_current { Ok(()) } else { Err(failure(ErrorKind::Conflict)) }
    }
}

fn create<T: Clone>(rows: &Rows<T>, key: &Text, record: &T) -> Result<Version, PortError> {
    let mut rows = rows.borrow_mut();
    if rows.contains_key(key) {
        return Err(failure(ErrorKind::Conflict));
    }
    let version = Version(1);
    rows.insert(key.clone(), Versioned { record: record.clone(), version });
    Ok(version)
}

fn update<T: Clone>(
    rows: &Rows<T>,
    key: &Text,
    record: &T,
    expected: Version,
) -> Result<Version, PortError> {
    let mut rows = rows.borrow_mut();
    let row = rows
        .get_mut(key)
        .filter(|row| row.version == expected)
        .ok_or_else(|| failure(ErrorKind::Conflict))?;
    *row = Versioned { record: record.clone(), version: Version(expected.0 + 1) };
    Ok(row.version)
}

fn delete<T>(rows: &Rows<T>, key: &str, expected: Version) -> Result<(), PortError> {
    let mut rows = rows.borrow_mut();
    if rows.get(key).is_some_and(|row| row.version != expected) {
        return Err(failure(ErrorKind::Conflict));
    }
    rows.remove(key);
    Ok(())
}

impl ClaimStore for FakeStore {
    async fn claims(&self) -> Result<Vec<Versioned<ClaimRecord>>, PortError> {
        let claims = self.claims.borrow().values().cloned().collect();
        if self.deletes_what_is_read.take() {
            self.claims.borrow_mut().clear();
        }
        Ok(claims)
    }

    fn unreadable_claims(&self) -> Vec<Text> {
        self.unreadable.borrow().clone()
    }

    async fn claim(&self, name: &str) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        Ok(self.claims.borrow().get(name).cloned())
    }

    async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        let claims = self.claims.borrow();
        let has_it = |row: &&Versioned<ClaimRecord>| {
            row.record.instance.as_ref().is_some_and(|own| *own.id == *instance_id)
        };
        Ok(claims.values().find(has_it).cloned())
    }

    async fn create_claim(
        &self,
        record: &ClaimRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        self.check(fence)?;
        create(&self.claims, &record.claim.name, record)
    }

    async fn update_claim(
        &self,
        record: &ClaimRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        self.lose_race(&record.claim.name)?;
        update(&self.claims, &record.claim.name, record, expected)
    }

    async fn delete_claim(&self, name: &str, expected: Version) -> Result<(), PortError> {
        self.lose_race(name)?;
        delete(&self.claims, name, expected)
    }

    async fn commands(&self) -> Result<Vec<Versioned<CommandRecord>>, PortError> {
        Ok(self.commands.borrow().values().cloned().collect())
    }

    async fn create_command(
        &self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        self.check(fence)?;
        create(&self.commands, &record.id, record)
    }

    async fn update_command(
        &self,
        record: &CommandRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        update(&self.commands, &record.id, record, expected)
    }

    async fn delete_command(&self, id: &str, expected: Version) -> Result<(), PortError> {
        delete(&self.commands, id, expected)
    }

    async fn unavailable_offerings(&self) -> Result<Vec<UnavailableOffering>, PortError> {
        Ok(self.unavailable.borrow().clone())
    }

    async fn mark_unavailable(&self, offerings: &[UnavailableOffering]) -> Result<(), PortError> {
        self.unavailable.borrow_mut().extend(offerings.iter().cloned());
        Ok(())
    }

    async fn nominations(&self) -> Result<Vec<Nomination>, PortError> {
        Ok(self.nominations.borrow().clone())
    }

    async fn nominate(&self, nominations: &[Nomination]) -> Result<(), PortError> {
        let mut own = self.nominations.borrow_mut();
        own.retain(|old| nominations.iter().all(|new| new.node != old.node));
        own.extend(nominations.iter().cloned());
        Ok(())
    }

    async fn pools(&self) -> Result<Vec<Versioned<PoolRecord>>, PortError> {
        Ok(self.pools.borrow().values().cloned().collect())
    }

    async fn put_pool(
        &self,
        record: &PoolRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        match expected {
            Some(expected) => update(&self.pools, &record.node_pool, record, expected),
            None => create(&self.pools, &record.node_pool, record),
        }
    }

    async fn delete_pool(&self, node_pool: &str, expected: Version) -> Result<(), PortError> {
        delete(&self.pools, node_pool, expected)
    }

    async fn spot_records(&self) -> Result<SpotRecords, PortError> {
        Ok(SpotRecords { own: self.spot.borrow().clone(), others: Vec::new() })
    }

    async fn spot_record(&self) -> Result<Option<Versioned<SpotRecord>>, PortError> {
        Ok(self.spot.borrow().clone())
    }

    async fn put_spot_record(
        &self,
        record: &SpotRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let mut own = self.spot.borrow_mut();
        if own.as_ref().map(|own| own.version) != expected {
            return Err(failure(ErrorKind::Conflict));
        }
        let version = Version(expected.map_or(1, |before| before.0 + 1));
        *own = Some(Versioned { record: record.clone(), version });
        Ok(version)
    }

    async fn controls(&self) -> Result<BTreeMap<Text, Text>, PortError> {
        Ok(self.controls.borrow().clone())
    }

    async fn recent_actions(
        &self,
        what: Counted,
    ) -> Result<Option<Versioned<RecentActions>>, PortError> {
        Ok(self.recent.borrow().get(&what).cloned())
    }

    async fn put_recent_actions(
        &self,
        what: Counted,
        actions: &RecentActions,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let mut recent = self.recent.borrow_mut();
        if recent.get(&what).map(|own| own.version) != expected {
            return Err(failure(ErrorKind::Conflict));
        }
        let version = Version(expected.map_or(1, |own| own.0 + 1));
        recent.insert(what, Versioned { record: actions.clone(), version });
        Ok(version)
    }

    async fn observations(&self) -> Result<Vec<Observation>, PortError> {
        Ok(self.observations.borrow().clone())
    }

    async fn put_observation(&self, observation: &Observation) -> Result<(), PortError> {
        let mut all = self.observations.borrow_mut();
        all.retain(|own| own.function != observation.function);
        all.push(observation.clone());
        Ok(())
    }

    async fn acquire_lease(
        &self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> Result<LeaseAnswer, PortError> {
        let mut leases = self.leases.borrow_mut();
        let current = leases.get(&function);
        let token = match current {
            Some(lease) if *lease.holder == *holder => lease.token,
            Some(lease) if lease.until > now => return Ok(LeaseAnswer::Held(lease.clone())),
            other => other.map_or(1, |lease| lease.token + 1),
        };
        let lease = Lease { function, holder: holder.into(), token, until: now + term };
        leases.insert(function, lease.clone());
        Ok(LeaseAnswer::Acquired(lease))
    }

    async fn lease(&self, function: FunctionName) -> Result<Option<Lease>, PortError> {
        let lease = self.leases.borrow().get(&function).cloned();
        Ok(lease.filter(|lease| !lease.holder.is_empty()))
    }

    async fn last_token(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        Ok(self.leases.borrow().get(&function).map(|lease| lease.token))
    }

    async fn advance_chain(
        &self,
        function: FunctionName,
        after: Option<u64>,
    ) -> Result<Option<u64>, PortError> {
        let mut chains = self.chains.borrow_mut();
        let last = chains.entry(function).or_default();
        if after.is_some_and(|after| after != *last) {
            return Ok(None);
        }
        *last += 1;
        Ok(Some(*last))
    }

    async fn last_link(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        Ok(self.chains.borrow().get(&function).copied())
    }

    async fn note_success(&self, function: FunctionName, now: Timestamp) -> Result<(), PortError> {
        let mut successes = self.successes.borrow_mut();
        let last = successes.entry(function).or_insert(now);
        *last = now.max(*last);
        Ok(())
    }

    async fn last_successes(&self) -> Result<BTreeMap<FunctionName, Timestamp>, PortError> {
        Ok(self.successes.borrow().clone())
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), PortError> {
        if let Some(own) = self.leases.borrow_mut().get_mut(&lease.function)
            && own.token == lease.token
        {
            // The token stays, so that the next holder gets a greater one.
            own.holder = "".into();
            own.until = Timestamp::UNIX_EPOCH;
        }
        Ok(())
    }
}
