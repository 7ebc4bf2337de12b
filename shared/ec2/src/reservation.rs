//! Capacity reservations: those that a node class selects, and their remaining capacity.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/#speccapacityreservationselectorterms>.

use std::collections::BTreeMap;

use aws::budget::Bucket;
use aws::calls::from_aws_time;
use aws_sdk_ec2::types::{CapacityReservation, CapacityReservationType, Filter};
use controllers::ports::{ErrorKind, PortError};
use controllers::status::ReservationStatus;
use domain::node_class::{ResolvedCapacityReservation, SelectorTerm};
use domain::{SignedDuration, Text, Timestamp};

use super::client::Ec2;
use super::filter::{filter, tag_filters};
use crate::calls::ec2;

/// How long before its end a capacity block is expiring: it gets no new instances, and the existing
/// ones are replaced.
const BLOCK_EXPIRY_MARGIN: SignedDuration = SignedDuration::from_mins(40);
const RESERVATIONS_A_PAGE: i32 = 500;

impl Ec2 {
    /// The active reservations that the terms select, by id.
    pub(super) async fn select_reservations(
        &self,
        terms: &[SelectorTerm],
        now: Timestamp,
    ) -> Result<Vec<ReservationStatus>, PortError> {
        let mut found = BTreeMap::new();
        for term in terms {
            let filters = term_filters(term);
            let ids = term.id.iter().map(ToString::to_string).collect();
            let reservations = match self.reservations(ids, filters).await {
                Err(error) if error.kind == ErrorKind::NotFound => Vec::new(),
                answer => answer?,
            };
            for own in reservations.iter().filter_map(|own| reservation(own, now)) {
                found.insert(own.reservation.id.clone(), own);
            }
        }
        Ok(found.into_values().collect())
    }

    /// How many instances each reservation has left; ended ones have none.
    pub(super) async fn reservations_remaining(
        &self,
        ids: &[&Text],
    ) -> Result<BTreeMap<Text, u32>, PortError> {
        let mut remaining: BTreeMap<Text, u32> = ids.iter().map(|id| ((*id).clone(), 0)).collect();
        let wanted = ids.iter().map(ToString::to_string).collect();
        let found = match self.reservations(wanted, Vec::new()).await {
            // One unknown id fails the whole call: describe each by itself.
            Err(error) if error.kind == ErrorKind::NotFound => {
                let mut found = Vec::new();
                for id in ids {
                    match self.reservations(vec![id.to_string()], Vec::new()).await {
                        Err(error) if error.kind == ErrorKind::NotFound => {}
                        answer => found.extend(answer?),
                    }
                }
                found
            }
            answer => answer?,
        };
        for own in found {
            let left = own.available_instance_count().and_then(|left| u32::try_from(left).ok());
            if let Some((id, left)) = own.capacity_reservation_id().zip(left) {
                remaining.insert(id.into(), left);
            }
        }
        Ok(remaining)
    }

    async fn reservations(
        &self,
        ids: Vec<String>,
        mut filters: Vec<Filter>,
    ) -> Result<Vec<CapacityReservation>, PortError> {
        filters.push(filter("state", ["active"]));
        let pages = self
            .calls
            .ec2
            .describe_capacity_reservations()
            // EC2 accepts ids only without a page size.
            .set_max_results(ids.is_empty().then_some(RESERVATIONS_A_PAGE))
            .set_capacity_reservation_ids((!ids.is_empty()).then_some(ids))
            .set_filters(Some(filters))
            .into_paginator()
            .send();
        let action = ec2("DescribeCapacityReservations");
        let pages = self.calls.pages(Bucket::Describe, action, pages).await?;
        Ok(pages
            .into_iter()
            .flat_map(|page| page.capacity_reservations.unwrap_or_default())
            .collect())
    }
}

fn term_filters(term: &SelectorTerm) -> Vec<Filter> {
    let owner = term.owner.as_deref().map(|owner| filter("owner-id", [owner]));
    let criteria = term.instance_match_criteria.as_deref();
    let criteria = criteria.map(|own| filter("instance-match-criteria", [own]));
    owner.into_iter().chain(criteria).chain(tag_filters(&term.tags)).collect()
}

fn reservation(own: &CapacityReservation, now: Timestamp) -> Option<ReservationStatus> {
    let is_block = own.reservation_type() == Some(&CapacityReservationType::CapacityBlock);
    let end = own.end_date().and_then(from_aws_time);
    let is_expiring =
        is_block && end.is_some_and(|end| end.duration_since(now) <= BLOCK_EXPIRY_MARGIN);
    let reservation = ResolvedCapacityReservation {
        id: own.capacity_reservation_id()?.into(),
        instance_type: own.instance_type()?.into(),
        zone: own.availability_zone()?.into(),
        is_expiring,
        reservation_type: if is_block { "capacity-block" } else { "default" }.into(),
        is_interruptible: own.interruptible().unwrap_or_default(),
    };
    Some(ReservationStatus {
        reservation,
        owner_id: own.owner_id().unwrap_or_default().into(),
        match_criteria: own.instance_match_criteria().map_or("open", |own| own.as_str()).into(),
        end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws::calls::to_aws_time;
    use aws_sdk_ec2::types::InstanceMatchCriteria;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn described(end_minutes: i64, kind: CapacityReservationType) -> CapacityReservation {
        let end = now().checked_add(SignedDuration::from_mins(end_minutes)).unwrap();
        CapacityReservation::builder()
            .capacity_reservation_id("cr-1")
            .instance_type("p5.48xlarge")
            .availability_zone("us-east-1a")
            .instance_match_criteria(InstanceMatchCriteria::Targeted)
            .reservation_type(kind)
            .end_date(to_aws_time(end))
            .build()
    }

    #[test]
    fn a_capacity_block_expires_forty_minutes_before_its_end() {
        let is_expiring = |minutes, kind| {
            reservation(&described(minutes, kind), now()).unwrap().reservation.is_expiring
        };
        assert!(is_expiring(40, CapacityReservationType::CapacityBlock));
        assert!(!is_expiring(41, CapacityReservationType::CapacityBlock));
        assert!(!is_expiring(10, CapacityReservationType::Default));
    }

    #[test]
    fn the_status_says_how_instances_come_to_use_it() {
        let own = reservation(&described(90, CapacityReservationType::Default), now()).unwrap();
        assert_eq!(
            (&*own.match_criteria, &*own.reservation.reservation_type),
            ("targeted", "default")
        );
    }
}
