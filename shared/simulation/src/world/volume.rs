//! Volumes: claims made with pods, and bound once a pod has its node.

use domain::Text;
use domain::instance_type::InstanceType;
use domain::label;
use domain::label::Labels;
use domain::node::Node;
use domain::pod::{NodeSelectorTerm, ObjectKey, Pod, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::requirement::Requirement;
use domain::volume::{PersistentVolume, PersistentVolumeClaim, StorageClass};

use super::World;
use crate::scheduler::volume as volume_claim;

impl World {
    /// Makes the claims that a pod's templates ask for and that are not there yet.
    pub(super) fn create_claims_of(&mut self, pod: &Pod) {
        for volume in &pod.spec.volumes {
            let (VolumeUse::Pvc { template: Some(template), .. }
            | VolumeUse::Ephemeral { template, .. }) = volume
            else {
                continue;
            };
            let key = volume_claim::claim_key(&pod.key, volume);
            self.create_claim(&key, PvcSpec::clone(template));
        }
    }

    /// Stores a claim; one of a class that binds at once gets its volume, in the first zone that
    /// the class and the catalogue allow.
    fn create_claim(&mut self, key: &ObjectKey, spec: PvcSpec) {
        let claim = PersistentVolumeClaim {
            key: key.clone(),
            is_deleting: false,
            is_lost: false,
            is_binding: false,
            spec,
        };
        if self.api.create(claim, self.now).is_err() {
            return;
        }
        self.bind_immediately(key);
    }

    /// Binds a claim whose class does not wait for a pod.
    pub(crate) fn bind_immediately(&mut self, key: &ObjectKey) {
        let Some(claim) = self.api.get::<PersistentVolumeClaim>(key) else { return };
        let class = volume_claim::class_of(&self.api, claim);
        if claim.spec.volume_name.is_some() || !class.is_some_and(|class| class.binds_immediately) {
            return;
        }
        if let Some(zone) = self.first_zone(class) {
            self.bind_claim(key, &zone);
        }
    }

    fn first_zone(&self, class: Option<&StorageClass>) -> Option<Text> {
        let types = &self.ec2.types().default;
        let zones_of = |own: &InstanceType| -> Vec<Text> {
            own.offerings.iter().map(|offering| offering.zone.clone()).collect()
        };
        let allowed = |zone: &Text| {
            let labels = Labels::from([(label::ZONE.into(), zone.clone())]);
            class.is_none_or(|class| {
                class.allowed_topologies.is_empty()
                    || class
                        .allowed_topologies
                        .iter()
                        .any(|term| term.expressions.iter().all(|own| own.holds_for(&labels)))
            })
        };
        types.iter().flat_map(zones_of).filter(allowed).min()
    }

    /// Binds the claims of a pod that waited for its node, to volumes in the node's zone.
    pub(super) fn bind_volumes_of(&mut self, pod: &ObjectKey, node: &Text) {
        let Some(pod) = self.api.get::<Pod>(pod) else { return };
        if pod.spec.volumes.is_empty() {
            return;
        }
        let zone =
            self.api.get::<Node>(node).and_then(|node| node.labels.get(label::ZONE)).cloned();
        let claims: Vec<ObjectKey> = pod
            .spec
            .volumes
            .iter()
            .map(|volume| volume_claim::claim_key(&pod.key, volume))
            .filter(|key| {
                self.api
                    .get::<PersistentVolumeClaim>(key)
                    .is_some_and(|claim| claim.spec.volume_name.is_none())
            })
            .collect();
        for key in claims {
            self.bind_claim(&key, &zone.clone().unwrap_or_default());
        }
    }

    fn bind_claim(&mut self, key: &ObjectKey, zone: &Text) {
        let Some(claim) = self.api.get::<PersistentVolumeClaim>(key) else { return };
        let driver =
            volume_claim::class_of(&self.api, claim).map(|class| class.provisioner.clone());
        let mut draw = self.seed.draw("volume", &key.to_string());
        let name: Text = format!("pvc-{}", draw.uid()).into();
        let volume = PersistentVolume {
            name: name.clone(),
            is_deleting: false,
            labels: Labels::new(),
            node_terms: (!zone.is_empty()).then(|| {
                let requirement = Requirement::is_in(label::ZONE, [zone.clone()]);
                vec![NodeSelectorTerm { expressions: vec![requirement], fields: Vec::new() }]
            }),
            is_host_bound: false,
            csi_driver: driver,
            csi_handle: Some(format!("vol-{}", draw.hex(17)).into()),
        };
        if self.api.create(volume, self.now).is_ok() {
            self.api.alter::<PersistentVolumeClaim>(key, |claim| {
                claim.spec.volume_name = Some(name);
                claim.is_binding = false;
            });
        }
    }

    /// Generic ephemeral volumes end with their pod.
    pub(super) fn remove_ephemeral_claims_of(&mut self, pod: &Pod) {
        for volume in &pod.spec.volumes {
            if matches!(volume, VolumeUse::Ephemeral { .. }) {
                let key = volume_claim::claim_key(&pod.key, volume);
                let claim = self.api.remove::<PersistentVolumeClaim>(&key).ok();
                if let Some(volume) = claim.and_then(|claim| claim.spec.volume_name) {
                    let _ = self.api.remove::<PersistentVolume>(&volume);
                }
            }
        }
    }
}
