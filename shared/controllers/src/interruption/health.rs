//! Instances that EC2's own checks find impaired, and events that EC2 has scheduled.
//!
//! No queue brings them: whoever looks after a cluster asks once a minute. A check that has failed for two
//! minutes ends the node by force, since whatever it runs is not to be waited for; an event that is scheduled
//! drains it ahead of its date.
//!
//! Source: reference E10; Karpenter `pkg/providers/instancestatus`.

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

/// A check that fails may pass again within so long.
const IMPAIRED_FOR: SignedDuration = SignedDuration::from_mins(2);

/// What came of a look at EC2's checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct HealthReport {
    /// Claims whose end was decided for it, with what was wrong.
    pub unhealthy: Vec<Unhealthy>,
    /// What was done about them.
    pub acted: ClusterReport,
}

/// A claim whose instance is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhealthy {
    /// The claim.
    pub claim: Text,
    /// Its instance.
    pub instance_id: Text,
    /// `InstanceStatus`, `SystemStatus` or `EventStatus`.
    pub category: &'static str,
}

/// Asks EC2 how instances are, and ends the claims of those that are impaired or are to be changed. An error
/// means that EC2 or the store could not be asked.
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
            let doing = || format!("end claim {claim}");
            let Some(mut marked) = report.acted.problems.note(doing, marked) else { continue };
            report.acted.problems.0.append(&mut marked.problems.0);
            events.append(&mut marked.events);
            // Asked every minute: what was marked before is in the hands of lifecycle.
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

/// What a status comes to, with its category.
fn notices(status: &InstanceStatus, now: Timestamp) -> Vec<(Notice, &'static str)> {
    let notice = |kind| Notice { instance_id: status.instance_id.clone(), at: now, kind };
    let is_due = |since: &Timestamp| now.duration_since(*since) >= IMPAIRED_FOR;
    let checks = status
        .impaired
        .iter()
        .filter(|(_, since)| is_due(since))
        .map(|(check, _)| (notice(NoticeKind::Impaired), category(*check)));
    // Of several events the first counts.
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
