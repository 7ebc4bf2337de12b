//! Handing a cluster back: what we remember of claims that have settled is let go of, and Nodes, NodeClaims and
//! finalizers stay as Karpenter expects them, so that it goes on where we stop.
//!
//! From the first call on, the leases of all functions are held by [`HANDED_BACK`], so that whatever wakes them does
//! nothing in this cluster, and cannot write a claim either: lifecycle would take the NodeClaims over again.
//! [`take_back`] gives the leases free. Karpenter must not run before all is handed over.
//!
//! Claims that end are brought to their end by lifecycle's own steps, and commands are given up: whoever hands back
//! calls this until nothing is left.

mod claims;
mod report;

use domain::SignedDuration;

use crate::disruption::cancel_all;
use crate::lease::with_lease;
use crate::lifecycle::{Unmanaged, advance_under};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, FunctionName, Lease, LeaseAnswer, Ports};
use crate::run::{Run, RunOutcome, after, is_over};

pub use report::{HandBackReport, LeftClaim};

/// Holds the leases of a cluster that was handed back; no run is called so.
pub const HANDED_BACK: &str = "handed back";

/// Those whose leases are held, in the order in which they are taken.
const FUNCTIONS: [FunctionName; 3] =
    [FunctionName::Disruption, FunctionName::Provisioning, FunctionName::Lifecycle];
/// Until somebody takes the cluster back.
const HANDBACK_LEASE_TERM: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);
/// Whoever runs gives its lease back between rounds: it is asked for so often, …
const LEASE_ATTEMPTS: usize = 20;
/// … with such a pause.
const LEASE_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Hands back what has settled. An error means that nothing was handed over in this call; `Held`, that a run of
/// another function would not make room and nothing has changed.
pub async fn hand_back<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<HandBackReport>, PortError> {
    let outcome = with_lease(ports, run, FunctionName::HandBack, async |_| {
        hand_back_guarded(ports, run).await
    });
    Ok(match outcome.await? {
        RunOutcome::Ran(outcome) => outcome,
        RunOutcome::Held(lease) => RunOutcome::Held(lease),
    })
}

async fn hand_back_guarded<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<HandBackReport>, PortError> {
    let mut leases = Vec::new();
    for function in FUNCTIONS {
        match hold(ports, run, function).await? {
            LeaseAnswer::Acquired(lease) => leases.push(lease),
            LeaseAnswer::Held(other) => {
                for lease in &leases {
                    ports.store().release_lease(lease).await?;
                }
                return Ok(RunOutcome::Held(other));
            }
        }
    }
    let mut report = HandBackReport::default();
    for lease in &leases {
        match lease.function {
            FunctionName::Disruption => {
                report.disruption = cancel_all(ports, run, lease).await?;
            }
            FunctionName::Lifecycle => {
                report.lifecycle = advance_under(ports, run, lease, Unmanaged::Leave).await?;
                claims::hand_over(ports, run, lease, &mut report).await?;
            }
            FunctionName::Provisioning | FunctionName::HandBack => {}
        }
    }
    let commands = ports.store().commands().await?;
    report.commands = commands.into_iter().map(|command| command.record.id).collect();
    Ok(RunOutcome::Ran(report))
}

/// Takes a function's lease for good.
async fn hold<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    function: FunctionName,
) -> Result<LeaseAnswer, PortError> {
    for _ in 1..LEASE_ATTEMPTS {
        let now = ports.clock().now();
        let answer =
            ports.store().acquire_lease(function, HANDED_BACK, now, HANDBACK_LEASE_TERM).await?;
        if matches!(answer, LeaseAnswer::Acquired(_)) || is_over(ports, run) {
            return Ok(answer);
        }
        ports.clock().sleep_until(after(now, LEASE_PAUSE)).await;
    }
    ports
        .store()
        .acquire_lease(function, HANDED_BACK, ports.clock().now(), HANDBACK_LEASE_TERM)
        .await
}

/// Whether the cluster was handed back, or is being.
pub async fn is_handed_back<P: Ports>(ports: &P) -> Result<bool, PortError> {
    let lease = ports.store().lease(FunctionName::Lifecycle).await?;
    Ok(lease.is_some_and(|lease| is_of_hand_back(&lease)))
}

/// Whether a lease is held because the cluster was handed back.
pub fn is_of_hand_back(lease: &Lease) -> bool {
    &*lease.holder == HANDED_BACK
}

/// Looks after the cluster again: functions may run, and lifecycle takes over the NodeClaims that are there. Whether it
/// had been handed back.
pub async fn take_back<P: Ports>(ports: &P) -> Result<bool, PortError> {
    let mut was_handed_back = false;
    // Lifecycle last: until then, whoever asks is told that the cluster was handed back.
    for function in FUNCTIONS {
        let lease = ports.store().lease(function).await?;
        if let Some(lease) = lease.filter(is_of_hand_back) {
            ports.store().release_lease(&lease).await?;
            was_handed_back = true;
        }
    }
    Ok(was_handed_back)
}

#[cfg(test)]
mod tests;
