//! The record of an adopted NodeClaim.

use domain::Timestamp;
use domain::node_claim::{ConditionType, NodeClaim};

use super::create::await_everything;
use crate::ports::cloud::Instance;
use crate::record::claim::ClaimRecord;
use crate::record::launch::{EFA, LaunchAttempt, LaunchRequest};
use domain::plan::LaunchOffering;

/// The record of a NodeClaim that has an instance, or for which one can be launched; `None`
/// otherwise.
///
/// `launchable` says which offerings the claim may be launched as, and is asked only where it was
/// never launched.
pub fn adopted(
    claim: &NodeClaim,
    instance: Option<&Instance>,
    launchable: impl FnOnce(&NodeClaim) -> Vec<LaunchOffering>,
    now: Timestamp,
) -> Option<ClaimRecord> {
    let offerings = match instance {
        Some(instance) => vec![offering_of(instance)],
        None if claim.status.provider_id.is_none() => launchable(claim),
        None => Vec::new(),
    };
    if offerings.is_empty() {
        return None;
    }
    let mut claim = claim.clone();
    if claim.condition(ConditionType::Launched).is_none() {
        await_everything(&mut claim, now);
    }
    Some(ClaimRecord {
        launch: LaunchRequest {
            token: claim.uid.clone(),
            attempt: LaunchAttempt { since: now, ..LaunchAttempt::default() },
            claim: claim.name.clone(),
            node_pool: claim.node_pool().cloned().unwrap_or_default(),
            node_class: claim.node_class_ref.name.clone(),
            offerings,
            labels: claim.labels.clone(),
            taints: [claim.taints.as_slice(), claim.startup_taints.as_slice()].concat(),
            wants_efa: claim.requests.get(EFA) > 0,
        }
        .into(),
        claim,
        launch_failures: 0,
        launch_not_before: None,
        instance: instance.cloned(),
        pods: Vec::new(),
        replaces: None,
        pods_fingerprint: None,
        ending: None,
    })
}

fn offering_of(instance: &Instance) -> LaunchOffering {
    LaunchOffering {
        price: instance.price.unwrap_or_default(),
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: instance.capacity_type,
        reservation_id: instance.reservation_id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, instance, launched_record, planned_claim, record};

    fn launchable(_: &NodeClaim) -> Vec<LaunchOffering> {
        planned_claim("any").offerings
    }

    #[test]
    fn a_claim_made_by_hand_is_launched_as_what_it_may_be_launched_as() {
        let claim = record("mine").claim;
        let adopted_record = adopted(&claim, None, launchable, at(0)).unwrap();
        assert_eq!(adopted_record.launch.token, claim.uid);
        assert_eq!(adopted_record.launch.offerings, launchable(&claim));
        assert_eq!(adopted(&claim, None, |_| Vec::new(), at(0)), None);
    }

    #[test]
    fn a_claim_that_runs_keeps_its_instance_and_its_conditions() {
        let launched = launched_record("old", at(0));
        let instance = instance("i-old", &launched, at(0));
        let record = adopted(&launched.claim, Some(&instance), launchable, at(900)).unwrap();
        assert_eq!(record.instance.unwrap().id, instance.id);
        assert_eq!(record.claim, launched.claim);
    }

    #[test]
    fn a_claim_whose_instance_is_not_there_is_not_launched_again() {
        let launched = launched_record("old", at(0));
        assert_eq!(adopted(&launched.claim, None, launchable, at(900)), None);
    }
}
