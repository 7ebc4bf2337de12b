//! Repeating a use case while its work is in flight.
//!
//! Each run acquires its lease, lists everything anew and releases the lease, so that whoever waits
//! for the lease gets in between, and so that the next run of any invocation resumes what an
//! invocation left unfinished when it died.
//!
//! An invocation stays through short pauses only. Before a longer one, and when its time is over,
//! it sends a message that comes back when the pause is over, and ends. However many invocations a
//! function has, by its schedule, by news of others, by messages that come twice or late: each run
//! is the next after one other, which its message names or in whose invocation it takes place, and
//! does not take place where that one has a successor already. So the newest run alone goes on.

use domain::SignedDuration;

use crate::disruption::DisruptionReport;
use crate::handback::is_of_hand_back;
use crate::lifecycle::LifecycleReport;
use crate::ports::error::PortError;
use crate::ports::{Clock, FunctionName, Ports, Wake, Wakes as _};
use crate::run::{Run, RunOutcome, after};

/// Shortest pause between the end of one run and the start of the next.
const REQUEUE_INTERVAL_MIN: SignedDuration = SignedDuration::from_secs(1);
/// Longest pause before a run that failed, or that found the lease held, is retried.
pub(crate) const RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// Pause before a run is retried that found the lease held: nearly all runs end within it.
const HELD_RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(2);
/// Longest pause that an invocation stays for, where messages can bring it back.
const STAY_MAX: SignedDuration = SignedDuration::from_secs(5);
/// Shortest pause for which no message is sent: the schedule wakes every function once a minute.
const SCHEDULE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// A report that says when its use case is to be run again.
pub trait Requeue {
    /// The function that runs it.
    const FUNCTION: FunctionName;

    /// Fencing token of the lease under which it ran.
    fn token(&self) -> u64;

    /// When to run again, counted from the end of the run; `None` when no work is in flight.
    fn requeue_after(&self) -> Option<SignedDuration>;
}

impl Requeue for LifecycleReport {
    const FUNCTION: FunctionName = FunctionName::Lifecycle;

    fn token(&self) -> u64 {
        self.token
    }

    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

impl Requeue for DisruptionReport {
    const FUNCTION: FunctionName = FunctionName::Disruption;

    fn token(&self) -> u64 {
        self.token
    }

    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
}

/// Runs a use case until no work is in flight, a message brings it back, another invocation has
/// taken over or the deadline of `run` is near; `report` gets the result of each run.
///
/// A run that failed is retried after ten seconds, one that found the lease held by another run
/// after two. The invocation stays for both: a message that continues no run would add to those of
/// the next scheduled invocation, for as long as the reason lasts.
pub async fn reconcile_until_idle<P: Ports, R: Requeue>(
    ports: &P,
    run: &Run<'_>,
    reconcile: impl AsyncFn(&P, &Run<'_>) -> Result<RunOutcome<R>, PortError>,
    mut report: impl FnMut(Result<RunOutcome<R>, PortError>),
) {
    let mut run = *run;
    loop {
        let result = reconcile(ports, &run).await;
        let next = next_run(&result);
        report(result);
        let Some(Wake { continues, after: pause, .. }) = next else { return };
        // Whoever comes back by message has the schedule too.
        let is_scheduled = run.wakes && pause >= SCHEDULE_INTERVAL;
        let stays = pause <= STAY_MAX && after(ports.clock().now(), pause) < run.deadline;
        let comes_back = next.filter(|_| run.wakes && continues.is_some() && !stays);
        if is_scheduled || is_sent(ports, comes_back).await {
            return;
        }
        let next = after(ports.clock().now(), pause);
        if next >= run.deadline {
            return;
        }
        ports.clock().sleep_until(next).await;
        run.continues = continues;
    }
}

/// Whether there is a message, and it was sent. Whoever could not send it stays.
async fn is_sent<P: Ports>(ports: &P, message: Option<Wake>) -> bool {
    match message {
        Some(wake) => ports.wakes().wake(wake).await.is_ok(),
        None => false,
    }
}

/// The next run, by when it is due and what it continues; `None` where nothing is left to do.
fn next_run<R: Requeue>(result: &Result<RunOutcome<R>, PortError>) -> Option<Wake> {
    let (continues, pause) = match result {
        Ok(RunOutcome::Ran(report)) => (Some(report.token()), report.requeue_after()?),
        Ok(RunOutcome::Held(lease)) if !is_of_hand_back(lease) => (None, HELD_RETRY_INTERVAL),
        Ok(RunOutcome::Held(_)) | Err(_) => (None, RETRY_INTERVAL),
        Ok(RunOutcome::Stopped(_) | RunOutcome::Superseded) => return None,
    };
    Some(Wake { function: R::FUNCTION, continues, after: pause.max(REQUEUE_INTERVAL_MIN) })
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
        const FUNCTION: FunctionName = FunctionName::Lifecycle;

        fn token(&self) -> u64 {
            7
        }

        fn requeue_after(&self) -> Option<SignedDuration> {
            self.0.map(SignedDuration::from_secs)
        }
    }

    /// The seconds at which runs took place that asked for these pauses; `Err` for one that failed.
    fn runs(answers: &[Result<Option<i64>, ()>]) -> Vec<i64> {
        runs_in(&World::new(), false, answers).iter().map(|(at, _)| *at).collect()
    }

    /// The seconds at which runs took place, with what each continued.
    fn runs_in(
        world: &World,
        wakes: bool,
        answers: &[Result<Option<i64>, ()>],
    ) -> Vec<(i64, Option<u64>)> {
        let left = RefCell::new(answers.iter().rev().copied().collect::<Vec<_>>());
        let continued = RefCell::new(Vec::new());
        let mut started = Vec::new();
        let run = Run { wakes, ..world.run("r") };
        pollster::block_on(reconcile_until_idle(
            world,
            &run,
            async |_: &World, run: &Run<'_>| {
                continued.borrow_mut().push(run.continues);
                let answer = left.borrow_mut().pop().unwrap_or(Ok(None));
                answer
                    .map(|pause| RunOutcome::Ran(Report(pause)))
                    .map_err(|()| failure(ErrorKind::Unavailable))
            },
            |_| started.push(world.clock.now().duration_since(at(0)).as_secs()),
        ));
        started.into_iter().zip(continued.into_inner()).collect()
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
    fn an_invocation_stays_for_a_short_pause_and_comes_back_by_message_after_a_longer_one() {
        let world = World::new();
        let runs = runs_in(&world, true, &[Ok(Some(4)), Ok(Some(15)), Ok(None)]);
        assert_eq!(runs, [(0, None), (4, Some(7))]);
        let after = SignedDuration::from_secs(15);
        let function = FunctionName::Lifecycle;
        assert_eq!(*world.wakes.sent.borrow(), [Wake { function, continues: Some(7), after }]);
    }

    #[test]
    fn work_in_flight_at_the_deadline_goes_on_in_the_next_invocation() {
        let world = World::new();
        let answers = [Ok(Some(4)); 16];
        let runs = runs_in(&world, true, &answers);
        assert_eq!(runs.last(), Some(&(56, Some(7))), "the deadline is after a minute");
        let after = SignedDuration::from_secs(4);
        let function = FunctionName::Lifecycle;
        assert_eq!(*world.wakes.sent.borrow(), [Wake { function, continues: Some(7), after }]);
    }

    #[test]
    fn a_run_that_failed_is_retried_by_the_same_invocation() {
        let world = World::new();
        let runs = runs_in(&world, true, &[Err(()), Ok(None)]);
        assert_eq!(runs, [(0, None), (10, None)]);
        assert_eq!(*world.wakes.sent.borrow(), []);
    }

    #[test]
    fn of_several_chains_only_the_newest_run_goes_on() {
        let world = World::new();
        let run = |continues| {
            let run = Run { continues, ..world.run("r") };
            pollster::block_on(crate::lifecycle::advance(&world, &run)).unwrap()
        };
        let token = |outcome: RunOutcome<LifecycleReport>| outcome.ran().map(|own| own.token);
        assert_eq!(token(run(None)), Some(1));
        let news = token(run(None));
        assert_eq!(run(Some(1)), RunOutcome::Superseded, "the second run has taken over");
        assert_eq!(token(run(news)), Some(3), "and is not kept from going on");
        assert_eq!(run(news), RunOutcome::Superseded, "its message came twice");
    }

    #[test]
    fn an_invocation_that_cannot_send_its_message_stays() {
        let world = World::new();
        world.wakes.fails.set(true);
        let runs = runs_in(&world, true, &[Ok(Some(15)), Ok(None)]);
        assert_eq!(runs, [(0, None), (15, Some(7))]);
    }

    #[test]
    fn what_is_due_after_the_next_scheduled_invocation_is_left_to_it() {
        let world = World::new();
        assert_eq!(runs_in(&world, true, &[Ok(Some(60))]), [(0, None)]);
        assert_eq!(*world.wakes.sent.borrow(), []);
    }

    #[test]
    fn no_run_starts_past_the_deadline() {
        assert_eq!(runs(&[Ok(Some(40)), Ok(Some(40)), Ok(None)]), [0, 40]);
    }
}
