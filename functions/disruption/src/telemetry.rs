//! Logs and metrics of a disruption run.

use controllers::disruption::{CommandChange, CommandEvent, DisruptionReport};
use domain::plan::{DriftFigures, PlanFigures, StuckDrains};
use lambda::Telemetry;
use lambda::metrics::Unit;

const HOURS_PER_DAY: f64 = 24.0;

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
    if let Some(figures) = &report.figures {
        record_figures(telemetry, figures);
    }
    for (pool, saved) in &report.off_hours_saved {
        let labels = [("nodepool", &**pool)];
        let name = "outrigger_off_hours_saved_usd_total";
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let dollars = *saved as f64 / 1e6;
        telemetry.metrics().add(name, &labels, dollars);
    }
    for node in &report.untainted {
        tracing::info!(%node, "stale disruption taint removed");
    }
    telemetry.record_held_back(report.held_back.as_ref());
    telemetry.record_refused_plan(&report.refused);
    telemetry.record_launches(&report.launched, "disruption");
    telemetry.record_problems(&report.problems);
}

/// Gauges of what budgets allow and what could go, named and labelled as Karpenter's.
fn record_figures(telemetry: &Telemetry, figures: &PlanFigures) {
    let gauge = |name, labels: &[(&'static str, &str)], count: u32| {
        telemetry.metrics().gauge(name, labels, Unit::Count, f64::from(count));
    };
    for ((pool, reason), allowed) in &figures.allowed_disruptions {
        let labels = [("nodepool", &**pool), ("reason", reason.as_str())];
        gauge("karpenter_nodepools_allowed_disruptions", &labels, *allowed);
    }
    for (reason, nodes) in &figures.eligible_nodes {
        let labels = [("reason", reason.as_str())];
        gauge("karpenter_voluntary_disruption_eligible_nodes", &labels, *nodes);
    }
    for (pool, is_off) in &figures.off {
        gauge("outrigger_nodepool_off", &[("nodepool", pool)], u32::from(*is_off));
    }
    for ((pool, zone), nodes) in &figures.zone_nodes {
        gauge("outrigger_zone_nodes", &[("nodepool", pool), ("zone", zone)], *nodes);
    }
    for (pool, DriftFigures { wave, is_halted }) in &figures.drift {
        gauge("outrigger_drift_wave", &[("nodepool", pool)], *wave);
        gauge("outrigger_drift_halted", &[("nodepool", pool)], u32::from(*is_halted));
    }
    let StuckDrains { nodes, hourly } = figures.stuck_drains;
    gauge("outrigger_drains_stuck", &[], nodes);
    let daily = hourly.to_f64() * HOURS_PER_DAY;
    telemetry.metrics().gauge("outrigger_drains_stuck_cost_daily_usd", &[], Unit::None, daily);
    for (pool, nodes) in &figures.past_expiry {
        gauge("outrigger_nodes_past_expiry", &[("nodepool", pool)], *nodes);
    }
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

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::money::UsdPerHour;
    use domain::reason::DisruptionReason;
    use lambda::metrics::{Detail, Metrics};

    use super::*;

    #[test]
    fn figures_have_karpenters_names_and_labels() {
        let telemetry = Telemetry::new(Metrics::new("Outrigger", Detail::All, "prod"));
        let reason = DisruptionReason::Empty;
        let figures = PlanFigures {
            allowed_disruptions: [(("default".into(), reason), 2)].into(),
            eligible_nodes: [(reason, 5)].into(),
            past_expiry: [("default".into(), 3)].into(),
            zone_nodes: [(("default".into(), "us-east-1a".into()), 7)].into(),
            drift: [("default".into(), DriftFigures { wave: 2, is_halted: true })].into(),
            stuck_drains: StuckDrains { nodes: 2, hourly: UsdPerHour::from_nanos(250_000_000) },
            ..PlanFigures::default()
        };
        record_figures(&telemetry, &figures);
        let lines = telemetry.metrics().lines(Timestamp::UNIX_EPOCH);
        let line = |name: &str| lines.iter().find(|line| line.get(name).is_some()).unwrap();
        let allowed = line("karpenter_nodepools_allowed_disruptions");
        assert_eq!(allowed["karpenter_nodepools_allowed_disruptions"], 2.0);
        assert_eq!(
            (&allowed["nodepool"], &allowed["reason"]),
            (&"default".into(), &"Empty".into())
        );
        let eligible = line("karpenter_voluntary_disruption_eligible_nodes");
        assert_eq!(eligible["karpenter_voluntary_disruption_eligible_nodes"], 5.0);
        assert_eq!(eligible["reason"], "Empty");
        let past = line("outrigger_nodes_past_expiry");
        assert_eq!(past["outrigger_nodes_past_expiry"], 3.0);
        assert_eq!(past["nodepool"], "default");
        let zone = line("outrigger_zone_nodes");
        assert_eq!((&zone["nodepool"], &zone["zone"]), (&"default".into(), &"us-east-1a".into()));
        assert_eq!(zone["outrigger_zone_nodes"], 7.0);
        assert_eq!(line("outrigger_drains_stuck")["outrigger_drains_stuck"], 2.0);
        let daily = "outrigger_drains_stuck_cost_daily_usd";
        assert_eq!(line(daily)[daily], 6.0);
        assert_eq!(line("outrigger_drift_wave")["outrigger_drift_wave"], 2.0);
        assert_eq!(line("outrigger_drift_halted")["outrigger_drift_halted"], 1.0);
    }
}
