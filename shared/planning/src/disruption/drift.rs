//! Drift: how a node differs from what its NodePool and EC2NodeClass would make now.

use domain::drift::DriftReason;
use domain::label::{self, Labels};
use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::{NodeClaimTemplate, NodePool};
use domain::requirement::Requirement;
use domain::taint::Taint;
use domain::{SignedDuration, Text};

use crate::model::Model;
use crate::model::node::NodeView;

/// A type that is gone from the catalogue counts only for claims older than this, as upstream: the
/// catalogue may lag behind a launch.
const INSTANCE_TYPE_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// Why the node has drifted, if it has.
pub(super) fn reason(model: &Model, node: &NodeView) -> Option<DriftReason> {
    let (claim, pool) = (node.claim?, node.node_pool?);
    let launched = claim.condition(ConditionType::Launched);
    if launched.is_some_and(|condition| condition.status != ConditionStatus::True) {
        return None;
    }
    if is_template_changed(claim, pool) {
        return Some(DriftReason::NodePoolDrifted);
    }
    requirement_drift(claim, pool).or_else(|| instance_type_drift(model, node, claim)).or_else(
        || {
            let name = &pool.template.node_class_ref.name;
            let class = model.snapshot.node_classes.iter().find(|class| class.name == *name)?;
            node_class_drift(claim, node, class)
        },
    )
}

/// By the recorded hashes where both are there and of one version; else field by field.
fn is_template_changed(claim: &NodeClaim, pool: &NodePool) -> bool {
    if let Some(differs) = hashes_differ(
        &claim.annotations,
        &pool.annotations,
        label::NODE_POOL_HASH,
        label::NODE_POOL_HASH_VERSION,
    ) {
        return differs;
    }
    differs(claim, &pool.template)
}

/// Whether hashes recorded under one version differ; `None` where they cannot be compared.
fn hashes_differ(own: &Labels, wanted: &Labels, hash: &str, version: &str) -> Option<bool> {
    let same_version = own.get(version)? == wanted.get(version)?;
    let differs = own.get(hash)? != wanted.get(hash)?;
    same_version.then_some(differs)
}

fn differs(claim: &NodeClaim, template: &NodeClaimTemplate) -> bool {
    let same_taints = |own: &[Taint], wanted: &[Taint]| {
        let sorted = |taints: &[Taint]| {
            let mut taints = taints.to_vec();
            taints.sort();
            taints
        };
        sorted(own) == sorted(wanted)
    };
    let has_labels =
        template.labels.iter().all(|(key, value)| claim.labels.get(key) == Some(value));
    let has_annotations =
        template.annotations.iter().all(|(key, value)| claim.annotations.get(key) == Some(value));
    !has_labels
        || !has_annotations
        || !same_taints(&claim.taints, &template.taints)
        || !same_taints(&claim.startup_taints, &template.startup_taints)
        || claim.node_class_ref != template.node_class_ref
        || claim.termination_grace_period != template.termination_grace_period
        || claim.expire_after != template.expire_after
}

/// Labels of the claim against the pool's requirements; a label that is missing meets only exclusions.
fn requirement_drift(claim: &NodeClaim, pool: &NodePool) -> Option<DriftReason> {
    let unmet = |requirement: &&Requirement| !requirement.holds_for(&claim.labels);
    pool.template
        .requirements
        .iter()
        .find(unmet)
        .map(|requirement| DriftReason::RequirementsDrifted(requirement.key.clone()))
}

fn instance_type_drift(model: &Model, node: &NodeView, claim: &NodeClaim) -> Option<DriftReason> {
    let age = claim.created.map(|created| model.snapshot.now.duration_since(created))?;
    if age < INSTANCE_TYPE_GRACE || !node.labels.contains_key(label::INSTANCE_TYPE) {
        return None;
    }
    let Some(instance_type) = node.instance_type else {
        return Some(DriftReason::InstanceTypeNotFound);
    };
    let zone = node.labels.get(label::ZONE)?;
    let is_offered = instance_type.offerings.iter().any(|offering| offering.zone == *zone);
    (!is_offered).then_some(DriftReason::InstanceTypeNotFound)
}

fn node_class_drift(
    claim: &NodeClaim,
    node: &NodeView,
    class: &Ec2NodeClass,
) -> Option<DriftReason> {
    let changed = hashes_differ(
        &claim.annotations,
        &class.annotations,
        label::NODE_CLASS_HASH,
        label::NODE_CLASS_HASH_VERSION,
    );
    if changed == Some(true) {
        return Some(DriftReason::NodeClassDrift);
    }
    if let Some(image) = &claim.status.image_id
        && !class.status.amis.is_empty()
        && !selects_image(class, node, image)
    {
        return Some(DriftReason::AmiDrift);
    }
    None
}

/// Whether the image is the one that the class would choose for the node now.
fn selects_image(class: &Ec2NodeClass, node: &NodeView, image: &Text) -> bool {
    let meets = |requirement: &Requirement| match node.instance_type {
        Some(instance_type) => match instance_type.labels.get(&requirement.key) {
            Some(values) => {
                let wanted = requirement.value_set();
                values.iter().any(|value| wanted.contains(value))
            }
            None => requirement.holds_for(&node.labels),
        },
        None => requirement.holds_for(&node.labels),
    };
    class
        .status
        .amis
        .iter()
        .filter(|ami| ami.requirements.iter().all(meets))
        .any(|ami| ami.id == *image)
}
