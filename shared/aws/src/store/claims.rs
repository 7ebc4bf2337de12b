//! The port `ClaimStore` on the table.

use std::collections::BTreeMap;

use controllers::claim_cache::Announcement;
use controllers::ports::{
    ClaimStore, ErrorKind, FunctionName, Lease, LeaseAnswer, PortError, SpotRecords, Version,
    Versioned,
};
use controllers::record::claim::ClaimRecord;
use controllers::record::command::CommandRecord;
use controllers::record::controls::KEYS;
use controllers::record::fuses::{Counted, RecentActions};
use controllers::record::nomination::Nomination;
use controllers::record::observation::Observation;
use controllers::record::pool::PoolRecord;
use controllers::record::spot::SpotRecord;
use controllers::record::unavailable::UnavailableOffering;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::DynamoStore;
use super::announcements;
use super::attribute::{Attributes, Place, key_of, number, string, text};
use super::chain;
use super::error::DocumentError;
use super::expression::Condition;
use super::item::{Stored, item, record};
use super::lease::{self, LeaseRequest};
use super::schema::{self, CLUSTER};
use super::spot;
use super::success;
use super::table::Written;
use super::versioned::{is_version, new_write, settled};
use super::wire::CountedActions;

/// The most writes in flight.
const WRITE_CONCURRENCY_MAX: usize = 16;

impl DynamoStore {
    fn place<'a>(&'a self, key: &'a str) -> Place<'a> {
        Place { partition: &self.cluster, key }
    }

    /// All records of a kind, by key. One that cannot be parsed is logged and left out.
    async fn all<R: Stored>(&self) -> Result<Vec<Versioned<R>>, PortError> {
        let items = self.table.query(&self.cluster, R::PREFIX).await?;
        let mut records = Vec::with_capacity(items.len());
        let mut unreadable = Vec::new();
        for item in &items {
            match record(item) {
                Ok(record) => records.push(record),
                Err(error) => {
                    let (cluster, record) = (&self.cluster, key_of(item));
                    tracing::error!(%cluster, record, %error, "skipping unreadable record");
                    unreadable.extend(key_of(item).strip_prefix(R::PREFIX).map(Into::into));
                }
            }
        }
        if R::PREFIX == schema::CLAIMS {
            self.unreadable_claims.replace(unreadable);
        }
        Ok(records)
    }

    async fn one<R: Stored>(&self, key: &str) -> Result<Option<Versioned<R>>, PortError> {
        let item = self.table.get(self.place(key)).await?;
        item.map(|item| record(&item).map_err(|error| unreadable(key, &error))).transpose()
    }

    async fn create<R: Stored>(&self, new: &R, fence: &Lease) -> Result<Version, PortError> {
        let (version, write) = (Version(1), new_write());
        let item = item(&self.cluster, new, version, &write)?;
        let lease_key = schema::lease(fence.function);
        let put = self.table.put_fenced(
            item,
            Condition::absent(),
            self.place(&lease_key),
            lease::in_force(fence),
        );
        let written = self.write(&new.key(), Box::pin(put)).await?;
        settled("create", &new.key(), &write, written).map(|()| version)
    }

    async fn update<R: Stored>(&self, new: &R, expected: Version) -> Result<Version, PortError> {
        let (version, write) = (Version(expected.0.saturating_add(1)), new_write());
        let item = item(&self.cluster, new, version, &write)?;
        let put = self.table.put(item, is_version(expected));
        let written = self.write(&new.key(), Box::pin(put)).await?;
        settled("update", &new.key(), &write, written).map(|()| version)
    }

    /// Carries out the write of a record, and announces it where that is a claim.
    async fn write(
        &self,
        key: &str,
        write: impl Future<Output = Result<Written, PortError>>,
    ) -> Result<Written, PortError> {
        if !key.starts_with(schema::CLAIMS) {
            return write.await;
        }
        let announcement = self.announce_write().await?;
        let written = write.await;
        if !matches!(written, Ok(Written::Done(()))) {
            self.known_claims.forget();
        }
        self.end_write(&announcement, written.is_ok()).await;
        written
    }

    /// Announces a write of a claim; one announcement does for all that are under way.
    async fn announce_write(&self) -> Result<Announcement, PortError> {
        let mut writes = self.claim_writes.lock().await;
        let now = Timestamp::now();
        if let Some(announcement) = writes.join(now) {
            return Ok(announcement);
        }
        let announcement = Announcement::new(new_write().into(), now);
        let expired =
            announcements::announce(&self.table, &self.cluster, &announcement, now).await?;
        if !expired.is_empty() {
            let expired: Vec<&Announcement> = expired.iter().collect();
            self.withdraw(&expired).await;
        }
        writes.begin(announcement.clone());
        Ok(announcement)
    }

    /// Ends a write. Its announcement is withdrawn with the last write under it; where that cannot
    /// be done it counts until its time is over, and claims are read from the table until then.
    async fn end_write(&self, announcement: &Announcement, is_answered: bool) {
        let mut writes = self.claim_writes.lock().await;
        if writes.end(announcement, is_answered) {
            self.withdraw(&[announcement]).await;
        }
    }

    async fn withdraw(&self, done: &[&Announcement]) {
        if let Err(error) = announcements::withdraw(&self.table, &self.cluster, done).await {
            let cluster = &self.cluster;
            tracing::warn!(%cluster, %error, "failed to withdraw an announcement of writes");
        }
    }

    /// Creates a record that needs no lease, or updates it.
    async fn put_or_update<R: Stored>(
        &self,
        record: &R,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        let Some(expected) = expected else {
            let write = new_write();
            let item = item(&self.cluster, record, Version(1), &write)?;
            let written = self.table.put(item, Condition::absent()).await?;
            return settled("create", &record.key(), &write, written).map(|()| Version(1));
        };
        self.update(record, expected).await
    }

    /// Sets what an operator has said, by the keys of `controllers::record::controls`; `None`
    /// takes it back. Other keys stay.
    pub async fn set_controls(
        &self,
        values: &BTreeMap<&'static str, Option<Text>>,
    ) -> Result<(), PortError> {
        let (mut sets, mut removes) = (Vec::new(), Vec::new());
        let mut always =
            Condition::new("attribute_exists(#record) OR attribute_not_exists(#record)");
        for (index, (key, value)) in values.iter().enumerate() {
            match value {
                Some(value) => {
                    let name = format!(":v{index}");
                    sets.push(format!("#{key} = {name}"));
                    always = always.with(&name, text(&**value));
                }
                None => removes.push(format!("#{key}")),
            }
        }
        let clause = |word: &str, parts: &[String]| match parts {
            [] => String::new(),
            parts => format!("{word} {} ", parts.join(", ")),
        };
        let expression = clause("SET", &sets) + &clause("REMOVE", &removes);
        let (Written::Done(_) | Written::Refused(_)) =
            self.table.update(self.place(schema::CONTROLS), expression.trim(), always).await?;
        Ok(())
    }

    async fn delete(&self, key: &str, expected: Version) -> Result<(), PortError> {
        let condition = Condition::new("attribute_not_exists(#record) OR #version = :version")
            .with(":version", number(expected.0));
        let delete = Box::pin(self.table.delete(self.place(key), condition));
        let written = self.write(key, delete).await?;
        settled("delete", key, "", written)
    }
}

impl ClaimStore for DynamoStore {
    async fn claims(&self) -> Result<Vec<Versioned<ClaimRecord>>, PortError> {
        let read_at = Timestamp::now();
        let announced = announcements::read(&self.table, &self.cluster).await?;
        if let Some(claims) = self.known_claims.get(&announced, read_at) {
            return Ok(claims);
        }
        let claims = self.all().await?;
        self.known_claims.put(&announced, read_at, &claims);
        Ok(claims)
    }

    fn unreadable_claims(&self) -> Vec<Text> {
        self.unreadable_claims.borrow().clone()
    }

    async fn claim(&self, name: &str) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        self.one(&schema::claim(name)).await
    }

    async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
        let keys = self.table.query_instance(instance_id).await?;
        for key in keys.iter().filter(|key| string(key, CLUSTER) == Some(&self.cluster)) {
            let claim: Option<Versioned<ClaimRecord>> = self.one(key_of(key)).await?;
            // The index lags: the record may be gone, or changed.
            if let Some(claim) = claim
                && claim.record.instance() == Some(instance_id)
            {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }

    async fn create_claim(
        &self,
        record: &ClaimRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        self.create(record, fence).await
    }

    async fn update_claim(
        &self,
        record: &ClaimRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        self.update(record, expected).await
    }

    async fn delete_claim(&self, name: &str, expected: Version) -> Result<(), PortError> {
        self.delete(&schema::claim(name), expected).await
    }

    async fn commands(&self) -> Result<Vec<Versioned<CommandRecord>>, PortError> {
        self.all().await
    }

    async fn create_command(
        &self,
        record: &CommandRecord,
        fence: &Lease,
    ) -> Result<Version, PortError> {
        self.create(record, fence).await
    }

    async fn update_command(
        &self,
        record: &CommandRecord,
        expected: Version,
    ) -> Result<Version, PortError> {
        self.update(record, expected).await
    }

    async fn delete_command(&self, id: &str, expected: Version) -> Result<(), PortError> {
        self.delete(&schema::command(id), expected).await
    }

    async fn unavailable_offerings(&self) -> Result<Vec<UnavailableOffering>, PortError> {
        Ok(self.all().await?.into_iter().map(|own| own.record).collect())
    }

    async fn mark_unavailable(&self, offerings: &[UnavailableOffering]) -> Result<(), PortError> {
        stream::iter(offerings)
            .map(|offering| async move {
                let item = item(&self.cluster, offering, Version(1), &new_write())?;
                let is_later = Condition::new("attribute_not_exists(#record) OR #until <= :until")
                    .with(":until", number(offering.until.as_millisecond()));
                // Refused: it is already marked for longer.
                let (Written::Done(()) | Written::Refused(_)) =
                    self.table.put(item, is_later).await?;
                Ok(())
            })
            .buffer_unordered(WRITE_CONCURRENCY_MAX)
            .try_collect()
            .await
    }

    async fn nominations(&self) -> Result<Vec<Nomination>, PortError> {
        Ok(self.all().await?.into_iter().map(|own| own.record).collect())
    }

    async fn nominate(&self, nominations: &[Nomination]) -> Result<(), PortError> {
        let items: Result<Vec<Attributes>, PortError> = nominations
            .iter()
            .map(|nomination| item(&self.cluster, nomination, Version(1), &new_write()))
            .collect();
        self.table.put_all(items?).await
    }

    async fn pools(&self) -> Result<Vec<Versioned<PoolRecord>>, PortError> {
        self.all().await
    }

    async fn put_pool(
        &self,
        record: &PoolRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        self.put_or_update(record, expected).await
    }

    async fn delete_pool(&self, node_pool: &str, expected: Version) -> Result<(), PortError> {
        self.delete(&schema::pool(node_pool), expected).await
    }

    async fn spot_records(&self) -> Result<SpotRecords, PortError> {
        spot::read_all(&self.table, &self.cluster).await
    }

    async fn spot_record(&self) -> Result<Option<Versioned<SpotRecord>>, PortError> {
        spot::read(&self.table, &self.cluster).await
    }

    async fn put_spot_record(
        &self,
        record: &SpotRecord,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        spot::write(&self.table, &self.cluster, record, expected).await
    }

    async fn controls(&self) -> Result<BTreeMap<Text, Text>, PortError> {
        let item = self.table.get(self.place(schema::CONTROLS)).await?.unwrap_or_default();
        let said =
            KEYS.into_iter().filter_map(|key| Some((key.into(), string(&item, key)?.into())));
        Ok(said.collect())
    }

    async fn recent_actions(
        &self,
        what: Counted,
    ) -> Result<Option<Versioned<RecentActions>>, PortError> {
        let stored = self.one::<CountedActions>(&schema::recent(what)).await?;
        Ok(stored
            .map(|Versioned { record, version }| Versioned { record: record.actions, version }))
    }

    async fn put_recent_actions(
        &self,
        what: Counted,
        actions: &RecentActions,
        expected: Option<Version>,
    ) -> Result<Version, PortError> {
        self.put_or_update(&CountedActions { what, actions: actions.clone() }, expected).await
    }

    async fn observations(&self) -> Result<Vec<Observation>, PortError> {
        Ok(self.all().await?.into_iter().map(|own| own.record).collect())
    }

    async fn put_observation(&self, observation: &Observation) -> Result<(), PortError> {
        let item = item(&self.cluster, observation, Version(1), &new_write())?;
        self.table.put_all(vec![item]).await
    }

    async fn acquire_lease(
        &self,
        function: FunctionName,
        holder: &str,
        now: Timestamp,
        term: SignedDuration,
    ) -> Result<LeaseAnswer, PortError> {
        let request = LeaseRequest { function, holder, now, term };
        lease::acquire(&self.table, &self.cluster, request).await
    }

    async fn lease(&self, function: FunctionName) -> Result<Option<Lease>, PortError> {
        lease::read(&self.table, &self.cluster, function).await
    }

    async fn last_token(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        lease::last_token(&self.table, &self.cluster, function).await
    }

    async fn advance_chain(
        &self,
        function: FunctionName,
        after: Option<u64>,
    ) -> Result<Option<u64>, PortError> {
        chain::advance(&self.table, &self.cluster, function, after, &new_write()).await
    }

    async fn last_link(&self, function: FunctionName) -> Result<Option<u64>, PortError> {
        chain::last(&self.table, &self.cluster, function).await
    }

    async fn note_success(&self, function: FunctionName, now: Timestamp) -> Result<(), PortError> {
        success::note(&self.table, &self.cluster, function, now).await
    }

    async fn last_successes(&self) -> Result<BTreeMap<FunctionName, Timestamp>, PortError> {
        success::read(&self.table, &self.cluster).await
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), PortError> {
        lease::release(&self.table, &self.cluster, lease).await
    }
}

fn unreadable(key: &str, error: &DocumentError) -> PortError {
    PortError::new(ErrorKind::Invalid, format!("read {key}"), error.to_string())
}
