//! Logs and metrics of lifecycle runs.

use controllers::disruption::CommandChange;
use controllers::handback::HandBackReport;
use controllers::interruption::{HealthReport, Unhealthy};
use controllers::lifecycle::{Change, ClaimChange, HeldOrphans, LifecycleReport, Orphan};
use controllers::node_classes::NodeClassReport;
use lambda::Telemetry;
use lambda::metrics::Unit;

/// Spot offerings whose node-hours are counted apart, in one run.
const SPOT_OFFERINGS_MAX: usize = 100;

/// Records which node classes are ready.
pub(crate) fn record_node_classes(telemetry: &Telemetry, report: &NodeClassReport) {
    for (class, why) in &report.not_ready {
        tracing::warn!(%class, %why, "EC2NodeClass is not ready");
    }
    for (class, left) in &report.images_held_back {
        let name = "outrigger_ami_held_back_seconds";
        let labels = [("nodeclass", &**class)];
        telemetry.metrics().gauge(name, &labels, Unit::Seconds, left.as_secs_f64());
    }
    for ((class, zone), count) in &report.free_addresses {
        let labels = [("nodeclass", &**class), ("zone", &**zone)];
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = *count as f64;
        telemetry.metrics().gauge("outrigger_free_addresses", &labels, Unit::Count, count);
    }
    for (class, claims) in &report.held {
        tracing::info!(%class, claims, "deleted EC2NodeClass is still in use");
    }
    for class in &report.released {
        tracing::info!(%class, "EC2NodeClass finalizer removed");
    }
    telemetry.record_problems(&report.problems);
}

/// Records what EC2's status checks led to.
pub(crate) fn record_health(telemetry: &Telemetry, report: &HealthReport) {
    for Unhealthy { claim, instance_id, category } in &report.unhealthy {
        tracing::warn!(
            %claim,
            instance = %instance_id,
            category,
            "instance is impaired or has a scheduled event, terminating its claim"
        );
        let labels = [("category", *category)];
        let name = "karpenter_interruption_instance_status_unhealthy_total";
        telemetry.metrics().count(name, &labels, 1);
    }
    telemetry.record_done("unhealthy", report.unhealthy.len());
    let acted = &report.acted;
    if let Some(provisioning) = &acted.provisioning {
        telemetry.record_refused_plan(&provisioning.refused);
        telemetry.record_launches(&provisioning.resumed, "resumed");
        telemetry.record_launches(&provisioning.launched, "unhealthy");
        telemetry.record_problems(&provisioning.problems);
    }
    if let Some(lifecycle) = &acted.lifecycle {
        record_report(telemetry, lifecycle);
    }
    telemetry.record_problems(&acted.problems);
}

/// Records how claims moved through their lives.
pub(crate) fn record_report(telemetry: &Telemetry, report: &LifecycleReport) {
    for change in &report.changes {
        record_change(telemetry, change);
    }
    for orphan in &report.orphans {
        match orphan {
            Orphan::Instance(id) => {
                tracing::warn!(instance = %id, "orphaned instance terminated");
            }
            Orphan::NodeClaim(name) => tracing::info!(%name, "orphaned NodeClaim removed"),
            Orphan::Node(name) => tracing::info!(%name, "orphaned Node released"),
        }
    }
    for (claim, end) in &report.instance_ends {
        tracing::warn!(%claim, why = %end, "instance is gone");
    }
    telemetry.record_held_back(report.held_back.as_ref());
    telemetry.record_done("orphans", report.orphans.len());
    let held = report.held_orphans.as_ref();
    if let Some(HeldOrphans { instances, why }) = held {
        tracing::error!(count = instances.len(), %why, "instances without a claim are kept");
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let held = held.map_or(0, |own| own.instances.len()) as f64;
    telemetry.metrics().gauge("outrigger_orphans_held", &[], Unit::Count, held);
    telemetry.record_needs_operator(held > 0.0);
    for ((instance_type, capacity_type), count) in &report.instances {
        let labels =
            [("capacity_type", capacity_type.as_str()), ("instance_type", &**instance_type)];
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = *count as f64;
        telemetry.metrics().gauge("outrigger_nodes", &labels, Unit::Count, count);
    }
    for (object, count) in &report.object_warnings {
        let labels = [("kind", object.kind), ("name", &*object.name)];
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = *count as f64;
        telemetry.metrics().gauge("outrigger_object_warnings", &labels, Unit::Count, count);
    }
    let bound_elsewhere = report.bound_elsewhere;
    telemetry.metrics().count("outrigger_pods_bound_elsewhere_total", &[], bound_elsewhere);
    record_spot_uptime(telemetry, report);
    if report.left > 0 {
        tracing::info!(left = report.left, "deadline reached, claims left for the next run");
    }
    telemetry.record_problems(&report.problems);
}

/// Node-hours of spot offerings. Those of the least time beyond the most that have a metric of
/// their own are added up as `other`.
fn record_spot_uptime(telemetry: &Telemetry, report: &LifecycleReport) {
    let mut all: Vec<_> = report.spot_uptime.iter().collect();
    all.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
    for (index, ((instance_type, zone), time)) in all.into_iter().enumerate() {
        let is_own = index < SPOT_OFFERINGS_MAX;
        let instance_type = if is_own { &**instance_type } else { "other" };
        let labels = [("instance_type", instance_type), ("zone", &**zone)];
        let hours = time.as_secs_f64() / 3600.0;
        telemetry.metrics().add("outrigger_spot_node_hours_total", &labels, hours);
    }
}

fn record_change(telemetry: &Telemetry, ClaimChange { claim, what }: &ClaimChange) {
    tracing::info!(%claim, change = ?what, "claim changed");
    let metrics = telemetry.metrics();
    let count = |name| metrics.count(name, &[], 1);
    match what {
        Change::Restored => telemetry.record_done("restored", 1),
        Change::Registered(_) => {
            count("karpenter_nodes_created_total");
            telemetry.record_done("registered", 1);
        }
        Change::Initialized(_) => telemetry.record_done("initialized", 1),
        Change::Ending(reason) => {
            let labels = [("reason", reason.as_str())];
            metrics.count("karpenter_nodeclaims_disrupted_total", &labels, 1);
            telemetry.record_done("ending", 1);
        }
        Change::Evicted(_) => {
            metrics.count("karpenter_pods_eviction_requests_total", &[("code", "201")], 1);
        }
        Change::EvictionBlocked(..) => {
            metrics.count("karpenter_pods_eviction_requests_total", &[("code", "429")], 1);
        }
        Change::RolloutStarted(_) => {
            metrics.count("outrigger_rollouts_total", &[("outcome", "started")], 1);
        }
        Change::RolloutNotPossible(..) => {
            metrics.count("outrigger_rollouts_total", &[("outcome", "fell_back")], 1);
        }
        Change::Drained => count("karpenter_nodes_drained_total"),
        Change::Ended(_) => {
            count("karpenter_nodeclaims_terminated_total");
            count("karpenter_nodes_terminated_total");
            telemetry.record_done("ended", 1);
        }
        // In the log only: there is nothing to count.
        _ => {}
    }
}

/// Records what was handed back to Karpenter, and what is left.
pub(crate) fn record_hand_back(telemetry: &Telemetry, report: &HandBackReport) {
    for CommandChange { command, nodes, what, .. } in &report.disruption.changes {
        let nodes = nodes.join(",");
        tracing::info!(%command, nodes, event = ?what, "disruption command changed");
    }
    record_report(telemetry, &report.lifecycle);
    for claim in &report.handed_back {
        tracing::info!(%claim, "claim handed back");
    }
    for left in &report.left {
        tracing::info!(claim = %left.claim, why = %left.why, "claim not handed back yet");
    }
    telemetry.record_done("handedBack", report.handed_back.len());
    telemetry.record_problems(&report.disruption.problems);
    telemetry.record_problems(&report.problems);
}

#[cfg(test)]
mod tests {
    use domain::{SignedDuration, Timestamp};
    use lambda::metrics::{Detail, Metrics};

    use super::*;

    #[test]
    fn node_hours_of_spot_offerings_count_apart_up_to_a_bound() {
        let telemetry = Telemetry::new(Metrics::new("Outrigger", Detail::All, "prod"));
        let mut report = LifecycleReport::default();
        for index in 0..SPOT_OFFERINGS_MAX + 20 {
            let hours = if index == 7 { 12 } else { 3 };
            let offering = (format!("m{index}.large").into(), "us-east-1a".into());
            report.spot_uptime.insert(offering, SignedDuration::from_hours(hours));
        }
        record_spot_uptime(&telemetry, &report);
        let lines = telemetry.metrics().lines(Timestamp::UNIX_EPOCH);
        assert_eq!(lines.len(), SPOT_OFFERINGS_MAX + 1);
        let hours = |instance_type: &str| {
            let line = lines.iter().find(|line| line["instance_type"] == instance_type).unwrap();
            assert_eq!(line["zone"], "us-east-1a");
            line["outrigger_spot_node_hours_total"].as_f64().unwrap()
        };
        assert!((hours("m7.large") - 12.0).abs() < 1e-9);
        assert!((hours("other") - 60.0).abs() < 1e-9);
    }
}
