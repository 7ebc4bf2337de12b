//! A table with DynamoDB's semantics: conditional writes by version, leases with fencing tokens,
//! and a time to live that is lazy.

use std::collections::BTreeMap;

use controllers::claim_cache::{Announced, Announcement};
use controllers::ports::{FunctionName, Lease, LeaseAnswer, Version, Versioned};
use controllers::record::claim::ClaimRecord;
use controllers::record::command::CommandRecord;
use controllers::record::fuses::{Counted, RecentActions};
use controllers::record::nomination::Nomination;
use controllers::record::observation::{Observation, Observer};
use controllers::record::pool::PoolRecord;
use controllers::record::spot::SpotRecord;
use controllers::record::unavailable::UnavailableOffering;
use domain::instance_type::CapacityType;
use domain::spot::SpotHistory;
use domain::{SignedDuration, Text, Timestamp};

/// `ConditionalCheckFailedException`: the condition of a write does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the condition of the write does not hold: {0}")]
pub struct ConditionFailed(pub &'static str);

/// Records of one sort, by key.
#[derive(Clone, Debug)]
pub(crate) struct Records<T> {
    by_key: BTreeMap<Text, Versioned<T>>,
    /// How often a record was written or deleted.
    changes: u64,
}

impl<T> Default for Records<T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), changes: 0 }
    }
}

impl<T: Clone> Records<T> {
    pub(crate) fn all(&self) -> Vec<Versioned<T>> {
        self.by_key.values().cloned().collect()
    }

    /// Moves on whenever a record is written or deleted.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.by_key.values().map(|own| &own.record)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Versioned<T>> {
        self.by_key.get(key)
    }

    pub(crate) fn create(&mut self, key: Text, record: T) -> Result<Version, ConditionFailed> {
        if self.by_key.contains_key(&key) {
            return Err(ConditionFailed("it is there already"));
        }
        self.changes += 1;
        self.by_key.insert(key, Versioned { record, version: Version(1) });
        Ok(Version(1))
    }

    pub(crate) fn update(
        &mut self,
        key: &str,
        record: T,
        expected: Version,
    ) -> Result<Version, ConditionFailed> {
        let own = self.by_key.get_mut(key).ok_or(ConditionFailed("it is gone"))?;
        if own.version != expected {
            return Err(ConditionFailed("it has another version"));
        }
        self.changes += 1;
        *own = Versioned { record, version: Version(expected.0 + 1) };
        Ok(own.version)
    }

    pub(crate) fn delete(&mut self, key: &str, expected: Version) -> Result<(), ConditionFailed> {
        match self.by_key.get(key) {
            Some(own) if own.version != expected => Err(ConditionFailed("it has another version")),
            _ => {
                self.changes += 1;
                self.by_key.remove(key);
                Ok(())
            }
        }
    }
}

/// The table.
#[derive(Debug, Default)]
pub struct Store {
    pub(crate) claims: Records<ClaimRecord>,
    pub(crate) commands: Records<CommandRecord>,
    pub(crate) pools: Records<PoolRecord>,
    unavailable: BTreeMap<(Text, Text, CapacityType), UnavailableOffering>,
    nominations: BTreeMap<Text, Nomination>,
    /// What functions did in the last hour.
    pub(crate) recent: BTreeMap<Counted, Versioned<RecentActions>>,
    /// Plans that were not carried out.
    pub(crate) observations: BTreeMap<Observer, Observation>,
    /// What is remembered of spot offerings.
    pub(crate) spot: Option<Versioned<SpotRecord>>,
    leases: BTreeMap<FunctionName, Lease>,
    chains: BTreeMap<FunctionName, u64>,
    /// When functions last did what their schedules woke them for.
    pub(crate) successes: BTreeMap<FunctionName, Timestamp>,
    /// What is announced of writes of claims.
    announced: Announced,
    /// How many announcements were made.
    announcements: u64,
}

impl Store {
    pub(crate) fn create_claim(
        &mut self,
        record: &ClaimRecord,
        fence: &Lease,
    ) -> Result<Version, ConditionFailed> {
        self.check_fence(fence)?;
        self.claims.create(record.name().clone(), record.clone())
    }

    pub(crate) fn create_command(
        &mut self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, ConditionFailed> {
        self.check_fence(fence)?;
        self.commands.create(record.id.clone(), record.clone())
    }

    fn check_fence(&self, fence: &Lease) -> Result<(), ConditionFailed> {
        match self.leases.get(&fence.function) {
            Some(lease) if lease.token == fence.token => Ok(()),
            _ => Err(ConditionFailed("the lease is not in force")),
        }
    }

    pub(crate) fn unavailable(&self) -> Vec<UnavailableOffering> {
        self.unavailable.values().cloned().collect()
    }

    pub(crate) fn mark_unavailable(&mut self, offerings: &[UnavailableOffering]) {
        for offering in offerings {
            let key =
                (offering.instance_type.clone(), offering.zone.clone(), offering.capacity_type);
            let until = self.unavailable.get(&key).map_or(offering.until, |own| own.until);
            let merged =
                UnavailableOffering { until: until.max(offering.until), ..offering.clone() };
            self.unavailable.insert(key, merged);
        }
    }

    /// What is announced of writes of claims.
    pub(crate) const fn announced(&self) -> &Announced {
        &self.announced
    }

    /// Announces writes of claims, under a name of their own.
    pub(crate) fn announce(&mut self, now: Timestamp) -> Announcement {
        self.announcements += 1;
        let own = Announcement::new(format!("writes-{}", self.announcements).into(), now);
        self.announced.latest = Some(own.name.clone());
        self.announced.open.retain(|other| now < other.until);
        self.announced.open.push(own.clone());
        own
    }

    pub(crate) fn withdraw(&mut self, done: &Announcement) {
        self.announced.open.retain(|own| own != done);
    }

    /// What is remembered of spot offerings.
    pub(crate) fn remembered_spot(&self) -> SpotHistory {
        self.spot.as_ref().map(|own| own.record.history.clone()).unwrap_or_default()
    }

    pub(crate) fn put_spot(
        &mut self,
        record: &SpotRecord,
        expected: Option<Version>,
    ) -> Result<Version, ConditionFailed> {
        if self.spot.as_ref().map(|own| own.version) != expected {
            return Err(ConditionFailed("it has another version"));
        }
        let version = Version(expected.map_or(1, |before| before.0 + 1));
        self.spot = Some(Versioned { record: record.clone(), version });
        Ok(version)
    }

    pub(crate) fn nominations(&self) -> Vec<Nomination> {
        self.nominations.values().cloned().collect()
    }

    pub(crate) fn nominate(&mut self, nominations: &[Nomination]) {
        for nomination in nominations {
            self.nominations.insert(nomination.node.clone(), nomination.clone());
        }
    }

    /// What DynamoDB does within two days of a record's end, done at once: a reader must bear
    /// either.
    pub(crate) fn forget_expired(&mut self, now: Timestamp) {
        self.unavailable.retain(|_, own| now < own.until);
        self.nominations.retain(|_, own| now < own.until);
    }

    pub(crate) fn acquire_lease(
        &mut self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> LeaseAnswer {
        let held = self.leases.get(&function);
        let token = match held {
            Some(lease) if &*lease.holder == holder => lease.token,
            Some(lease) if now < lease.until => return LeaseAnswer::Held(lease.clone()),
            Some(lease) => lease.token + 1,
            None => 1,
        };
        let lease = Lease { function, holder: holder.into(), token, until: now + term };
        self.leases.insert(function, lease.clone());
        LeaseAnswer::Acquired(lease)
    }

    pub(crate) fn lease(&self, function: FunctionName) -> Option<Lease> {
        self.leases.get(&function).filter(|lease| !lease.holder.is_empty()).cloned()
    }

    /// Numbers that move on with what is recorded, leases left out.
    pub(crate) fn marks(&self) -> [u64; 6] {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        [
            self.claims.changes(),
            self.commands.changes(),
            self.pools.changes(),
            count(self.unavailable.len()),
            count(self.nominations.len()),
            self.spot.as_ref().map_or(0, |own| own.version.0),
        ]
    }

    /// Whether pods are expected on nodes.
    pub(crate) fn has_nominations(&self) -> bool {
        !self.nominations.is_empty()
    }

    /// What a run leaves behind that acquires a lease and releases it at once: a newer token.
    /// `None` where another holds it.
    pub(crate) fn pass_lease(&mut self, function: FunctionName, now: Timestamp) -> Option<u64> {
        let held = self.leases.get(&function);
        if held.is_some_and(|lease| !lease.holder.is_empty() && now < lease.until) {
            return None;
        }
        let token = held.map_or(1, |lease| lease.token + 1);
        let until = Timestamp::UNIX_EPOCH;
        self.leases.insert(function, Lease { function, holder: "".into(), token, until });
        Some(token)
    }

    /// The next link of a chain of messages; `None` where another has followed `after`.
    pub(crate) fn advance_chain(
        &mut self,
        function: FunctionName,
        after: Option<u64>,
    ) -> Option<u64> {
        let last = self.chains.entry(function).or_default();
        if after.is_some_and(|after| after != *last) {
            return None;
        }
        *last += 1;
        Some(*last)
    }

    pub(crate) fn last_link(&self, function: FunctionName) -> Option<u64> {
        self.chains.get(&function).copied()
    }

    pub(crate) fn last_token(&self, function: FunctionName) -> Option<u64> {
        self.leases.get(&function).map(|lease| lease.token)
    }

    /// Ends a lease's term; the token stays, so that the next holder gets a newer one.
    pub(crate) fn release_lease(&mut self, lease: &Lease) {
        if let Some(own) = self.leases.get_mut(&lease.function)
            && own.token == lease.token
            && own.holder == lease.holder
        {
            own.until = Timestamp::UNIX_EPOCH;
            own.holder = "".into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::start;
    use controllers::record::command::CommandPhase;
    use domain::money::UsdPerHour;
    use domain::plan::PlannedDisruption;
    use domain::reason::DisruptionReason;

    const TERM: SignedDuration = SignedDuration::from_secs(60);

    fn command(id: &str) -> CommandRecord {
        CommandRecord {
            id: id.into(),
            disruption: PlannedDisruption {
                reason: DisruptionReason::Empty,
                nodes: vec![],
                pods: vec![],
                replacements: vec![],
                moves: vec![],
                savings: UsdPerHour::ZERO,
            },
            candidates: vec![],
            proposed: start(),
            phase: CommandPhase::Proposed,
        }
    }

    fn acquired(answer: LeaseAnswer) -> Lease {
        match answer {
            LeaseAnswer::Acquired(lease) => lease,
            LeaseAnswer::Held(lease) => panic!("held by {}", lease.holder),
        }
    }

    #[test]
    fn a_write_needs_the_version_that_was_read() {
        let mut store = Store::default();
        let lease = acquired(store.acquire_lease(FunctionName::Disruption, "a", start(), TERM));
        let first = store.create_command(&command("c"), &lease).unwrap();
        assert!(store.create_command(&command("c"), &lease).is_err());
        let second = store.commands.update("c", command("c"), first).unwrap();
        assert!(store.commands.update("c", command("c"), first).is_err());
        assert!(store.commands.delete("c", first).is_err());
        store.commands.delete("c", second).unwrap();
        store.commands.delete("c", second).unwrap();
        assert!(store.commands.update("c", command("c"), second).is_err());
    }

    #[test]
    fn a_lease_is_held_by_one_until_its_term_is_over() {
        let mut store = Store::default();
        let mut ask = |holder: &str, at: Timestamp| {
            store.acquire_lease(FunctionName::Provisioning, holder, at, TERM)
        };
        let first = acquired(ask("a", start()));
        assert!(matches!(ask("b", start()), LeaseAnswer::Held(_)));
        assert_eq!(acquired(ask("a", start())).token, first.token);
        let second = acquired(ask("b", start() + TERM));
        assert!(second.token > first.token);
    }

    #[test]
    fn a_writer_whose_lease_was_taken_over_is_fenced_off() {
        let mut store = Store::default();
        let old = acquired(store.acquire_lease(FunctionName::Disruption, "a", start(), TERM));
        store.release_lease(&old);
        let new = acquired(store.acquire_lease(FunctionName::Disruption, "b", start(), TERM));
        assert!(store.create_command(&command("c"), &old).is_err());
        assert!(store.create_command(&command("c"), &new).is_ok());
        store.release_lease(&old);
        let answer = store.acquire_lease(FunctionName::Disruption, "c", start(), TERM);
        assert!(matches!(answer, LeaseAnswer::Held(_)), "a stale release takes no lease away");
    }
}
