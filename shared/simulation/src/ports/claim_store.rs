//! Port `ClaimStore` over the world's table.

use std::collections::BTreeMap;

use controllers::ports::{
    ClaimStore, ErrorKind, FunctionName, Lease, LeaseAnswer, PortError, SpotRecords, Version,
    Versioned,
};
use controllers::record::claim::ClaimRecord;
use controllers::record::command::CommandRecord;
use controllers::record::fuses::{Counted, RecentActions};
use controllers::record::nomination::Nomination;
use controllers::record::observation::Observation;
use controllers::record::pool::PoolRecord;
use controllers::record::spot::SpotRecord;
use controllers::record::unavailable::UnavailableOffering;
use domain::{SignedDuration, Text, Timestamp};

use super::shared_world::SharedWorld;
use crate::store::ConditionFailed;
use crate::world::World;

fn refused(operation: &'static str) -> impl FnOnce(ConditionFailed) -> PortError {
    move |error| PortError::new(ErrorKind::Conflict, operation, error.to_string()).because(error)
}

impl SharedWorld {
    /// Carries out a write of a claim, announced. Announcing takes no time here, so that runs take
    /// as long as they did before there were announcements; a process that dies leaves its own
    /// open all the same.
    async fn write_claim<T>(
        &self,
        operation: &'static str,
        write: impl FnOnce(&mut World) -> Result<T, ConditionFailed>,
    ) -> Result<T, PortError> {
        self.outlive_last_call().await;
        let now = self.read().now();
        let joined = self.claim_writes.borrow_mut().join(now);
        let announcement = joined.unwrap_or_else(|| {
            let own = self.change().store.announce(now);
            self.claim_writes.borrow_mut().begin(own.clone());
            own
        });
        let written = match self.call(operation).await {
            Ok(mut world) => Ok(write(&mut world)),
            Err(error) => Err(error),
        };
        let is_answered = written.is_ok();
        if !matches!(written, Ok(Ok(_))) {
            self.known_claims.forget();
        }
        let is_last = self.claim_writes.borrow_mut().end(&announcement, is_answered);
        if is_last && !self.dies_now() {
            self.change().store.withdraw(&announcement);
        }
        written?.map_err(refused(operation))
    }
}

impl ClaimStore for SharedWorld {
    async fn claims(&self) -> Result<Vec<Versioned<ClaimRecord>>, PortError> {
        // Announcements are read before the call, and claims when it arrives: whatever is written
        // in between is seen or not, as in two calls.
        self.outlive_last_call().await;
        let (announced, read_at) = {
            let world = self.read();
            (world.store.announced().clone(), world.now())
        };
        let world = self.call("Query claims").await?;
        if let Some(known) = self.known_claims.get(world.store.announced(), world.now()) {
            debug_assert!(
                known == world.store.claims.all(),
                "claims are kept that are no longer what is there"
            );
            return Ok(known);
        }
        let there = world.store.claims.all();
        self.known_claims.put(&announced, read_at, &there);
        Ok(there)
    }

    async fn claim(&self, name: &str) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        Ok(self.call("GetItem claim").await?.store.claims.get(name).cloned())
    }

    async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        let world = self.call("Query claims by instance").await?;
        let is_its = |own: &Versioned<ClaimRecord>| {
            own.record.instance.as_ref().is_some_and(|instance| &*instance.id == instance_id)
        };
        Ok(world.store.claims.all().into_iter().find(is_its))
    }

    async fn create_claim(
        &self,
        record: &ClaimRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        self.write_claim("PutItem claim", |world| {
            let version = world.store.create_claim(record, fence)?;
            world.note_claim_created(record);
            Ok(version)
        })
        .await
    }

    async fn update_claim(
        &self,
        record: &ClaimRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        self.write_claim("PutItem claim", |world| {
            let claims = &mut world.store.claims;
            let before = claims.get(record.name()).map(|own| own.record.clone());
            let version = claims.update(record.name(), record.clone(), expected)?;
            if let Some(before) = before {
                world.note_claim_changed(&before, record);
            }
            Ok(version)
        })
        .await
    }

    async fn delete_claim(&self, name: &str, expected: Version) -> Result<(), PortError> {
        self.write_claim("DeleteItem claim", |world| world.store.claims.delete(name, expected))
            .await
    }

    async fn commands(&self) -> Result<Vec<Versioned<CommandRecord>>, PortError> {
        Ok(self.call("Query commands").await?.store.commands.all())
    }

    async fn create_command(
        &self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        let mut world = self.call("PutItem command").await?;
        let version =
            world.store.create_command(record, fence).map_err(refused("PutItem command"))?;
        world.note_command_changed(None, record);
        Ok(version)
    }

    async fn update_command(
        &self,
        record: &CommandRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        let mut world = self.call("PutItem command").await?;
        let before = world.store.commands.get(&record.id).map(|own| own.record.clone());
        let version = world
            .store
            .commands
            .update(&record.id, record.clone(), expected)
            .map_err(refused("PutItem command"))?;
        world.note_command_changed(before.as_ref(), record);
        Ok(version)
    }

    async fn delete_command(&self, id: &str, expected: Version) -> Result<(), PortError> {
        let mut world = self.call("DeleteItem command").await?;
        world.store.commands.delete(id, expected).map_err(refused("DeleteItem command"))
    }

    async fn unavailable_offerings(&self) -> Result<Vec<UnavailableOffering>, PortError> {
        Ok(self.call("Query unavailable").await?.store.unavailable())
    }

    async fn mark_unavailable(&self, offerings: &[UnavailableOffering]) -> Result<(), PortError> {
        self.call("PutItem unavailable").await?.store.mark_unavailable(offerings);
        Ok(())
    }

    async fn nominations(&self) -> Result<Vec<Nomination>, PortError> {
        Ok(self.call("Query nominations").await?.store.nominations())
    }

    async fn nominate(&self, nominations: &[Nomination]) -> Result<(), PortError> {
        self.call("PutItem nomination").await?.store.nominate(nominations);
        Ok(())
    }

    async fn pools(&self) -> Result<Vec<Versioned<PoolRecord>>, PortError> {
        Ok(self.call("Query pools").await?.store.pools.all())
    }

    async fn put_pool(
        &self,
        record: &PoolRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let mut world = self.call("PutItem pool").await?;
        let pools = &mut world.store.pools;
        match expected {
            Some(expected) => pools.update(&record.node_pool, record.clone(), expected),
            None => pools.create(record.node_pool.clone(), record.clone()),
        }
        .map_err(refused("PutItem pool"))
    }

    async fn delete_pool(&self, node_pool: &str, expected: Version) -> Result<(), PortError> {
        let mut world = self.call("DeleteItem pool").await?;
        world.store.pools.delete(node_pool, expected).map_err(refused("DeleteItem pool"))
    }

    // What comes before every run takes no time here, and is no call after which one may die: what
    // it costs does not depend on what the run does.
    async fn spot_records(&self) -> Result<SpotRecords, PortError> {
        let own = self.call("Query spot").await?.store.spot.clone();
        Ok(SpotRecords { own, others: Vec::new() })
    }

    async fn spot_record(&self) -> Result<Option<Versioned<SpotRecord>>, PortError> {
        Ok(self.call("GetItem spot").await?.store.spot.clone())
    }

    async fn put_spot_record(
        &self,
        record: &SpotRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let mut world = self.call("UpdateItem spot").await?;
        world.store.put_spot(record, expected).map_err(refused("UpdateItem spot"))
    }

    async fn controls(&self) -> Result<BTreeMap<Text, Text>, PortError> {
        Ok(BTreeMap::new())
    }

    async fn recent_actions(
        &self,
        what: Counted,
    ) -> Result<Option<Versioned<RecentActions>>, PortError> {
        Ok(self.read().store.recent.get(&what).cloned())
    }

    async fn put_recent_actions(
        &self,
        what: Counted,
        actions: &RecentActions,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let mut world = self.change();
        world.effects += 1;
        let recent = &mut world.store.recent;
        if recent.get(&what).map(|own| own.version) != expected {
            let why = "it was counted concurrently";
            return Err(PortError::new(ErrorKind::Conflict, "PutItem recent", why));
        }
        let version = Version(expected.map_or(1, |own| own.0 + 1));
        recent.insert(what, Versioned { record: actions.clone(), version });
        Ok(version)
    }

    async fn observations(&self) -> Result<Vec<Observation>, PortError> {
        Ok(self.read().store.observations.values().cloned().collect())
    }

    async fn put_observation(&self, observation: &Observation) -> Result<(), PortError> {
        let mut world = self.call("PutItem observation").await?;
        world.store.observations.insert(observation.function, observation.clone());
        Ok(())
    }

    async fn acquire_lease(
        &self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> Result<LeaseAnswer, PortError> {
        Ok(self.call("PutItem lease").await?.store.acquire_lease(function, holder, now, term))
    }

    async fn lease(&self, function: FunctionName) -> Result<Option<Lease>, PortError> {
        Ok(self.call("GetItem lease").await?.store.lease(function))
    }

    async fn last_token(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        Ok(self.call("GetItem lease").await?.store.last_token(function))
    }

    async fn advance_chain(
        &self,
        function: FunctionName,
        after: Option<u64>,
    ) -> Result<Option<u64>, PortError> {
        Ok(self.call("UpdateItem chain").await?.store.advance_chain(function, after))
    }

    async fn last_link(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        Ok(self.call("GetItem chain").await?.store.last_link(function))
    }

    async fn note_success(&self, function: FunctionName, now: Timestamp) -> Result<(), PortError> {
        let mut world = self.call("UpdateItem successes").await?;
        let last = world.store.successes.entry(function).or_insert(now);
        *last = now.max(*last);
        Ok(())
    }

    async fn last_successes(&self) -> Result<BTreeMap<FunctionName, Timestamp>, PortError> {
        Ok(self.call("GetItem successes").await?.store.successes.clone())
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), PortError> {
        self.call("PutItem lease").await?.store.release_lease(lease);
        Ok(())
    }
}
