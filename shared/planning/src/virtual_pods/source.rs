//! What virtual pods are made from.

use std::sync::Arc;

use domain::Text;
use domain::pod::{ObjectKey, Pod, PodKey, PodSpec, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use domain::workload::{PodTemplate, Workload, WorkloadKind};

/// More virtual pods than this of one source are taken for a typing error and left out.
const REPLICAS_MAX: i64 = 100_000;

/// The object that wants room for virtual pods.
pub(super) struct Source<'a> {
    pub(super) of: VirtualPodSource,
    pub(super) key: &'a ObjectKey,
    pub(super) uid: &'a Text,
    /// What names of its pods begin with.
    pub(super) prefix: &'static str,
}

/// A reference to a workload of the source's namespace.
#[derive(Clone, Copy)]
pub(super) struct WorkloadRef<'a> {
    pub(super) kind: WorkloadKind,
    pub(super) name: &'a Text,
}

impl WorkloadRef<'_> {
    /// The workload, if it exists in the namespace.
    pub(super) fn find<'s>(
        self,
        snapshot: &'s ClusterSnapshot,
        namespace: &Text,
    ) -> Option<&'s Workload> {
        snapshot.objects.workloads.iter().find(|workload| {
            workload.kind == self.kind
                && workload.key.namespace == *namespace
                && workload.key.name == *self.name
        })
    }
}

impl Source<'_> {
    /// `count` virtual pods of a template.
    pub(super) fn pods(&self, template: &PodTemplate, count: i64) -> Vec<Pod> {
        let spec = Arc::new(PodSpec {
            // Real pods come first, and what a volume is bound to is unknown for a pod that does
            // not exist.
            priority: i32::MIN,
            volumes: Vec::new(),
            ..(*template.spec).clone()
        });
        (0..count.clamp(0, REPLICAS_MAX)).map(|index| self.pod(template, &spec, index)).collect()
    }

    fn pod(&self, template: &PodTemplate, spec: &Arc<PodSpec>, index: i64) -> Pod {
        let name = format!("{}-{}-{index}", self.prefix, self.key.name);
        Pod {
            uid: format!("{}-{index}", self.uid).into(),
            labels: template.labels.clone(),
            spec: spec.clone(),
            virtual_of: Some(self.of.clone()),
            ..Pod::pending(PodKey::new(self.key.namespace.clone(), name))
        }
    }
}
