//! Handing a cluster back to Karpenter: records of settled claims are deleted, while Nodes,
//! NodeClaims and finalizers stay as Karpenter expects them.
//!
//! From the first call on, [`HANDED_BACK`] holds the leases of all functions, so that an invocation
//! does nothing in this cluster and creates no claim; otherwise lifecycle would adopt the
//! NodeClaims again. [`take_back`] releases the leases. Karpenter must not run before everything is
//! handed back.
//!
//! Ending claims are taken to their end by lifecycle's own steps, and commands are cancelled. The
//! caller repeats the call until nothing is left.

mod claims;
mod report;

use domain::SignedDuration;

use crate::admission::admit;
use crate::disruption::cancel_all;
use crate::lease::under_lease;
use crate::lifecycle::{Unmanaged, advance_under};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, FunctionName, Lease, LeaseAnswer, Ports};
use crate::run::{Run, RunOutcome, after, is_over};
use crate::safeguards::{Admission, Scope, Stopped};

pub use report::{HandBackReport, LeftClaim};

/// Holder of the leases of a cluster that was handed back; no run has this id.
pub const HANDED_BACK: &str = "handed back";

/// Functions whose leases are held, in the order in which they are acquired.
const FUNCTIONS: [FunctionName; 3] =
    [FunctionName::Disruption, FunctionName::Provisioning, FunctionName::Lifecycle];
/// Term of the leases of a cluster that was handed back: a hundred years, in effect until it is
/// taken back.
const HANDBACK_LEASE_TERM: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);
/// Attempts to acquire a function's lease: its runs release it between reconciliations.
const LEASE_ATTEMPTS: usize = 20;
/// Pause between two attempts to acquire a lease.
const LEASE_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Hands back what has settled. An error means that nothing was handed over in this call; `Held`
/// means that another run kept its lease and nothing has changed.
pub async fn hand_back<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<HandBackReport>, PortError> {
    // Somebody asked for it, so that it is paused does not matter; whose it is does.
    let admission = match admit(ports, run).await? {
        Err(stopped @ Stopped::OwnedByAnother { .. }) => return Ok(RunOutcome::Stopped(stopped)),
        Ok(admission) => Admission { scope: Scope::All, ..admission },
        Err(_) => {
            let fuses = run.safeguards.fuses.clone();
            Admission { scope: Scope::All, fuses, ends_orphans: false }
        }
    };
    let outcome = under_lease(ports, run, FunctionName::HandBack, admission, async |leases| {
        hand_back_guarded(ports, run, leases.admission()).await
    });
    Ok(match outcome.await? {
        RunOutcome::Ran(outcome) => outcome,
        RunOutcome::Held(lease) => RunOutcome::Held(lease),
        RunOutcome::Stopped(stopped) => RunOutcome::Stopped(stopped),
        RunOutcome::Superseded => RunOutcome::Superseded,
    })
}

async fn hand_back_guarded<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    admission: &Admission,
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
                report.disruption = cancel_all(ports, run, lease, admission).await?;
            }
            FunctionName::Lifecycle => {
                report.lifecycle =
                    advance_under(ports, run, lease, admission, Unmanaged::Leave).await?;
                claims::hand_over(ports, run, lease, &mut report).await?;
            }
            FunctionName::Provisioning | FunctionName::HandBack => {}
        }
    }
    let commands = ports.store().commands().await?;
    report.commands = commands.into_iter().map(|command| command.record.id).collect();
    Ok(RunOutcome::Ran(report))
}

/// Acquires a function's lease for [`HANDED_BACK`].
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

/// Whether the cluster is handed back, or is being handed back.
pub async fn is_handed_back<P: Ports>(ports: &P) -> Result<bool, PortError> {
    let lease = ports.store().lease(FunctionName::Lifecycle).await?;
    Ok(lease.is_some_and(|lease| is_of_hand_back(&lease)))
}

/// Whether a lease is held because the cluster was handed back.
pub fn is_of_hand_back(lease: &Lease) -> bool {
    &*lease.holder == HANDED_BACK
}

/// Takes the cluster back: functions run again, and lifecycle adopts the NodeClaims in it. Returns
/// whether it had been handed back.
pub async fn take_back<P: Ports>(ports: &P) -> Result<bool, PortError> {
    let mut was_handed_back = false;
    // Lifecycle's lease comes last: until it is released, `is_handed_back` says that the cluster is
    // handed back.
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
