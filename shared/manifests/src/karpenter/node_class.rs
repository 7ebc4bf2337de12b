//! EC2NodeClass (`karpenter.k8s.aws/v1`).

use domain::label::Labels;
use domain::node_class::{AmiFamily, Ec2NodeClass, Ec2NodeClassSpec};

use super::addresses::read_addresses;
use super::block_device::read_block_devices;
use super::image_age::read_image_age;
use super::instance_overhead::read_instance_overhead;
use super::kubelet::read_kubelet;
use super::metadata::read_metadata_or_newer;
use super::network::{read_connection_tracking, read_metadata_options, read_network_interfaces};
use super::node_class_status::read_node_class_status;
use super::selector_term::{
    read_ami_terms, read_placement_group, read_reservation_terms, read_security_group_terms,
    read_subnet_terms,
};
use crate::field::Field;
use crate::template_hash::node_class_hashes;

/// Which rule an EC2NodeClass breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NodeClassRule {
    /// Neither or both of the two.
    #[error("exactly one of role and instanceProfile is needed")]
    RoleXorProfile,
    /// An empty name.
    #[error("it may not be empty")]
    Empty,
    /// Images of unknown kind.
    #[error("amiFamily is needed where no alias of amiSelectorTerms names the family")]
    NoFamily,
    /// Two families.
    #[error("amiFamily {given} does not match the alias, whose family is {alias}", given = .given.as_str(), alias = .alias.as_str())]
    FamilyMismatch {
        /// `amiFamily`.
        given: AmiFamily,
        /// The alias's.
        alias: AmiFamily,
    },
    /// A tag that says whose the instance is.
    #[error("tag {0} is restricted: it says whose the instance is")]
    Tag(String),
    /// A tag without a key.
    #[error("a tag's key may not be empty")]
    EmptyTag,
}

pub(super) const SPEC_FIELDS: [&str; 20] = [
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "placementGroupSelector",
    "associatePublicIPAddress",
    "ipPrefixCount",
    "amiSelectorTerms",
    "amiFamily",
    "userData",
    "role",
    "instanceProfile",
    "tags",
    "kubelet",
    "blockDeviceMappings",
    "instanceStorePolicy",
    "networkInterfaces",
    "detailedMonitoring",
    "metadataOptions",
    "connectionTracking",
    "context",
];

/// Tags by which instances are found again; users may not set them.
pub(super) const RESTRICTED_TAGS: [&str; 4] = [
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
];
/// Start of tags that tie an instance to a cluster.
pub(super) const RESTRICTED_TAG_PREFIX: &str = "kubernetes.io/cluster";

/// Reads an EC2NodeClass. Whatever is left out has Karpenter's default.
pub(crate) fn read_node_class(root: Field<'_>) -> Option<Ec2NodeClass> {
    let metadata = read_metadata_or_newer(root);
    let spec = root.get("spec").required();
    let annotations = root.get("metadata").get("annotations");
    let image_age = read_image_age(annotations);
    let mut status = read_node_class_status(root.get("status"));
    // Annotations and status are written one after the other: what one holds back, the other may
    // still name.
    status.amis.retain(|image| !image_age.holds_back(&image.id));
    Some(Ec2NodeClass {
        image_age,
        addresses: read_addresses(annotations),
        instance_overhead: read_instance_overhead(annotations),
        name: metadata.name,
        uid: metadata.uid,
        annotations: metadata.annotations,
        is_deleting: metadata.deleted.is_some(),
        spec: spec.exists().then(|| read_spec(spec))?,
        status,
    })
}

fn read_spec(spec: Field<'_>) -> Ec2NodeClassSpec {
    let known: Vec<&str> = SPEC_FIELDS.into_iter().chain(["cpuOptions"]).collect();
    spec.only_or_newer(&known);
    check_identity(spec);
    let (ami_selector_terms, alias) = read_ami_terms(spec.get("amiSelectorTerms"));
    let ami_family = read_family(spec, alias);
    let cpu_options = spec.get("cpuOptions");
    cpu_options.only_or_newer(&["nestedVirtualization"]);
    Ec2NodeClassSpec {
        subnet_selector_terms: read_subnet_terms(spec.get("subnetSelectorTerms")),
        security_group_selector_terms: read_security_group_terms(
            spec.get("securityGroupSelectorTerms"),
        ),
        capacity_reservation_selector_terms: read_reservation_terms(
            spec.get("capacityReservationSelectorTerms"),
        ),
        placement_group: read_placement_group(spec.get("placementGroupSelector")),
        associate_public_ip_address: spec.get("associatePublicIPAddress").bool(),
        ip_prefix_count: spec.get("ipPrefixCount").count(),
        ami_selector_terms,
        ami_family,
        user_data: spec.get("userData").text(),
        role: spec.get("role").text(),
        instance_profile: spec.get("instanceProfile").text(),
        tags: read_tags(spec.get("tags")),
        kubelet: read_kubelet(spec.get("kubelet"), ami_family),
        block_device_mappings: read_block_devices(spec.get("blockDeviceMappings")),
        instance_store_raid0: spec
            .get("instanceStorePolicy")
            .choice(&[(true, "RAID0")])
            .unwrap_or(false),
        network_interfaces: read_network_interfaces(spec.get("networkInterfaces")),
        detailed_monitoring: spec.get("detailedMonitoring").bool().unwrap_or(false),
        metadata_options: read_metadata_options(spec.get("metadataOptions")),
        connection_tracking: read_connection_tracking(spec.get("connectionTracking")),
        context: spec.get("context").text(),
        nested_virtualization: cpu_options
            .get("nestedVirtualization")
            .choice(&[(true, "enabled"), (false, "disabled")]),
        hashes: spec.value().map(|spec| node_class_hashes(spec, ami_family)).unwrap_or_default(),
    }
}

fn check_identity(spec: Field<'_>) {
    let (role, profile) = (spec.get("role"), spec.get("instanceProfile"));
    if role.exists() == profile.exists() {
        spec.note_rule(NodeClassRule::RoleXorProfile);
    }
    for field in [role, profile].into_iter().filter(|field| field.str() == Some("")) {
        field.note_rule(NodeClassRule::Empty);
    }
}

/// The family: as given, or as the alias says. Both may stand only if they agree, or if the user
/// brings user data of their own (`Custom`).
fn read_family(spec: Field<'_>, alias: Option<AmiFamily>) -> AmiFamily {
    let field = spec.get("amiFamily");
    let given = field.word();
    match (given, alias) {
        (Some(given), Some(alias)) if given != alias && given != AmiFamily::Custom => {
            field.note_rule(NodeClassRule::FamilyMismatch { given, alias });
        }
        (None, None) if !field.exists() && !has_alias(spec) => {
            field.note_rule(NodeClassRule::NoFamily);
        }
        _ => {}
    }
    given.or(alias).unwrap_or_default()
}

/// Whether an alias is written, be it an invalid one, which is reported where it is read.
fn has_alias(spec: Field<'_>) -> bool {
    spec.get("amiSelectorTerms").items().any(|term| term.get("alias").exists())
}

fn read_tags(tags: Field<'_>) -> Labels {
    for (key, tag) in tags.entries() {
        if key.is_empty() {
            tag.note_rule(NodeClassRule::EmptyTag);
        }
        if RESTRICTED_TAGS.contains(&key) || key.starts_with(RESTRICTED_TAG_PREFIX) {
            tag.note_rule(NodeClassRule::Tag(key.to_owned()));
        }
    }
    tags.labels()
}
