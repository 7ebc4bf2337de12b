//! The record of an adopted NodeClaim.

use domain::instance_type::InstanceTypes;
use domain::label;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::requirement::Requirements;
use domain::{Text, Timestamp};

use super::create::await_everything;
use super::launch::launch_offerings;
use crate::ports::cloud::Instance;
use crate::record::claim::ClaimRecord;
use crate::record::launch::{EFA, LaunchOffering, LaunchRequest};

/// The record of a NodeClaim that has an instance, or for which one can be launched; `None`
/// otherwise.
pub fn adopted(
    claim: &NodeClaim,
    instance: Option<&Instance>,
    catalogue: &InstanceTypes,
    now: Timestamp,
) -> Option<ClaimRecord> {
    let offerings = match instance {
        Some(instance) => vec![offering_of(instance)],
        None if claim.status.provider_id.is_none() => offerings_for(claim, catalogue),
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

/// Offerings of every instance type that meets the claim's requirements and resource requests.
fn offerings_for(claim: &NodeClaim, catalogue: &InstanceTypes) -> Vec<LaunchOffering> {
    let types = catalogue.of(&claim.node_class_ref.name);
    let required = Requirements::of(claim.requirements.iter());
    let of_launch = [label::ZONE, label::ZONE_ID, label::CAPACITY_TYPE, label::RESERVATION_ID];
    let names: Vec<Text> = types
        .iter()
        .filter(|candidate| {
            claim.requests.iter().all(|(name, amount)| candidate.allocatable.get(name) >= amount)
        })
        .filter(|candidate| {
            required.iter().all(|(key, own)| {
                // Offerings decide on zone and capacity type; the claim on labels that it sets
                // itself.
                of_launch.contains(&&**key)
                    || claim.labels.get(key).is_some_and(|value| own.values.contains(value))
                    || match candidate.labels.get(key) {
                        Some(values) => values.iter().any(|value| own.values.contains(value)),
                        None => own.may_be_absent,
                    }
            })
        })
        .map(|candidate| candidate.name.clone())
        .collect();
    launch_offerings(&names, &claim.requirements, types, catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, instance, instance_type, launched_record, offering, record};
    use domain::requirement::Requirement;
    use domain::resource::CPU;
    use std::sync::Arc;

    fn catalogue() -> InstanceTypes {
        let types = vec![
            instance_type("m5.large", [offering("a", "on-demand", 90)]),
            instance_type("c5.large", [offering("a", "on-demand", 80)]),
        ];
        InstanceTypes { default: Arc::new(types), ..InstanceTypes::default() }
    }

    #[test]
    fn a_claim_made_by_hand_is_launched_from_what_meets_its_requirements() {
        let mut claim = record("mine").claim;
        claim.requirements =
            vec![Requirement::is_in(label::INSTANCE_TYPE, ["m5.large".into()])].into();
        let adopted_record = adopted(&claim, None, &catalogue(), at(0)).unwrap();
        assert_eq!(adopted_record.launch.token, claim.uid);
        let types: Vec<&str> =
            adopted_record.launch.offerings.iter().map(|one| &*one.instance_type).collect();
        assert_eq!(types, ["m5.large"]);
        claim.requests = claim.requests.with(CPU, 64_000);
        assert_eq!(adopted(&claim, None, &catalogue(), at(0)), None);
    }

    #[test]
    fn a_claim_that_runs_keeps_its_instance_and_its_conditions() {
        let launched = launched_record("old", at(0));
        let instance = instance("i-old", &launched, at(0));
        let record = adopted(&launched.claim, Some(&instance), &catalogue(), at(900)).unwrap();
        assert_eq!(record.instance.unwrap().id, instance.id);
        assert_eq!(record.claim, launched.claim);
    }

    #[test]
    fn a_claim_whose_instance_is_not_there_is_not_launched_again() {
        let launched = launched_record("old", at(0));
        assert_eq!(adopted(&launched.claim, None, &catalogue(), at(900)), None);
    }
}
