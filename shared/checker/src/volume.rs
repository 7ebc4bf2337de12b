//! What the volumes of a pod require of its node.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use domain::Text;
use domain::label::{REGION, ZONE, normalized_key};
use domain::pod::{ObjectKey, Pod, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::requirement::Operator;
use domain::snapshot::ClusterSnapshot;
use domain::volume::{
    CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass, default_class,
};

use crate::label_state::Expression;
use crate::pods::{TermsId, TermsTable};
use crate::terms::Terms;

/// What a pod's volumes ask of a node.
#[derive(Debug, Default)]
pub(crate) struct VolumeNeeds {
    /// All of these must hold.
    pub(crate) terms: Vec<TermsId>,
    /// Why the pod cannot run anywhere.
    pub(crate) problems: Vec<String>,
    /// Driver and volume of all that a node attaches.
    pub(crate) attachments: Vec<(Text, Text)>,
    /// Claims that one pod at a time may use.
    pub(crate) exclusive: Vec<ObjectKey>,
}

/// The volumes of a cluster.
pub(crate) struct Volumes<'a> {
    claims: FxHashMap<&'a ObjectKey, &'a PersistentVolumeClaim>,
    persistent: FxHashMap<&'a Text, &'a PersistentVolume>,
    classes: BTreeMap<&'a Text, &'a StorageClass>,
}

/// A PersistentVolumeClaim without a volume.
struct UnboundClaim<'a> {
    name: &'a Text,
    spec: &'a PvcSpec,
    /// It exists already, rather than being made with its pod.
    exists: bool,
}

impl<'a> Volumes<'a> {
    /// Indexes them.
    pub(crate) fn read(snapshot: &'a ClusterSnapshot) -> Self {
        let claims = snapshot.objects.persistent_volume_claims.iter();
        let volumes = snapshot.objects.persistent_volumes.iter();
        let classes = snapshot.objects.storage_classes.iter();
        Self {
            claims: claims.map(|claim| (&claim.key, claim)).collect(),
            persistent: volumes.map(|volume| (&volume.name, volume)).collect(),
            classes: classes.map(|class| (&class.name, class)).collect(),
        }
    }

    /// What one pod's volumes ask of a node.
    pub(crate) fn needs(&self, pod: &Pod, table: &mut TermsTable) -> VolumeNeeds {
        let mut needs = VolumeNeeds::default();
        for volume in &pod.spec.volumes {
            let (name, template) = match volume {
                VolumeUse::Pvc { name, template } => (name.clone(), template.as_deref()),
                VolumeUse::Ephemeral { volume, template } => {
                    (format!("{}-{volume}", pod.key.name).into(), Some(&**template))
                }
            };
            let key = ObjectKey { namespace: pod.key.namespace.clone(), name };
            let is_ephemeral = matches!(volume, VolumeUse::Ephemeral { .. });
            let no_class = template.is_some_and(|spec| spec.storage_class.as_deref() == Some(""));
            if is_ephemeral && no_class && !self.claims.contains_key(&key) {
                let problem = format!("no volume is made for ephemeral claim {}", key.name);
                needs.problems.push(problem);
                continue;
            }
            self.add(&mut needs, &key, template, table);
        }
        needs
    }

    fn add(
        &self,
        needs: &mut VolumeNeeds,
        key: &ObjectKey,
        template: Option<&PvcSpec>,
        table: &mut TermsTable,
    ) {
        let there = self.claims.get(key).copied();
        let name = &key.name;
        if let Some(claim) = there {
            let problem = if claim.is_deleting {
                Some("is being deleted")
            } else if claim.is_lost {
                Some("is Lost")
            } else if claim.is_binding {
                Some("is not bound yet")
            } else {
                None
            };
            if let Some(problem) = problem {
                needs.problems.push(format!("PersistentVolumeClaim {name} {problem}"));
                return;
            }
        }
        let Some(spec) = there.map(|claim| &claim.spec).or(template) else {
            needs.problems.push(format!("PersistentVolumeClaim {name} does not exist"));
            return;
        };
        if spec.one_pod_only {
            needs.exclusive.push(key.clone());
        }
        let driver = if let Some(volume) = &spec.volume_name {
            self.add_bound(needs, name, volume, table)
        } else {
            let claim = UnboundClaim { name, spec, exists: there.is_some() };
            self.add_unbound(needs, &claim, table)
        };
        if let Some(driver) = driver {
            let volume = spec.volume_name.clone().unwrap_or_else(|| key.to_string().into());
            needs.attachments.push((driver, volume));
        }
    }

    /// A claim that has its volume: the volume says where it can be used.
    fn add_bound(
        &self,
        needs: &mut VolumeNeeds,
        claim: &Text,
        name: &Text,
        table: &mut TermsTable,
    ) -> Option<Text> {
        let Some(volume) = self.persistent.get(name) else {
            let problem = format!("PersistentVolume {name} of claim {claim} does not exist");
            needs.problems.push(problem);
            return None;
        };
        if let Some(terms) = &volume.node_terms {
            let terms = Terms::of_node_selector(terms);
            // A volume on a host's own disk names that host; a pod that moves leaves it behind.
            let terms = if volume.is_host_bound { terms.without_hostname() } else { terms };
            needs.terms.push(table.intern(terms));
        }
        for (key, values) in &volume.labels {
            let key = normalized_key(key);
            if key == ZONE || key == REGION {
                let values = values.split("__").map(Text::from).collect();
                let expression = Expression::new(key.into(), Operator::In, values);
                needs.terms.push(table.intern(Terms::all(vec![expression])));
            }
        }
        volume.csi_driver.clone()
    }

    /// A claim without a volume: its StorageClass says where one can be made. One that is there
    /// already keeps the pod waiting unless the class binds only when the pod is scheduled.
    fn add_unbound(
        &self,
        needs: &mut VolumeNeeds,
        claim: &UnboundClaim<'_>,
        table: &mut TermsTable,
    ) -> Option<Text> {
        let UnboundClaim { name, spec, exists } = *claim;
        let default = || {
            let default = default_class(self.classes.values().copied());
            default.map(|class| &class.name)
        };
        let class_name = match &spec.storage_class {
            Some(class) => Some(class).filter(|class| !class.is_empty()),
            None => default(),
        };
        let Some(class_name) = class_name else {
            if exists {
                let problem =
                    format!("PersistentVolumeClaim {name} is unbound and has no StorageClass");
                needs.problems.push(problem);
            }
            return None;
        };
        let Some(class) = self.classes.get(class_name) else {
            let problem = format!("StorageClass {class_name} of claim {name} does not exist");
            needs.problems.push(problem);
            return None;
        };
        if exists && class.binds_immediately {
            let problem =
                format!("PersistentVolumeClaim {name} binds immediately and is not bound yet");
            needs.problems.push(problem);
            return None;
        }
        let terms = Terms::of_node_selector(&class.allowed_topologies);
        if !terms.is_empty() {
            needs.terms.push(table.intern(terms));
        }
        Some(class.provisioner.clone())
    }
}

/// CSINodes by the name of their Node.
pub(crate) fn csi_nodes(snapshot: &ClusterSnapshot) -> FxHashMap<&Text, &CsiNode> {
    snapshot.objects.csi_nodes.iter().map(|node| (&node.name, node)).collect()
}
