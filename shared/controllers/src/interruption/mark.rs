//! What notices come to for a claim, stored.

use domain::Timestamp;
use domain::label::REBALANCE_RECOMMENDED;
use domain::node_claim::ConditionType;
use domain::reason::DisruptionReason;

use super::notice::{Notice, NoticeKind};
use crate::event::{Event, EventReason, Subject};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Versioned};
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::unavailable::UnavailableOffering;
use crate::run::{Problems, change_claim};

/// So many instances are looked up, or claims written, at once.
pub(super) const CLAIMS_CONCURRENCY_MAX: usize = 25;

/// Why the claims end that notices are about.
const REASON: EndReason = EndReason::Disrupted(DisruptionReason::Interrupted);

/// What notices came to for a claim.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// The claim as it is now; `None` where it is gone, or has another instance.
    pub(super) record: Option<ClaimRecord>,
    /// Its instance was being ended anyway: the notices tell nothing new.
    pub(super) is_past: bool,
    /// The claim was changed.
    pub(super) is_news: bool,
    /// Its pods have to leave, and its instance is there still.
    pub(super) is_urgent: bool,
    /// What users are told.
    pub(super) events: Vec<Event>,
    /// What did not work and does not make the notices come again.
    pub(super) problems: Problems,
}

/// Marks a claim as its notices ask for. After an error they must come again.
///
/// Offerings come first: whoever plans because of the mark knows of them. That they could not be written is
/// no reason to have the notices come again: it costs a launch that may fail.
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
    let mut marked = Marked::default();
    if is_being_ended(&claim.record) {
        return Ok(Marked { record: Some(claim.record), is_past: true, ..marked });
    }
    let gone: Vec<UnavailableOffering> =
        notices.iter().filter_map(|notice| notice.gone(&instance, now)).collect();
    if !gone.is_empty() {
        let written = store.mark_unavailable(&gone).await;
        marked.problems.note(|| "mark an offering unavailable".to_owned(), written);
    }
    let before = claim.record.clone();
    let changed = change_claim(store, claim, |record| with_notices(record, &notices, now)).await?;
    let Some(Versioned { record, .. }) = changed else { return Ok(marked) };
    marked.is_news = record != before;
    marked.is_urgent = record.ending.as_ref().is_some_and(|ending| {
        marked.is_news && notices.iter().any(|notice| ends(notice)) || ending.reason == REASON
    });
    if marked.is_news {
        marked.events = events(&record, &before, &notices);
    }
    marked.record = Some(record);
    Ok(marked)
}

/// Whether EC2 has been asked to end the instance, or has done so by itself, and that is on record.
fn is_being_ended(record: &ClaimRecord) -> bool {
    record.claim.is(ConditionType::InstanceTerminating)
}

fn ends(notice: &Notice) -> bool {
    notice.kind != NoticeKind::RebalanceRecommendation
}

fn with_notices(record: ClaimRecord, notices: &[&Notice], now: Timestamp) -> ClaimRecord {
    notices.iter().fold(record, |mut record, notice| {
        if ends(notice) {
            return record.ended(now, REASON, notice.deadline(now));
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
        let message = "it is drained, for its instance goes away";
        events.push(Event::new(about(), EventReason::TerminatingOnInterruption, message));
    }
    events.dedup();
    events
}
