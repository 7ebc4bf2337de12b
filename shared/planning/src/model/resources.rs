//! Resource names as indices, so that amounts are arrays of integers.

use std::sync::Arc;

use domain::Text;
use domain::pod::PodSpec;
use domain::resource::{self, Resources};
use domain::snapshot::ClusterSnapshot;

/// Resources by index: everything that a pod requests or a limit names.
#[derive(Debug, Default)]
pub(crate) struct ResourceNames(Vec<Text>);

impl ResourceNames {
    pub(crate) fn of(snapshot: &ClusterSnapshot) -> Self {
        let mut names: Vec<Text> =
            [resource::CPU, resource::MEMORY, resource::PODS].map(Text::from).into();
        let mut last: Option<&Arc<PodSpec>> = None;
        let mut add = |resources: &Resources| {
            for (name, _) in resources.iter() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        };
        for pod in &snapshot.objects.pods {
            // Pods of one workload stand together and share their specification.
            if !last.is_some_and(|last| Arc::ptr_eq(last, &pod.spec)) {
                add(&pod.spec.requests);
                last = Some(&pod.spec);
            }
        }
        for daemon_set in &snapshot.objects.daemon_sets {
            add(&daemon_set.template.spec.requests);
        }
        for workload in &snapshot.objects.workloads {
            add(&workload.template.spec.requests);
        }
        for template in &snapshot.objects.pod_templates {
            add(&template.template.spec.requests);
        }
        Self(names)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where a name stands; `None` where nothing names it.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|own| **own == *name)
    }

    /// The name at an index.
    pub(crate) fn name(&self, index: usize) -> &Text {
        &self.0[index]
    }

    /// Amounts as an array over these names.
    pub(crate) fn array(&self, resources: &Resources) -> Vec<i64> {
        self.0.iter().map(|name| resources.get(name)).collect()
    }

    /// An array as amounts by name, zeros left out.
    pub(crate) fn resources(&self, array: &[i64]) -> Resources {
        self.0
            .iter()
            .cloned()
            .zip(array.iter().copied())
            .filter(|(_, amount)| *amount != 0)
            .collect()
    }
}
