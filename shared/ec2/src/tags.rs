//! Tags, by which the resources of a cluster are found.

use aws_sdk_ec2::types::{
    LaunchTemplateTagSpecificationRequest, ResourceType, Tag, TagSpecification,
};
use controllers::record::launch::LaunchRequest;
use domain::label::{self, Labels};
use domain::node_class::Ec2NodeClass;

/// Tag: the name of the claim.
pub(crate) const CLAIM: &str = "karpenter.sh/nodeclaim";
/// Tag: the uid of the claim, which tells claims of one name apart.
pub(crate) const CLAIM_UID: &str = "outrigger.dev/claim-uid";
/// Tag: the name of the cluster, on all resources that Karpenter or Outrigger creates for it.
pub(crate) const CLUSTER: &str = "eks:eks-cluster-name";
/// Tag: the cluster that owns a launch template. Not [`CLUSTER`]: a Karpenter that still runs in
/// the cluster would take the template for one of its own, and delete it.
pub(crate) const TEMPLATE_OWNER: &str = "outrigger.dev/cluster";

/// Tag: the installation that launched an instance, NAME/UUID of its stack.
pub(crate) const INSTALLATION: &str = "outrigger.dev/installation";

/// Whose an instance is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) cluster: &'a str,
    /// The installation's id; empty where there is none.
    pub(crate) installation: &'a str,
}

/// The tag that marks a resource as the cluster's; its value is `owned`.
pub(crate) fn owned_by(cluster: &str) -> String {
    format!("kubernetes.io/cluster/{cluster}")
}

/// Tags of resources of the nodes of a class: the user's, and those of the owner.
pub(crate) fn of_class(cluster: &str, class: &Ec2NodeClass) -> Labels {
    let mut tags = class.spec.tags.clone();
    tags.insert(owned_by(cluster).into(), "owned".into());
    tags.insert(CLUSTER.into(), cluster.into());
    tags.insert(label::NODE_CLASS.into(), class.name.clone());
    tags
}

/// Tags of an instance and its volumes.
pub(crate) fn of_launch(owner: Owner<'_>, class: &Ec2NodeClass, request: &LaunchRequest) -> Labels {
    let mut tags = of_class(owner.cluster, class);
    if !owner.installation.is_empty() {
        tags.insert(INSTALLATION.into(), owner.installation.into());
    }
    tags.insert(CLAIM.into(), request.claim.clone());
    tags.insert(CLAIM_UID.into(), request.token.clone());
    if !request.node_pool.is_empty() {
        tags.insert(label::NODE_POOL.into(), request.node_pool.clone());
    }
    tags
}

/// Tags of a launch template.
pub(crate) fn of_template(cluster: &str, class: &Ec2NodeClass) -> Labels {
    let mut tags = class.spec.tags.clone();
    tags.insert(owned_by(cluster).into(), "owned".into());
    tags.insert(TEMPLATE_OWNER.into(), cluster.into());
    tags.insert(label::NODE_CLASS.into(), class.name.clone());
    tags
}

/// Tags as a type of the SDK.
pub(crate) fn to_aws(tags: &Labels) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(&**key).value(&**value).build()).collect()
}

/// Tags for resources of a kind that a call creates.
pub(crate) fn specification(kind: ResourceType, tags: &Labels) -> TagSpecification {
    TagSpecification::builder().resource_type(kind).set_tags(Some(to_aws(tags))).build()
}

/// Tags for resources of a kind that a launch from a template creates.
pub(crate) fn in_template(
    kind: ResourceType,
    tags: &Labels,
) -> LaunchTemplateTagSpecificationRequest {
    LaunchTemplateTagSpecificationRequest::builder()
        .resource_type(kind)
        .set_tags(Some(to_aws(tags)))
        .build()
}

/// The value of a tag.
pub(crate) fn value<'t>(tags: &'t [Tag], key: &str) -> Option<&'t str> {
    tags.iter().find(|tag| tag.key() == Some(key)).and_then(Tag::value)
}
