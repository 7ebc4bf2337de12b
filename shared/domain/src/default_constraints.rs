//! Topology spread constraints that the scheduler gives to pods without any of their own.
//!
//! Source: `buildDefaultConstraints` of kube-scheduler's plugin PodTopologySpread, and
//! `DefaultSelector` of its plugins' helpers: labels that Services select the pod by, and the
//! selector of the ReplicaSet, StatefulSet or ReplicationController that controls it. A pod that
//! neither selects has no default constraints.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Text;
use crate::label::Labels;
use crate::pod::{ObjectKey, OwnerKind, Pod, PodSpec, TopologySpreadConstraint};
use crate::scheduler::SchedulerConfig;
use crate::selector::LabelSelector;
use crate::snapshot::{ClusterObjects, ClusterSnapshot};
use crate::workload::{Service, Workload, WorkloadKind};

/// Labels that a controller gives each pod or each revision, which its selector does not name.
const LABELS_OF_ONE_POD: [&str; 3] = [
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "controller-revision-hash",
];

/// What selects pods: Services, and controllers with their selectors.
#[derive(Clone, Debug, Default)]
pub struct DefaultSelectors<'a> {
    /// By namespace and the first label that they select by: a pod is held against few of them.
    services: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a Service>>,
    controllers: BTreeMap<(OwnerKind, &'a ObjectKey), &'a LabelSelector>,
}

impl<'a> DefaultSelectors<'a> {
    /// Of the Services and workloads of a cluster.
    pub fn of(
        services: impl IntoIterator<Item = &'a Service>,
        workloads: impl IntoIterator<Item = &'a Workload>,
    ) -> Self {
        let mut all = Self::default();
        for service in services {
            // One without a selector selects no pod.
            if let Some((key, value)) = service.selector.iter().next() {
                let known = all.services.entry((&service.key.namespace, key, value)).or_default();
                known.push(service);
            }
        }
        for workload in workloads {
            let kind = match workload.kind {
                WorkloadKind::ReplicaSet => OwnerKind::ReplicaSet,
                WorkloadKind::StatefulSet => OwnerKind::StatefulSet,
                // The pods of a Deployment that is not applied yet: its ReplicaSet's selector has
                // its labels.
                WorkloadKind::Deployment => OwnerKind::Deployment,
                WorkloadKind::Job => continue,
            };
            if let Some(selector) = &workload.selector {
                all.controllers.insert((kind, &workload.key), selector);
            }
        }
        all
    }

    /// The selector by which the scheduler counts a pod among others; `None` where nothing selects
    /// the pod. Where the pod's controller is not known, the labels that it gave the pod stand in
    /// for its selector.
    pub fn of_pod(&self, pod: &Pod) -> Option<LabelSelector> {
        let merged = self.labels_of_services(pod);
        let merged = merged.iter().map(|(key, value)| (&***key, &***value));
        let selector = LabelSelector::of_labels(merged);
        let selector = match self.of_controller(pod) {
            Some(controller) => {
                let both = selector.expressions().iter().chain(controller.expressions());
                LabelSelector::new(both.cloned())
            }
            None => selector,
        };
        (!selector.expressions().is_empty()).then_some(selector)
    }

    fn labels_of_services(&self, pod: &Pod) -> BTreeMap<&'a Text, &'a Text> {
        let selects =
            |own: &&&Service| own.selector.iter().all(|(key, value)| has(&pod.labels, key, value));
        let candidates = pod.labels.iter().filter_map(|(key, value)| {
            let place: (&str, &str, &str) = (&pod.key.namespace, key, value);
            self.services.get(&place)
        });
        candidates.flatten().filter(selects).flat_map(|own| &own.selector).collect()
    }

    fn of_controller(&self, pod: &Pod) -> Option<Cow<'a, LabelSelector>> {
        let owner = pod.owner.as_ref()?;
        match owner.kind {
            OwnerKind::ReplicaSet
            | OwnerKind::StatefulSet
            | OwnerKind::ReplicationController
            | OwnerKind::Deployment => {}
            OwnerKind::DaemonSet | OwnerKind::Job | OwnerKind::Node | OwnerKind::Other => {
                return None;
            }
        }
        let key = ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
        if let Some(known) = self.controllers.get(&(owner.kind, &key)).copied() {
            return Some(Cow::Borrowed(known));
        }
        let given = pod.labels.iter().filter(|(key, _)| !LABELS_OF_ONE_POD.contains(&&***key));
        Some(Cow::Owned(LabelSelector::of_labels(given.map(|(key, value)| (&**key, &**value)))))
    }

    /// The default constraints of a pod, with its selector: none for one that has constraints of
    /// its own, that a DaemonSet or a kubelet puts on its node, or that nothing selects.
    pub fn constraints(
        &self,
        config: &SchedulerConfig,
        pod: &Pod,
    ) -> Vec<TopologySpreadConstraint> {
        let defaults = config.profile_of(&pod.spec).map(|own| own.default_constraints.as_slice());
        let defaults = defaults.unwrap_or_default();
        if defaults.is_empty()
            || !pod.spec.topology_spread.is_empty()
            || pod.is_daemon()
            || pod.is_static()
        {
            return Vec::new();
        }
        let Some(selector) = self.of_pod(pod) else { return Vec::new() };
        let with_selector = |own: &TopologySpreadConstraint| TopologySpreadConstraint {
            selector: Some(selector.clone()),
            ..own.clone()
        };
        defaults.iter().map(with_selector).collect()
    }
}

fn has(labels: &Labels, key: &Text, value: &Text) -> bool {
    labels.get(key) == Some(value)
}

impl ClusterObjects {
    /// These objects, with default constraints in the pods that they apply to, and no default
    /// constraints left in the scheduler's configuration. Where no profile is for a scheduler by
    /// name, pods name none either: it makes no difference to them. Borrowed where nothing differs.
    ///
    /// Pods that shared their specification still do. The work grows with pods.
    pub fn with_default_constraints(&self) -> Cow<'_, Self> {
        let names_matter = self.scheduler.profiles.iter().any(|own| own.scheduler_name.is_some());
        let is_named = |pod: &Pod| pod.spec.scheduler_name.is_some();
        let drops_names = !names_matter && self.pods.iter().any(is_named);
        if !drops_names && !self.scheduler.has_default_constraints() {
            return Cow::Borrowed(self);
        }
        let selectors = DefaultSelectors::of(&self.services, &self.workloads);
        // Pods of one workload share specification and labels.
        let mut by_parts: BTreeMap<PodParts<'_>, Arc<PodSpec>> = BTreeMap::new();
        let mut by_value: BTreeMap<(*const PodSpec, Vec<TopologySpreadConstraint>), Arc<PodSpec>> =
            BTreeMap::new();
        let specs: Vec<Arc<PodSpec>> = self
            .pods
            .iter()
            .map(|pod| {
                let known = by_parts.entry(parts(pod));
                let spec = known.or_insert_with(|| {
                    let constraints = selectors.constraints(&self.scheduler, pod);
                    let drops_name = drops_names && is_named(pod);
                    if constraints.is_empty() && !drops_name {
                        return pod.spec.clone();
                    }
                    let key = (Arc::as_ptr(&pod.spec), constraints.clone());
                    let shared = by_value.entry(key).or_insert_with(|| {
                        let mut spec = PodSpec::clone(&pod.spec);
                        spec.topology_spread.extend(constraints);
                        spec.scheduler_name = spec.scheduler_name.filter(|_| !drops_name);
                        Arc::new(spec)
                    });
                    shared.clone()
                });
                spec.clone()
            })
            .collect();
        let mut objects = self.clone();
        for (pod, spec) in objects.pods.iter_mut().zip(specs) {
            pod.spec = spec;
        }
        for profile in &mut objects.scheduler.profiles {
            profile.default_constraints.clear();
        }
        Cow::Owned(objects)
    }
}

impl ClusterSnapshot {
    /// This snapshot, as [`ClusterObjects::with_default_constraints`] has its objects.
    pub fn with_default_constraints(&self) -> Cow<'_, Self> {
        match self.objects.with_default_constraints() {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(objects) => Cow::Owned(Self {
                now: self.now,
                seed: self.seed,
                settings: self.settings.clone(),
                objects,
                node_claims: self.node_claims.clone(),
                instance_types: self.instance_types.clone(),
                nominations: self.nominations.clone(),
                spot: self.spot.clone(),
                skipped_spot: self.skipped_spot.clone(),
            }),
        }
    }
}

/// What the default constraints of a pod depend on, by address where pods share it.
type PodParts<'a> = (&'a Text, *const PodSpec, *const Labels, Option<(OwnerKind, &'a Text)>);

fn parts(pod: &Pod) -> PodParts<'_> {
    let owner = pod.owner.as_ref().map(|own| (own.kind, &own.name));
    (&pod.key.namespace, Arc::as_ptr(&pod.spec), Arc::as_ptr(&pod.labels), owner)
}
