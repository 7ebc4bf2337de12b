//! The binary of all Lambda functions: `bootstrap`, as Lambda calls it.
//!
//! Which function it is, the function's handler says (`_HANDLER`), so that five functions are one link and
//! one upload.

use std::process::ExitCode;

use interruption::{Amount, Figure, Handled};
use lambda::Batch;

fn main() -> ExitCode {
    let handler = std::env::var("_HANDLER").unwrap_or_default();
    match handler.as_str() {
        provisioning::NAME => lambda::start(provisioning::NAME, provisioning::run),
        lifecycle::NAME => lambda::start(lifecycle::NAME, lifecycle::run),
        disruption::NAME => lambda::start(disruption::NAME, disruption::run),
        interruption::NAME => lambda::start_queue(interruption::NAME, interrupted),
        catalog_function::NAME => lambda::start(catalog_function::NAME, catalog_function::run),
        other => lambda::unknown_handler(
            other,
            &[
                provisioning::NAME,
                lifecycle::NAME,
                disruption::NAME,
                interruption::NAME,
                catalog_function::NAME,
            ],
        ),
    }
}

/// Function `interruption` over the clusters of a process. It knows no Lambda, so that it is tested on
/// simulated ones.
async fn interrupted(
    batch: &Batch<'_>,
    event: interruption::SqsEvent,
) -> interruption::SqsBatchResponse {
    let Handled { response, figures, .. } =
        interruption::run(batch.process, &batch.terms(), &event).await;
    for Figure { cluster, name, labels, amount } in &figures {
        let labels: Vec<(&'static str, &str)> =
            labels.iter().map(|(key, value)| (*key, &**value)).collect();
        batch.measure(cluster.as_deref(), |metrics| match *amount {
            Amount::Count(by) => metrics.count(name, &labels, by),
            Amount::Seconds(seconds) => metrics.duration(name, &labels, seconds),
        });
    }
    response
}
