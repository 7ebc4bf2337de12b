//! Function `provisioning`: pending pods get nodes. Invoked every minute for each cluster; in
//! `watch` mode it runs until just before the next invocation, and acts within the batching window;
//! in `tick` mode it wakes itself every few seconds to look whether pods wait.

mod telemetry;

use controllers::provisioning::look::{begin_looking, look};
use controllers::provisioning::provision;
use controllers::provisioning::watch::watch;
use lambda::{Failure, Invocation, Reaction};

use telemetry::record_report;

/// The function's name.
pub const NAME: &str = "provisioning";

/// One invocation.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    let telemetry = invocation.telemetry;
    let record = |result| telemetry.record_run(result, |report| record_report(telemetry, report));
    match invocation.reaction {
        Reaction::Watch => Box::pin(watch(&*ports, &terms, record)).await,
        Reaction::Tick => match invocation.look {
            Some(own) => Box::pin(look(&*ports, &terms, own, record)).await,
            None => Box::pin(begin_looking(&*ports, &terms, record)).await,
        },
        Reaction::Poll => record(Box::pin(provision(&*ports, &terms)).await),
    }
    Ok(())
}
