//! Storing the consequences of notices for a claim.

use domain::Timestamp;
use domain::label::REBALANCE_RECOMMENDED;
use domain::node_claim::ConditionType;
use domain::spot::SpotEventKind;

use super::notice::{Notice, NoticeKind};
use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::Instance;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::spot::Sighting;
use crate::record::unavailable::UnavailableOffering;
use crate::run::{Problems, change_claim};
use crate::spot::sighting;

/// Claims that are looked up or written concurrently.
pub(super) const CLAIMS_CONCURRENCY_MAX: usize = 25;

/// The consequences of notices for a claim.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// The claim as stored; `None` when it is unavailable, or has another instance.
    pub(super) record: Option<ClaimRecord>,
    /// Its instance is being terminated already, so the notices are obsolete.
    pub(super) is_past: bool,
    /// The claim was changed.
    pub(super) is_news: bool,
    /// Its pods must leave, and its instance still exists.
    pub(super) is_urgent: bool,
    /// Events to record.
    pub(super) events: Vec<Event>,
    /// What the notices say of the instance's offering, if it is spot.
    pub(super) sightings: Vec<Sighting>,
    /// Failed calls for which the notices need not be delivered again.
    pub(super) problems: Problems,
}

/// Marks a claim as its notices require.
///
/// Offerings are marked unavailable first, so that a plan that follows from the mark knows of them.
/// A failure to do so does not make the notices come again: it costs a launch that may fail.
///
/// # Errors
///
/// When the claim could not be marked; the notices must be delivered again.
pub(super) async fn mark<S: ClaimStore>(
    store: &S,
    now: Timestamp,
    name: &str,
    notices: Vec<&Notice>,
) -> Result<Marked, PortError> {
    let Some(claim) = store.claim(name).await? else { return Ok(Marked::default()) };
    let instance = claim.record.instance.clone();
    let Some(instance) = instance.filter(|own| notices.iter().all(|it| it.instance_id == own.id))
    else {
        return Ok(Marked::default());
    };
    let mut marked = Marked { sightings: sightings(&instance, &notices), ..Marked::default() };
    if is_being_ended(&claim.record) {
        return Ok(Marked { record: Some(claim.record), is_past: true, ..marked });
    }
    let unavailable: Vec<UnavailableOffering> =
        notices.iter().filter_map(|notice| notice.unavailable_offering(&instance, now)).collect();
    if !unavailable.is_empty() {
        let written = store.mark_unavailable(&unavailable).await;
        marked.problems.record(|| "mark an offering unavailable".to_owned(), written);
    }
    let before = claim.record.clone();
    let changed = change_claim(store, claim, |record| with_notices(record, &notices, now)).await?;
    let Some(Versioned { record, .. }) = changed else { return Ok(marked) };
    marked.is_news = record != before;
    marked.is_urgent = record.ending.as_ref().is_some_and(|ending| {
        let mut reasons = notices.iter().filter_map(|notice| notice.kind.end_reason());
        reasons.any(|reason| marked.is_news || reason == ending.reason)
    });
    if marked.is_news {
        marked.events = events(&record, &before, &notices);
    }
    marked.record = Some(record);
    Ok(marked)
}

fn sightings(instance: &Instance, notices: &[&Notice]) -> Vec<Sighting> {
    let of_notice = |notice: &&Notice| {
        let kind = match notice.kind {
            NoticeKind::SpotInterruption => SpotEventKind::Interruption,
            NoticeKind::RebalanceRecommendation => SpotEventKind::Rebalance,
            _ => return None,
        };
        sighting(instance, kind, notice.at)
    };
    notices.iter().filter_map(of_notice).collect()
}

/// Whether the record says that the instance is being terminated.
fn is_being_ended(record: &ClaimRecord) -> bool {
    record.claim.is(ConditionType::InstanceTerminating)
}

fn with_notices(record: ClaimRecord, notices: &[&Notice], now: Timestamp) -> ClaimRecord {
    notices.iter().fold(record, |mut record, notice| {
        if let Some(reason) = notice.kind.end_reason() {
            return record.ended(now, reason, notice.deadline(now));
        }
        let at = notice.at.to_string();
        record.claim.annotations.entry(REBALANCE_RECOMMENDED.into()).or_insert_with(|| at.into());
        record
    })
}

fn events(record: &ClaimRecord, before: &ClaimRecord, notices: &[&Notice]) -> Vec<Event> {
    let about = || Subject::NodeClaim(record.claim.name.clone());
    let mut events: Vec<Event> = notices
        .iter()
        .map(|notice| Event::new(about(), notice.kind.reason(), notice.kind.message()))
        .collect();
    if record.ending.is_some() && before.ending.is_none() {
        let message = "draining its node because its instance is being interrupted";
        events.push(Event::new(about(), EventReason::TerminatingOnInterruption, message));
    }
    events.dedup();
    events
}
