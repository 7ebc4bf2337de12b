//! Volumes: VolumeBinding's and VolumeZone's filters, as far as they decide about nodes.

use domain::label::{self, Labels};
use domain::pod::{NodeSelectorTerm, ObjectKey, VolumeUse};
use domain::requirement::Requirement;
use domain::volume::{PersistentVolume, PersistentVolumeClaim, StorageClass, default_class};

use super::node_match::expressions_match;
use super::view::SchedulingPod;
use crate::api::ApiServer;

/// Why a pod with volumes is not scheduled anywhere yet, in kube-scheduler's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum VolumeWait {
    #[error("persistentvolumeclaim \"{0}\" not found")]
    NotFound(String),
    #[error("persistentvolumeclaim \"{0}\" is being deleted")]
    Deleting(String),
    #[error("pod has unbound immediate PersistentVolumeClaims")]
    Unbound,
    #[error("persistentvolume \"{0}\" not found")]
    NoVolume(String),
}

/// For each volume, the alternatives of which a node must meet one.
#[derive(Debug, Default)]
pub(super) struct VolumeTerms(Vec<Vec<NodeSelectorTerm>>);

impl VolumeTerms {
    pub(super) fn allow(&self, labels: &Labels) -> bool {
        self.0.iter().all(|terms| terms.iter().any(|term| expressions_match(term, labels)))
    }
}

/// The claim that a volume of a pod stands for.
pub(crate) fn claim_key(pod: &ObjectKey, volume: &VolumeUse) -> ObjectKey {
    match volume {
        VolumeUse::Pvc { name, .. } => ObjectKey::new(pod.namespace.clone(), name.clone()),
        VolumeUse::Ephemeral { volume, .. } => {
            ObjectKey::new(pod.namespace.clone(), format!("{}-{volume}", pod.name))
        }
    }
}

/// The class of a claim: the one it names, or the default one.
pub(crate) fn class_of<'a>(
    api: &'a ApiServer,
    claim: &PersistentVolumeClaim,
) -> Option<&'a StorageClass> {
    match &claim.spec.storage_class {
        Some(name) => api.get::<StorageClass>(name),
        None => default_class(api.list::<StorageClass>()),
    }
}

/// What the pod's volumes require of its node.
pub(super) fn required_of(api: &ApiServer, pod: &SchedulingPod) -> Result<VolumeTerms, VolumeWait> {
    let mut all = VolumeTerms::default();
    for volume in &pod.spec.volumes {
        let key = claim_key(pod.key, volume);
        let claim = api
            .get::<PersistentVolumeClaim>(&key)
            .ok_or_else(|| VolumeWait::NotFound(key.name.to_string()))?;
        if claim.is_deleting {
            return Err(VolumeWait::Deleting(key.name.to_string()));
        }
        if let Some(name) = &claim.spec.volume_name {
            let volume = api
                .get::<PersistentVolume>(name)
                .ok_or_else(|| VolumeWait::NoVolume(name.to_string()))?;
            all.0.extend(volume.node_terms.clone());
            all.0.extend(zone_labels(volume));
            continue;
        }
        let class = class_of(api, claim).ok_or(VolumeWait::Unbound)?;
        if class.binds_immediately {
            return Err(VolumeWait::Unbound);
        }
        if !class.allowed_topologies.is_empty() {
            all.0.push(class.allowed_topologies.clone());
        }
    }
    Ok(all)
}

/// Zone and region labels of older volumes; several values are joined by `__`.
fn zone_labels(volume: &PersistentVolume) -> Vec<Vec<NodeSelectorTerm>> {
    volume
        .labels
        .iter()
        .filter(|(key, _)| [label::ZONE, label::REGION].contains(&label::normalized_key(key)))
        .map(|(key, value)| {
            let values = value.split("__").map(domain::Text::from);
            let requirement = Requirement::is_in(label::normalized_key(key), values);
            vec![NodeSelectorTerm { expressions: vec![requirement], fields: Vec::new() }]
        })
        .collect()
}
