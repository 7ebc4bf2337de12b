//! Pod and PodTemplate.

use std::sync::Arc;

use domain::label::{
    CAPACITY_PROVISIONED, DO_NOT_DISRUPT, Labels, MANAGED_POD_DELETION_COST, POD_DELETION_COST,
};
use domain::pod::{DoNotDisrupt, Owner, OwnerKind, Pod, PodPhase};
use domain::workload::{PodTemplate, PodTemplateObject};
use domain::{SignedDuration, Text};
use go_duration::GoDuration;

use super::metadata::Metadata;
use super::pod_spec::{pod_spec, read_annotations};
use super::priority::PriorityRef;
use super::resize::requests_in_place;
use crate::field::Field;

/// A Pod, its priority still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodObject {
    /// The pod; its priority is 0 unless the pod states one.
    pub pod: Pod,
    /// What its priority hangs on.
    pub priority: PriorityRef,
}

/// What a pod template's annotations say of its pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodTraits {
    /// Annotation `karpenter.sh/do-not-disrupt`.
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// Annotation `controller.kubernetes.io/pod-deletion-cost`.
    pub deletion_cost: Option<i32>,
}

impl PodTraits {
    pub(crate) fn of(annotations: &Labels) -> Self {
        Self {
            do_not_disrupt: annotations.get(DO_NOT_DISRUPT).and_then(|text| do_not_disrupt(text)),
            deletion_cost: annotations.get(POD_DELETION_COST).and_then(|cost| cost.parse().ok()),
        }
    }
}

/// `true`, or a positive duration as Go reads it; anything else protects nothing, as upstream.
fn do_not_disrupt(text: &str) -> Option<DoNotDisrupt> {
    if text == "true" {
        return Some(DoNotDisrupt::Always);
    }
    let nanoseconds = text.parse::<GoDuration>().ok()?.nanoseconds();
    (nanoseconds > 0).then(|| DoNotDisrupt::For(SignedDuration::from_nanos(nanoseconds)))
}

pub(super) fn read_pod(root: Field<'_>) -> PodObject {
    let (metadata, key) = Metadata::namespaced(root);
    let (spec, status) = (root.get("spec"), root.get("status"));
    let interner = root.reader().interner();
    let (mut pod_spec, priority) = pod_spec(spec, &key.namespace, &metadata.labels);
    read_annotations(root.get("metadata").get("annotations"), &mut pod_spec);
    // What the node can never give is not waited for.
    let is_refused = condition(status, "PodResizePending")
        .is_some_and(|pending| pending.get("reason").str() == Some("Infeasible"));
    if let Some(requests) = requests_in_place(spec, status, is_refused) {
        pod_spec.requests = requests;
    }
    let traits = PodTraits::of(&metadata.annotations);
    let annotation = |key: &str| metadata.annotations.get(key);
    let is_cost_managed = annotation(MANAGED_POD_DELETION_COST) == annotation(POD_DELETION_COST);
    let named = |field: Field<'_>| field.text().filter(|name| !name.is_empty());
    let pod = Pod {
        key,
        uid: metadata.uid,
        created: metadata.created,
        deleted: metadata.deleted,
        labels: interner.labels(metadata.labels),
        owner: owner(root.get("metadata").get("ownerReferences")),
        spec: interner.pod_spec(pod_spec),
        node_name: named(spec.get("nodeName")),
        nominated_node_name: named(status.get("nominatedNodeName")),
        phase: phase(status.get("phase")),
        started: status.get("startTime").timestamp(),
        ready: condition(status, "Ready").and_then(|ready| ready.get("status").str()).map(is_true),
        marked_unschedulable: condition(status, "PodScheduled").is_some_and(|scheduled| {
            scheduled.get("status").str() == Some("False")
                && scheduled.get("reason").str() == Some("Unschedulable")
        }),
        do_not_disrupt: traits.do_not_disrupt,
        deletion_cost: traits.deletion_cost.filter(|_| !is_cost_managed),
        managed_deletion_cost: traits.deletion_cost.filter(|_| is_cost_managed).unwrap_or(0),
        is_mirror: metadata.annotations.contains_key("kubernetes.io/config.mirror"),
        capacity_provisioned: metadata
            .annotations
            .get(CAPACITY_PROVISIONED)
            .and_then(|size| size.parse().ok())
            .map(Box::new),
        virtual_of: None,
    };
    PodObject { pod, priority }
}

fn is_true(status: &str) -> bool {
    status == "True"
}

/// A condition of a status by its type.
pub(super) fn condition<'v>(status: Field<'v>, kind: &str) -> Option<Field<'v>> {
    status.get("conditions").items().find(|condition| condition.get("type").str() == Some(kind))
}

fn phase(field: Field<'_>) -> PodPhase {
    if field.str().is_none_or(str::is_empty) {
        return PodPhase::Pending;
    }
    field.word().unwrap_or_default()
}

/// The owner that decides what becomes of the pod: a DaemonSet or Node among them, else the
/// controlling one.
pub(super) fn owner(references: Field<'_>) -> Option<Owner> {
    let rank = |reference: &Field<'_>| match reference.get("kind").str() {
        Some("DaemonSet" | "Node") => 0,
        _ if reference.get("controller").bool() == Some(true) => 1,
        _ => 2,
    };
    let reference = references.items().min_by_key(rank)?;
    Some(Owner {
        kind: owner_kind(reference.get("kind").required().str()?),
        name: reference.get("name").required().text()?,
        uid: reference.get("uid").text().unwrap_or_default(),
    })
}

fn owner_kind(kind: &str) -> OwnerKind {
    match kind {
        "DaemonSet" => OwnerKind::DaemonSet,
        "Deployment" => OwnerKind::Deployment,
        "ReplicaSet" => OwnerKind::ReplicaSet,
        "StatefulSet" => OwnerKind::StatefulSet,
        "Job" => OwnerKind::Job,
        "ReplicationController" => OwnerKind::ReplicationController,
        "Node" => OwnerKind::Node,
        _ => OwnerKind::Other,
    }
}

/// A pod template, what its pods' priority hangs on, and what its annotations say.
#[derive(Clone, Debug)]
pub(super) struct ReadTemplate {
    pub(super) template: PodTemplate,
    pub(super) priority: PriorityRef,
    pub(super) traits: PodTraits,
}

/// Reads `template` of a workload in a namespace. Its pods' fields are those of the template.
pub(super) fn pod_template(template: Field<'_>, namespace: &Text) -> ReadTemplate {
    let metadata = template.get("metadata");
    let labels = metadata.get("labels").labels();
    let (mut spec, priority) = pod_spec(template.get("spec"), namespace, &labels);
    read_annotations(metadata.get("annotations"), &mut spec);
    let interner = template.reader().interner();
    ReadTemplate {
        template: PodTemplate { labels: interner.labels(labels), spec: Arc::new(spec) },
        priority,
        traits: PodTraits::of(&metadata.get("annotations").labels()),
    }
}

/// Reads a pod template inside another object.
pub(crate) fn read_pod_template_spec(template: Field<'_>, namespace: &Text) -> PodTemplate {
    pod_template(template, namespace).template
}

pub(super) fn read_pod_template(root: Field<'_>) -> PodTemplateObject {
    let (_, key) = Metadata::namespaced(root);
    let template = pod_template(root.get("template"), &key.namespace).template;
    let generation = root.get("metadata").get("generation").integer().unwrap_or_default();
    PodTemplateObject { key, generation, template }
}
