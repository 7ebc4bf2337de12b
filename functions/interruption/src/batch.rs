//! A batch of messages, handled as one. Knows no Lambda, so that tests run it on simulated
//! clusters.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use controllers::interruption::{
    ClusterReport, Clusters, InterruptionReport, Notice, NoticeOutcome, Terms, handle,
};
use controllers::ports::PortError;
use domain::Timestamp;

use crate::message::{Message, MessageError};

/// What was done about a notice.
pub type NoticeResult = Result<NoticeOutcome, PortError>;

/// What came of a batch.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct HandledBatch {
    /// The answer to the queue: which messages it delivers again.
    pub response: SqsBatchResponse,
    /// The messages, in the order in which the queue delivered them.
    pub messages: Vec<HandledMessage>,
    /// What was done in the clusters that the messages concern.
    pub clusters: Vec<ClusterReport>,
}

/// A message and what came of it.
#[derive(Debug, PartialEq)]
pub struct HandledMessage {
    /// The id that the queue gave it.
    pub id: String,
    /// The message, or why it could not be parsed.
    pub message: Result<Message, MessageError>,
    /// What was done about each of its notices, in their order.
    pub outcomes: Vec<NoticeResult>,
}

/// Handles a batch for whichever clusters its messages concern.
///
/// A malformed message, or one without a notice to act upon, is deleted from the queue. The queue
/// delivers a message again only where its notices could not be stored.
pub async fn handle_batch<C: Clusters>(
    clusters: &C,
    terms: &Terms<'_>,
    event: &SqsEvent,
) -> HandledBatch {
    let now = clusters.now();
    let received: Vec<Received<'_>> =
        event.records.iter().map(|record| Received::of(record, now)).collect();
    let notices: Vec<Notice> =
        received.iter().flat_map(|own| own.notices().iter().cloned()).collect();
    let InterruptionReport { outcomes, clusters } = handle(clusters, terms, &notices).await;
    let mut outcomes = outcomes.into_iter();
    let mut response = SqsBatchResponse::default();
    let mut messages = Vec::with_capacity(received.len());
    for own in received {
        let outcomes: Vec<NoticeResult> = outcomes.by_ref().take(own.notices().len()).collect();
        if outcomes.iter().any(Result::is_err) {
            let mut failure = BatchItemFailure::default();
            own.id.clone_into(&mut failure.item_identifier);
            response.batch_item_failures.push(failure);
        }
        messages.push(HandledMessage { id: own.id.to_owned(), message: own.message, outcomes });
    }
    HandledBatch { response, messages, clusters }
}

/// A message of the batch, as far as it can be parsed.
struct Received<'e> {
    id: &'e str,
    message: Result<Message, MessageError>,
}

impl<'e> Received<'e> {
    fn of(record: &'e SqsMessage, now: Timestamp) -> Self {
        let mut message = Message::parse(record.body.as_deref().unwrap_or_default());
        if let Ok(message) = &mut message {
            // Clocks differ: a notice cannot be from the future.
            for notice in &mut message.notices {
                notice.at = notice.at.min(now);
            }
        }
        Self { id: record.message_id.as_deref().unwrap_or_default(), message }
    }

    fn notices(&self) -> &[Notice] {
        self.message.as_ref().map(|message| message.notices.as_slice()).unwrap_or_default()
    }
}
