//! Provisioning in `watch` mode: stays until just before the next tick and acts within a batching window.

use domain::Timestamp;

use super::batch::BatchWindow;
use super::provision;
use super::report::ProvisioningReport;
use crate::ports::cluster::Demand;
use crate::ports::error::PortError;
use crate::ports::{Clock, Cluster, Ports};
use crate::requeue::RETRY_INTERVAL;
use crate::run::{Run, RunOutcome, after};

/// Provisions at once, and again whenever what asks for nodes has changed, until the deadline; `tell`
/// hears of each round, and of each time that nobody could say whether something changed.
///
/// While pods wait or nodes go away it also looks every ten seconds: what keeps a pod waiting may be gone
/// without a change of any pod. The lease is held during a round only, so that disruption can launch
/// replacements in between.
pub async fn watch<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    mut tell: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    loop {
        let result = provision(ports, run).await;
        let pause = match &result {
            Ok(RunOutcome::Ran(report)) => report.requeue_after,
            Ok(RunOutcome::Held(_)) | Err(_) => Some(RETRY_INTERVAL),
        };
        tell(result);
        let look_again = pause.map_or(run.deadline, |pause| after(ports.clock().now(), pause));
        if let Err(error) = await_demand(ports, look_again.min(run.deadline)).await {
            tell(Err(error));
            // As if something had come: look, once things have calmed down.
            let calm = BatchWindow::opened(ports.clock().now()).closes();
            ports.clock().sleep_until(calm.min(run.deadline)).await;
        }
        if ports.clock().now() >= run.deadline {
            return;
        }
    }
}

/// Returns when a window has closed, or at a moment where none was open.
async fn await_demand<P: Ports>(ports: &P, latest: Timestamp) -> Result<(), PortError> {
    let mut window: Option<BatchWindow> = None;
    loop {
        let until = window.map_or(latest, |window| window.closes().min(latest));
        match ports.cluster().demand_changed(until).await? {
            Demand::Unchanged => return Ok(()),
            Demand::Changed => {
                let now = ports.clock().now();
                window = Some(window.map_or(BatchWindow::opened(now), |own| own.extended(now)));
            }
        }
        if window.is_some_and(|window| ports.clock().now() >= window.closes().min(latest)) {
            return Ok(());
        }
    }
}
