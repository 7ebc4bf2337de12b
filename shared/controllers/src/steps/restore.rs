//! The record of a claim, rebuilt from what the cluster and EC2 still say of it: the table was
//! lost, replaced by an older copy, or belongs to a new installation.

use domain::label::{self, Labels};
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::{NeverOr, NodeClassRef, NodePool};
use domain::taint::{DISRUPTED, Taint, UNSCHEDULABLE};
use domain::{Text, Timestamp};

use super::adopt::adopted;
use super::condition::{set_true, update_ready};
use super::create::await_everything;
use crate::ports::cloud::Instance;
use crate::ports::cluster::NodeClaimObject;
use crate::record::claim::ClaimRecord;

/// Labels of a Node that its claim does not have.
const OF_THE_NODE: [&str; 3] = [label::REGISTERED, label::INITIALIZED, label::HOSTNAME];
/// Annotations that a claim passes on to its Node, and without which drift is unknown.
const HASHES: [&str; 4] = [
    label::NODE_POOL_HASH,
    label::NODE_POOL_HASH_VERSION,
    label::NODE_CLASS_HASH,
    label::NODE_CLASS_HASH_VERSION,
];

/// The record of the claim that an object mirrors and whose instance runs; `None` for an object
/// that others created.
///
/// The claim keeps its uid, and with it the tags of its instance and its NodeClaim object. Where
/// the object does not know the instance yet, neither does the record: lifecycle finds it by its
/// tag.
pub fn restored_from_object(
    object: &NodeClaimObject,
    instance: &Instance,
    now: Timestamp,
) -> Option<ClaimRecord> {
    let uid = object.mirror_of.clone()?;
    // That the object is being deleted ends the claim in the next step, as it does any other.
    let claim = NodeClaim { uid, deleted: None, ..object.claim.clone() };
    let is_launched = claim.status.provider_id.is_some();
    let mut record = adopted(&claim, Some(instance), |_| Vec::new(), now)?;
    if !is_launched {
        record.instance = None;
    }
    Some(record)
}

/// The record of a claim of which only its registered Node and its instance are left; `None` where
/// the Node does not say which NodePool and EC2NodeClass it is of.
///
/// What no Node says is chosen so that the node stays: requirements that anything meets, no expiry
/// and no drain deadline but those of the NodePool as it is now.
pub fn restored_from_node(
    node: &Node,
    instance: &Instance,
    pools: &[NodePool],
    now: Timestamp,
) -> Option<ClaimRecord> {
    let node_pool = node.labels.get(label::NODE_POOL)?;
    let node_class = node.labels.get(label::NODE_CLASS)?;
    let pool = pools.iter().find(|pool| pool.name == *node_pool);
    let status = NodeClaimStatus {
        node_name: Some(node.name.clone()),
        provider_id: Some(instance.provider_id.clone()),
        image_id: Some(instance.image_id.clone()),
        capacity: node.capacity.clone(),
        allocatable: node.allocatable.clone(),
        ..NodeClaimStatus::default()
    };
    let mut claim = NodeClaim {
        name: instance.claim.clone().unwrap_or_else(|| node.name.clone()),
        uid: instance.claim_uid.clone().unwrap_or_else(|| node.uid.clone()),
        created: node.created,
        deleted: None,
        labels: only(&node.labels, |key| !OF_THE_NODE.contains(&key)),
        annotations: only(&node.annotations, |key| HASHES.contains(&key)),
        requirements: std::sync::Arc::default(),
        requests: domain::resource::Resources::default(),
        taints: node.taints.iter().filter(|taint| is_lasting(taint)).cloned().collect(),
        startup_taints: Vec::new(),
        node_class_ref: NodeClassRef {
            group: "karpenter.k8s.aws".into(),
            kind: "EC2NodeClass".into(),
            name: node_class.clone(),
        },
        termination_grace_period: pool.and_then(|pool| pool.template.termination_grace_period),
        expire_after: pool.map_or(NeverOr::Never, |pool| pool.template.expire_after),
        status,
    };
    await_everything(&mut claim, now);
    set_true(&mut claim, ConditionType::Launched, now);
    set_true(&mut claim, ConditionType::Registered, now);
    if node.labels.contains_key(label::INITIALIZED) {
        set_true(&mut claim, ConditionType::Initialized, now);
    }
    update_ready(&mut claim, now);
    adopted(&claim, Some(instance), |_| Vec::new(), now)
}

fn only(labels: &Labels, is_kept: impl Fn(&str) -> bool) -> Labels {
    let kept = labels.iter().filter(|(key, _)| is_kept(key));
    kept.map(|(key, value): (&Text, &Text)| (key.clone(), value.clone())).collect()
}

/// Whether a taint is of the claim, and not of the moment.
fn is_lasting(taint: &Taint) -> bool {
    !taint.is_ephemeral() && *taint.key != *DISRUPTED && *taint.key != *UNSCHEDULABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        at, initialized_record, instance, launched_record, node_of, record, taint,
    };

    fn mirror(record: &ClaimRecord) -> NodeClaimObject {
        let claim = NodeClaim { uid: "of-the-object".into(), ..record.claim.clone() };
        NodeClaimObject { claim, mirror_of: Some(record.claim.uid.clone()) }
    }

    #[test]
    fn a_claim_has_its_uid_its_conditions_and_its_instance_again() {
        let lost = initialized_record("web-1", at(0));
        let running = instance("i-web-1", &lost, at(0));
        let restored = restored_from_object(&mirror(&lost), &running, at(900)).unwrap();
        assert_eq!(restored.claim, lost.claim);
        assert_eq!(restored.instance.unwrap().id, running.id);
    }

    #[test]
    fn a_claim_that_was_being_launched_waits_for_its_instance_to_be_found() {
        let lost = record("web-1");
        let running = instance("i-web-1", &lost, at(0));
        let restored = restored_from_object(&mirror(&lost), &running, at(10)).unwrap();
        assert_eq!(restored.claim.uid, lost.claim.uid);
        assert_eq!(restored.instance, None);
    }

    #[test]
    fn a_node_gives_its_claim_back_without_what_belongs_to_the_moment() {
        let lost = initialized_record("web-1", at(0));
        let running = instance("i-web-1", &lost, at(0));
        let mut node = node_of(&lost);
        node.labels.insert(label::REGISTERED.into(), "true".into());
        node.labels.insert(label::INITIALIZED.into(), "true".into());
        node.labels.insert(label::NODE_POOL.into(), "default".into());
        node.labels.insert(label::NODE_CLASS.into(), "default".into());
        node.annotations.insert(label::NODE_POOL_HASH.into(), "123".into());
        node.taints = vec![taint("team"), Node::cordon()];
        let pool = crate::testing::node_pool("default");
        let restored =
            restored_from_node(&node, &running, std::slice::from_ref(&pool), at(900)).unwrap();
        assert_eq!((restored.name(), &restored.claim.uid), (lost.name(), &lost.claim.uid));
        assert_eq!(restored.phase(), crate::record::claim::ClaimPhase::Initialized);
        assert_eq!(restored.claim.taints, [taint("team")]);
        assert!(!restored.claim.labels.contains_key(label::REGISTERED));
        assert_eq!(restored.claim.annotations.len(), 1);
        assert_eq!(restored.claim.expire_after, pool.template.expire_after);
    }

    #[test]
    fn a_node_that_names_no_class_gives_nothing_back() {
        let theirs = launched_record("web-1", at(0));
        let mut node = node_of(&theirs);
        node.labels.clear();
        let running = instance("i-web-1", &theirs, at(0));
        assert_eq!(restored_from_node(&node, &running, &[], at(900)), None);
    }
}
