//! Function `interruption`: events of EC2 and AWS Health about instances, from a queue. It serves
//! all clusters: events name an instance and no cluster.

mod batch;
mod message;
mod telemetry;

use controllers::ports::Clock as _;
use lambda::Batch;

pub use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
pub use batch::{HandledBatch, HandledMessage, NoticeResult, handle_batch};
pub use message::{Message, MessageError, MessageKind};

/// The function's name.
pub const NAME: &str = "interruption";

/// One invocation.
pub async fn run(batch: &Batch<'_>, event: SqsEvent) -> SqsBatchResponse {
    let handled = handle_batch(batch.process, &batch.terms(), &event).await;
    telemetry::record_batch(batch, &handled, batch.process.clock().now());
    handled.response
}
