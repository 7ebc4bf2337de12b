//! Provisioning in `tick` mode: checks every few seconds whether a pod waits, and runs where one
//! does.
//!
//! Each check is an invocation of its own, by a message. Messages are sent in series: those of a
//! minute at once, each with another delay, so that a check that finds nothing sends and writes
//! nothing. Every series has a number in the store, and only the messages of the last one count. So
//! there is one however often messages are delivered. The schedule, which runs provisioning in any
//! case, begins a new series once a minute, and so does a check that runs; the last message of a
//! series does where neither has.

use domain::{SignedDuration, Timestamp};

use super::provision;
use super::report::ProvisioningReport;
use crate::ports::cluster::Demand;
use crate::ports::error::PortError;
use crate::ports::{
    ClaimStore, Clock, Cluster, DemandCheck, FunctionName, Ports, Wake, Wakes as _,
};
use crate::requeue::RETRY_INTERVAL;
use crate::run::{Run, RunOutcome, after};

/// From one check to the next while nothing happens.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// To the check after nodes were launched: pods come in crowds.
const CHECK_SOON_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
/// The checks of a whole series: one every five seconds of a minute, and a last one.
const SERIES_MAX: u32 = 12;
/// Before the last check of a whole series: the minute's event comes first, unless it is lost.
const LAST_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// What a run leaves to the checks after it.
struct Afterwards {
    /// When the next run is due, whatever a check sees.
    run_at: Option<Timestamp>,
    /// Until the first check.
    pause: SignedDuration,
    /// How many checks are sent at once.
    checks: u32,
}

impl Afterwards {
    /// After how long each check of the series comes. No check comes after the moment at which a
    /// run is due.
    fn pauses(&self, now: Timestamp) -> Vec<SignedDuration> {
        let due = self.run_at.map(|at| at.duration_since(now).max(CHECK_SOON_INTERVAL));
        let mut pauses = Vec::new();
        let mut pause = self.pause;
        for check in 1..=self.checks {
            let at = due.map_or(pause, |due| due.min(pause));
            pauses.push(at);
            if due == Some(at) {
                break;
            }
            pause += if check + 1 == SERIES_MAX { LAST_INTERVAL } else { CHECK_INTERVAL };
        }
        pauses
    }

    /// How many checks the series after it has, if nothing changes. Series grow, so that where much
    /// happens few messages are sent that come to nothing.
    fn next_checks(&self) -> u32 {
        self.checks.saturating_mul(2).min(SERIES_MAX)
    }
}

/// Provisions, and begins a series of checks: for an event of the schedule. `report` gets the
/// result of the run, and each failure to go on.
///
/// Where functions do not wake each other there are no checks, and nothing but the run.
pub async fn begin_demand_checks<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    mut report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let afterwards = provision_once(ports, run, SERIES_MAX, &mut report).await;
    if !run.wakes {
        return;
    }
    // Where nothing may be done in the cluster, the series of before ends all the same.
    match ports.store().advance_chain(FunctionName::Provisioning, None).await {
        Ok(Some(link)) => go_on(ports, link, afterwards, &mut report).await,
        Ok(None) => {}
        Err(error) => report(Err(error)),
    }
}

/// Checks whether demand has changed, and provisions where it has or where a run is due: for a
/// message of a series. One that comes twice, or late, does nothing.
pub async fn check_demand<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    DemandCheck { link, run_at, next_series }: DemandCheck,
    mut report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    // Before the cluster is asked, which reports each pod once.
    match ports.store().last_link(FunctionName::Provisioning).await {
        Ok(last) if last == Some(link) => {}
        Ok(_) => return,
        Err(error) => return report(Err(error)),
    }
    let is_due = run_at.is_some_and(|at| ports.clock().now() >= at);
    let has_changed = is_due
        || match ports.cluster().demand_now().await {
            Ok(demand) => demand == Demand::Changed,
            Err(error) => {
                report(Err(error));
                false
            }
        };
    if !has_changed && next_series.is_none() {
        return;
    }
    // Before it provisions, so that the rest of the series does not check meanwhile.
    let next = ports.store().advance_chain(FunctionName::Provisioning, Some(link)).await;
    let next = next.unwrap_or_else(|error| {
        report(Err(error));
        None
    });
    let afterwards = match next_series {
        // Also where another series has begun: what this check has seen, no other will.
        _ if has_changed => provision_once(ports, run, 1, &mut report).await,
        Some(checks) => Some(Afterwards { run_at, pause: CHECK_INTERVAL, checks }),
        None => None,
    };
    if let Some(next) = next {
        go_on(ports, next, afterwards, &mut report).await;
    }
}

/// One run, after which a series of `checks` begins if it has launched nothing; `None` where
/// nothing may be done in the cluster, and nobody has to check.
async fn provision_once<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    checks: u32,
    report: &mut impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) -> Option<Afterwards> {
    let result = provision(ports, run).await;
    let now = ports.clock().now();
    let afterwards = match &result {
        Ok(RunOutcome::Ran(report)) => {
            let run_at = report.requeue_after.map(|pause| after(now, pause));
            if report.launched.launches.is_empty() {
                Some(Afterwards { run_at, pause: CHECK_INTERVAL, checks })
            } else {
                Some(Afterwards { run_at, pause: CHECK_SOON_INTERVAL, checks: 1 })
            }
        }
        Ok(RunOutcome::Stopped(_)) => None,
        Ok(RunOutcome::Held(_) | RunOutcome::Superseded) | Err(_) => {
            let run_at = Some(after(now, RETRY_INTERVAL));
            Some(Afterwards { run_at, pause: CHECK_INTERVAL, checks })
        }
    };
    report(result);
    afterwards
}

/// Sends the messages of a series.
async fn go_on<P: Ports>(
    ports: &P,
    link: u64,
    afterwards: Option<Afterwards>,
    report: &mut impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let Some(afterwards) = afterwards else { return };
    let pauses = afterwards.pauses(ports.clock().now());
    let wake = |(index, pause): (usize, &SignedDuration)| {
        let is_last = index + 1 == pauses.len();
        let check = DemandCheck {
            link,
            run_at: afterwards.run_at,
            next_series: is_last.then(|| afterwards.next_checks()),
        };
        let function = FunctionName::Provisioning;
        Wake { function, continues: None, after: *pause, demand_check: Some(check) }
    };
    let wakes: Vec<Wake> = pauses.iter().enumerate().map(wake).collect();
    let sent = match &*wakes {
        [only] => ports.wakes().wake(*only).await,
        several => ports.wakes().wake_all(several).await,
    };
    if let Err(error) = sent {
        report(Err(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::controls::MODE;
    use crate::testing::pending_pod;
    use crate::testing::world::World;
    use pollster::block_on;

    /// The runs of an invocation that took place.
    fn counted(invocation: impl AsyncFnOnce(&mut dyn FnMut(bool))) -> usize {
        let mut runs = 0;
        block_on(invocation(&mut |ran| runs += usize::from(ran)));
        runs
    }

    fn scheduled(world: &World) -> usize {
        counted(async |count| {
            let run = Run { wakes: true, ..world.run("scheduled") };
            begin_demand_checks(world, &run, |result| {
                count(matches!(result, Ok(RunOutcome::Ran(_))));
            })
            .await;
        })
    }

    fn checked(world: &World, own: DemandCheck) -> usize {
        counted(async |count| {
            let run = Run { wakes: true, ..world.run("check") };
            check_demand(world, &run, own, |result| {
                count(matches!(result, Ok(RunOutcome::Ran(_))));
            })
            .await;
        })
    }

    /// The checks that were sent since they were asked for last, and after how many seconds each
    /// comes.
    fn sent(world: &World) -> Vec<(DemandCheck, i64)> {
        let sent = std::mem::take(&mut *world.wakes.sent.borrow_mut());
        sent.iter().filter_map(|wake| Some((wake.demand_check?, wake.after.as_secs()))).collect()
    }

    fn pauses(series: &[(DemandCheck, i64)]) -> Vec<i64> {
        series.iter().map(|(_, pause)| *pause).collect()
    }

    #[test]
    fn a_series_lasts_a_minute_and_its_last_check_comes_after_the_next_minutes_event() {
        let world = World::new();
        assert_eq!(scheduled(&world), 1);
        let series = sent(&world);
        assert_eq!(pauses(&series), [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 65]);
        assert!(series.iter().all(|(own, _)| own.link == 1 && own.run_at.is_none()));
        let go_on: Vec<_> = series.iter().map(|(own, _)| own.next_series).collect();
        assert_eq!(go_on, [[None; 11].as_slice(), &[Some(12)]].concat());
    }

    #[test]
    fn a_check_that_finds_nothing_sends_nothing_but_for_the_last_of_a_series() {
        let world = World::new();
        scheduled(&world);
        let series = sent(&world);
        for (own, _) in &series[..11] {
            assert_eq!((checked(&world, *own), sent(&world)), (0, vec![]));
        }
        assert_eq!(checked(&world, series[11].0), 0);
        let next = sent(&world);
        assert_eq!((next.len(), next[0].0.link), (12, 2), "the event of the minute was lost");
    }

    #[test]
    fn a_check_that_sees_a_pod_wait_runs_and_the_next_comes_soon() {
        let world = World::new();
        scheduled(&world);
        let series = sent(&world);
        world.cluster.add_pods([pending_pod("web-0")]);
        assert_eq!(checked(&world, series[3].0), 1);
        let next = sent(&world);
        assert_eq!(pauses(&next), [1]);
        assert_eq!(checked(&world, series[4].0), 0, "another series has begun");
        assert_eq!(checked(&world, next[0].0), 0, "the pod is on its way");
        let after = sent(&world);
        assert_eq!(
            (after.len(), after[0].0.run_at),
            (2, next[0].0.run_at),
            "a run is due as before"
        );
    }

    #[test]
    fn series_grow_while_nothing_changes() {
        let world = World::new();
        scheduled(&world);
        let series = sent(&world);
        world.cluster.add_pods([pending_pod("web-0")]);
        checked(&world, series[0].0);
        let mut lengths = Vec::new();
        for _ in 0..6 {
            let series = sent(&world);
            lengths.push(series.len());
            let (last, _) = series.last().copied().unwrap();
            checked(&world, DemandCheck { run_at: None, ..last });
        }
        assert_eq!(lengths, [1, 2, 4, 8, 12, 12]);
    }

    #[test]
    fn a_run_that_is_due_takes_place_whatever_is_seen() {
        let world = World::new();
        world.cluster.add_pods([pending_pod("web-0")]);
        scheduled(&world);
        let (own, _) = sent(&world)[0];
        let due = own.run_at.expect("a pod is pending");
        world.advance(due.duration_since(world.clock.now()).as_secs());
        assert_eq!(checked(&world, own), 1);
    }

    #[test]
    fn no_check_comes_after_the_moment_at_which_a_run_is_due() {
        let now = Timestamp::UNIX_EPOCH;
        let pauses = |due, checks| {
            let run_at = Some(now + SignedDuration::from_secs(due));
            let pauses = Afterwards { run_at, pause: CHECK_INTERVAL, checks }.pauses(now);
            pauses.iter().map(SignedDuration::as_secs).collect::<Vec<_>>()
        };
        assert_eq!(pauses(12, 12), [5, 10, 12]);
        assert_eq!(pauses(5, 12), [5]);
        assert_eq!(pauses(-3, 12), [1]);
        assert_eq!(pauses(300, 2), [5, 10]);
    }

    #[test]
    fn a_message_that_comes_twice_or_late_does_nothing() {
        let world = World::new();
        scheduled(&world);
        let (last, _) = sent(&world)[11];
        checked(&world, last);
        assert_eq!(sent(&world).len(), 12);
        checked(&world, last);
        assert_eq!(sent(&world), [], "it came twice");
        scheduled(&world);
        sent(&world);
        world.cluster.add_pods([pending_pod("web-0")]);
        assert_eq!(checked(&world, last), 0, "the schedule has begun a new series");
        assert_eq!(sent(&world), []);
    }

    #[test]
    fn where_nothing_may_be_done_the_series_ends() {
        let world = World::new();
        scheduled(&world);
        let (own, _) = sent(&world)[11];
        world.store.controls.borrow_mut().insert(MODE.into(), "paused".into());
        scheduled(&world);
        checked(&world, own);
        assert_eq!(sent(&world), []);
    }

    #[test]
    fn a_check_that_fails_is_reported_and_others_come() {
        let world = World::new();
        scheduled(&world);
        let series = sent(&world);
        let errors = |own| {
            world.cluster.watch_fails.set(true);
            let mut errors = 0;
            let run = Run { wakes: true, ..world.run("check") };
            block_on(check_demand(&world, &run, own, |result| {
                errors += usize::from(result.is_err());
            }));
            errors
        };
        assert_eq!((errors(series[0].0), sent(&world).len()), (1, 0));
        assert_eq!((errors(series[11].0), sent(&world).len()), (1, 12));
    }

    #[test]
    fn without_queues_there_are_no_checks() {
        let world = World::new();
        block_on(begin_demand_checks(&world, &world.run("scheduled"), |_| {}));
        assert_eq!(sent(&world), []);
    }
}
