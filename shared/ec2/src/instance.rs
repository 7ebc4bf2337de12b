//! Instances: listed by tag, described by id.

use std::collections::{BTreeMap, BTreeSet};

use aws::budget::Bucket;
use aws::calls::from_aws_time;
use aws_sdk_ec2::types::{Filter, Instance as Described, InstanceLifecycleType, InstanceStateName};
use controllers::ports::cloud::{Instance, InstanceEnd, InstanceState};
use controllers::ports::{ErrorKind, PortError};
use domain::instance_type::CapacityType;
use domain::label;
use domain::{Text, Timestamp};

use super::client::Ec2;
use super::filter::filter;
use super::tags;
use crate::calls::ec2;

/// The most instances on a page.
const INSTANCES_A_PAGE: i32 = 1000;
/// The most values of a filter.
const FILTER_VALUES_MAX: usize = 200;
/// All instance states but `terminated`.
const STATES: [&str; 5] = ["pending", "running", "stopping", "stopped", "shutting-down"];
/// States of instances that have ended or are about to.
const ENDED: [&str; 2] = ["shutting-down", "terminated"];
/// Every instance that Karpenter or Outrigger launched has one of these tags. Those of managed node
/// groups, which bear the cluster's name too, have none.
const LAUNCHED_BY_US: [&str; 3] = [tags::CLAIM, label::NODE_POOL, label::NODE_CLASS];

impl Ec2 {
    /// All instances of the cluster that are not terminated.
    pub(super) async fn list_instances(&self) -> Result<Vec<Instance>, PortError> {
        let cluster = tags::owned_by(&self.cluster.name);
        self.find_instances(vec![
            filter(format!("tag:{cluster}"), ["owned"]),
            filter("tag-key", LAUNCHED_BY_US),
            filter("instance-state-name", STATES),
        ])
        .await
    }

    /// The instance that was launched for a claim, unless it is terminated; the oldest of several.
    pub(super) async fn instance_of_claim(&self, uid: &str) -> Result<Option<Instance>, PortError> {
        let found = self
            .find_instances(vec![
                filter(format!("tag:{}", tags::CLAIM_UID), [uid]),
                filter("instance-state-name", STATES),
            ])
            .await?;
        Ok(found.into_iter().min_by(|a, b| (a.launched, &a.id).cmp(&(b.launched, &b.id))))
    }

    /// Why instances ended, as long as EC2 shows them: about an hour.
    pub(super) async fn describe_ends(
        &self,
        ids: &[Text],
    ) -> Result<BTreeMap<Text, InstanceEnd>, PortError> {
        let mut ends = BTreeMap::new();
        for ids in ids.chunks(FILTER_VALUES_MAX) {
            let ids = filter("instance-id", ids.iter().map(ToString::to_string));
            let found = self.describe(vec![ids, filter("instance-state-name", ENDED)]).await?;
            ends.extend(found.iter().filter_map(|own| {
                let reason = own.state_reason()?;
                let end = InstanceEnd {
                    code: reason.code().unwrap_or("unknown").into(),
                    message: reason.message().unwrap_or_default().into(),
                };
                Some((own.instance_id()?.into(), end))
            }));
        }
        Ok(ends)
    }

    async fn find_instances(&self, filters: Vec<Filter>) -> Result<Vec<Instance>, PortError> {
        let described = self.describe(filters).await?;
        let mut instances: Vec<Instance> = described.iter().filter_map(instance).collect();
        instances.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(instances)
    }

    async fn describe(&self, filters: Vec<Filter>) -> Result<Vec<Described>, PortError> {
        let pages = self
            .calls
            .ec2
            .describe_instances()
            .set_filters(Some(filters))
            .into_paginator()
            .page_size(INSTANCES_A_PAGE)
            .send();
        let pages = self.calls.pages(Bucket::Describe, ec2("DescribeInstances"), pages).await?;
        let described = pages
            .iter()
            .flat_map(|page| page.reservations())
            .flat_map(|reservation| reservation.instances());
        Ok(described.cloned().collect())
    }

    /// Those of the ids that EC2 shows and that are not terminated.
    pub(super) async fn shown(&self, ids: &[&Text]) -> Result<BTreeSet<Text>, PortError> {
        let mut shown = BTreeSet::new();
        for ids in ids.chunks(FILTER_VALUES_MAX) {
            let ids = filter("instance-id", ids.iter().map(ToString::to_string));
            let found =
                self.find_instances(vec![ids, filter("instance-state-name", STATES)]).await?;
            shown.extend(found.into_iter().map(|own| own.id));
        }
        Ok(shown)
    }

    /// Instances by id. One that EC2 does not know yet, as happens right after a launch, is left
    /// out, and so are all where the call fails.
    pub(super) async fn described(&self, ids: &[Text]) -> BTreeMap<Text, Instance> {
        let mut all = BTreeMap::new();
        for ids in ids.chunks(FILTER_VALUES_MAX) {
            // By filter, not by id: an unknown id would fail the whole call.
            let ids = ids.iter().map(|id| id.to_string());
            match self.find_instances(vec![filter("instance-id", ids)]).await {
                Ok(found) => all.extend(found.into_iter().map(|own| (own.id.clone(), own))),
                Err(error) => tracing::debug!(%error, "failed to describe launched instances"),
            }
        }
        all
    }
}

/// The instance in a description; `None` for one without id, type or zone.
pub(super) fn instance(described: &Described) -> Option<Instance> {
    let id: Text = described.instance_id()?.into();
    let zone: Text = described.placement()?.availability_zone()?.into();
    let tag = |key| tags::value(described.tags(), key).map(Text::from);
    // An instance may also run in an open reservation that nobody chose for it: only one that
    // targets its reservation is of capacity type `reserved`.
    let targets = described
        .capacity_reservation_specification()
        .is_some_and(|own| own.capacity_reservation_target().is_some());
    let reservation = described.capacity_reservation_id().filter(|_| targets).map(Text::from);
    let capacity_type = match described.instance_lifecycle() {
        Some(InstanceLifecycleType::Spot) => CapacityType::Spot,
        _ if reservation.is_some() => CapacityType::Reserved,
        _ => CapacityType::OnDemand,
    };
    Some(Instance {
        provider_id: provider_id(&zone, &id),
        instance_type: described.instance_type()?.as_str().into(),
        capacity_type,
        reservation_id: reservation,
        price: None,
        image_id: described.image_id().unwrap_or_default().into(),
        launched: described.launch_time().and_then(from_aws_time).unwrap_or(Timestamp::UNIX_EPOCH),
        state: described
            .state()
            .and_then(|state| state.name())
            .map_or(InstanceState::Pending, state),
        claim: tag(tags::CLAIM),
        claim_uid: tag(tags::CLAIM_UID),
        installation: tag(tags::INSTALLATION),
        node_pool: tag(label::NODE_POOL),
        id,
        zone,
    })
}

/// The provider id of its Node.
pub(super) fn provider_id(zone: &str, id: &str) -> Text {
    format!("aws:///{zone}/{id}").into()
}

pub(super) fn state(name: &InstanceStateName) -> InstanceState {
    match name {
        InstanceStateName::Running => InstanceState::Running,
        InstanceStateName::Stopping => InstanceState::Stopping,
        InstanceStateName::Stopped => InstanceState::Stopped,
        InstanceStateName::ShuttingDown => InstanceState::ShuttingDown,
        InstanceStateName::Terminated => InstanceState::Terminated,
        _ => InstanceState::Pending,
    }
}

/// The error of a claim that an earlier call may have launched, and whose instance EC2 does not
/// show yet.
pub(super) fn not_visible_yet(uid: &str) -> PortError {
    let message = format!("EC2 may have an instance for token {uid}, and does not show it yet");
    PortError::new(ErrorKind::Unavailable, "CreateFleet", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::primitives::DateTime;
    use aws_sdk_ec2::types::{
        CapacityReservationSpecificationResponse, CapacityReservationTargetResponse,
        InstanceState as AwsState, InstanceType, Placement, Tag,
    };

    fn described() -> aws_sdk_ec2::types::builders::InstanceBuilder {
        Described::builder()
            .instance_id("i-1")
            .instance_type(InstanceType::M5Large)
            .image_id("ami-1")
            .launch_time(DateTime::from_secs(1_700_000_000))
            .placement(Placement::builder().availability_zone("eu-west-1a").build())
            .state(AwsState::builder().name(InstanceStateName::Running).build())
            .tags(Tag::builder().key(tags::CLAIM).value("default-1").build())
    }

    #[test]
    fn an_instance_says_whose_it_is_and_how_it_is_bought() {
        let on_demand = instance(&described().build()).unwrap();
        assert_eq!(&*on_demand.provider_id, "aws:///eu-west-1a/i-1");
        assert_eq!(on_demand.capacity_type, CapacityType::OnDemand);
        assert_eq!(on_demand.claim.as_deref(), Some("default-1"));
        assert_eq!(on_demand.launched.as_second(), 1_700_000_000);
        let spot = described().instance_lifecycle(InstanceLifecycleType::Spot).build();
        assert_eq!(instance(&spot).unwrap().capacity_type, CapacityType::Spot);
        let target = CapacityReservationTargetResponse::builder().capacity_reservation_id("cr-1");
        let specification = CapacityReservationSpecificationResponse::builder()
            .capacity_reservation_target(target.build())
            .build();
        let in_reservation = described().capacity_reservation_id("cr-1");
        let open = instance(&in_reservation.clone().build()).unwrap();
        assert_eq!((open.capacity_type, open.reservation_id), (CapacityType::OnDemand, None));
        let targeted = in_reservation.capacity_reservation_specification(specification);
        let reserved = instance(&targeted.build()).unwrap();
        assert_eq!(reserved.capacity_type, CapacityType::Reserved);
        assert_eq!(reserved.reservation_id.as_deref(), Some("cr-1"));
    }

    #[test]
    fn a_description_without_a_zone_is_no_instance_yet() {
        assert_eq!(instance(&Described::builder().instance_id("i-1").build()), None);
    }
}
