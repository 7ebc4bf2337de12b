//! Function `disruption`: nodes that are empty, unneeded, drifted, expired or unhealthy go, replacements
//! first. Wakes every minute for each cluster, and stays while a command is under way.

use controllers::disruption::{CommandChange, CommandEvent, DisruptionReport, disrupt};
use controllers::requeue::reconcile_until_idle;
use lambda::metrics::Unit;
use lambda::{Failure, Reaction, Tick};

/// The function's name.
pub const NAME: &str = "disruption";

/// One invocation.
pub async fn run(tick: &Tick<'_>) -> Result<(), Failure> {
    let (ports, terms) = (tick.adapters().await?, tick.run()?);
    let tell = |result| tick.round(result, |report| told(tick, report));
    match tick.reaction {
        Reaction::Watch => Box::pin(reconcile_until_idle(&*ports, &terms, disrupt, tell)).await,
        Reaction::Poll => tell(Box::pin(disrupt(&*ports, &terms)).await),
    }
    Ok(())
}

fn told(tick: &Tick<'_>, report: &DisruptionReport) {
    for change in &report.changes {
        changed(tick, change);
    }
    for blocked in &report.blocked {
        tracing::debug!(node = %blocked.node, reason = %blocked.reason, "a node stays");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let blocked = report.blocked.len() as f64;
    tick.metrics.gauge("outrigger_blocked_nodes_count", &[], Unit::Count, blocked);
    for node in &report.untainted {
        tracing::info!(%node, "a taint that nobody accounted for was removed");
    }
    tick.refused(&report.refused);
    provisioning::launches(tick, &report.launched, "disruption");
    tick.problems(&report.problems);
}

fn changed(tick: &Tick<'_>, change: &CommandChange) {
    let CommandChange { command, reason, nodes, what } = change;
    tracing::info!(%command, %reason, nodes = nodes.join(","), event = ?what, "a disruption command changed");
    let labels = [("reason", reason.as_str())];
    let count = |name| tick.metrics.count(name, &labels, 1);
    match what {
        CommandEvent::Proposed => tick.done("proposed", 1),
        CommandEvent::Started(_) => {
            count("karpenter_voluntary_disruption_decisions_total");
            tick.done("started", 1);
        }
        CommandEvent::Rejected(_) => {
            count("karpenter_voluntary_disruption_failed_validations_total");
        }
        CommandEvent::Refused(violations) => tick.refused(violations),
        CommandEvent::Cancelled(_) => {
            count("karpenter_voluntary_disruption_queue_failures_total");
            tick.done("cancelled", 1);
        }
        CommandEvent::Ended => tick.done("ended", 1),
        CommandEvent::Forgotten | CommandEvent::StartDelayed | CommandEvent::Waiting(_) => {}
    }
}
