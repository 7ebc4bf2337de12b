//! Repeating a use case while its work is in flight.
//!
//! Each run acquires its lease, lists everything anew and releases the lease, so that whoever waits
//! for the lease gets in between, and so that the next run of any invocation resumes what an
//! invocation left unfinished when it died.

use domain::SignedDuration;

use crate::disruption::DisruptionReport;
use crate::lifecycle::LifecycleReport;
use crate::ports::error::PortError;
use crate::ports::{Clock, Ports};
use crate::run::{Run, RunOutcome, after};

/// Shortest pause between the end of one run and the start of the next.
const REQUEUE_INTERVAL_MIN: SignedDuration = SignedDuration::from_secs(1);
/// Longest pause before a run that failed, or that found the lease held, is retried.
pub(crate) const RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// A report that says when its use case is to be run again.
pub trait Requeue {
    /// When to run again, counted from the end of the run; `None` when no work is in flight.
    fn requeue_after(&self) -> Option<SignedDuration>;
}

impl Requeue for LifecycleReport {
    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

impl Requeue for DisruptionReport {
    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

/// Runs a use case until no work is in flight or the deadline of `run` is near; `report` gets the
/// result of each run.
///
/// A run that failed, or that found the lease held by another run, is retried after ten seconds.
pub async fn reconcile_until_idle<P: Ports, R: Requeue>(
    ports: &P,
    run: &Run<'_>,
    reconcile: impl AsyncFn(&P, &Run<'_>) -> Result<RunOutcome<R>, PortError>,
    mut report: impl FnMut(Result<RunOutcome<R>, PortError>),
) {
    loop {
        let result = reconcile(ports, run).await;
        let pause = pause_after(&result);
        report(result);
        let Some(pause) = pause else { return };
        let next = after(ports.clock().now(), pause.max(REQUEUE_INTERVAL_MIN));
        if next >= run.deadline {
            return;
        }
        ports.clock().sleep_until(next).await;
    }
}

fn pause_after<R: Requeue>(result: &Result<RunOutcome<R>, PortError>) -> Option<SignedDuration> {
    match result {
        Ok(RunOutcome::Ran(report)) => report.requeue_after(),
        Ok(RunOutcome::Held(_)) | Err(_) => Some(RETRY_INTERVAL),
        Ok(RunOutcome::Stopped(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::error::ErrorKind;
    use crate::testing::at;
    use crate::testing::failure;
    use crate::testing::world::World;
    use std::cell::RefCell;

    struct Report(Option<i64>);

    impl Requeue for Report {
        fn requeue_after(&self) -> Option<SignedDuration> {
            self.0.map(SignedDuration::from_secs)
        }
    }

    /// The seconds at which runs took place that asked for these pauses; `Err` for one that failed.
    fn runs(answers: &[Result<Option<i64>, ()>]) -> Vec<i64> {
        let world = World::new();
        let left = RefCell::new(answers.iter().rev().copied().collect::<Vec<_>>());
        let mut started = Vec::new();
        let run = world.run("r");
        pollster::block_on(reconcile_until_idle(
            &world,
            &run,
            async |_: &World, _: &Run<'_>| {
                let answer = left.borrow_mut().pop().unwrap_or(Ok(None));
                answer
                    .map(|pause| RunOutcome::Ran(Report(pause)))
                    .map_err(|()| failure(ErrorKind::Unavailable))
            },
            |_| started.push(world.clock.now().duration_since(at(0)).as_secs()),
        ));
        started
    }

    #[test]
    fn an_invocation_ends_once_no_work_is_in_flight() {
        assert_eq!(runs(&[Ok(None)]), [0]);
        assert_eq!(runs(&[Ok(Some(5)), Ok(Some(0)), Ok(None)]), [0, 5, 6]);
    }

    #[test]
    fn a_run_that_failed_is_retried() {
        assert_eq!(runs(&[Err(()), Ok(None)]), [0, 10]);
    }

    #[test]
    fn no_run_starts_past_the_deadline() {
        assert_eq!(runs(&[Ok(Some(40)), Ok(Some(40)), Ok(None)]), [0, 40]);
    }
}
