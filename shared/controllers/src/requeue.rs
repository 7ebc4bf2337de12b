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
use crate::lease::Report;
use crate::lifecycle::LifecycleReport;
use crate::ports::error::PortError;
use crate::ports::{Clock, FunctionName, Ports, Wake, Wakes as _};
use crate::provisioning::ProvisioningReport;
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
pub trait Requeue: Report {
    /// The function that runs it.
    const FUNCTION: FunctionName;

    /// Fencing token of the lease under which it ran.
    fn token(&self) -> u64;

    /// When to run again, counted from the end of the run; `None` when no work is in flight.
    fn requeue_after(&self) -> Option<SignedDuration>;
}

impl Requeue for ProvisioningReport {
    const FUNCTION: FunctionName = FunctionName::Provisioning;

    fn token(&self) -> u64 {
        self.token
    }

    fn requeue_after(&self) -> Option<SignedDuration> {
        self.requeue_after
    }
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
        let mut result = reconcile(ports, &run).await;
        let next = next_run(&result);
        let goes_on_here = match next {
            Some(next) => stays(ports, &run, next, &mut result).await,
            None => false,
        };
        report(result);
        let Some(Wake { continues, after: pause, .. }) = next.filter(|_| goes_on_here) else {
            return;
        };
        let next = after(ports.clock().now(), pause);
        if next >= run.deadline {
            return;
        }
        ports.clock().sleep_until(next).await;
        run.continues = continues;
    }
}

/// Whether the invocation stays until the next run. If not, the schedule or a message that was sent
/// brings it back. That a message could not be sent is a problem of the run.
async fn stays<P: Ports, R: Requeue>(
    ports: &P,
    run: &Run<'_>,
    next: Wake,
    result: &mut Result<RunOutcome<R>, PortError>,
) -> bool {
    if !run.wakes {
        return true;
    }
    if next.after >= SCHEDULE_INTERVAL {
        return false;
    }
    let is_short = next.after <= STAY_MAX && after(ports.clock().now(), next.after) < run.deadline;
    if is_short || next.continues.is_none() {
        return true;
    }
    let sent = ports.wakes().wake(next).await;
    let stays = sent.is_err();
    if let Some(problems) = result.as_mut().ok().and_then(Report::problems_mut) {
        problems.record(|| "come back by message".to_owned(), sent);
    }
    stays
}

/// The next run, by when it is due and what it continues; `None` where nothing is left to do.
fn next_run<R: Requeue>(result: &Result<RunOutcome<R>, PortError>) -> Option<Wake> {
    let (continues, pause) = match result {
        Ok(RunOutcome::Ran(report)) => (Some(report.token()), report.requeue_after()?),
        Ok(RunOutcome::Held(lease)) if !is_of_hand_back(lease) => (None, HELD_RETRY_INTERVAL),
        Ok(RunOutcome::Held(_)) | Err(_) => (None, RETRY_INTERVAL),
        Ok(RunOutcome::Stopped(_) | RunOutcome::Superseded) => return None,
    };
    let after = pause.max(REQUEUE_INTERVAL_MIN);
    Some(Wake { function: R::FUNCTION, continues, after, demand_check: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::error::ErrorKind;
    use crate::run::Problems;
    use crate::testing::at;
    use crate::testing::failure;
    use crate::testing::world::World;
    use std::cell::RefCell;

    struct Asked {
        pause: Option<i64>,
        problems: Problems,
    }

    impl Report for Asked {
        fn problems_mut(&mut self) -> Option<&mut Problems> {
            Some(&mut self.problems)
        }
    }

    impl Requeue for Asked {
        const FUNCTION: FunctionName = FunctionName::Lifecycle;

        fn token(&self) -> u64 {
            7
        }

        fn requeue_after(&self) -> Option<SignedDuration> {
            self.pause.map(SignedDuration::from_secs)
        }
    }

    /// What runs came to that asked for some pauses.
    #[derive(Default)]
    struct Runs {
        /// The seconds at which they took place, with what each continued.
        at: Vec<(i64, Option<u64>)>,
        /// The seconds after which messages come that bring the invocation back.
        messages: Vec<i64>,
        /// Their problems.
        problems: Vec<String>,
    }

    /// Runs that ask for these pauses, in seconds; `Err` for one that fails.
    fn runs(world: &World, wakes: bool, answers: &[Result<Option<i64>, ()>]) -> Runs {
        let left = RefCell::new(answers.iter().rev().copied().collect::<Vec<_>>());
        let at_runs = RefCell::new(Vec::new());
        let mut problems = Vec::new();
        let run = Run { wakes, ..world.run("r") };
        pollster::block_on(reconcile_until_idle(
            world,
            &run,
            async |_: &World, run: &Run<'_>| {
                let second = world.clock.now().duration_since(at(0)).as_secs();
                at_runs.borrow_mut().push((second, run.continues));
                let pause = left.borrow_mut().pop().unwrap_or(Ok(None));
                pause
                    .map(|pause| RunOutcome::Ran(Asked { pause, problems: Problems::default() }))
                    .map_err(|()| failure(ErrorKind::Unavailable))
            },
            |result| {
                let report = result.ok().and_then(RunOutcome::ran);
                let all = report.into_iter().flat_map(|own| own.problems.0);
                problems.extend(all.map(|problem| problem.operation.to_string()));
            },
        ));
        let messages = world.wakes.sent.borrow();
        let own =
            |wake: &&Wake| (wake.function, wake.continues) == (FunctionName::Lifecycle, Some(7));
        let messages = messages.iter().filter(own).map(|wake| wake.after.as_secs()).collect();
        Runs { at: at_runs.into_inner(), messages, problems }
    }

    /// The seconds at which runs took place where no message can bring the invocation back.
    fn seconds(answers: &[Result<Option<i64>, ()>]) -> Vec<i64> {
        runs(&World::new(), false, answers).at.iter().map(|(at, _)| *at).collect()
    }

    #[test]
    fn an_invocation_ends_once_no_work_is_in_flight() {
        assert_eq!(seconds(&[Ok(None)]), [0]);
        assert_eq!(seconds(&[Ok(Some(5)), Ok(Some(0)), Ok(None)]), [0, 5, 6]);
    }

    #[test]
    fn a_run_that_failed_is_retried() {
        assert_eq!(seconds(&[Err(()), Ok(None)]), [0, 10]);
    }

    #[test]
    fn no_run_starts_past_the_deadline() {
        assert_eq!(seconds(&[Ok(Some(40)), Ok(Some(40)), Ok(None)]), [0, 40]);
    }

    #[test]
    fn an_invocation_stays_for_a_short_pause_and_comes_back_by_message_after_a_longer_one() {
        let runs = runs(&World::new(), true, &[Ok(Some(4)), Ok(Some(15)), Ok(None)]);
        assert_eq!(runs.at, [(0, None), (4, Some(7))]);
        assert_eq!(runs.messages, [15]);
    }

    #[test]
    fn work_in_flight_at_the_deadline_goes_on_in_the_next_invocation() {
        let runs = runs(&World::new(), true, &[Ok(Some(4)); 16]);
        assert_eq!(runs.at.last(), Some(&(56, Some(7))), "the deadline is after a minute");
        assert_eq!(runs.messages, [4]);
    }

    #[test]
    fn a_run_that_failed_is_retried_by_the_same_invocation() {
        let runs = runs(&World::new(), true, &[Err(()), Ok(None)]);
        assert_eq!(runs.at, [(0, None), (10, None)]);
        assert_eq!(runs.messages, [0; 0]);
    }

    #[test]
    fn an_invocation_that_cannot_send_its_message_says_so_and_stays() {
        let world = World::new();
        world.wakes.fails.set(true);
        let runs = runs(&world, true, &[Ok(Some(15)), Ok(None)]);
        assert_eq!(runs.at, [(0, None), (15, Some(7))]);
        assert_eq!(runs.problems, ["come back by message"]);
    }

    #[test]
    fn what_is_due_after_the_next_scheduled_invocation_is_left_to_it() {
        let runs = runs(&World::new(), true, &[Ok(Some(60))]);
        assert_eq!((runs.at, runs.messages), (vec![(0, None)], vec![]));
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
}
