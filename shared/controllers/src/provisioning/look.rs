//! Provisioning in `tick` mode: looks every few seconds whether a pod waits, and runs where one
//! does.
//!
//! Each look is an invocation of its own, which the one before has sent a message for: a chain.
//! Every link has a number in the store, and only the message that follows the last link counts. So
//! there is one chain however often messages are delivered, and the schedule, which runs
//! provisioning in any case, begins a new one once a minute: a chain that broke is missed for no
//! longer.

use domain::{SignedDuration, Timestamp};

use super::provision;
use super::report::ProvisioningReport;
use crate::ports::cluster::Demand;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, Cluster, FunctionName, Look, Ports, Wake, Wakes as _};
use crate::requeue::RETRY_INTERVAL;
use crate::run::{Run, RunOutcome, after};

/// From one look to the next while nothing happens.
const LOOK_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// To the look after nodes were launched: pods come in crowds.
const LOOK_SOON: SignedDuration = SignedDuration::from_secs(1);

/// What a run leaves to the looks after it.
struct Afterwards {
    /// When the next run is due, whatever a look sees.
    run_at: Option<Timestamp>,
    pause: SignedDuration,
}

/// Provisions, and begins a chain of looks: for an event of the schedule. `report` gets the result
/// of the run, and each failure to go on.
///
/// Where functions do not wake each other there is no chain, and nothing but the run.
pub async fn begin_looking<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    mut report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let afterwards = provision_once(ports, run, &mut report).await;
    if !run.wakes {
        return;
    }
    // Where nothing may be done in the cluster, the chain of before ends all the same.
    match ports.store().advance_chain(FunctionName::Provisioning, None).await {
        Ok(Some(link)) => go_on(ports, link, afterwards, &mut report).await,
        Ok(None) => {}
        Err(error) => report(Err(error)),
    }
}

/// Looks whether demand has changed, provisions where it has or where a run is due, and sends the
/// message of the next look: for a message of the chain. One that comes twice, or late, does
/// nothing.
pub async fn look<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    Look { link, run_at }: Look,
    mut report: impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let link = match ports.store().advance_chain(FunctionName::Provisioning, Some(link)).await {
        Ok(Some(link)) => link,
        Ok(None) => return,
        Err(error) => return report(Err(error)),
    };
    let is_due = run_at.is_some_and(|at| ports.clock().now() >= at);
    let has_changed = is_due
        || match ports.cluster().demand_now().await {
            Ok(demand) => demand == Demand::Changed,
            Err(error) => {
                report(Err(error));
                false
            }
        };
    let afterwards = if has_changed {
        provision_once(ports, run, &mut report).await
    } else {
        Some(Afterwards { run_at, pause: LOOK_INTERVAL })
    };
    go_on(ports, link, afterwards, &mut report).await;
}

/// One run; `None` where nothing may be done in the cluster, and nobody has to look.
async fn provision_once<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    report: &mut impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) -> Option<Afterwards> {
    let result = provision(ports, run).await;
    let now = ports.clock().now();
    let afterwards = match &result {
        Ok(RunOutcome::Ran(report)) => Some(Afterwards {
            run_at: report.requeue_after.map(|pause| after(now, pause)),
            pause: if report.launched.launches.is_empty() { LOOK_INTERVAL } else { LOOK_SOON },
        }),
        Ok(RunOutcome::Stopped(_)) => None,
        Ok(RunOutcome::Held(_) | RunOutcome::Superseded) | Err(_) => {
            Some(Afterwards { run_at: Some(after(now, RETRY_INTERVAL)), pause: LOOK_INTERVAL })
        }
    };
    report(result);
    afterwards
}

/// Sends the message of the next look.
async fn go_on<P: Ports>(
    ports: &P,
    link: u64,
    afterwards: Option<Afterwards>,
    report: &mut impl FnMut(Result<RunOutcome<ProvisioningReport>, PortError>),
) {
    let Some(Afterwards { run_at, pause }) = afterwards else { return };
    let until_due = run_at.map(|at| at.duration_since(ports.clock().now()));
    let pause = until_due.map_or(pause, |due| pause.min(due.max(LOOK_SOON)));
    let look = Some(Look { link, run_at });
    let wake = Wake { function: FunctionName::Provisioning, continues: None, after: pause, look };
    if let Err(error) = ports.wakes().wake(wake).await {
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
            begin_looking(world, &run, |result| count(matches!(result, Ok(RunOutcome::Ran(_)))))
                .await;
        })
    }

    fn looked(world: &World, own: Look) -> usize {
        counted(async |count| {
            let run = Run { wakes: true, ..world.run("look") };
            look(world, &run, own, |result| count(matches!(result, Ok(RunOutcome::Ran(_))))).await;
        })
    }

    /// The message that was sent last, of those that look.
    fn last(world: &World) -> Option<(Look, i64)> {
        let sent = world.wakes.sent.borrow();
        sent.iter().rev().find_map(|wake| Some((wake.look?, wake.after.as_secs())))
    }

    fn looks_sent(world: &World) -> usize {
        world.wakes.sent.borrow().iter().filter(|wake| wake.look.is_some()).count()
    }

    #[test]
    fn nothing_is_planned_while_no_pod_waits_and_the_chain_goes_on() {
        let world = World::new();
        assert_eq!(scheduled(&world), 1);
        let (first, pause) = last(&world).unwrap();
        assert_eq!((first, pause), (Look { link: 1, run_at: None }, 5));
        assert_eq!(looked(&world, first), 0);
        assert_eq!(last(&world).unwrap(), (Look { link: 2, run_at: None }, 5));
    }

    #[test]
    fn a_look_that_sees_a_pod_wait_runs_and_the_next_comes_soon() {
        let world = World::new();
        scheduled(&world);
        world.cluster.add_pods([pending_pod("web-0")]);
        assert_eq!(looked(&world, last(&world).unwrap().0), 1);
        let (next, pause) = last(&world).unwrap();
        assert_eq!(pause, 1);
        assert_eq!(looked(&world, next), 0, "the pod is on its way");
        assert_eq!(last(&world).unwrap().0.run_at, next.run_at, "a run is due as before");
    }

    #[test]
    fn a_run_that_is_due_takes_place_whatever_is_seen() {
        let world = World::new();
        world.cluster.add_pods([pending_pod("web-0")]);
        scheduled(&world);
        let (own, _) = last(&world).unwrap();
        let due = own.run_at.expect("a pod is pending");
        world.advance(due.duration_since(world.clock.now()).as_secs());
        assert_eq!(looked(&world, own), 1);
    }

    #[test]
    fn a_message_that_comes_twice_or_late_does_nothing() {
        let world = World::new();
        scheduled(&world);
        let (own, _) = last(&world).unwrap();
        looked(&world, own);
        let sent = looks_sent(&world);
        looked(&world, own);
        assert_eq!(looks_sent(&world), sent, "it came twice");
        let (late, _) = last(&world).unwrap();
        scheduled(&world);
        let sent = looks_sent(&world);
        looked(&world, late);
        assert_eq!(looks_sent(&world), sent, "the schedule has begun a new chain");
    }

    #[test]
    fn where_nothing_may_be_done_the_chain_ends() {
        let world = World::new();
        scheduled(&world);
        let (own, _) = last(&world).unwrap();
        world.store.controls.borrow_mut().insert(MODE.into(), "paused".into());
        scheduled(&world);
        let sent = looks_sent(&world);
        looked(&world, own);
        assert_eq!(looks_sent(&world), sent);
    }

    #[test]
    fn a_look_that_fails_is_reported_and_the_chain_goes_on() {
        let world = World::new();
        scheduled(&world);
        let (own, _) = last(&world).unwrap();
        world.cluster.watch_fails.set(true);
        let mut errors = 0;
        let run = Run { wakes: true, ..world.run("look") };
        block_on(look(&world, &run, own, |result| errors += usize::from(result.is_err())));
        assert_eq!((errors, last(&world).unwrap().0.link), (1, own.link + 1));
    }

    #[test]
    fn without_queues_there_is_no_chain() {
        let world = World::new();
        block_on(begin_looking(&world, &world.run("scheduled"), |_| {}));
        assert_eq!(looks_sent(&world), 0);
    }
}
