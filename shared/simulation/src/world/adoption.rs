//! Objects of a cluster that was there before the simulation: whose pods are whose, and which
//! instances are whose.
//!
//! A dump seldom holds all kinds. Pods whose owner is not in it belong to something that stands in
//! for the owner, so that a pod that is evicted is made again as it would be: a ReplicaSet of the
//! Deployment whose name and selector fit, else one of its own; a Job with what it has still to do;
//! a DaemonSet like its newest pod. Pods of StatefulSets without theirs, and of owners of other
//! kinds, stay as they are, and nobody makes them again.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label;
use domain::label::Labels;
use domain::node_claim::NodeClaim;
use domain::node_class::ResolvedAmi;
use domain::pod::{ObjectKey, Owner, OwnerKind, Pod, PodPhase};
use domain::requirement::Requirement;
use domain::workload::{PodTemplate, Workload, WorkloadKind};
use manifests::{
    DaemonSetObject, JobSpec, Object, PodTraits, PriorityRef, WorkloadObject, unknown_daemon_sets,
};

use super::World;
use crate::api::WorkloadId;
use crate::ports::{CLAIM_TAG, CLAIM_UID_TAG};
use crate::workload::POD_TEMPLATE_HASH;

impl World {
    /// Applies objects as `kubectl apply -f` does, all before any controller acts. Returns the
    /// owners of pods among them for which something stands in: `ReplicaSet default/web-7d4b9`.
    pub fn apply_objects(&mut self, objects: &[Object]) -> Vec<Text> {
        let mut pods = BTreeSet::new();
        for object in objects {
            let mut object = object.clone();
            match &mut object {
                Object::Pod(own) => {
                    pods.insert(own.pod.key.clone());
                }
                Object::Ec2NodeClass(class) if class.status.amis.is_empty() => {
                    class.status.amis = images_of_claims(objects, &class.name);
                }
                _ => {}
            }
            self.apply_object(object);
        }
        self.tag_instances();
        let mut stand_ins = Vec::new();
        if !pods.is_empty() {
            stand_ins.extend(self.stand_in_for_replica_sets(&pods));
            stand_ins.extend(self.stand_in_for_jobs(&pods));
            stand_ins.extend(self.stand_in_for_daemon_sets(&pods));
        }
        stand_ins
    }

    /// Gives the instances of NodeClaims the tags by which EC2 shows whose they are, and their
    /// Nodes the finalizer that holds them while they are drained. Whatever was ending a claim that
    /// is being deleted is not simulated: the functions do, as for one of theirs whose record was
    /// lost.
    fn tag_instances(&mut self) {
        let is_foreign = |claim: &&NodeClaim| !self.mirrors.contains_key(&claim.name);
        let claims: Vec<NodeClaim> =
            self.api.list::<NodeClaim>().filter(is_foreign).cloned().collect();
        for claim in claims {
            let Some(provider_id) = &claim.status.provider_id else { continue };
            let id = provider_id.rsplit('/').next().unwrap_or_default();
            let is_untagged =
                self.ec2.instance(id).is_some_and(|own| !own.tags.contains_key(CLAIM_TAG));
            if !is_untagged {
                continue;
            }
            let mut tags = Labels::from([
                (CLAIM_TAG.into(), claim.name.clone()),
                (CLAIM_UID_TAG.into(), claim.uid.clone()),
            ]);
            if let Some(pool) = claim.node_pool() {
                tags.insert(label::NODE_POOL.into(), pool.clone());
            }
            self.ec2.tag(id, &tags);
            if claim.deleted.is_some() {
                self.mirrors.insert(claim.name.clone(), claim.uid.clone());
            }
            if let Some(image) = claim.status.image_id.clone() {
                self.ec2.set_image(id, image);
            }
            let node = self.node_of_instance(id).map(|node| node.name.clone());
            self.node_finalizers.extend(node);
        }
    }

    /// Pods of some owners of a kind that are not there, by owner.
    fn orphans(
        &self,
        among: &BTreeSet<ObjectKey>,
        kind: OwnerKind,
        is_there: impl Fn(&ObjectKey) -> bool,
    ) -> BTreeMap<ObjectKey, Vec<&Pod>> {
        let mut orphans: BTreeMap<ObjectKey, Vec<&Pod>> = BTreeMap::new();
        for pod in among.iter().filter_map(|key| self.api.get::<Pod>(key)) {
            let Some(owner) = pod.owner.as_ref().filter(|owner| owner.kind == kind) else {
                continue;
            };
            let owner = ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
            if !is_there(&owner) {
                orphans.entry(owner).or_default().push(pod);
            }
        }
        orphans.retain(|_, pods| pods.iter().any(|pod| pod.is_active()));
        orphans
    }

    fn has_workload(&self, kind: WorkloadKind, key: &ObjectKey) -> bool {
        self.api.get::<WorkloadObject>(&WorkloadId { kind, key: key.clone() }).is_some()
    }

    fn stand_in_for_replica_sets(&mut self, among: &BTreeSet<ObjectKey>) -> Vec<Text> {
        let is_there = |key: &ObjectKey| self.has_workload(WorkloadKind::ReplicaSet, key);
        let orphans = self.orphans(among, OwnerKind::ReplicaSet, is_there);
        // Of several ReplicaSets of a Deployment, the one whose pods are newest has its template.
        let mut current: BTreeMap<ObjectKey, (&Pod, &ObjectKey)> = BTreeMap::new();
        let mut deployments: BTreeMap<&ObjectKey, &WorkloadObject> = BTreeMap::new();
        for (key, pods) in &orphans {
            let Some(newest) = newest(pods) else { continue };
            let Some(deployment) = self.deployment_of(key, newest) else { continue };
            deployments.insert(key, deployment);
            let known = current.entry(deployment.workload.key.clone()).or_insert((newest, key));
            if age(newest) > age(known.0) {
                *known = (newest, key);
            }
        }
        let mut made = Vec::new();
        for (key, pods) in &orphans {
            let Some(newest) = newest(pods) else { continue };
            let mut own = stand_in(WorkloadKind::ReplicaSet, key, pods, newest);
            if let Some(deployment) = deployments.get(key) {
                own.owner = Some(Owner {
                    kind: OwnerKind::Deployment,
                    name: deployment.workload.key.name.clone(),
                    uid: deployment.uid.clone(),
                });
                if current.get(&deployment.workload.key).is_some_and(|(_, own)| *own == key) {
                    own.workload.template = deployment.workload.template.clone();
                    own.traits = deployment.traits;
                }
            }
            made.push((own, deployments.contains_key(key)));
        }
        let mut shown = Vec::new();
        for (object, has_deployment) in made {
            if !has_deployment {
                shown.push(format!("ReplicaSet {}", object.workload.key).into());
            }
            self.apply(object);
        }
        shown
    }

    /// The Deployment that a ReplicaSet's name and a pod's labels point at.
    fn deployment_of(&self, replica_set: &ObjectKey, pod: &Pod) -> Option<&WorkloadObject> {
        let hash = pod.labels.get(POD_TEMPLATE_HASH).map(|own| &**own);
        let (prefix, last) = replica_set.name.rsplit_once('-')?;
        if hash.is_some_and(|hash| hash != last) {
            return None;
        }
        let key = ObjectKey::new(replica_set.namespace.clone(), prefix);
        let id = WorkloadId { kind: WorkloadKind::Deployment, key };
        let selects = |own: &&WorkloadObject| {
            own.selector.as_ref().is_none_or(|selector| selector.matches(&pod.labels))
        };
        self.api.get::<WorkloadObject>(&id).filter(selects)
    }

    fn stand_in_for_jobs(&mut self, among: &BTreeSet<ObjectKey>) -> Vec<Text> {
        let is_there = |key: &ObjectKey| self.has_workload(WorkloadKind::Job, key);
        let orphans = self.orphans(among, OwnerKind::Job, is_there);
        let job = |(key, pods): (&ObjectKey, &Vec<&Pod>)| {
            let mut own = stand_in(WorkloadKind::Job, key, pods, newest(pods)?);
            let parallelism = own.workload.replicas;
            let succeeded = pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded).count();
            let succeeded = u32::try_from(succeeded).unwrap_or(u32::MAX);
            own.job = Some(JobSpec {
                completions: Some(parallelism.saturating_add(succeeded)),
                parallelism,
                backoff_limit: JobSpec::DEFAULT_BACKOFF_LIMIT,
                is_indexed: false,
                is_suspended: false,
                ttl_after_finished: None,
                succeeded,
                is_finished: false,
            });
            Some(own)
        };
        let jobs: Vec<WorkloadObject> = orphans.iter().filter_map(job).collect();
        let shown = jobs.iter().map(|own| format!("Job {}", own.workload.key).into()).collect();
        for own in jobs {
            self.apply(own);
        }
        shown
    }

    fn stand_in_for_daemon_sets(&mut self, among: &BTreeSet<ObjectKey>) -> Vec<Text> {
        let known: BTreeSet<ObjectKey> = self.api.keys::<DaemonSetObject>().into_iter().collect();
        let is_there = |key: &ObjectKey| known.contains(key);
        let orphans = self.orphans(among, OwnerKind::DaemonSet, is_there);
        let uids: BTreeMap<ObjectKey, Text> = orphans
            .iter()
            .filter_map(|(key, pods)| {
                Some((key.clone(), pods.first()?.owner.as_ref()?.uid.clone()))
            })
            .collect();
        let pods: Vec<Pod> = orphans.values().flatten().copied().cloned().collect();
        let mut shown = Vec::new();
        for daemon_set in unknown_daemon_sets(&known, &pods) {
            shown.push(format!("DaemonSet {}", daemon_set.key).into());
            self.apply(DaemonSetObject {
                uid: uids.get(&daemon_set.key).cloned().unwrap_or_default(),
                daemon_set,
                deleted: None,
                priority: PriorityRef::default(),
                traits: PodTraits { do_not_disrupt: None, deletion_cost: None },
            });
        }
        shown
    }
}

/// What a class without status selects, by the NodeClaims that were launched from it, which have
/// not drifted by themselves: the newest image of each of their types.
fn images_of_claims(objects: &[Object], class: &Text) -> Vec<ResolvedAmi> {
    let mut claims: Vec<&NodeClaim> = Vec::new();
    for object in objects {
        if let Object::NodeClaim(claim) = object
            && claim.node_class_ref.name == *class
        {
            claims.push(claim);
        }
    }
    claims.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.name.cmp(&b.name)));
    let mut images: Vec<ResolvedAmi> = Vec::new();
    for claim in claims {
        let Some(id) = claim.status.image_id.clone() else { continue };
        let Some(own) = claim.labels.get(label::INSTANCE_TYPE) else { continue };
        let requirements = vec![Requirement::is_in(label::INSTANCE_TYPE, [own.clone()])];
        if !images.iter().any(|known| known.requirements == requirements) {
            images.push(ResolvedAmi { id, name: None, is_deprecated: false, requirements });
        }
    }
    let newest = images.first().cloned();
    images.extend(newest.map(|newest| ResolvedAmi { requirements: Vec::new(), ..newest }));
    images
}

/// By creation, then by name.
fn age(pod: &Pod) -> (Option<domain::Timestamp>, &Text) {
    (pod.created, &pod.key.name)
}

fn newest<'p>(pods: &[&'p Pod]) -> Option<&'p Pod> {
    pods.iter().copied().filter(|pod| pod.is_active()).max_by_key(|pod| age(pod))
}

/// What would make pods like the newest one, as many as are active.
fn stand_in(kind: WorkloadKind, key: &ObjectKey, pods: &[&Pod], newest: &Pod) -> WorkloadObject {
    let active = pods.iter().filter(|pod| pod.is_active()).count();
    WorkloadObject {
        workload: Workload {
            kind,
            key: key.clone(),
            replicas: u32::try_from(active).unwrap_or(u32::MAX),
            template: PodTemplate { labels: newest.labels.clone(), spec: newest.spec.clone() },
            selector: None,
        },
        uid: newest.owner.as_ref().map(|owner| owner.uid.clone()).unwrap_or_default(),
        owner: None,
        selector: None,
        claim_templates: Vec::new(),
        priority: PriorityRef::default(),
        traits: PodTraits {
            do_not_disrupt: newest.do_not_disrupt,
            deletion_cost: newest.deletion_cost,
        },
        job: None,
        rollout: None,
    }
}

#[cfg(test)]
mod tests;
