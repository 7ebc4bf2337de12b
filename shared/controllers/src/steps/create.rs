//! The record of a claim, as it is written before EC2 is asked.

use domain::instance_type::InstanceType;
use domain::label::{self, Labels};
use domain::node_claim::{ConditionType, NodeClaim, NodeClaimStatus};
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::requirement::Requirement;
use domain::snapshot::ClusterSnapshot;
use domain::{Text, Timestamp};
use uuid::Uuid;

use super::condition::{ConditionState, set_condition};
use crate::record::claim::ClaimRecord;
use crate::record::launch::{EFA, LaunchAttempt, LaunchRequest};

/// Why a planned claim cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreatable {
    /// The NodePool is not in the snapshot it was planned from.
    #[error("NodePool {0} does not exist")]
    NoNodePool(Text),
    /// None of its planned offerings is sold any more.
    #[error("none of its {0} instance types can be launched now")]
    NoOffering(usize),
}

/// What makes a claim this one and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// What the claim is created for: a run for pending pods, a command for a replacement. The same
    /// cause gives the same uid, so that a repeated step requests the same instance of EC2.
    pub cause: &'a str,
    /// The command whose replacement it is.
    pub replaces: Option<&'a Text>,
}

impl Identity<'_> {
    /// A uid that no other claim has: a UUID of version 5.
    fn uid(&self, name: &str) -> Text {
        let key = format!("{}/{}/{name}", self.cluster, self.cause);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes()).to_string().into()
    }
}

/// The record of a planned claim.
pub fn claim_record(
    planned: &PlannedNodeClaim,
    snapshot: &ClusterSnapshot,
    identity: &Identity<'_>,
) -> Result<ClaimRecord, NotCreatable> {
    let types = snapshot.instance_types.of(&planned.node_class);
    if !planned.offerings.iter().any(|offering| is_sold(offering, types)) {
        return Err(NotCreatable::NoOffering(planned.instance_types.len()));
    }
    let claim = node_claim(planned, snapshot, identity.uid(&planned.name))?;
    let launch = LaunchRequest {
        token: claim.uid.clone(),
        attempt: LaunchAttempt { since: snapshot.now, ..LaunchAttempt::default() },
        claim: claim.name.clone(),
        node_pool: planned.node_pool.clone(),
        node_class: planned.node_class.clone(),
        offerings: planned.offerings.clone(),
        labels: claim.labels.clone(),
        taints: [claim.taints.as_slice(), claim.startup_taints.as_slice()].concat(),
        wants_efa: claim.requests.get(EFA) > 0,
    };
    Ok(ClaimRecord {
        claim,
        launch: launch.into(),
        launch_failures: 0,
        launch_not_before: None,
        instance: None,
        pods: planned.pods.clone(),
        replaces: identity.replaces.cloned(),
        pods_fingerprint: None,
        ending: None,
    })
}

/// Whether the catalogue sells an offering now.
fn is_sold(offering: &LaunchOffering, types: &[InstanceType]) -> bool {
    let of_type = types.iter().find(|own| own.name == offering.instance_type);
    of_type.into_iter().flat_map(|own| &own.offerings).any(|own| {
        let reservation = own.reservation.as_ref().map(|reservation| &reservation.id);
        own.is_usable()
            && own.zone == offering.zone
            && own.capacity_type == offering.capacity_type
            && reservation == offering.reservation_id.as_ref()
    })
}

fn node_claim(
    planned: &PlannedNodeClaim,
    snapshot: &ClusterSnapshot,
    uid: Text,
) -> Result<NodeClaim, NotCreatable> {
    let pool = snapshot
        .objects
        .node_pools
        .iter()
        .find(|pool| pool.name == planned.node_pool)
        .ok_or_else(|| NotCreatable::NoNodePool(planned.node_pool.clone()))?;
    let mut labels = planned.labels.clone();
    labels.insert(label::NODE_POOL.into(), planned.node_pool.clone());
    labels.insert(label::NODE_CLASS.into(), planned.node_class.clone());
    let mut annotations = pool.template.annotations.clone();
    if let Some(stamp) = pool.stamp() {
        annotations.extend(stamp.node_pool_annotations());
    } else {
        copy(&mut annotations, &pool.annotations, label::NODE_POOL_HASH);
        copy(&mut annotations, &pool.annotations, label::NODE_POOL_HASH_VERSION);
    }
    if let Some(class) =
        snapshot.objects.node_classes.iter().find(|class| class.name == planned.node_class)
    {
        copy(&mut annotations, &class.annotations, label::NODE_CLASS_HASH);
        copy(&mut annotations, &class.annotations, label::NODE_CLASS_HASH_VERSION);
    }
    let mut claim = NodeClaim {
        name: planned.name.clone(),
        uid,
        created: Some(snapshot.now),
        deleted: None,
        labels,
        annotations,
        requirements: with_instance_types(planned).into(),
        requests: planned.requests.clone(),
        taints: planned.taints.clone(),
        startup_taints: planned.startup_taints.clone(),
        node_class_ref: pool.template.node_class_ref.clone(),
        termination_grace_period: pool.template.termination_grace_period,
        expire_after: pool.template.expire_after,
        status: NodeClaimStatus::default(),
    };
    await_everything(&mut claim, snapshot.now);
    Ok(claim)
}

/// Sets the conditions of a claim to which nothing has happened yet.
pub(crate) fn await_everything(claim: &mut NodeClaim, now: Timestamp) {
    for kind in [ConditionType::Launched, ConditionType::Registered, ConditionType::Initialized] {
        let state = ConditionState::unknown("AwaitingReconciliation", "");
        set_condition(claim, kind, state, now);
    }
    super::condition::update_ready(claim, now);
}

fn with_instance_types(planned: &PlannedNodeClaim) -> Vec<Requirement> {
    let mut requirements = planned.requirements.clone();
    let names = || planned.instance_types.iter().cloned();
    match requirements.iter_mut().find(|own| &*own.key == label::INSTANCE_TYPE) {
        Some(own) => {
            let min_values = own.min_values;
            *own = Requirement { min_values, ..Requirement::is_in(label::INSTANCE_TYPE, names()) };
        }
        None => requirements.push(Requirement::is_in(label::INSTANCE_TYPE, names())),
    }
    requirements
}

fn copy(to: &mut Labels, from: &Labels, key: &str) {
    if let Some((key, value)) = from.get_key_value(key) {
        to.insert(key.clone(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, instance_type, node_pool, offering, planned_claim, taint};
    use domain::instance_type::InstanceTypes;
    use domain::snapshot::ClusterObjects;

    fn planned() -> PlannedNodeClaim {
        PlannedNodeClaim {
            taints: vec![taint("team")],
            startup_taints: vec![taint("cilium")],
            ..planned_claim("default-1")
        }
    }

    fn snapshot() -> ClusterSnapshot {
        let types = vec![instance_type("m5.large", [offering("a", "spot", 40)])];
        let mut pool = node_pool("default");
        pool.annotations.insert(label::NODE_POOL_HASH.into(), "123".into());
        ClusterSnapshot {
            objects: ClusterObjects { node_pools: vec![pool], ..ClusterObjects::default() },
            instance_types: InstanceTypes { default: types.into(), ..InstanceTypes::default() },
            ..ClusterSnapshot::empty(at(0))
        }
    }

    fn identity(cause: &str) -> Identity<'_> {
        Identity { cluster: "test", cause, replaces: None }
    }

    #[test]
    fn a_claim_whose_pods_ask_for_fabric_adapters_is_launched_with_them() {
        let record =
            |planned: PlannedNodeClaim| claim_record(&planned, &snapshot(), &identity("run-1"));
        assert!(!record(planned()).unwrap().launch.wants_efa);
        let requests = planned().requests.with(EFA, 1);
        assert!(record(PlannedNodeClaim { requests, ..planned() }).unwrap().launch.wants_efa);
    }

    #[test]
    fn one_cause_gives_one_token_and_another_cause_another() {
        let token = |cause| {
            claim_record(&planned(), &snapshot(), &identity(cause)).unwrap().launch.token.clone()
        };
        assert_eq!(token("run-1"), token("run-1"));
        assert_ne!(token("run-1"), token("run-2"));
        assert!(token("run-1").len() <= 64, "EC2 takes no longer client token");
    }

    #[test]
    fn a_record_holds_all_that_the_node_will_be_made_from() {
        let record = claim_record(&planned(), &snapshot(), &identity("run-1")).unwrap();
        assert_eq!(record.launch.offerings, planned().offerings);
        assert_eq!(record.launch.taints, [taint("team"), taint("cilium")]);
        let label = |key: &str| record.launch.labels.get(key).map(|value| &**value);
        assert_eq!(label(label::NODE_POOL), Some("default"));
        assert_eq!(label(label::NODE_CLASS), Some("default"));
        let hash = record.claim.annotations.get(label::NODE_POOL_HASH);
        assert_eq!(hash.map(|hash| &**hash), Some("123"));
        assert_eq!(record.claim.requirements[0].values, ["m5.large".into()]);
    }

    #[test]
    fn nothing_is_written_for_what_cannot_be_launched() {
        let without_offerings = PlannedNodeClaim { offerings: Vec::new(), ..planned() };
        let refused = claim_record(&without_offerings, &snapshot(), &identity("run-1"));
        assert_eq!(refused, Err(NotCreatable::NoOffering(1)));
        let mut sold_out = planned();
        sold_out.offerings[0].zone = "b".into();
        let refused = claim_record(&sold_out, &snapshot(), &identity("run-1"));
        assert_eq!(refused, Err(NotCreatable::NoOffering(1)));
        let without_pool = PlannedNodeClaim { node_pool: "gone".into(), ..planned() };
        let refused = claim_record(&without_pool, &snapshot(), &identity("run-1"));
        assert_eq!(refused, Err(NotCreatable::NoNodePool("gone".into())));
    }
}
