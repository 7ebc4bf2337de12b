//! Function `interruption`: what EC2 and AWS Health say about instances, from a queue. One for all clusters:
//! messages name an instance and no cluster.
//!
//! A batch is handled as one. Messages that make no sense, or tell nothing that anybody acts upon, are logged,
//! counted and finished with. A message comes back only where what it means could not be stored; after too many
//! attempts the queue moves it to its dead letters.

mod message;
mod telling;

use aws_lambda_events::sqs::{BatchItemFailure, SqsMessage};
use controllers::interruption::{
    Clusters, InterruptionReport, Notice, NoticeOutcome, Terms, handle,
};
use controllers::ports::PortError;
use domain::Timestamp;

pub use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
pub use message::{Message, MessageError, MessageKind};
pub use telling::{Amount, Figure};

/// The function's name.
pub const NAME: &str = "interruption";

/// What came of a batch.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Handled {
    /// The answer to the queue: which messages come back.
    pub response: SqsBatchResponse,
    /// What is measured.
    pub figures: Vec<Figure>,
    /// What was done, notice by notice and cluster by cluster.
    pub report: InterruptionReport,
}

/// One invocation.
pub async fn run<C: Clusters>(clusters: &C, terms: &Terms<'_>, event: &SqsEvent) -> Handled {
    let now = clusters.now();
    let received: Vec<Received<'_>> =
        event.records.iter().map(|record| Received::of(record, now)).collect();
    let notices: Vec<Notice> =
        received.iter().flat_map(|own| own.notices().iter().cloned()).collect();
    let report = handle(clusters, terms, &notices).await;
    let mut figures = Vec::new();
    let mut response = SqsBatchResponse::default();
    let mut outcomes = report.outcomes.as_slice();
    let ended = clusters.now();
    for own in &received {
        let (mine, rest) = outcomes.split_at(own.notices().len().min(outcomes.len()));
        outcomes = rest;
        telling::message(own, mine, ended, &mut figures);
        if mine.iter().any(Result::is_err) {
            let mut failure = BatchItemFailure::default();
            own.id.clone_into(&mut failure.item_identifier);
            response.batch_item_failures.push(failure);
        }
    }
    for cluster in &report.clusters {
        telling::cluster(cluster, &mut figures);
    }
    Handled { response, figures, report }
}

type Outcome = Result<NoticeOutcome, PortError>;

/// A message of the batch, as far as it can be read.
struct Received<'e> {
    /// What the queue calls it.
    id: &'e str,
    message: Result<Message, MessageError>,
}

impl<'e> Received<'e> {
    fn of(record: &'e SqsMessage, now: Timestamp) -> Self {
        let mut message = Message::parse(record.body.as_deref().unwrap_or_default());
        if let Ok(message) = &mut message {
            // Clocks differ: nothing was said in the future.
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
