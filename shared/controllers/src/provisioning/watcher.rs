//! Waiting for demand in place of provisioning: in `watch` mode, where a function of its own does
//! so, which needs a fraction of the memory.
//!
//! It knows which pods wait and nothing else. When a batching window has closed it sends
//! provisioning a message, which names the last run of provisioning that there was: of several
//! messages that one run has answered, those that come after it do nothing. What a process has seen
//! it remembers from one invocation to the next, and goes on where it stopped; one that has just
//! started wakes provisioning for whatever waits. A message that is lost is made up for by
//! provisioning's schedule.

use domain::{SignedDuration, Timestamp};

use super::batch::BATCH_IDLE_MAX;
use super::watch::await_demand;
use crate::ports::cluster::Demand;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, Cluster, FunctionName, Ports, Wake, Wakes as _};
use crate::run::{Run, after};

/// Waits for demand until the deadline, and wakes provisioning each time that there is some.
/// `report` gets each failure.
pub async fn watch_for_provisioning<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    mut report: impl FnMut(PortError),
) {
    let mut latest_change = None;
    // Demand that was seen, and of which provisioning does not know yet.
    let mut is_owed = false;
    loop {
        if let Err(error) = step(ports, run, &mut latest_change, &mut is_owed).await {
            report(error);
            let again = after(ports.clock().now(), BATCH_IDLE_MAX);
            ports.clock().sleep_until(again.min(run.deadline)).await;
        }
        if ports.clock().now() >= run.deadline {
            return;
        }
    }
}

async fn step<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    latest_change: &mut Option<Timestamp>,
    is_owed: &mut bool,
) -> Result<(), PortError> {
    if !*is_owed {
        let mut demand = ports.cluster().follow_demand().await?;
        if demand == Demand::Unchanged {
            demand = await_demand(ports, run.deadline, latest_change).await?;
        }
        *is_owed = demand == Demand::Changed;
    }
    if *is_owed {
        wake_provisioning(ports).await?;
        *is_owed = false;
    }
    Ok(())
}

/// A run that has acquired its lease since the demand was seen has listed it: the message names the
/// last run before.
async fn wake_provisioning<P: Ports>(ports: &P) -> Result<(), PortError> {
    let function = FunctionName::Provisioning;
    let continues = ports.store().last_token(function).await?;
    let wake = Wake { function, continues, after: SignedDuration::ZERO, demand_check: None };
    ports.wakes().wake(wake).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provisioning::provision;
    use crate::run::RunOutcome;
    use crate::testing::at;
    use crate::testing::pending_pod;
    use crate::testing::world::World;
    use pollster::block_on;

    /// Watches for a minute; how often provisioning was woken, and how many calls failed.
    fn watched(world: &World) -> (Vec<Option<u64>>, usize) {
        let mut failed = 0;
        let before = world.wakes.sent.borrow().len();
        block_on(watch_for_provisioning(world, &world.run("watcher"), |_| failed += 1));
        let sent = world.wakes.sent.borrow();
        let own = |wake: &&Wake| {
            wake.function == FunctionName::Provisioning && wake.demand_check.is_none()
        };
        let woken = sent[before..].iter().filter(own).map(|wake| wake.continues).collect();
        (woken, failed)
    }

    /// The moments at which demand changes, in seconds.
    fn demand(world: &World, seconds: &[i64]) {
        world.cluster.demand.borrow_mut().extend(seconds.iter().map(|second| at(*second)));
    }

    #[test]
    fn nobody_is_woken_while_no_pod_waits() {
        let world = World::new();
        assert_eq!(watched(&world), (vec![], 0));
        assert!(world.clock.now() >= at(55), "it has stayed");
    }

    #[test]
    fn pods_that_come_together_wake_provisioning_once() {
        let world = World::new();
        demand(&world, &[5, 5, 30]);
        assert_eq!(watched(&world), (vec![None, None], 0));
    }

    #[test]
    fn a_process_that_has_just_started_wakes_provisioning_for_what_waits() {
        let world = World::new();
        world.cluster.add_pods([pending_pod("web-0")]);
        assert_eq!(watched(&world), (vec![None], 0));
        assert_eq!(watched(&world), (vec![], 0), "it is known by now");
    }

    #[test]
    fn what_a_run_has_answered_already_is_not_answered_again() {
        let world = World::new();
        let run = |continues| {
            let run = Run { continues, ..world.run("r") };
            block_on(provision(&world, &run)).unwrap()
        };
        assert!(matches!(run(None), RunOutcome::Ran(_)));
        demand(&world, &[5, 30]);
        let (woken, _) = watched(&world);
        assert_eq!(woken, [Some(1), Some(1)]);
        assert!(matches!(run(woken[0]), RunOutcome::Ran(_)));
        assert_eq!(run(woken[1]), RunOutcome::Superseded);
    }

    #[test]
    fn a_message_that_could_not_be_sent_is_sent_a_second_later() {
        let world = World::new();
        demand(&world, &[5]);
        world.wakes.fails.set(true);
        let (woken, failed) = watched(&world);
        assert!(woken.is_empty() && failed > 40, "{failed} failures in a minute");
        world.wakes.fails.set(false);
        world.cluster.watch_fails.set(true);
        demand(&world, &[80]);
        assert_eq!(watched(&world), (vec![None], 1), "it watches again after a failure");
    }
}
