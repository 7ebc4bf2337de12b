//! Leases: at most one run of a function at a time in each cluster.

use domain::SignedDuration;

use crate::admission::admit;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, FunctionName, Lease, LeaseAnswer, Ports, Wake, Wakes as _};
use crate::run::{Problems, Run, RunOutcome};
use crate::safeguards::Admission;

/// How long a lease outlives the process that holds it: clocks differ, and a last call may still be
/// on its way.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(5);

/// A report that takes note of what happened around its run.
pub trait Report {
    /// Problems of the run; `None` where the run did not take place.
    fn problems_mut(&mut self) -> Option<&mut Problems>;

    /// Takes note of the fencing token under which the run took place.
    fn set_token(&mut self, _token: u64) {}

    /// The function that what the run did is news for.
    fn concerns(&self) -> Option<FunctionName> {
        None
    }
}

impl<R: Report> Report for RunOutcome<R> {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        match self {
            Self::Ran(report) => report.problems_mut(),
            Self::Held(_) | Self::Stopped(_) | Self::Superseded => None,
        }
    }
}

/// The leases that a run holds, in the order in which they were acquired.
#[derive(Debug)]
pub(crate) struct HeldLeases {
    own: Lease,
    launch: Option<Lease>,
    admission: Admission,
}

impl HeldLeases {
    /// The lease of the function that runs.
    pub(crate) const fn own(&self) -> &Lease {
        &self.own
    }

    /// What the run may do.
    pub(crate) const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Provisioning's lease, which whoever creates claims holds as well.
    pub(crate) const fn launch(&self) -> Option<&Lease> {
        self.launch.as_ref()
    }

    /// Holds provisioning's lease as well until the run ends.
    pub(crate) fn hold_for_launch(&mut self, lease: Option<Lease>) {
        self.launch = lease;
    }

    /// Releases all of them, whatever comes of the first. The first error counts.
    async fn release<S: ClaimStore>(&self, store: &S) -> Result<(), PortError> {
        let released = store.release_lease(&self.own).await;
        match &self.launch {
            Some(lease) => released.and(store.release_lease(lease).await),
            None => released,
        }
    }
}

/// Acquires the lease of a function for as long as the process may last: a run that hangs in its
/// last call goes on beyond its deadline, and nobody else may begin before it has ended.
pub(crate) async fn acquire<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    function: FunctionName,
) -> Result<LeaseAnswer, PortError> {
    let now = ports.clock().now();
    let end = run.process_ends.max(run.deadline);
    let term = end.duration_since(now).max(SignedDuration::ZERO) + LEASE_MARGIN;
    ports.store().acquire_lease(function, run.id, now, term).await
}

/// Runs `body` under the lease of a function where something may be done in the cluster.
pub(crate) async fn with_lease<P: Ports, R: Report>(
    ports: &P,
    run: &Run<'_>,
    function: FunctionName,
    body: impl AsyncFnOnce(&mut HeldLeases) -> Result<R, PortError>,
) -> Result<RunOutcome<R>, PortError> {
    match admit(ports, run).await? {
        Ok(admission) => under_lease(ports, run, function, admission, body).await,
        Err(stopped) => Ok(RunOutcome::Stopped(stopped)),
    }
}

/// Runs `body` under the lease of a function and releases the lease, whatever came of `body`.
///
/// That the lease could not be released is a problem of the report and no more: it expires by
/// itself. So is a message that could not be sent to the function that the run has news for: its
/// schedule wakes it. An error of `body` is passed on.
pub(crate) async fn under_lease<P: Ports, R: Report>(
    ports: &P,
    run: &Run<'_>,
    function: FunctionName,
    admission: Admission,
    body: impl AsyncFnOnce(&mut HeldLeases) -> Result<R, PortError>,
) -> Result<RunOutcome<R>, PortError> {
    // Asked before the lease is acquired: that would supersede the run that has taken over.
    if let Some(continued) = run.continues
        && ports.store().last_token(function).await? != Some(continued)
    {
        return Ok(RunOutcome::Superseded);
    }
    let mut leases = match acquire(ports, run, function).await? {
        LeaseAnswer::Acquired(own) => HeldLeases { own, launch: None, admission },
        LeaseAnswer::Held(lease) => return Ok(RunOutcome::Held(lease)),
    };
    let result = body(&mut leases).await;
    let released = leases.release(ports.store()).await;
    let mut report = result?;
    report.set_token(leases.own.token);
    let woken = match report.concerns() {
        Some(function) => wake(ports, run, function).await,
        None => Ok(()),
    };
    if let Some(problems) = report.problems_mut() {
        problems.record(|| "release the lease".to_owned(), released);
        problems.record(|| "wake a function".to_owned(), woken);
    }
    Ok(RunOutcome::Ran(report))
}

/// Wakes a function at once, where functions wake each other.
pub(crate) async fn wake<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    function: FunctionName,
) -> Result<(), PortError> {
    if !run.wakes {
        return Ok(());
    }
    let wake = Wake { function, continues: None, after: SignedDuration::ZERO, demand_check: None };
    ports.wakes().wake(wake).await
}
