//! Status checks and scheduled events of instances.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html>.

use std::collections::BTreeMap;

use aws::budget::Bucket;
use aws::calls::from_aws_time;
use aws_sdk_ec2::types::{
    EventCode, Filter, InstanceStatus as Described, InstanceStatusEvent, InstanceStatusSummary,
    StatusType, SummaryStatus,
};
use controllers::ports::PortError;
use controllers::ports::cloud::{InstanceStatus, StatusCheck};
use domain::{Text, Timestamp};

use super::client::Ec2;
use super::filter::filter;
use crate::calls::ec2;

/// The most statuses on a page.
const STATUSES_A_PAGE: i32 = 1000;
/// Scheduled events that interrupt the pods of an instance.
const EVENTS: [EventCode; 5] = [
    EventCode::InstanceReboot,
    EventCode::SystemReboot,
    EventCode::SystemMaintenance,
    EventCode::InstanceRetirement,
    EventCode::InstanceStop,
];
/// The prefixes of descriptions of events that are over or cancelled.
const OVER: [&str; 2] = ["[Completed]", "[Canceled]"];

impl Ec2 {
    /// All instances that fail a status check or have a scheduled event. Filters of one call must
    /// all match, so each kind is a call of its own.
    pub(super) async fn failing_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        let impaired = SummaryStatus::Impaired;
        let sorts = [
            filter("instance-status.status", [impaired.as_str()]),
            filter("system-status.status", [impaired.as_str()]),
            filter("event.code", EVENTS.iter().map(EventCode::as_str)),
        ];
        let mut all: BTreeMap<Text, InstanceStatus> = BTreeMap::new();
        for sort in sorts {
            for described in self.statuses(sort).await? {
                if let Some(status) = status(&described) {
                    all.insert(status.instance_id.clone(), status);
                }
            }
        }
        Ok(all.into_values().collect())
    }

    async fn statuses(&self, sort: Filter) -> Result<Vec<Described>, PortError> {
        let pages = self
            .calls
            .ec2
            .describe_instance_status()
            .filters(sort)
            .into_paginator()
            .page_size(STATUSES_A_PAGE)
            .send();
        let pages =
            self.calls.pages(Bucket::Describe, ec2("DescribeInstanceStatus"), pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.instance_statuses.unwrap_or_default()).collect())
    }
}

/// The status in a description; `None` where nothing is wrong.
fn status(described: &Described) -> Option<InstanceStatus> {
    let instance = failed_since(described.instance_status());
    let system = failed_since(described.system_status());
    let impaired: Vec<_> = instance
        .map(|since| (StatusCheck::Instance, since))
        .into_iter()
        .chain(system.map(|since| (StatusCheck::System, since)))
        .collect();
    let scheduled: Vec<_> =
        described.events().iter().filter(|event| is_ahead(event)).map(begins).collect();
    (!impaired.is_empty() || !scheduled.is_empty()).then_some(InstanceStatus {
        instance_id: described.instance_id()?.into(),
        impaired,
        scheduled,
    })
}

/// Since when a check has failed; `None` where EC2 gives no time, as when it has just begun to
/// fail.
fn failed_since(summary: Option<&InstanceStatusSummary>) -> Option<Timestamp> {
    summary?
        .details()
        .iter()
        .filter(|details| details.status() == Some(&StatusType::Failed))
        .filter_map(|details| details.impaired_since().and_then(from_aws_time))
        .min()
}

fn is_ahead(event: &InstanceStatusEvent) -> bool {
    let is_of_ours = event.code().is_some_and(|code| EVENTS.contains(code));
    let description = event.description().unwrap_or_default();
    is_of_ours && !OVER.iter().any(|over| description.starts_with(over))
}

fn begins(event: &InstanceStatusEvent) -> Option<Timestamp> {
    event.not_before().and_then(from_aws_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::primitives::DateTime;
    use aws_sdk_ec2::types::{InstanceStatusDetails, StatusName};

    fn check(status: StatusType, since: Option<i64>) -> InstanceStatusSummary {
        let details = InstanceStatusDetails::builder()
            .name(StatusName::Reachability)
            .status(status)
            .set_impaired_since(since.map(DateTime::from_secs));
        InstanceStatusSummary::builder()
            .status(SummaryStatus::Impaired)
            .details(details.build())
            .build()
    }

    fn event(code: EventCode, description: &str) -> InstanceStatusEvent {
        InstanceStatusEvent::builder()
            .code(code)
            .description(description)
            .not_before(DateTime::from_secs(1_700_000_000))
            .build()
    }

    #[test]
    fn a_check_counts_from_when_it_began_to_fail() {
        let described = Described::builder()
            .instance_id("i-1")
            .instance_status(check(StatusType::Passed, Some(1_600_000_000)))
            .system_status(check(StatusType::Failed, Some(1_700_000_000)))
            .build();
        let since = Timestamp::from_second(1_700_000_000).unwrap();
        assert_eq!(status(&described).unwrap().impaired, [(StatusCheck::System, since)]);
        let new = check(StatusType::Failed, None);
        assert_eq!(
            status(&Described::builder().instance_id("i-1").system_status(new).build()),
            None
        );
    }

    #[test]
    fn an_event_counts_until_it_is_over_or_called_off() {
        let described = |description: &str| {
            let event = event(EventCode::InstanceRetirement, description);
            status(&Described::builder().instance_id("i-1").events(event).build())
        };
        let ahead = described("The instance is running on degraded hardware").unwrap();
        assert_eq!(ahead.scheduled, [Timestamp::from_second(1_700_000_000).ok()]);
        assert_eq!(described("[Completed] The instance is running on degraded hardware"), None);
        assert_eq!(described("[Canceled] The instance is running on degraded hardware"), None);
    }
}
