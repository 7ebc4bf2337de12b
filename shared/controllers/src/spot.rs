//! What functions see of spot offerings, counted in the cluster's record.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::spot::{SpotEvent, SpotEventKind, SpotHistory};
use domain::{SignedDuration, Text, Timestamp};

use crate::ports::cloud::Instance;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::spot::{COUNTED_EVERY, Sighting, SpotRecord, Uptime};
use crate::record::unavailable::UnavailableOffering;

/// Attempts to change the record while other functions do.
const CHANGE_ATTEMPTS: usize = 8;
/// EC2's code of a pool that has no capacity.
const NO_CAPACITY: &str = "InsufficientInstanceCapacity";

/// By instance type and zone.
pub(crate) type ByOffering<T> = BTreeMap<(Text, Text), T>;

/// What all clusters of an installation remember together.
pub(crate) fn merged<'r>(records: impl IntoIterator<Item = &'r SpotRecord>) -> SpotHistory {
    let mut all = SpotHistory::default();
    for record in records {
        all.merge(record.history.clone());
    }
    all
}

/// What happened to a spot instance; `None` for another.
pub(crate) fn sighting(
    instance: &Instance,
    kind: SpotEventKind,
    at: Timestamp,
) -> Option<Sighting> {
    (instance.capacity_type == CapacityType::Spot).then(|| Sighting {
        id: instance.id.clone(),
        event: SpotEvent {
            instance_type: instance.instance_type.clone(),
            zone: instance.zone.clone(),
            at,
            kind,
        },
    })
}

/// The spot offerings that a launch found no capacity for. `attempt` is unlike that of any other
/// launch.
pub(crate) fn shortages<'o>(
    unavailable: &'o [UnavailableOffering],
    attempt: &'o str,
    at: Timestamp,
) -> impl Iterator<Item = Sighting> + 'o {
    let is_short = |own: &&UnavailableOffering| {
        own.capacity_type == CapacityType::Spot && &*own.code == NO_CAPACITY
    };
    unavailable.iter().filter(is_short).map(move |own| Sighting {
        id: attempt.into(),
        event: SpotEvent {
            instance_type: own.instance_type.clone(),
            zone: own.zone.clone(),
            at,
            kind: SpotEventKind::CapacityError,
        },
    })
}

/// Counts what was seen; returns what had not been counted before.
pub(crate) async fn count<S: ClaimStore>(
    store: &S,
    sightings: &[Sighting],
    now: Timestamp,
) -> Result<Vec<Sighting>, PortError> {
    if sightings.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.spot_record().await?;
    let change = |record: SpotRecord| {
        let (record, news) = record.with_sightings(sightings, now);
        (!news.is_empty()).then_some((record, news))
    };
    Ok(changed(store, known, change).await?.unwrap_or_default())
}

/// Counts node-hours of the claims' spot instances, where that is due: every so often, and in each
/// run that may end one. Returns by offering for how long instances have run since.
pub(crate) async fn count_uptime<S: ClaimStore>(
    store: &S,
    known: Option<&Versioned<SpotRecord>>,
    claims: &[Versioned<ClaimRecord>],
    now: Timestamp,
) -> Result<ByOffering<SignedDuration>, PortError> {
    let spot = |claim: &Versioned<ClaimRecord>| {
        let own = claim.record.instance.as_ref()?;
        (own.capacity_type == CapacityType::Spot).then(|| Uptime {
            instance_type: own.instance_type.clone(),
            zone: own.zone.clone(),
            launched: own.launched,
        })
    };
    let running: Vec<Uptime> = claims.iter().filter_map(spot).collect();
    let ends = claims.iter().any(|claim| claim.record.ending.is_some() && spot(claim).is_some());
    let counted = known.and_then(|known| known.record.counted_until);
    let is_due = counted.is_none_or(|until| now.duration_since(until) >= COUNTED_EVERY);
    if running.is_empty() || !(is_due || ends) {
        return Ok(ByOffering::new());
    }
    let change = |record: SpotRecord| {
        let (record, times) = record.with_uptime(&running, now);
        times.iter().any(|own| *own > SignedDuration::ZERO).then_some((record, times))
    };
    let times = changed(store, known.cloned(), change).await?.unwrap_or_default();
    let mut by_offering = ByOffering::new();
    for (own, time) in running.into_iter().zip(times) {
        *by_offering.entry((own.instance_type, own.zone)).or_default() += time;
    }
    Ok(by_offering)
}

/// Changes the record whatever its version. `change` may be given a newer one than `known`; where
/// it returns nothing, nothing is written.
async fn changed<S: ClaimStore, T>(
    store: &S,
    known: Option<Versioned<SpotRecord>>,
    change: impl Fn(SpotRecord) -> Option<(SpotRecord, T)>,
) -> Result<Option<T>, PortError> {
    let mut known = known;
    for _ in 0..CHANGE_ATTEMPTS {
        let version = known.as_ref().map(|known| known.version);
        let before = known.map(|known| known.record).unwrap_or_default();
        let Some((record, outcome)) = change(before) else { return Ok(None) };
        match store.put_spot_record(&record, version).await {
            Ok(_) => return Ok(Some(outcome)),
            Err(error) if error.kind == ErrorKind::Conflict => {}
            Err(error) => return Err(error),
        }
        known = store.spot_record().await?;
    }
    let what = "it was changed concurrently on every attempt";
    Err(PortError::new(ErrorKind::Conflict, "change the record of spot offerings", what))
}
