//! The status of an EC2NodeClass, from its resolved selectors.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/>.

use domain::node_claim::ConditionStatus;

use domain::{Text, Timestamp};

use super::condition::{ConditionState, set_object_condition};
use crate::ports::cloud::{NodeClassResolution, Resolution};
use crate::status::{NodeClassCondition, NodeClassStatus, ObjectCondition, Observed};

/// The status of a node class after a resolution.
///
/// A part that was not found is removed and its condition is False. A part that is unknown stays,
/// and so does its condition, or is Unknown if there was none.
pub fn node_class_status(
    resolution: NodeClassResolution,
    before: &Observed<NodeClassStatus>,
    now: Timestamp,
) -> NodeClassStatus {
    let mut status = before.status.clone();
    let mut conditions = std::mem::take(&mut status.conditions);
    let mut update = |kind, outcome: Outcome| {
        let known = conditions.iter().any(|own| own.kind == kind);
        let state = match &outcome {
            Outcome::Found(note) => ConditionState::new(ConditionStatus::True, kind.as_str(), note),
            Outcome::Missing(reason, message) => {
                ConditionState::new(ConditionStatus::False, reason, message)
            }
            Outcome::Unknown(_, _) if known => return,
            Outcome::Unknown(reason, message) => ConditionState::unknown(reason, message),
        };
        set_object_condition(&mut conditions, kind, state, before.generation, now);
    };
    let NodeClassResolution {
        subnets,
        zones_without_offerings,
        security_groups,
        amis,
        instance_profile,
        capacity_reservations,
        placement_group,
        validation,
        free_addresses: _,
        held_back: _,
        stamp: _,
    } = resolution;
    let subnets = match take(subnets, &mut status.subnets) {
        Outcome::Found(_) => Outcome::Found(without_offerings(&zones_without_offerings)),
        other => other,
    };
    update(NodeClassCondition::SubnetsReady, subnets);
    update(
        NodeClassCondition::SecurityGroupsReady,
        take(security_groups, &mut status.security_groups),
    );
    update(NodeClassCondition::AmisReady, take(amis, &mut status.amis));
    let profile = instance_profile.map(Some);
    update(NodeClassCondition::InstanceProfileReady, take(profile, &mut status.instance_profile));
    update(
        NodeClassCondition::CapacityReservationsReady,
        take(capacity_reservations, &mut status.capacity_reservations),
    );
    update(NodeClassCondition::PlacementGroupReady, take(placement_group, &mut ()));
    update(NodeClassCondition::ValidationSucceeded, take(validation, &mut ()));
    let (status_of_all, message) = summary(&conditions);
    let reason =
        if status_of_all == ConditionStatus::True { "Ready" } else { "UnhealthyDependents" };
    let ready = ConditionState::new(status_of_all, reason, &message);
    set_object_condition(&mut conditions, NodeClassCondition::Ready, ready, before.generation, now);
    status.conditions = conditions;
    status
}

/// Status and message of condition Ready: the worst of the others.
fn summary(conditions: &[ObjectCondition<NodeClassCondition>]) -> (ConditionStatus, String) {
    let worst = conditions
        .iter()
        .filter(|own| own.kind != NodeClassCondition::Ready)
        .max_by_key(|own| match own.status {
            ConditionStatus::True => 0,
            ConditionStatus::Unknown => 1,
            ConditionStatus::False => 2,
        })
        .map(|own| (own.kind, own.status));
    match worst {
        None | Some((_, ConditionStatus::True)) => (ConditionStatus::True, String::new()),
        Some((kind, status)) => (status, format!("{} is not True", kind.as_str())),
    }
}

/// The message of a class about zones in which nothing is launched; empty where there are none.
fn without_offerings(zones: &[Text]) -> String {
    let names: Vec<&str> = zones.iter().map(|zone| &**zone).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(
            "subnets in {} have no offerings: Local Zones and Wavelength Zones are not supported yet",
            names.join(", ")
        ),
    }
}

enum Outcome {
    /// With a note, which may be empty.
    Found(String),
    Missing(String, String),
    Unknown(String, String),
}

/// Moves a resolved part into the status.
fn take<T: Default>(part: Resolution<T>, own: &mut T) -> Outcome {
    match part {
        Ok(found) => {
            *own = found;
            Outcome::Found(String::new())
        }
        Err(why) if why.is_passing => {
            Outcome::Unknown(why.reason.to_string(), why.message.to_string())
        }
        Err(why) => {
            *own = T::default();
            Outcome::Missing(why.reason.to_string(), why.message.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::cloud::Unresolved;
    use crate::testing::at;
    use crate::testing::world::resolution;

    fn unresolved<T>(is_passing: bool) -> Resolution<T> {
        let (reason, message) = ("SubnetsNotFound".into(), "no subnet has these tags".into());
        Err(Unresolved { reason, message, is_passing })
    }

    fn of(status: &NodeClassStatus, kind: NodeClassCondition) -> ConditionStatus {
        status.conditions.iter().find(|own| own.kind == kind).unwrap().status
    }

    #[test]
    fn a_class_is_ready_once_everything_was_found() {
        let status = node_class_status(resolution(), &Observed::default(), at(0));
        assert_eq!(of(&status, NodeClassCondition::Ready), ConditionStatus::True);
        assert_eq!(status.subnets.len(), 1);
        assert_eq!(status.instance_profile.as_deref(), Some("profile"));
        assert_eq!(status.conditions.len(), NodeClassCondition::ALL.len());
    }

    #[test]
    fn a_class_is_told_of_zones_without_offerings_and_stays_ready() {
        let zones = vec!["us-west-2-lax-1a".into()];
        let found = NodeClassResolution { zones_without_offerings: zones, ..resolution() };
        let status = node_class_status(found, &Observed::default(), at(0));
        let message = |status: &NodeClassStatus| {
            let is_its = |own: &&ObjectCondition<NodeClassCondition>| {
                own.kind == NodeClassCondition::SubnetsReady && own.status == ConditionStatus::True
            };
            status.conditions.iter().find(is_its).unwrap().message.clone()
        };
        assert!(message(&status).contains("subnets in us-west-2-lax-1a have no offerings"));
        assert_eq!(of(&status, NodeClassCondition::Ready), ConditionStatus::True);
        let before = Observed { status, ..Observed::default() };
        assert_eq!(&*message(&node_class_status(resolution(), &before, at(60))), "");
    }

    #[test]
    fn a_part_that_is_not_found_is_removed_and_an_unknown_one_stays() {
        let first = node_class_status(resolution(), &Observed::default(), at(0));
        let before = Observed { status: first, ..Observed::default() };
        let missing = NodeClassResolution { subnets: unresolved(false), ..resolution() };
        let status = node_class_status(missing, &before, at(60));
        assert!(status.subnets.is_empty());
        assert_eq!(of(&status, NodeClassCondition::SubnetsReady), ConditionStatus::False);
        assert_eq!(of(&status, NodeClassCondition::Ready), ConditionStatus::False);
        let throttled = NodeClassResolution { subnets: unresolved(true), ..resolution() };
        let status = node_class_status(throttled.clone(), &before, at(60));
        assert_eq!(status, before.status);
        let status = node_class_status(throttled, &Observed::default(), at(0));
        assert_eq!(of(&status, NodeClassCondition::Ready), ConditionStatus::Unknown);
    }
}
