//! Function `disruption`: nodes that are empty, underutilized, drifted, expired or unhealthy are
//! removed, replacements first. Invoked every minute for each cluster, and requeued while a command
//! is in progress.

mod telemetry;

use controllers::disruption::{disrupt, disrupt_until_idle};
use lambda::{Failure, Invocation, Reaction};

use telemetry::record_report;

/// The function's name.
pub const NAME: &str = "disruption";

/// One invocation.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    let telemetry = invocation.telemetry;
    let record = |result| telemetry.record_run(result, |report| record_report(telemetry, report));
    match invocation.reaction {
        Reaction::Watch | Reaction::Tick => {
            Box::pin(disrupt_until_idle(&*ports, &terms, record)).await;
        }
        Reaction::Poll => record(Box::pin(disrupt(&*ports, &terms)).await),
    }
    Ok(())
}
