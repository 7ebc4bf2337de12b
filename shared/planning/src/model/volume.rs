//! What a pod's volumes ask of a node.

use domain::Text;
use domain::label;
use domain::pod::{NodeSelectorTerm, ObjectKey, Pod, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::reason::VolumeProblem;
use domain::requirement::{Requirement, Requirements};
use domain::snapshot::ClusterSnapshot;
use domain::volume::{PersistentVolume, PersistentVolumeClaim, StorageClass, default_class};
use rustc_hash::FxHashMap;

/// What a pod's volumes ask of a node, and what the node must attach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct VolumeRules {
    /// Each group must have one term that holds.
    pub(crate) groups: Vec<Vec<Vec<Requirement>>>,
    /// CSI driver and volume, for attach limits.
    pub(crate) attachments: Vec<(Text, Text)>,
    /// Claims that only one pod may use at a time.
    pub(crate) exclusive: Vec<ObjectKey>,
    /// Why the pod cannot run anywhere: the claim, and what is wrong with it.
    pub(crate) problem: Option<(Text, VolumeProblem)>,
}

/// Volumes of a snapshot by name.
pub(crate) struct Volumes<'a> {
    claims: FxHashMap<&'a ObjectKey, &'a PersistentVolumeClaim>,
    persistent: FxHashMap<&'a Text, &'a PersistentVolume>,
    classes: FxHashMap<&'a Text, &'a StorageClass>,
    default_class: Option<&'a Text>,
}

impl<'a> Volumes<'a> {
    /// Those of a snapshot.
    pub(crate) fn of(snapshot: &'a ClusterSnapshot) -> Self {
        Self {
            claims: snapshot
                .objects
                .persistent_volume_claims
                .iter()
                .map(|claim| (&claim.key, claim))
                .collect(),
            persistent: snapshot
                .objects
                .persistent_volumes
                .iter()
                .map(|volume| (&volume.name, volume))
                .collect(),
            classes: snapshot
                .objects
                .storage_classes
                .iter()
                .map(|class| (&class.name, class))
                .collect(),
            default_class: default_class(&snapshot.objects.storage_classes)
                .map(|class| &class.name),
        }
    }

    /// What the pod's volumes ask.
    pub(crate) fn rules_of(&self, pod: &Pod) -> VolumeRules {
        let mut rules = VolumeRules::default();
        for volume in &pod.spec.volumes {
            let (name, template): (Text, Option<&PvcSpec>) = match volume {
                VolumeUse::Pvc { name, template } => (name.clone(), template.as_deref()),
                VolumeUse::Ephemeral { volume, template } => {
                    let name: Text = format!("{}-{volume}", pod.key.name).into();
                    if self.is_never_made(&pod.key.namespace, &name, template) {
                        rules.problem.get_or_insert((name, VolumeProblem::NoStorageClass));
                        continue;
                    }
                    (name, Some(template))
                }
            };
            if let Err(problem) = self.add_claim(&mut rules, pod, &name, template) {
                rules.problem.get_or_insert((name, problem));
            }
        }
        rules
    }

    /// Whether an ephemeral volume waits for one that somebody makes by hand: its claim does not
    /// exist yet, and rules out every class.
    fn is_never_made(&self, namespace: &Text, name: &Text, template: &PvcSpec) -> bool {
        let key = ObjectKey::new(namespace.clone(), name.clone());
        template.storage_class.as_deref() == Some("") && !self.claims.contains_key(&key)
    }

    fn add_claim(
        &self,
        rules: &mut VolumeRules,
        pod: &Pod,
        name: &Text,
        template: Option<&PvcSpec>,
    ) -> Result<(), VolumeProblem> {
        let key = ObjectKey::new(pod.key.namespace.clone(), name.clone());
        let claim = self.claims.get(&key).copied();
        let spec = match (claim, template) {
            (Some(claim), _) => &claim.spec,
            (None, Some(template)) => template,
            (None, None) => return Err(VolumeProblem::Missing),
        };
        if let Some(claim) = claim {
            for (is_so, problem) in [
                (claim.is_deleting, VolumeProblem::Deleting),
                (claim.is_lost, VolumeProblem::Lost),
                (claim.is_binding, VolumeProblem::Binding),
            ] {
                if is_so {
                    return Err(problem);
                }
            }
        }
        if spec.one_pod_only {
            rules.exclusive.push(key.clone());
        }
        let driver = match &spec.volume_name {
            Some(volume) => self.add_volume(rules, volume)?,
            None => self.add_class(rules, spec, claim.is_some())?,
        };
        if let Some(driver) = driver {
            let volume = spec.volume_name.clone().unwrap_or_else(|| key.to_string().into());
            rules.attachments.push((driver, volume));
        }
        Ok(())
    }

    /// A bound claim: the node must be where its volume is.
    fn add_volume(
        &self,
        rules: &mut VolumeRules,
        name: &Text,
    ) -> Result<Option<Text>, VolumeProblem> {
        let volume = self
            .persistent
            .get(name)
            .filter(|volume| !volume.is_deleting)
            .ok_or_else(|| VolumeProblem::NoVolume(name.clone()))?;
        if let Some(terms) = &volume.node_terms {
            let group = terms.iter().map(|term| usable_expressions(term, volume.is_host_bound));
            rules.groups.push(group.collect());
        }
        for (key, value) in &volume.labels {
            let key = label::normalized_key(key);
            if key == label::ZONE || key == label::REGION {
                let values = value.split("__").map(Text::from);
                rules.groups.push(vec![vec![Requirement::is_in(key, values)]]);
            }
        }
        Ok(volume.csi_driver.clone())
    }

    /// A claim that is bound when its pod is scheduled: the node must be where the class can make a
    /// volume.
    fn add_class(
        &self,
        rules: &mut VolumeRules,
        spec: &PvcSpec,
        is_there: bool,
    ) -> Result<Option<Text>, VolumeProblem> {
        let name =
            spec.storage_class.as_ref().or(self.default_class).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return if is_there { Err(VolumeProblem::NoStorageClass) } else { Ok(None) };
        };
        let class = self
            .classes
            .get(name)
            .ok_or_else(|| VolumeProblem::UnknownStorageClass(name.clone()))?;
        if is_there && class.binds_immediately {
            return Err(VolumeProblem::UnboundImmediate);
        }
        if !class.allowed_topologies.is_empty() {
            rules.groups.push(
                class.allowed_topologies.iter().map(|term| term.expressions.clone()).collect(),
            );
        }
        Ok(Some(class.provisioner.clone()))
    }
}

/// A term's expressions; a host-bound volume does not pin its pod to the host, which goes away with
/// its node.
fn usable_expressions(term: &NodeSelectorTerm, is_host_bound: bool) -> Vec<Requirement> {
    term.expressions
        .iter()
        .filter(|expression| !(is_host_bound && &*expression.key == label::HOSTNAME))
        .cloned()
        .collect()
}

impl VolumeRules {
    /// Every way of meeting all groups at once that does not contradict itself, in the order
    /// written.
    ///
    /// Bounded: past a thousand ways the rest is left out.
    pub(crate) fn alternatives(&self) -> Vec<Vec<Requirement>> {
        const ALTERNATIVES_MAX: usize = 1000;
        let mut ways: Vec<Vec<Requirement>> = vec![Vec::new()];
        for group in &self.groups {
            let mut next = Vec::new();
            for way in &ways {
                for term in group {
                    let mut both = way.clone();
                    both.extend(term.iter().cloned());
                    if Requirements::of(&both).contradiction().is_none()
                        && next.len() < ALTERNATIVES_MAX
                    {
                        next.push(both);
                    }
                }
            }
            ways = next;
        }
        ways
    }
}
