//! Function `provisioning`: pending pods get nodes. Wakes every minute for each cluster; in `watch` mode it
//! stays until just before the next tick, and acts within the batching window.

use controllers::launch::{LaunchReport, LaunchResult};
use controllers::provisioning::watch::watch;
use controllers::provisioning::{ProvisioningReport, provision};
use controllers::steps::schedule::Scaling;
use domain::plan::Totals;
use lambda::metrics::Unit;
use lambda::{Failure, Reaction, Tick};

/// The function's name.
pub const NAME: &str = "provisioning";

/// One invocation.
pub async fn run(tick: &Tick<'_>) -> Result<(), Failure> {
    let (ports, terms) = (tick.adapters().await?, tick.run()?);
    let tell = |result| tick.round(result, |report| told(tick, report));
    match tick.reaction {
        Reaction::Watch => Box::pin(watch(&*ports, &terms, tell)).await,
        Reaction::Poll => tell(Box::pin(provision(&*ports, &terms)).await),
    }
    Ok(())
}

fn told(tick: &Tick<'_>, report: &ProvisioningReport) {
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
        tracing::info!(pod = %pod.pod, reasons = reasons.join("; "), "a pod has no place");
    }
    tick.refused(&report.refused);
    for (claim, why) in &report.not_created {
        tracing::warn!(%claim, %why, "a planned claim was not written");
    }
    for scaling in &report.scaled {
        let Scaling { workload, schedule: (schedule, _), from, to } = scaling;
        tracing::info!(%workload, %schedule, from, to, "scaled as a PrewarmSchedule wants it");
        tick.done("scaled", 1);
    }
    launches(tick, &report.resumed, "resumed");
    launches(tick, &report.launched, "provisioned");
    tick.problems(&report.problems);
    let count = |name, count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        tick.metrics.gauge(name, &[], Unit::Count, count as f64);
    };
    count("karpenter_scheduler_unschedulable_pods_count", plan.unschedulable.len());
    let pending = usize::try_from(plan.totals.pending_pods).unwrap_or(usize::MAX);
    count("karpenter_scheduler_queue_depth", pending);
    let wait = report.longest_wait.unwrap_or_default().as_secs_f64();
    tick.metrics.gauge("outrigger_pods_wait_longest_seconds", &[], Unit::Seconds, wait);
    costs(tick, &plan.totals);
}

fn costs(tick: &Tick<'_>, totals: &Totals) {
    let gauge = |name, hourly: f64| tick.metrics.gauge(name, &[], Unit::None, hourly);
    let (before, after) = (totals.hourly_before.to_f64(), totals.hourly_after.to_f64());
    gauge("outrigger_cluster_cost_hourly_usd", after);
    gauge("outrigger_launch_hourly_usd", (after - before).max(0.0));
    if let Some(bound) = totals.lower_bound {
        gauge("outrigger_launch_lower_bound_hourly_usd", bound.to_f64());
    }
}

/// Launches, told to logs and metrics. `reason` is why claims were made.
pub fn launches(tick: &Tick<'_>, report: &LaunchReport, reason: &str) {
    for launch in &report.launches {
        let (claim, pool) = (&launch.claim, ("nodepool", &*launch.node_pool));
        match &launch.result {
            LaunchResult::Launched(instance) => {
                tracing::info!(%claim, instance = %instance.id, instance_type = %instance.instance_type, zone = %instance.zone, capacity_type = %instance.capacity_type, pods = launch.pods.len(), "launched");
                let labels = [pool, ("reason", reason)];
                tick.metrics.count("karpenter_nodeclaims_created_total", &labels, 1);
                tick.done("launched", 1);
            }
            LaunchResult::GaveUp(why) => {
                tracing::warn!(%claim, ?why, "a launch was given up: its pods are planned for again");
                tick.metrics.count(
                    "karpenter_cloudprovider_instance_launch_failures_total",
                    &[pool],
                    1,
                );
                tick.done("gaveUp", 1);
            }
            LaunchResult::WillRetry(error) => tick.problem(&format!("launch {claim}"), error),
            LaunchResult::ClaimGone => tick.done("claimGone", 1),
        }
    }
    tick.problems(&report.problems);
}
