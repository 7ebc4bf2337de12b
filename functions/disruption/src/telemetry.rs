//! Logs and metrics of a disruption run.

use controllers::disruption::{CommandChange, CommandEvent, DisruptionReport};
use lambda::Telemetry;
use lambda::metrics::Unit;

/// Records what a run decided and did.
pub(crate) fn record_report(telemetry: &Telemetry, report: &DisruptionReport) {
    for change in &report.changes {
        record_change(telemetry, change);
    }
    for blocked in &report.blocked {
        tracing::debug!(node = %blocked.node, reason = %blocked.reason, "node cannot be disrupted");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let blocked = report.blocked.len() as f64;
    telemetry.metrics().gauge("outrigger_blocked_nodes_count", &[], Unit::Count, blocked);
    for node in &report.untainted {
        tracing::info!(%node, "stale disruption taint removed");
    }
    telemetry.record_held_back(report.held_back.as_ref());
    telemetry.record_refused_plan(&report.refused);
    telemetry.record_launches(&report.launched, "disruption");
    telemetry.record_problems(&report.problems);
}

fn record_change(telemetry: &Telemetry, change: &CommandChange) {
    let CommandChange { command, reason, nodes, what } = change;
    let nodes = nodes.join(",");
    tracing::info!(%command, %reason, nodes, event = ?what, "disruption command changed");
    let labels = [("reason", reason.as_str())];
    let count = |name| telemetry.metrics().count(name, &labels, 1);
    match what {
        CommandEvent::Proposed => telemetry.record_done("proposed", 1),
        CommandEvent::Started(_) => {
            count("karpenter_voluntary_disruption_decisions_total");
            telemetry.record_done("started", 1);
        }
        CommandEvent::Rejected(_) => {
            count("karpenter_voluntary_disruption_failed_validations_total");
        }
        CommandEvent::Refused(violations) => telemetry.record_refused_plan(violations),
        CommandEvent::Cancelled(_) => {
            count("karpenter_voluntary_disruption_queue_failures_total");
            telemetry.record_done("cancelled", 1);
        }
        CommandEvent::Ended => telemetry.record_done("ended", 1),
        CommandEvent::Forgotten | CommandEvent::StartDelayed | CommandEvent::Waiting(_) => {}
    }
}
