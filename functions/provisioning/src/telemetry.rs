//! Logs and metrics of a provisioning run.

use controllers::provisioning::{ExpendablePods, ProvisioningReport, UsdUsage};
use controllers::steps::schedule::Scaling;
use domain::plan::{CommittedTotals, Totals};
use domain::resource::USD_PER_HOUR;
use lambda::Telemetry;
use lambda::metrics::Unit;

/// Records what a run planned and did.
pub(crate) fn record_report(telemetry: &Telemetry, report: &ProvisioningReport) {
    let plan = &report.plan;
    tracing::info!(
        pending = plan.totals.pending_pods,
        claims = plan.node_claims.len(),
        placed = plan.placements.len(),
        unschedulable = plan.unschedulable.len(),
        "planned"
    );
    for pod in &plan.unschedulable {
        let reasons: Vec<String> = pod.reasons.iter().map(ToString::to_string).collect();
        tracing::info!(pod = %pod.pod, reasons = reasons.join("; "), "pod is unschedulable");
    }
    telemetry.record_held_back(report.held_back.as_ref());
    telemetry.record_refused_plan(&report.refused);
    for (claim, why) in &report.not_created {
        tracing::warn!(%claim, %why, "planned claim not created");
    }
    for scaling in &report.scaled {
        let Scaling { workload, schedule: (schedule, _), from, to } = scaling;
        tracing::info!(%workload, %schedule, from, to, "workload scaled for its schedule");
        telemetry.record_done("scaled", 1);
    }
    telemetry.record_launches(&report.resumed, "resumed");
    telemetry.record_launches(&report.launched, "provisioned");
    telemetry.record_problems(&report.problems);
    record_gauges(telemetry, report);
}

fn record_gauges(telemetry: &Telemetry, report: &ProvisioningReport) {
    let plan = &report.plan;
    let metrics = telemetry.metrics();
    let count = |name, count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        metrics.gauge(name, &[], Unit::Count, count as f64);
    };
    count("karpenter_scheduler_unschedulable_pods_count", plan.unschedulable.len());
    let pending = usize::try_from(plan.totals.pending_pods).unwrap_or(usize::MAX);
    count("karpenter_scheduler_queue_depth", pending);
    for (zone, pods) in &plan.figures.pending_by_zone {
        let name = "karpenter_scheduler_pending_pods_by_effective_zone_count";
        metrics.gauge(name, &[("zone", zone)], Unit::Count, f64::from(*pods));
    }
    let unhostable = plan.unschedulable.iter().filter(|pod| pod.is_unhostable()).count();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let unhostable = unhostable as f64;
    metrics.gauge("outrigger_pods_unhostable_count", &[], Unit::Count, unhostable);
    let wait = report.longest_wait.unwrap_or_default().as_secs_f64();
    metrics.gauge("outrigger_pods_wait_longest_seconds", &[], Unit::Seconds, wait);
    for UsdUsage { node_pool, used, limit } in &report.usd_usage {
        let labels = [("nodepool", &**node_pool), ("resource_type", "usd-per-hour")];
        metrics.gauge("karpenter_nodepools_usage", &labels, Unit::None, used.to_f64());
        metrics.gauge("karpenter_nodepools_limit", &labels, Unit::None, limit.to_f64());
    }
    for own in &report.cluster_usage {
        let is_usd = *own.resource == *USD_PER_HOUR;
        let resource = if is_usd { "usd-per-hour" } else { &*own.resource };
        let labels = [("clusterlimit", &*own.limit_name), ("resource_type", resource)];
        let (used, limit) = (own.in_units(own.used), own.in_units(own.limit));
        metrics.gauge("outrigger_clusterlimits_usage", &labels, Unit::None, used);
        metrics.gauge("outrigger_clusterlimits_limit", &labels, Unit::None, limit);
    }
    if let Some(ExpendablePods { running, waiting }) = report.expendable {
        for (state, pods) in [("running", running), ("waiting", waiting)] {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let pods = pods as f64;
            let labels = [("state", state)];
            metrics.gauge("outrigger_expendable_pods", &labels, Unit::Count, pods);
        }
    }
    record_costs(telemetry, &plan.totals);
    let Some(CommittedTotals { after, .. }) = &plan.committed else { return };
    for own in &after.commitments {
        let labels = [("commitment", &*own.name)];
        let used = f64::from(own.per_mille()) / 10.0;
        metrics.gauge("outrigger_commitment_utilization", &labels, Unit::None, used);
    }
    let covered = after.covered.to_f64();
    metrics.gauge("outrigger_commitments_covered_hourly_usd", &[], Unit::None, covered);
}

fn record_costs(telemetry: &Telemetry, totals: &Totals) {
    let gauge = |name, hourly: f64| telemetry.metrics().gauge(name, &[], Unit::None, hourly);
    let (before, after) = (totals.hourly_before.to_f64(), totals.hourly_after.to_f64());
    gauge("outrigger_cluster_cost_hourly_usd", after);
    gauge("outrigger_launch_hourly_usd", (after - before).max(0.0));
    if let Some(bound) = totals.lower_bound {
        gauge("outrigger_launch_lower_bound_hourly_usd", bound.to_f64());
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::plan::UnschedulablePod;
    use domain::pod::PodKey;
    use domain::reason::{NodePoolUnfit, PodUnschedulable};
    use lambda::metrics::{Detail, Metrics};

    use super::*;

    fn unschedulable(name: &str, reasons: Vec<NodePoolUnfit>) -> UnschedulablePod {
        let of_pool = |reason| PodUnschedulable::NodePool { node_pool: "default".into(), reason };
        let reasons = reasons.into_iter().map(of_pool).collect();
        UnschedulablePod { pod: PodKey::new("default", name), reasons }
    }

    /// How many pods are recorded as unhostable.
    fn unhostable(unschedulable: Vec<UnschedulablePod>) -> Option<String> {
        let telemetry = Telemetry::new(Metrics::new("Outrigger", Detail::All, "prod"));
        let mut report = ProvisioningReport::default();
        report.plan.unschedulable = unschedulable;
        record_gauges(&telemetry, &report);
        let line = telemetry.metrics().lines(Timestamp::UNIX_EPOCH).remove(0);
        line["outrigger_pods_unhostable_count"].as_f64().map(|count| format!("{count}"))
    }

    #[test]
    fn pods_that_no_node_pool_can_ever_host_are_counted_apart() {
        let never = unschedulable("a", vec![NodePoolUnfit::NoDomain("rack".into())]);
        let for_now = vec![NodePoolUnfit::Static, NodePoolUnfit::NoOffering];
        let for_now = unschedulable("b", for_now);
        assert_eq!(unhostable(vec![never, for_now]), Some("1".to_owned()));
    }
}
