//! What a manifest leaves to the cluster, taken from the object that it is applied to.
//!
//! A manifest says what is wanted. Status, uids and recorded hashes are written by controllers, and
//! stay when a manifest is applied; without them a plan would see other subnets, other volumes, or
//! nodes that have not drifted as drifted.

use std::collections::BTreeSet;

use domain::label::Labels;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::stamp::{NODE_CLASS_RULES, Stamp};
use domain::volume::PersistentVolumeClaim;
use manifests::Object;

/// The object as it stands once it is applied over another of the same name, or where there is
/// none. What only AWS can say of it is added to `open`.
pub(super) fn completed(
    given: &Object,
    live: Option<&Object>,
    open: &mut BTreeSet<String>,
) -> Object {
    match (given, live) {
        (Object::NodePool(given), Some(Object::NodePool(live))) => {
            Object::NodePool(node_pool(given, live))
        }
        (Object::Ec2NodeClass(given), Some(Object::Ec2NodeClass(live))) => {
            Object::Ec2NodeClass(Box::new(node_class(given, live, open)))
        }
        (Object::PersistentVolumeClaim(given), Some(Object::PersistentVolumeClaim(live))) => {
            Object::PersistentVolumeClaim(volume_claim(given, live))
        }
        (given, _) => given.clone(),
    }
}

fn node_pool(given: &NodePool, live: &NodePool) -> NodePool {
    let mut pool = given.clone();
    if pool.uid.is_empty() {
        pool.uid = live.uid.clone();
    }
    pool.ready = pool.ready.or(live.ready);
    if Stamp::of_node_pool(&pool.annotations).is_none()
        && let Some(recorded) = Stamp::of_node_pool(&live.annotations)
    {
        let is_unchanged = given.template.hash == live.template.hash;
        // Karpenter records the hash of a template that it has not seen before.
        let stamp = if is_unchanged { Some(recorded) } else { given.stamp() };
        pool.annotations.extend(stamp.map(|own| own.node_pool_annotations()).unwrap_or_default());
    }
    pool
}

fn node_class(
    given: &Ec2NodeClass,
    live: &Ec2NodeClass,
    open: &mut BTreeSet<String>,
) -> Ec2NodeClass {
    let mut class = given.clone();
    if class.uid.is_empty() {
        class.uid = live.uid.clone();
    }
    if let Some(annotations) = class_stamp(given, live) {
        class.annotations.extend(annotations);
    }
    let (spec, was) = (&given.spec, &live.spec);
    let (own, known) = (&mut class.status, &live.status);
    own.ready = own.ready.or(known.ready);
    own.instance_profile = own.instance_profile.take().or(known.instance_profile.clone());
    let mut resolve = |field: &str, is_same: bool, what: &str| {
        if !is_same {
            open.insert(format!(
                "EC2NodeClass {}: {field} changes, and {what}, only AWS can say",
                given.name
            ));
        }
        is_same
    };
    if own.amis.is_empty() {
        let is_same = spec.ami_selector_terms == was.ami_selector_terms
            && spec.ami_family == was.ami_family
            && given.image_age.min == live.image_age.min;
        if resolve(
            "amiSelectorTerms",
            is_same,
            "which images that selects and so which nodes drift",
        ) {
            own.amis = known.amis.clone();
            class.image_age = live.image_age.clone();
        }
    }
    if own.subnets.is_empty() {
        let is_same = spec.subnet_selector_terms == was.subnet_selector_terms;
        if resolve("subnetSelectorTerms", is_same, "which zones that leaves (here: all of them)") {
            own.subnets = known.subnets.clone();
        }
    }
    if own.security_groups.is_empty() {
        let is_same = spec.security_group_selector_terms == was.security_group_selector_terms;
        let what = "which groups that selects and so which nodes drift";
        if resolve("securityGroupSelectorTerms", is_same, what) {
            own.security_groups = known.security_groups.clone();
        }
    }
    if own.capacity_reservations.is_empty() {
        let is_same =
            spec.capacity_reservation_selector_terms == was.capacity_reservation_selector_terms;
        let what = "which reservations that selects (here: none)";
        if resolve("capacityReservationSelectorTerms", is_same, what) {
            own.capacity_reservations = known.capacity_reservations.clone();
        }
    }
    class
}

/// What a controller records of the class: what it has recorded, where nothing that counts has
/// changed, or else the hash of what is given, under the version that nodes are compared by. By
/// which rules it is taken makes no difference there: it is another one.
fn class_stamp(given: &Ec2NodeClass, live: &Ec2NodeClass) -> Option<Labels> {
    if Stamp::of_node_class(&given.annotations).is_some() {
        return None;
    }
    let recorded = Stamp::of_node_class(&live.annotations)?;
    let of = |class: &Ec2NodeClass| class.stamp(NODE_CLASS_RULES, "");
    if of(given) == of(live) {
        return Some(recorded.node_class_annotations());
    }
    let hash = of(given)?.hash;
    Some(Stamp { hash, version: recorded.version }.node_class_annotations())
}

fn volume_claim(
    given: &PersistentVolumeClaim,
    live: &PersistentVolumeClaim,
) -> PersistentVolumeClaim {
    let mut claim = given.clone();
    let volume = claim.spec.volume_name.take();
    claim.spec.volume_name = volume.or_else(|| live.spec.volume_name.clone());
    claim.is_lost = live.is_lost;
    claim.is_binding = live.is_binding;
    claim
}
