//! Logs and figures of a batch, by Karpenter's names (reference E11).

use controllers::interruption::{ClusterReport, NoticeOutcome};
use controllers::launch::{LaunchReport, LaunchResult};
use controllers::ports::PortError;
use domain::{Text, Timestamp};

use crate::{Outcome, Received};

/// Something measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The cluster it is about, where it is about one.
    pub cluster: Option<Text>,
    /// The metric's name.
    pub name: &'static str,
    /// Its labels.
    pub labels: Vec<(&'static str, Text)>,
    /// How much.
    pub amount: Amount,
}

/// How much of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many more.
    Count(usize),
    /// It took so many seconds.
    Seconds(f64),
}

impl Figure {
    fn count(cluster: Option<&Text>, name: &'static str, labels: &[(&'static str, &str)]) -> Self {
        let labels = labels.iter().map(|(key, value)| (*key, (*value).into())).collect();
        Self { cluster: cluster.cloned(), name, labels, amount: Amount::Count(1) }
    }
}

/// Tells what came of a message.
pub(crate) fn message(
    received: &Received<'_>,
    outcomes: &[Outcome],
    now: Timestamp,
    figures: &mut Vec<Figure>,
) {
    let id = received.id;
    let kind = received.message.as_ref().map_or("malformed", |message| message.kind.as_str());
    let labels = [("message_type", kind)];
    figures.push(Figure::count(None, "karpenter_interruption_received_messages_total", &labels));
    match &received.message {
        Err(error) => tracing::warn!(id, %error, "a message makes no sense: it is passed over"),
        Ok(message) => {
            tracing::debug!(id, kind, notices = message.notices.len(), "a message");
            figures.push(Figure {
                cluster: None,
                name: "karpenter_interruption_message_queue_duration_seconds",
                labels: Vec::new(),
                amount: Amount::Seconds(now.duration_since(message.at).as_secs_f64()),
            });
        }
    }
    for outcome in outcomes {
        tell_outcome(kind, outcome, figures);
    }
    if outcomes.iter().all(Result::is_ok) {
        figures.push(Figure::count(None, "karpenter_interruption_deleted_messages_total", &[]));
    }
}

fn tell_outcome(kind: &'static str, outcome: &Outcome, figures: &mut Vec<Figure>) {
    match outcome {
        Ok(NoticeOutcome::NotOurs) => {}
        Ok(NoticeOutcome::Noted(place)) => {
            tracing::info!(cluster = %place.cluster, claim = %place.claim, kind, "noted");
        }
        Ok(NoticeOutcome::AlreadyGone(place)) => {
            tracing::debug!(cluster = %place.cluster, claim = %place.claim, kind, "its instance was being ended already");
        }
        Ok(NoticeOutcome::Ending { place, node_pool, is_news, deadline }) => {
            let deadline = deadline.map(tracing::field::display);
            tracing::info!(cluster = %place.cluster, claim = %place.claim, %node_pool, kind, is_news, deadline, "a claim ends");
            if *is_news {
                let labels = [("reason", "Interrupted")];
                let name = "karpenter_nodeclaims_disrupted_total";
                figures.push(Figure::count(Some(&place.cluster), name, &labels));
            }
        }
        Err(error) => {
            tracing::error!(%error, kind, "what a message means could not be stored: it comes back");
            figures.push(failed(None, error));
        }
    }
}

fn failed(cluster: Option<&Text>, error: &PortError) -> Figure {
    Figure::count(cluster, "outrigger_errors_total", &[("kind", error.kind.label())])
}

/// Tells what was done in a cluster.
pub(crate) fn cluster(report: &ClusterReport, figures: &mut Vec<Figure>) {
    let cluster = &report.cluster;
    for node in &report.tainted {
        tracing::info!(%cluster, %node, "a node takes no more pods");
    }
    let mut problems: Vec<_> = report.problems.0.iter().collect();
    if let Some(provisioning) = &report.provisioning {
        launches(cluster, &provisioning.resumed, "resumed", figures);
        launches(cluster, &provisioning.launched, "interruption", figures);
        for violation in &provisioning.refused {
            tracing::error!(%cluster, %violation, "a plan was refused by its check");
        }
        if !provisioning.refused.is_empty() {
            figures.push(Figure::count(Some(cluster), "outrigger_plans_refused_total", &[]));
        }
        problems.extend(&provisioning.problems.0);
        problems.extend(&provisioning.resumed.problems.0);
        problems.extend(&provisioning.launched.problems.0);
    }
    if let Some(lifecycle) = &report.lifecycle {
        for change in &lifecycle.changes {
            tracing::info!(%cluster, claim = %change.claim, change = ?change.what, "a claim changed");
        }
        problems.extend(&lifecycle.problems.0);
    }
    for problem in problems {
        let (doing, error) = (&problem.doing, &problem.error);
        tracing::warn!(%cluster, %doing, %error, "something did not work: the next tick does it");
        figures.push(failed(Some(cluster), error));
    }
}

fn launches(
    cluster: &Text,
    report: &LaunchReport,
    reason: &'static str,
    figures: &mut Vec<Figure>,
) {
    for launch in &report.launches {
        let (claim, pool) = (&launch.claim, ("nodepool", &*launch.node_pool));
        match &launch.result {
            LaunchResult::Launched(instance) => {
                tracing::info!(%cluster, %claim, instance = %instance.id, instance_type = %instance.instance_type, zone = %instance.zone, capacity_type = %instance.capacity_type, pods = launch.pods.len(), "launched");
                let labels = [pool, ("reason", reason)];
                let name = "karpenter_nodeclaims_created_total";
                figures.push(Figure::count(Some(cluster), name, &labels));
            }
            LaunchResult::GaveUp(why) => {
                tracing::warn!(%cluster, %claim, ?why, "a launch was given up: its pods are planned for again");
                let name = "karpenter_cloudprovider_instance_launch_failures_total";
                figures.push(Figure::count(Some(cluster), name, &[pool]));
            }
            LaunchResult::WillRetry(error) => {
                tracing::warn!(%cluster, %claim, %error, "a launch is asked for again");
                figures.push(failed(Some(cluster), error));
            }
            LaunchResult::ClaimGone => {}
        }
    }
}
