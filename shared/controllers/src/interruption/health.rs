//! Instances that fail EC2's status checks or have a scheduled event.
//!
//! No queue delivers them: lifecycle polls once a minute. A check that has failed for two minutes
//! ends the node without a drain; a scheduled event drains the node before its date.
//!
//! Source: Karpenter `pkg/providers/instancestatus`.

use std::collections::{BTreeMap, BTreeSet};

use domain::{SignedDuration, Text, Timestamp};
use futures_util::future::join_all;

use super::mark::{CLAIMS_CONCURRENCY_MAX, mark};
use super::notice::{Notice, NoticeKind};
use super::react::act;
use super::report::ClusterReport;
use crate::ports::cloud::{InstanceStatus, StatusCheck};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, Cloud, Ports};
use crate::run::Run;

/// How long a check must fail: it may recover within this time.
const IMPAIRED_FOR: SignedDuration = SignedDuration::from_mins(2);

/// The result of polling EC2's status checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct HealthReport {
    /// Claims that were marked as ending because of a status, with what is wrong.
    pub unhealthy: Vec<Unhealthy>,
    /// What was done about them.
    pub acted: ClusterReport,
}

/// A claim whose instance is impaired or has a scheduled event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhealthy {
    /// The claim.
    pub claim: Text,
    /// Its instance.
    pub instance_id: Text,
    /// `InstanceStatus`, `SystemStatus` or `EventStatus`.
    pub category: &'static str,
}

/// Polls EC2's instance statuses, and ends the claims of instances that are impaired or have a
/// scheduled event.
///
/// # Errors
///
/// When EC2 or the claim store did not respond.
pub async fn check_health<P: Ports>(ports: &P, run: &Run<'_>) -> Result<HealthReport, PortError> {
    let mut report = HealthReport::default();
    report.acted.cluster = run.cluster.into();
    let statuses = ports.cloud().instance_statuses().await?;
    let now = ports.clock().now();
    let found: BTreeMap<Text, Vec<(Notice, &'static str)>> = statuses
        .iter()
        .map(|status| (status.instance_id.clone(), notices(status, now)))
        .filter(|(_, notices)| !notices.is_empty())
        .collect();
    if found.is_empty() {
        return Ok(report);
    }
    let claims = ports.store().claims().await?;
    let ours: Vec<_> = claims
        .iter()
        .filter_map(|claim| {
            let id = &claim.record.instance.as_ref()?.id;
            Some((&claim.record.claim.name, found.get(id)?))
        })
        .collect();
    let mut urgent = BTreeSet::new();
    let mut events = Vec::new();
    for batch in ours.chunks(CLAIMS_CONCURRENCY_MAX) {
        let marked = join_all(batch.iter().map(|(claim, notices)| {
            mark(ports.store(), now, claim, notices.iter().map(|(notice, _)| notice).collect())
        }))
        .await;
        for ((claim, notices), marked) in batch.iter().zip(marked) {
            let operation = || format!("end claim {claim}");
            let Some(mut marked) = report.acted.problems.record(operation, marked) else {
                continue;
            };
            report.acted.problems.0.append(&mut marked.problems.0);
            events.append(&mut marked.events);
            // Statuses are polled every minute: lifecycle is already ending what an earlier poll
            // marked.
            if marked.is_news {
                urgent.insert(Text::clone(claim));
                report.unhealthy.extend(notices.iter().map(|(notice, category)| Unhealthy {
                    claim: Text::clone(claim),
                    instance_id: notice.instance_id.clone(),
                    category,
                }));
            }
        }
    }
    act(ports, run, &urgent, &events, &mut report.acted).await;
    Ok(report)
}

/// The notices that follow from a status, with their category.
fn notices(status: &InstanceStatus, now: Timestamp) -> Vec<(Notice, &'static str)> {
    let notice = |kind| Notice { instance_id: status.instance_id.clone(), at: now, kind };
    let is_due = |since: &Timestamp| now.duration_since(*since) >= IMPAIRED_FOR;
    let checks = status
        .impaired
        .iter()
        .filter(|(_, since)| is_due(since))
        .map(|(check, _)| (notice(NoticeKind::Impaired), category(*check)));
    // The earliest of several events counts.
    let event = (!status.scheduled.is_empty()).then(|| {
        let starts = status.scheduled.iter().flatten().min().copied();
        (notice(NoticeKind::ScheduledChange { starts }), "EventStatus")
    });
    checks.chain(event).collect()
}

const fn category(check: StatusCheck) -> &'static str {
    match check {
        StatusCheck::Instance => "InstanceStatus",
        StatusCheck::System => "SystemStatus",
    }
}
