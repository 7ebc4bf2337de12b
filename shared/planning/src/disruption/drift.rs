//! Drift: how a node differs from what its NodePool and EC2NodeClass would launch now.
//!
//! What EC2 reports (image, subnet, security groups, reservation, placement group) is compared only
//! where both sides are known: a class whose status is not resolved yet makes no node drift.
//!
//! Source: Karpenter `pkg/controllers/nodeclaim/disruption/drift.go` and the AWS provider's
//! `drift.go`.

use domain::drift::DriftReason;
use domain::instance_type::CapacityType;
use domain::label;
use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::node_class::{Ec2NodeClass, PlacementGroupSelector, ResolvedAmi};
use domain::node_pool::{NodeClaimTemplate, NodePool};
use domain::requirement::Requirement;
use domain::stamp::Stamp;
use domain::taint::Taint;
use domain::{SignedDuration, Text};

use domain::snapshot::ClusterSnapshot;

use crate::model::node::NodeView;

/// A type that is gone from the catalogue counts only for claims older than this, as upstream: the
/// catalogue may lag behind a launch.
const INSTANCE_TYPE_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// Why the node has drifted, if it has.
pub(super) fn reason(snapshot: &ClusterSnapshot, node: &NodeView) -> Option<DriftReason> {
    let (claim, pool) = (node.claim?, node.node_pool?);
    let launched = claim.condition(ConditionType::Launched);
    if launched.is_some_and(|condition| condition.status != ConditionStatus::True) {
        return None;
    }
    if is_template_changed(claim, pool) {
        return Some(DriftReason::NodePoolDrifted);
    }
    let of_class = || {
        let name = &pool.template.node_class_ref.name;
        let class = snapshot.objects.node_classes.iter().find(|class| class.name == *name)?;
        node_class_drift(claim, node, class)
    };
    requirement_drift(claim, pool)
        .or_else(|| instance_type_drift(snapshot, node, claim))
        .or_else(of_class)
        .or_else(|| is_rebalanced(claim, pool).then_some(DriftReason::RebalanceRecommended))
        .or_else(|| node.is_past_expiry(snapshot.now).then_some(DriftReason::Expired))
}

/// Whether EC2 recommended to rebalance the instance and the pool replaces such instances: with
/// replacements first and within budgets, like any drifted node.
fn is_rebalanced(claim: &NodeClaim, pool: &NodePool) -> bool {
    pool.replaces_on_rebalance() && claim.annotations.contains_key(label::REBALANCE_RECOMMENDED)
}

/// Compares hashes where the claim has one, else field by field. A claim that has a hash, but not
/// by which version of the rules it was taken, or the version alone, was stamped only in part:
/// nothing says what it was launched from, so it has not drifted.
///
/// The pool's hash is that of its template as it was read; the annotation that Karpenter wrote on
/// the pool counts beside it, since it was taken by Karpenter itself. A claim that was stamped by
/// another version of the rules has not drifted for that: it is stamped anew
/// ([`Stamp::restamped`]).
fn is_template_changed(claim: &NodeClaim, pool: &NodePool) -> bool {
    let Some(own) = Stamp::of_node_pool(&claim.annotations) else {
        let stamps = [label::NODE_POOL_HASH, label::NODE_POOL_HASH_VERSION];
        let is_stamped_in_part = stamps.iter().any(|own| claim.annotations.contains_key(*own));
        return !is_stamped_in_part && differs(claim, &pool.template);
    };
    let same_rules = |stamp: &Stamp| stamp.version == own.version;
    let computed = pool.stamp().filter(same_rules);
    let recorded = Stamp::of_node_pool(&pool.annotations).filter(same_rules);
    match (computed, recorded) {
        (Some(computed), _) if computed.hash == own.hash => false,
        (_, Some(recorded)) if recorded.hash != own.hash => true,
        // The pool was changed and its annotation was not brought up to date, unless hashes were
        // made up.
        (Some(_), Some(_)) => differs(claim, &pool.template),
        (Some(_), None) => true,
        // Nobody but Karpenter can hash the template, and it is not there to record a change.
        (None, Some(_)) if pool.stamp().is_none() => differs(claim, &pool.template),
        (None, _) => false,
    }
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

/// Labels of the claim against the pool's requirements; a label that is missing meets only
/// exclusions.
fn requirement_drift(claim: &NodeClaim, pool: &NodePool) -> Option<DriftReason> {
    let unmet = |requirement: &&Requirement| !requirement.holds_for(&claim.labels);
    pool.template
        .requirements
        .iter()
        .find(unmet)
        .map(|requirement| DriftReason::RequirementsDrifted(requirement.key.clone()))
}

/// Whether the type is no longer sold in the node's zone and capacity type, or no label says which
/// it is. Offerings count whether they can be launched now or not. A reservation that has ended
/// leaves its instances running on demand. Of a zone in which nothing is sold nothing is known.
fn instance_type_drift(
    snapshot: &ClusterSnapshot,
    node: &NodeView,
    claim: &NodeClaim,
) -> Option<DriftReason> {
    let age = claim.created.map(|created| snapshot.now.duration_since(created))?;
    if age < INSTANCE_TYPE_GRACE {
        return None;
    }
    let zone = node.labels.get(label::ZONE)?;
    let node_class = node.node_pool.map_or("", |pool| &*pool.template.node_class_ref.name);
    let mut sold = snapshot.instance_types.of(node_class).iter().flat_map(|own| &own.offerings);
    if !sold.any(|offering| offering.zone == *zone) {
        return None;
    }
    let Some(instance_type) = node.instance_type else {
        return Some(DriftReason::InstanceTypeNotFound);
    };
    let is_of_capacity_type = |sold: CapacityType| match node.capacity_type() {
        Some(CapacityType::Reserved) => sold != CapacityType::Spot,
        Some(own) => sold == own,
        None => true,
    };
    let is_offered = instance_type
        .offerings
        .iter()
        .any(|offering| offering.zone == *zone && is_of_capacity_type(offering.capacity_type));
    (!is_offered).then_some(DriftReason::InstanceTypeNotFound)
}

/// How a node's instance differs from what its class would give a new one.
fn node_class_drift(
    claim: &NodeClaim,
    node: &NodeView,
    class: &Ec2NodeClass,
) -> Option<DriftReason> {
    let checks = [
        (is_class_changed(claim, class), DriftReason::NodeClassDrift),
        (is_image_outdated(claim, node, class), DriftReason::AmiDrift),
        (have_security_groups_changed(claim, class), DriftReason::SecurityGroupDrift),
        (is_subnet_deselected(claim, class), DriftReason::SubnetDrift),
        (is_reservation_deselected(node, class), DriftReason::CapacityReservationDrift),
        (has_placement_group_changed(node, class), DriftReason::PlacementGroupDrift),
    ];
    checks.into_iter().find(|(has_drifted, _)| *has_drifted).map(|(_, reason)| reason)
}

/// By the hashes recorded on both, where one version of the rules took them.
fn is_class_changed(claim: &NodeClaim, class: &Ec2NodeClass) -> bool {
    let own = Stamp::of_node_class(&claim.annotations);
    let wanted = Stamp::of_node_class(&class.annotations);
    own.zip(wanted)
        .is_some_and(|(own, wanted)| own.version == wanted.version && own.hash != wanted.hash)
}

/// Whether a new node of the type would run another image: the first that is for the type.
fn is_image_outdated(claim: &NodeClaim, node: &NodeView, class: &Ec2NodeClass) -> bool {
    let Some(image) = &claim.status.image_id else { return false };
    // Newer than what the class launches, and only too young for it.
    if class.image_age.holds_back(image) {
        return false;
    }
    let meets = |requirement: &Requirement| {
        let of_type = node.instance_type.and_then(|own| own.labels.get(&requirement.key));
        match of_type {
            Some(values) => {
                let wanted = requirement.value_set();
                values.iter().any(|value| wanted.contains(value))
            }
            None => requirement.holds_for(&node.labels),
        }
    };
    let is_for_it = |ami: &&ResolvedAmi| ami.requirements.iter().all(meets);
    class.status.amis.iter().find(is_for_it).is_some_and(|chosen| chosen.id != *image)
}

fn is_subnet_deselected(claim: &NodeClaim, class: &Ec2NodeClass) -> bool {
    let Some(network) = &claim.status.network else { return false };
    let selected = &class.status.subnets;
    !selected.is_empty() && selected.iter().all(|subnet| subnet.id != network.subnet)
}

/// Whether the groups are not exactly those that are selected.
fn have_security_groups_changed(claim: &NodeClaim, class: &Ec2NodeClass) -> bool {
    let Some(network) = &claim.status.network else { return false };
    let sorted = |groups: &[Text]| {
        let mut groups = groups.to_vec();
        groups.sort();
        groups.dedup();
        groups
    };
    let selected = sorted(&class.status.security_groups);
    !selected.is_empty() && selected != sorted(&network.security_groups)
}

/// Where the class names no reservation, one that the catalogue offers it is taken for selected:
/// the catalogue was made for more of the class than its manifest shows.
fn is_reservation_deselected(node: &NodeView, class: &Ec2NodeClass) -> bool {
    let selected = &class.status.capacity_reservations;
    let selects_none = class.spec.capacity_reservation_selector_terms.is_empty();
    let Some(own) = node.labels.get(label::RESERVATION_ID) else { return false };
    let is_offered = || {
        let mut offerings = node.instance_type.iter().flat_map(|own| &own.offerings);
        offerings.any(|offering| offering.reservation.as_ref().is_some_and(|held| held.id == *own))
    };
    let is_deselected = if selected.is_empty() {
        selects_none && !is_offered()
    } else {
        selected.iter().all(|reservation| reservation.id != *own)
    };
    node.capacity_type() == Some(CapacityType::Reserved) && is_deselected
}

/// Only a group selected by id can be compared: the label holds the id.
fn has_placement_group_changed(node: &NodeView, class: &Ec2NodeClass) -> bool {
    let own = node.labels.get(label::PLACEMENT_GROUP_ID);
    match &class.spec.placement_group {
        Some(PlacementGroupSelector::Id(selected)) => own.is_some_and(|own| own != selected),
        Some(PlacementGroupSelector::Name(_)) => false,
        None => own.is_some(),
    }
}
