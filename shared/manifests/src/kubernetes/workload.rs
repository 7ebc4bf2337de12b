//! Deployment, StatefulSet, ReplicaSet, Job and DaemonSet: what makes pods.

use std::sync::Arc;

use domain::pod::{ObjectKey, Owner, OwnerKind, Pod, PodSpec, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::rollout::RolloutSpec;
use domain::selector::LabelSelector;
use domain::taint::{TaintEffect, Toleration};
use domain::workload::{DaemonSet, PodTemplate, Workload, WorkloadKind};
use domain::{SignedDuration, Text, Timestamp};

use super::metadata::Metadata;
use super::pod::{PodTraits, ReadTemplate, condition, owner, pod_template};
use super::priority::PriorityRef;
use super::rollout::read_rollout;
use super::selector::label_selector;
use super::volume::claim_spec;
use crate::field::Field;

/// A Deployment, StatefulSet, ReplicaSet or Job, with what it takes to make its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadObject {
    /// The workload. Volumes that a StatefulSet's claim templates ask for stand in its template as
    /// ephemeral ones, since only a pod's name says what their claims are called.
    pub workload: Workload,
    /// `metadata.uid`.
    pub uid: Text,
    /// The controlling owner: of a ReplicaSet, its Deployment.
    pub owner: Option<Owner>,
    /// `spec.selector`.
    pub selector: Option<LabelSelector>,
    /// `spec.volumeClaimTemplates` of a StatefulSet.
    pub claim_templates: Vec<ClaimTemplate>,
    /// What its pods' priority hangs on.
    pub priority: PriorityRef,
    /// What its pods' annotations say.
    pub traits: PodTraits,
    /// What a Job says of its pods beside their template.
    pub job: Option<JobSpec>,
    /// How a Deployment replaces its pods; `None` for other kinds.
    pub rollout: Option<RolloutSpec>,
}

/// How many pods of a Job run, how often, and until when.
///
/// Source: <https://kubernetes.io/docs/concepts/workloads/controllers/job/>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// `spec.completions`; `None` for a Job that is complete once one of its pods has succeeded and
    /// all have ended.
    pub completions: Option<u32>,
    /// `spec.parallelism`.
    pub parallelism: u32,
    /// `spec.backoffLimit`: the Job fails once more pods than that have failed.
    pub backoff_limit: u32,
    /// `spec.completionMode` is Indexed.
    pub is_indexed: bool,
    /// `spec.suspend`.
    pub is_suspended: bool,
    /// `spec.ttlSecondsAfterFinished`; `None` for a Job that stays.
    pub ttl_after_finished: Option<SignedDuration>,
    /// `status.succeeded`: pods that have succeeded, whether they are there still or not.
    pub succeeded: u32,
    /// Condition Complete or Failed is True.
    pub is_finished: bool,
}

impl JobSpec {
    /// `spec.backoffLimit` of a Job that does not say.
    pub const DEFAULT_BACKOFF_LIMIT: u32 = 6;

    /// Pods that run at once: its parallelism, at most the completions that remain.
    ///
    /// Source:
    /// <https://kubernetes.io/docs/concepts/workloads/controllers/job/#controlling-parallelism>.
    fn pods_at_once(&self) -> u32 {
        if self.is_finished || self.is_suspended {
            return 0;
        }
        self.completions.map_or(self.parallelism, |completions| {
            self.parallelism.min(completions.saturating_sub(self.succeeded))
        })
    }
}

/// A claim template of a StatefulSet: each pod mounts a claim named `TEMPLATE-POD` made from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// The template's name, and that of the volume it stands for.
    pub name: Text,
    /// Storage request of each claim.
    pub spec: Arc<PvcSpec>,
}

impl WorkloadObject {
    /// The pod of this name that the workload's controller would make: pending, and not there yet.
    ///
    /// Its creation time and uid are the caller's to set where the pod is to exist.
    pub fn pod(&self, name: Text) -> Pod {
        let owner = Owner {
            kind: owner_kind(self.workload.kind),
            name: self.workload.key.name.clone(),
            uid: self.uid.clone(),
        };
        Pod {
            labels: self.workload.template.labels.clone(),
            owner: Some(owner),
            spec: self.pod_spec(&name),
            do_not_disrupt: self.traits.do_not_disrupt,
            deletion_cost: self.traits.deletion_cost,
            ..Pod::pending(ObjectKey { namespace: self.workload.key.namespace.clone(), name })
        }
    }

    /// The pending pods `NAME-0`, `NAME-1`, … of a workload that has none yet.
    pub fn pods(&self) -> impl Iterator<Item = Pod> {
        (0..self.workload.replicas)
            .map(|index| self.pod(format!("{}-{index}", self.workload.key.name).into()))
    }

    fn pod_spec(&self, pod_name: &str) -> Arc<PodSpec> {
        let template = &self.workload.template.spec;
        if self.claim_templates.is_empty() {
            return template.clone();
        }
        let mut spec = PodSpec::clone(template);
        spec.volumes.retain(|volume| !self.claim_templates.iter().any(|own| own.stands_in(volume)));
        spec.volumes.extend(self.claim_templates.iter().map(|own| VolumeUse::Pvc {
            name: format!("{}-{pod_name}", own.name).into(),
            template: Some(own.spec.clone()),
        }));
        spec.volumes.sort();
        Arc::new(spec)
    }
}

impl ClaimTemplate {
    fn as_ephemeral(&self) -> VolumeUse {
        VolumeUse::Ephemeral { volume: self.name.clone(), template: self.spec.clone() }
    }

    fn stands_in(&self, volume: &VolumeUse) -> bool {
        matches!(volume, VolumeUse::Ephemeral { volume, .. } if *volume == self.name)
    }
}

fn owner_kind(kind: WorkloadKind) -> OwnerKind {
    match kind {
        WorkloadKind::Deployment => OwnerKind::Deployment,
        WorkloadKind::StatefulSet => OwnerKind::StatefulSet,
        WorkloadKind::ReplicaSet => OwnerKind::ReplicaSet,
        WorkloadKind::Job => OwnerKind::Job,
    }
}

pub(super) fn read_deployment(root: Field<'_>) -> WorkloadObject {
    let own = replicated(root, WorkloadKind::Deployment);
    WorkloadObject { rollout: Some(read_rollout(root)), ..own }
}

pub(super) fn read_stateful_set(root: Field<'_>) -> WorkloadObject {
    replicated(root, WorkloadKind::StatefulSet)
}

pub(super) fn read_replica_set(root: Field<'_>) -> WorkloadObject {
    replicated(root, WorkloadKind::ReplicaSet)
}

pub(super) fn read_job(root: Field<'_>) -> WorkloadObject {
    let mut own = workload(root, WorkloadKind::Job);
    let job = job_spec(root.get("spec"), root.get("status"));
    own.workload.replicas = job.pods_at_once();
    WorkloadObject { job: Some(job), ..own }
}

fn replicated(root: Field<'_>, kind: WorkloadKind) -> WorkloadObject {
    let mut own = workload(root, kind);
    own.workload.replicas = root.get("spec").get("replicas").count().unwrap_or(1);
    own
}

fn job_spec(spec: Field<'_>, status: Field<'_>) -> JobSpec {
    let is_true = |kind: &&str| {
        condition(status, kind).is_some_and(|found| found.get("status").str() == Some("True"))
    };
    let (completions, parallelism) =
        (spec.get("completions").count(), spec.get("parallelism").count());
    let ttl = spec.get("ttlSecondsAfterFinished").count();
    JobSpec {
        // The API server's default of both is one, of completions only where neither is given.
        completions: completions.or(parallelism.is_none().then_some(1)),
        parallelism: parallelism.unwrap_or(1),
        backoff_limit: spec.get("backoffLimit").count().unwrap_or(JobSpec::DEFAULT_BACKOFF_LIMIT),
        is_indexed: spec.get("completionMode").str() == Some("Indexed"),
        is_suspended: spec.get("suspend").bool().unwrap_or_default(),
        ttl_after_finished: ttl.map(|seconds| SignedDuration::from_secs(seconds.into())),
        succeeded: status.get("succeeded").count().unwrap_or_default(),
        is_finished: ["Complete", "Failed"].iter().any(is_true),
    }
}

/// What workloads have in common. Metadata comes first, since problems found from there on name the
/// object in full.
fn workload(root: Field<'_>, kind: WorkloadKind) -> WorkloadObject {
    let (metadata, key) = Metadata::namespaced(root);
    let spec = root.get("spec");
    let ReadTemplate { template, priority, traits } =
        pod_template(spec.get("template"), &key.namespace);
    let claims = spec.get("volumeClaimTemplates");
    let claim_templates = claim_templates(claims);
    let template = with_claims(template, &claim_templates, spec.get("template"));
    let selector = label_selector(spec.get("selector"));
    WorkloadObject {
        uid: metadata.uid,
        owner: owner(root.get("metadata").get("ownerReferences")),
        selector: selector.clone(),
        workload: Workload { kind, key, replicas: 0, template, selector },
        claim_templates,
        priority,
        traits,
        job: None,
        rollout: None,
    }
}

fn claim_templates(field: Field<'_>) -> Vec<ClaimTemplate> {
    field
        .items()
        .filter_map(|template| {
            Some(ClaimTemplate {
                name: template.get("metadata").get("name").required().text()?,
                spec: Arc::new(claim_spec(template.get("spec"))),
            })
        })
        .collect()
}

/// The template with a volume for each claim template, in place of the template's own of that name.
fn with_claims(template: PodTemplate, claims: &[ClaimTemplate], field: Field<'_>) -> PodTemplate {
    let interner = field.reader().interner();
    let mut spec = Arc::unwrap_or_clone(template.spec);
    if !claims.is_empty() {
        let own_volumes = field.get("spec").get("volumes").items();
        let kept = own_volumes.filter(|volume| {
            let name = volume.get("name").str();
            !claims.iter().any(|claim| name == Some(&*claim.name))
        });
        spec.volumes = kept.filter_map(super::pod_spec::volume).collect();
        spec.volumes.extend(claims.iter().map(ClaimTemplate::as_ephemeral));
        spec.volumes.sort();
        spec.volumes.dedup();
    }
    PodTemplate { labels: template.labels, spec: interner.pod_spec(spec) }
}

/// A DaemonSet, its pods' priority still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSetObject {
    /// The DaemonSet, with the tolerations that its controller adds.
    pub daemon_set: DaemonSet,
    /// `metadata.uid`.
    pub uid: Text,
    /// `metadata.deletionTimestamp`: its pods are going, and new nodes get none.
    pub deleted: Option<Timestamp>,
    /// What its pods' priority hangs on.
    pub priority: PriorityRef,
    /// What its pods' annotations say.
    pub traits: PodTraits,
}

pub(super) fn read_daemon_set(root: Field<'_>) -> DaemonSetObject {
    let (metadata, key) = Metadata::namespaced(root);
    let ReadTemplate { template, priority, traits } =
        pod_template(root.get("spec").get("template"), &key.namespace);
    let mut spec = Arc::unwrap_or_clone(template.spec);
    spec.tolerations.extend(daemon_tolerations());
    spec.tolerations.sort();
    spec.tolerations.dedup();
    let template =
        PodTemplate { labels: template.labels, spec: root.reader().interner().pod_spec(spec) };
    let pod = root.get("spec").get("template").get("spec");
    let is_on_host_network = pod.get("hostNetwork").bool().unwrap_or_default();
    DaemonSetObject {
        daemon_set: DaemonSet { key, template, is_on_host_network },
        uid: metadata.uid,
        deleted: metadata.deleted,
        priority,
        traits,
    }
}

/// What the DaemonSet controller adds to every pod it makes.
///
/// Source:
/// <https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations>.
fn daemon_tolerations() -> impl Iterator<Item = Toleration> {
    [
        ("not-ready", TaintEffect::NoExecute),
        ("unreachable", TaintEffect::NoExecute),
        ("disk-pressure", TaintEffect::NoSchedule),
        ("memory-pressure", TaintEffect::NoSchedule),
        ("pid-pressure", TaintEffect::NoSchedule),
        ("unschedulable", TaintEffect::NoSchedule),
        ("network-unavailable", TaintEffect::NoSchedule),
    ]
    .into_iter()
    .map(|(name, effect)| Toleration {
        key: Some(format!("node.kubernetes.io/{name}").into()),
        exists: true,
        value: Text::default(),
        effect: Some(effect),
    })
}
