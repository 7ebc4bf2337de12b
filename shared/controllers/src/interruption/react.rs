//! Reacting in a cluster as soon as notices are stored: taint, launch, drain.

use std::collections::BTreeSet;

use domain::{SignedDuration, Text};
use futures_util::future::join_all;

use super::report::ClusterReport;
use crate::admission::admit;
use crate::event::Event;
use crate::lease::{acquire, wake};
use crate::lifecycle::advance;
use crate::ports::error::{PortError, found};
use crate::ports::{ClaimStore, Clock, Cluster, FunctionName, Lease, LeaseAnswer, NodeRef, Ports};
use crate::provisioning::{ProvisioningReport, provision_for};
use crate::run::{Run, after, is_over, observe, record_events};
use crate::safeguards::Admission;
use crate::steps::drain::leaving;
use crate::steps::snapshot::ClusterState;

/// How long to wait for provisioning's lease: most runs that hold it end within this time.
const LEASE_WAIT_MAX: SignedDuration = SignedDuration::from_secs(5);
const LEASE_RETRY_INTERVAL: SignedDuration = SignedDuration::from_millis(250);

/// Reacts to claims that were marked as urgent, if any, and records the events. Where functions may
/// not act in the cluster, neither is done.
pub(super) async fn act<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    urgent: &BTreeSet<Text>,
    events: &[Event],
    report: &mut ClusterReport,
) {
    let admitted = admit(ports, run).await;
    let operation = || "ask whether to act".to_owned();
    match report.problems.record(operation, admitted) {
        Some(Ok(admission)) => {
            let acts = admission.launches(run.urgency) && !urgent.is_empty();
            if acts && !is_over(ports, run) {
                react(ports, run, &admission, urgent, report).await;
            }
        }
        Some(Err(stopped)) => {
            report.stopped = Some(stopped);
            return;
        }
        None => {}
    }
    record_events(ports.cluster(), events, &mut report.problems).await;
}

/// Taints the Nodes of claims, launches nodes for their pods, and takes the first step of their
/// drains.
///
/// All of it would happen without this run, so a failure is reported and no more: lifecycle taints
/// and drains, and provisioning launches, woken by the taint.
async fn react<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    admission: &Admission,
    claims: &BTreeSet<Text>,
    report: &mut ClusterReport,
) {
    let planned = plan(ports, run, admission, claims, report).await;
    report.provisioning =
        report.problems.record(|| "launch replacements".to_owned(), planned).flatten();
    if is_over(ports, run) {
        return;
    }
    let advanced = advance(ports, run).await;
    let advanced = report.problems.record(|| "start draining".to_owned(), advanced);
    report.lifecycle = advanced.and_then(crate::run::RunOutcome::ran);
    // It goes on with the drains, and with the nodes that come up.
    let woken = wake(ports, run, FunctionName::Lifecycle).await;
    report.problems.record(|| "wake lifecycle".to_owned(), woken);
}

/// Lists once and plans once. Nodes are tainted whichever run holds the lease.
async fn plan<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    admission: &Admission,
    claims: &BTreeSet<Text>,
    report: &mut ClusterReport,
) -> Result<Option<ProvisioningReport>, PortError> {
    let lease = match acquire(ports, run, FunctionName::Provisioning).await? {
        LeaseAnswer::Acquired(lease) => lease,
        LeaseAnswer::Held(other) => {
            let observed = observe(ports, &other).await?;
            taint(ports, &observed, claims, report).await;
            let Some(lease) = await_lease(ports, run).await? else { return Ok(None) };
            let listed = observe(ports, &lease).await;
            let held = (&lease, admission);
            return provision_and_release(ports, run, held, listed, report).await.map(Some);
        }
    };
    let listed = observe(ports, &lease).await;
    if let Ok(observed) = &listed {
        taint(ports, observed, claims, report).await;
    }
    provision_and_release(ports, run, (&lease, admission), listed, report).await.map(Some)
}

/// Provisions from a list under a lease, and releases the lease.
async fn provision_and_release<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    (lease, admission): (&Lease, &Admission),
    listed: Result<ClusterState, PortError>,
    report: &mut ClusterReport,
) -> Result<ProvisioningReport, PortError> {
    let result = match listed {
        Ok(observed) => provision_for(ports, run, lease, admission, observed).await,
        Err(error) => Err(error),
    };
    let released = ports.store().release_lease(lease).await;
    report.problems.record(|| "release the lease".to_owned(), released);
    result
}

/// Acquires provisioning's lease once its holder's run has ended; `None` when that takes too long.
async fn await_lease<P: Ports>(ports: &P, run: &Run<'_>) -> Result<Option<Lease>, PortError> {
    let until = after(ports.clock().now(), LEASE_WAIT_MAX).min(run.deadline);
    while ports.clock().now() < until {
        ports.clock().sleep_until(after(ports.clock().now(), LEASE_RETRY_INTERVAL)).await;
        if let LeaseAnswer::Acquired(lease) =
            acquire(ports, run, FunctionName::Provisioning).await?
        {
            return Ok(Some(lease));
        }
    }
    Ok(None)
}

async fn taint<P: Ports>(
    ports: &P,
    observed: &ClusterState,
    claims: &BTreeSet<Text>,
    report: &mut ClusterReport,
) {
    let leaving: Vec<_> = claims
        .iter()
        .filter_map(|name| observed.node_of(&observed.claim(name)?.record))
        .filter_map(|node| Some((node, leaving(node)?)))
        .collect();
    let patched = join_all(leaving.iter().map(|(node, patch)| async move {
        ports.cluster().patch_node(&NodeRef::from(*node), patch).await
    }))
    .await;
    for ((node, _), patched) in leaving.iter().zip(patched) {
        let operation = || format!("taint Node {}", node.name);
        if let Some(Some(())) = report.problems.record(operation, found(patched)) {
            report.tainted.push(node.name.clone());
        }
    }
}
