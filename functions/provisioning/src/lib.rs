//! Function `provisioning`: pending pods get nodes. Invoked every minute for each cluster, and in
//! `watch` mode by function `watcher` as soon as pods wait; in `tick` mode it wakes itself every
//! few seconds to check whether any does.
//!
//! Function `watcher` stays from one minute to the next and watches, which takes little memory.

mod telemetry;

use controllers::provisioning::demand_check::{begin_demand_checks, check_demand};
use controllers::provisioning::provision;
use controllers::provisioning::watch::watch;
use controllers::provisioning::watcher::watch_for_provisioning;
use controllers::requeue::reconcile_until_idle;
use lambda::{Failure, Invocation, Reaction};

use telemetry::record_report;

/// The function's name.
pub const NAME: &str = "provisioning";
/// The name of the function that watches for it.
pub const WATCHER_NAME: &str = "watcher";

/// One invocation.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    let telemetry = invocation.telemetry;
    let record = |result| telemetry.record_run(result, |report| record_report(telemetry, report));
    match invocation.reaction {
        // The watcher wakes it.
        Reaction::Watch if terms.wakes => {
            Box::pin(reconcile_until_idle(&*ports, &terms, provision, record)).await;
        }
        Reaction::Watch => Box::pin(watch(&*ports, &terms, record)).await,
        Reaction::Tick => match invocation.demand_check {
            Some(own) => Box::pin(check_demand(&*ports, &terms, own, record)).await,
            None => Box::pin(begin_demand_checks(&*ports, &terms, record)).await,
        },
        Reaction::Poll => record(Box::pin(provision(&*ports, &terms)).await),
    }
    Ok(())
}

/// One invocation of the watcher. Where functions cannot wake each other there is nothing to watch
/// for: provisioning does so itself.
pub async fn watch_for(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    if terms.wakes {
        let telemetry = invocation.telemetry;
        let record = |error| telemetry.record_problem("watch for pods", &error);
        Box::pin(watch_for_provisioning(&*ports, &terms, record)).await;
    }
    Ok(())
}
