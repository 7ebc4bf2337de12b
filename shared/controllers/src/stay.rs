//! An invocation that stays while there is work: the same use case again and again, until nothing waits or
//! the time is up.
//!
//! Each round takes its lease, looks afresh and gives the lease back, so that whoever waits for it gets in
//! between, and so that an invocation which dies in a round is made good by the next round of another.

use domain::SignedDuration;

use crate::disruption::DisruptionReport;
use crate::lifecycle::LifecycleReport;
use crate::ports::error::PortError;
use crate::ports::{Clock, Outside};
use crate::run::{Run, RunOutcome, after};

/// No round begins sooner after the end of another.
const PAUSE_MIN: SignedDuration = SignedDuration::from_secs(1);
/// A round that failed, or that found the lease taken, is tried again after so long at most.
pub(crate) const RETRY: SignedDuration = SignedDuration::from_secs(10);

/// What tells whether work is in flight.
pub trait InFlight {
    /// After how long to come back; `None` when nothing waits.
    fn requeue_after(&self) -> Option<SignedDuration>;
}

impl InFlight for LifecycleReport {
    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

impl InFlight for DisruptionReport {
    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

/// Runs rounds of a use case while it has work in flight and time is left; `tell` hears of each.
///
/// Ends early when nothing waits. A round that could not take place is tried again: when the lease that
/// another holds runs out, after ten seconds at the latest.
pub async fn stay<O: Outside, R: InFlight>(
    ports: &O,
    run: &Run<'_>,
    round: impl AsyncFn(&O, &Run<'_>) -> Result<RunOutcome<R>, PortError>,
    mut tell: impl FnMut(Result<RunOutcome<R>, PortError>),
) {
    loop {
        let result = round(ports, run).await;
        let pause = pause_after(&result);
        tell(result);
        let Some(pause) = pause else { return };
        let next = after(ports.clock().now(), pause.max(PAUSE_MIN));
        if next >= run.deadline {
            return;
        }
        ports.clock().sleep_until(next).await;
    }
}

fn pause_after<R: InFlight>(result: &Result<RunOutcome<R>, PortError>) -> Option<SignedDuration> {
    match result {
        Ok(RunOutcome::Ran(report)) => report.requeue_after(),
        Ok(RunOutcome::Held(_)) | Err(_) => Some(RETRY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::error::ErrorKind;
    use crate::testing::at;
    use crate::testing::world::{World, failure};
    use std::cell::RefCell;

    struct Report(Option<i64>);

    impl InFlight for Report {
        fn requeue_after(&self) -> Option<SignedDuration> {
            self.0.map(SignedDuration::from_secs)
        }
    }

    /// When rounds took place that answer with these pauses, an error where it says `Err`.
    fn rounds(answers: &[Result<Option<i64>, ()>]) -> Vec<i64> {
        let world = World::new();
        let left = RefCell::new(answers.iter().rev().copied().collect::<Vec<_>>());
        let mut told = Vec::new();
        let run = world.run("r");
        pollster::block_on(stay(
            &world,
            &run,
            async |_: &World, _: &Run<'_>| {
                let answer = left.borrow_mut().pop().unwrap_or(Ok(None));
                answer
                    .map(|pause| RunOutcome::Ran(Report(pause)))
                    .map_err(|()| failure(ErrorKind::Unavailable))
            },
            |_| told.push(world.clock.now().duration_since(at(0)).as_secs()),
        ));
        told
    }

    #[test]
    fn an_invocation_ends_once_nothing_waits() {
        assert_eq!(rounds(&[Ok(None)]), [0]);
        assert_eq!(rounds(&[Ok(Some(5)), Ok(Some(0)), Ok(None)]), [0, 5, 6]);
    }

    #[test]
    fn a_round_that_failed_is_tried_again() {
        assert_eq!(rounds(&[Err(()), Ok(None)]), [0, 10]);
    }

    #[test]
    fn no_round_begins_past_the_deadline() {
        assert_eq!(rounds(&[Ok(Some(40)), Ok(Some(40)), Ok(None)]), [0, 40]);
    }
}
