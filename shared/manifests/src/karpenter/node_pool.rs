//! NodePool (`karpenter.sh/v1`).

use std::sync::Arc;

use domain::label::{Labels, SPOT_OFFERING_SHARE};
use domain::node_pool::{NodeClaimTemplate, NodePool};
use domain::resource::{
    AMD_GPU, AWS_NEURON, CPU, EPHEMERAL_STORAGE, MEMORY, NODES, NVIDIA_GPU, PODS, Resources,
    USD_PER_HOUR,
};
use domain::spot::{SpotOfferingShare, SpotPolicy};

use super::disruption::read_disruption;
use super::metadata::{read_metadata_or_newer, read_ready};
use super::node_pool_options::read_options;
use super::requirement::{RequirementsOf, read_template_labels};
use super::template::{TEMPLATE_FIELDS, read_node_spec};
use crate::field::Field;
use crate::template_hash::node_pool_hash;

/// Most labels of a template.
pub(super) const LABELS_MAX: usize = 100;
/// What `weight` may be.
const WEIGHT: std::ops::RangeInclusive<i64> = 1..=100;

/// Limits that are counted of nodes of any type.
const USUAL_LIMITS: [&str; 6] = [CPU, MEMORY, EPHEMERAL_STORAGE, PODS, NODES, USD_PER_HOUR];

/// Devices that instance types of EC2 have.
const DEVICES: [&str; 8] = [
    NVIDIA_GPU,
    AMD_GPU,
    AWS_NEURON,
    "aws.amazon.com/neuroncore",
    "habana.ai/gaudi",
    "vpc.amazonaws.com/pod-eni",
    "vpc.amazonaws.com/PrivateIPv4Address",
    "vpc.amazonaws.com/efa",
];

/// Names that people write for others, which letters alone do not tell.
const MISTAKEN_LIMITS: [(&str, &str); 9] = [
    ("cores", CPU),
    ("vcpu", CPU),
    ("vcpus", CPU),
    ("gpu", NVIDIA_GPU),
    ("gpus", NVIDIA_GPU),
    ("mem", MEMORY),
    ("ram", MEMORY),
    ("storage", EPHEMERAL_STORAGE),
    ("disk", EPHEMERAL_STORAGE),
];

/// Which rule a NodePool breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NodePoolRule {
    /// Weight out of range.
    #[error("weight {0} is out of range: it takes 1 to 100")]
    Weight(i64),
    /// Too many labels.
    #[error("{0} labels are too many: at most 100 are allowed")]
    TooManyLabels(usize),
    /// A static pool is not chosen among others.
    #[error("weight cannot stand beside replicas: a NodePool of fixed size is not chosen for pods")]
    WeightOfStaticPool,
    /// A static pool is limited in nodes only.
    #[error(
        "limit {0} cannot stand beside replicas: a NodePool of fixed size is limited by nodes only"
    )]
    LimitOfStaticPool(String),
}

/// Reads a NodePool. Whatever is left out has Karpenter's default.
pub(crate) fn read_node_pool(root: Field<'_>) -> Option<NodePool> {
    let metadata = read_metadata_or_newer(root);
    let spec = root.get("spec").required();
    spec.only_or_newer(&["template", "disruption", "limits", "weight", "replicas"]);
    let replicas = spec.get("replicas").count();
    warn_of_annotations(root.get("metadata").get("annotations"), &metadata.annotations);
    check_static(spec);
    Some(NodePool {
        name: metadata.name,
        uid: metadata.uid,
        annotations: metadata.annotations,
        is_deleting: metadata.deleted.is_some(),
        ready: read_ready(root.get("status")),
        template: Arc::new(read_template(spec.get("template").required())?),
        disruption: read_disruption(spec.get("disruption")),
        limits: read_limits(spec.get("limits")),
        weight: read_weight(spec.get("weight")),
        replicas,
        options: read_options(root),
    })
}

/// An annotation that says nothing has no effect, and costs the NodePool nothing else.
fn warn_of_annotations(field: Field<'_>, annotations: &Labels) {
    for (key, error) in SpotPolicy::errors(annotations) {
        field.get(key).warn(format!("{error}: it has no effect"));
    }
    let share = annotations.get(SPOT_OFFERING_SHARE).map(|text| SpotOfferingShare::parse(text));
    if let Some(Err(error)) = share {
        field.get(SPOT_OFFERING_SHARE).warn(format!("{error}: it has no effect"));
    }
}

fn read_weight(field: Field<'_>) -> u32 {
    let weight = field.integer();
    if let Some(weight) = weight.filter(|weight| !WEIGHT.contains(weight)) {
        field.note_rule(NodePoolRule::Weight(weight));
    }
    weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or(0)
}

/// `limits`. The API takes any resource there, and one that no node has limits nothing: of a name
/// that is none of the usual ones, that is said.
pub(super) fn read_limits(limits: Field<'_>) -> Resources {
    for (name, limit) in limits.entries().filter(|(name, _)| !is_usual_limit(name)) {
        let meant = MISTAKEN_LIMITS
            .iter()
            .find(|(written, _)| *written == name.to_ascii_lowercase())
            .map(|(_, meant)| *meant)
            .or_else(|| nearest_limit(name));
        let advice = meant.map(|meant| format!(": did you mean {meant}?")).unwrap_or_default();
        limit.warn(format!("no node has {name}, so this limit has no effect{advice}"));
    }
    limits.resources()
}

/// Whether nodes may have the resource: Kubernetes' own, or an extended one with its domain.
fn is_usual_limit(name: &str) -> bool {
    USUAL_LIMITS.contains(&name) || name.starts_with("hugepages-") || is_extended(name)
}

/// An extended resource; none of them is called nearly as one that EC2 has.
fn is_extended(name: &str) -> bool {
    let is_known = DEVICES.contains(&name);
    name.contains('/') && (is_known || nearest_limit(name).is_none())
}

fn nearest_limit(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let is_comparable = name.len() <= 64;
    USUAL_LIMITS
        .into_iter()
        .chain(DEVICES)
        .filter(|_| is_comparable)
        .map(|known| (strsim::osa_distance(&lower, known), known))
        .filter(|(letters, known)| *letters <= 2 && letters * 3 <= known.len())
        .min()
        .map(|(_, known)| known)
}

fn check_static(spec: Field<'_>) {
    if !spec.get("replicas").exists() {
        return;
    }
    if spec.get("weight").exists() {
        spec.get("weight").note_rule(NodePoolRule::WeightOfStaticPool);
    }
    for (name, limit) in spec.get("limits").entries().filter(|(name, _)| *name != NODES) {
        limit.note_rule(NodePoolRule::LimitOfStaticPool(name.to_owned()));
    }
}

fn read_template(template: Field<'_>) -> Option<NodeClaimTemplate> {
    template.only_or_newer(&["metadata", "spec"]);
    let metadata = template.get("metadata");
    metadata.only_or_newer(&["labels", "annotations"]);
    let labels = read_template_labels(metadata.get("labels"));
    if labels.len() > LABELS_MAX {
        metadata.get("labels").note_rule(NodePoolRule::TooManyLabels(labels.len()));
    }
    let spec = template.get("spec").required();
    if !spec.exists() {
        return None;
    }
    spec.only_or_newer(&TEMPLATE_FIELDS);
    let node = read_node_spec(spec, RequirementsOf::NodePool);
    Some(NodeClaimTemplate {
        labels,
        annotations: metadata.get("annotations").labels(),
        taints: node.taints,
        startup_taints: node.startup_taints,
        requirements: node.requirements,
        node_class_ref: node.node_class_ref,
        termination_grace_period: node.termination_grace_period,
        expire_after: node.expire_after,
        hash: template.value().and_then(node_pool_hash),
    })
}
