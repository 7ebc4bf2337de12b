//! Provisioning in `watch` mode: watches until just before the next scheduled invocation, and acts
//! within a batching window.

use domain::Timestamp;

use super::batch::{BATCH_IDLE_MAX, BatchWindow};
use super::provision;
use super::report::ProvisioningReport;
use crate::ports::cluster::Demand;
use crate::ports::error::PortError;
use crate::ports::{Clock, Cluster, Ports};
use crate::requeue::RETRY_INTERVAL;
use crate::run::{Run, RunOutcome, after};

/// Provisions at once, and again whenever demand has changed, until the deadline; `report` gets the
/// result of each run, and each failure to watch.
///
/// While pods are pending or nodes are ending it also provisions every ten seconds: what kept a pod
/// pending may be gone without a change of any pod. The lease is held during a run only, so that
/// disruption can launch replacements in between.
pub async fn watch<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    watch_from(ports, run, First::Provision, report).await;
}

/// How [`watch_from`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It provisions at once.
    Provision,
    /// It waits for demand: for a caller that knows that provisioning would find nothing to do.
    Wait,
}

/// Like [`watch`], which begins by provisioning.
pub async fn watch_from<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    first: First,
    mut report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let mut first = first;
    let mut latest_change = None;
    loop {
        let pause = match first {
            First::Wait => None,
            First::Provision => {
                let result = provision(ports, run).await;
                let pause = match &result {
                    Ok(RunOutcome::Ran(report)) => report.requeue_after,
                    Ok(RunOutcome::Held(_) | RunOutcome::Stopped(_) | RunOutcome::Superseded)
                    | Err(_) => Some(RETRY_INTERVAL),
                };
                report(result);
                pause
            }
        };
        first = First::Provision;
        let next = pause.map_or(run.deadline, |pause| after(ports.clock().now(), pause));
        let latest = next.min(run.deadline);
        if let Err(error) = await_demand(ports, latest, &mut latest_change).await {
            report(Err(error));
            // As if demand had changed: list again after the longest pause of a batching window.
            let again = after(ports.clock().now(), BATCH_IDLE_MAX);
            ports.clock().sleep_until(again.min(run.deadline)).await;
        }
        if ports.clock().now() >= run.deadline {
            return;
        }
    }
}

/// Returns when a batching window has closed, at `latest` if it is still open then, or unchanged at
/// `latest` if none was. `latest_change` is that of the window before, and then of this one.
pub(super) async fn await_demand<P: Ports>(
    ports: &P,
    latest: Timestamp,
    latest_change: &mut Option<Timestamp>,
) -> Result<Demand, PortError> {
    let mut window: Option<BatchWindow> = None;
    loop {
        let until = window.map_or(latest, |window| window.closes().min(latest));
        match ports.cluster().demand_changed(until).await? {
            Demand::Unchanged if window.is_some() => return Ok(Demand::Changed),
            Demand::Unchanged => return Ok(Demand::Unchanged),
            Demand::Changed => {
                let now = ports.clock().now();
                let next = match (window, *latest_change) {
                    (Some(own), _) => own.extended(now),
                    (None, Some(earlier)) => BatchWindow::opened_after(earlier, now),
                    (None, None) => BatchWindow::opened(now),
                };
                *latest_change = Some(next.latest());
                window = Some(next);
            }
        }
        if window.is_some_and(|window| ports.clock().now() >= window.closes().min(latest)) {
            return Ok(Demand::Changed);
        }
    }
}
