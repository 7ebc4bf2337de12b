//! Logs and metrics of a batch, by Karpenter's names
//! (<https://karpenter.sh/docs/reference/metrics/>).

use controllers::interruption::{ClusterReport, NoticeOutcome};
use domain::Timestamp;
use lambda::{Batch, Telemetry};

use crate::batch::{HandledBatch, HandledMessage, NoticeResult};

/// Records what a batch meant and what was done about it. `ended` is when it had been handled.
pub(crate) fn record_batch(batch: &Batch<'_>, handled: &HandledBatch, ended: Timestamp) {
    for message in &handled.messages {
        record_message(batch, message, ended);
    }
    for report in &handled.clusters {
        record_cluster(&batch.telemetry_of(&report.cluster), report);
    }
}

fn record_message(batch: &Batch<'_>, message: &HandledMessage, ended: Timestamp) {
    let HandledMessage { id, message, outcomes } = message;
    let metrics = batch.telemetry.metrics();
    let kind = message.as_ref().map_or("malformed", |message| message.kind.as_str());
    let labels = [("message_type", kind)];
    metrics.count("karpenter_interruption_received_messages_total", &labels, 1);
    match message {
        Err(error) => tracing::warn!(id, %error, "skipping malformed SQS message"),
        Ok(message) => {
            tracing::debug!(id, kind, notices = message.notices.len(), "received SQS message");
            let queued = ended.duration_since(message.at).as_secs_f64();
            let name = "karpenter_interruption_message_queue_duration_seconds";
            metrics.duration(name, &[], queued);
        }
    }
    for outcome in outcomes {
        record_outcome(batch, kind, outcome);
    }
    if outcomes.iter().all(Result::is_ok) {
        metrics.count("karpenter_interruption_deleted_messages_total", &[], 1);
    }
}

fn record_outcome(batch: &Batch<'_>, kind: &'static str, outcome: &NoticeResult) {
    match outcome {
        Ok(NoticeOutcome::NotOurs) => {}
        Ok(NoticeOutcome::Noted(place)) => {
            let (cluster, claim) = (&place.cluster, &place.claim);
            tracing::info!(%cluster, %claim, kind, "notice recorded");
        }
        Ok(NoticeOutcome::AlreadyGone(place)) => {
            let (cluster, claim) = (&place.cluster, &place.claim);
            tracing::debug!(%cluster, %claim, kind, "instance is already terminating");
        }
        Ok(NoticeOutcome::Ending { place, node_pool, is_news, deadline }) => {
            let (cluster, claim) = (&place.cluster, &place.claim);
            let deadline = deadline.map(tracing::field::display);
            tracing::info!(
                %cluster, %claim, %node_pool, kind, is_news, deadline,
                "terminating interrupted claim"
            );
            if *is_news {
                let telemetry = batch.telemetry_of(cluster);
                let labels = [("reason", "Interrupted")];
                telemetry.metrics().count("karpenter_nodeclaims_disrupted_total", &labels, 1);
            }
        }
        Err(error) => {
            tracing::error!(%error, kind, "failed to store a notice, its message will be retried");
            batch.telemetry.count_error(error);
        }
    }
}

fn record_cluster(telemetry: &Telemetry, report: &ClusterReport) {
    let cluster = &report.cluster;
    for node in &report.tainted {
        tracing::info!(%cluster, %node, "node tainted");
    }
    for ((instance_type, zone), count) in &report.spot_interruptions {
        let labels = [("instance_type", &**instance_type), ("zone", &**zone)];
        let count = usize::try_from(*count).unwrap_or(usize::MAX);
        telemetry.metrics().count("outrigger_spot_interruptions_total", &labels, count);
    }
    if let Some(why) = &report.stopped {
        telemetry.record_stopped(why);
    }
    telemetry.record_problems(&report.problems);
    if let Some(provisioning) = &report.provisioning {
        telemetry.record_launches(&provisioning.resumed, "resumed");
        telemetry.record_launches(&provisioning.launched, "interruption");
        telemetry.record_refused_plan(&provisioning.refused);
        telemetry.record_problems(&provisioning.problems);
    }
    if let Some(lifecycle) = &report.lifecycle {
        for change in &lifecycle.changes {
            tracing::info!(%cluster, claim = %change.claim, change = ?change.what, "claim changed");
        }
        telemetry.record_problems(&lifecycle.problems);
    }
}
