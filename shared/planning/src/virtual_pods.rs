//! Virtual pods: capacity that is wanted before pods are there, as pods that take part in planning only.
//!
//! Source: the CapacityBuffer API (`autoscaling.x-k8s.io/v1beta1`) as Karpenter reads it: the larger of
//! `replicas` and `percentage` counts, at least one for a percentage, and `limits` cap both. Schedules
//! ([`schedule`]) are ours.

mod schedule;

use std::sync::Arc;

use domain::Text;
use domain::buffer::{BufferSource, CapacityBuffer};
use domain::pod::{ObjectKey, Pod, PodKey, PodPhase, PodSpec, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use domain::workload::{PodTemplate, Workload, WorkloadKind};

/// The only strategy that keeps capacity running.
const ACTIVE_CAPACITY: &str = "buffer.x-k8s.io/active-capacity";

/// Asking for more at once is a typing error; it is cut here.
const REPLICAS_MAX: i64 = 100_000;

/// The virtual pods of a snapshot: of its CapacityBuffers, then of schedules that are due.
pub(crate) fn virtual_pods(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    let mut pods = of_buffers(snapshot);
    pods.extend(schedule::of_schedules(snapshot));
    pods
}

fn of_buffers(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    if !snapshot.settings.feature_gates.capacity_buffer {
        return Vec::new();
    }
    let mut buffers: Vec<&CapacityBuffer> = snapshot
        .capacity_buffers
        .iter()
        .filter(|buffer| &*buffer.provisioning_strategy == ACTIVE_CAPACITY)
        .collect();
    buffers.sort_by(|a, b| a.key.cmp(&b.key));
    buffers.into_iter().flat_map(|buffer| pods_of(snapshot, buffer)).collect()
}

fn pods_of(snapshot: &ClusterSnapshot, buffer: &CapacityBuffer) -> Vec<Pod> {
    // A reference that leads nowhere asks for nothing; the buffer's conditions say so.
    let Some((template, scale)) = resolved(snapshot, buffer) else { return Vec::new() };
    let count = replicas(buffer, scale, &template.spec);
    let source = Source {
        of: VirtualPodSource::CapacityBuffer(buffer.key.clone()),
        key: &buffer.key,
        uid: &buffer.uid,
        prefix: "capacity-buffer",
    };
    source.pods(template, count)
}

/// What makes virtual pods up.
struct Source<'a> {
    of: VirtualPodSource,
    key: &'a ObjectKey,
    uid: &'a Text,
    /// What names of its pods begin with.
    prefix: &'static str,
}

impl Source<'_> {
    /// So many pods of a template.
    fn pods(&self, template: &PodTemplate, count: i64) -> Vec<Pod> {
        let spec = Arc::new(PodSpec {
            // Real pods come first, and what a volume is bound to is not known for a pod that is not there.
            priority: i32::MIN,
            volumes: Vec::new(),
            ..(*template.spec).clone()
        });
        (0..count.clamp(0, REPLICAS_MAX)).map(|index| self.pod(template, &spec, index)).collect()
    }

    fn pod(&self, template: &PodTemplate, spec: &Arc<PodSpec>, index: i64) -> Pod {
        Pod {
            key: PodKey::new(
                self.key.namespace.clone(),
                format!("{}-{}-{index}", self.prefix, self.key.name),
            ),
            uid: format!("{}-{index}", self.uid).into(),
            created: None,
            deleted: None,
            labels: template.labels.clone(),
            owner: None,
            spec: spec.clone(),
            node_name: None,
            nominated_node_name: None,
            phase: PodPhase::Pending,
            started: None,
            ready: None,
            marked_unschedulable: false,
            do_not_disrupt: None,
            deletion_cost: None,
            is_mirror: false,
            virtual_of: Some(self.of.clone()),
        }
    }
}

/// A workload by kind, namespace and name.
fn workload<'a>(
    snapshot: &'a ClusterSnapshot,
    namespace: &Text,
    (kind, name): (WorkloadKind, &Text),
) -> Option<&'a Workload> {
    snapshot.workloads.iter().find(|workload| {
        workload.kind == kind && workload.key.namespace == *namespace && workload.key.name == *name
    })
}

/// The template, and for a workload how many replicas it has.
fn resolved<'a>(
    snapshot: &'a ClusterSnapshot,
    buffer: &CapacityBuffer,
) -> Option<(&'a PodTemplate, Option<u32>)> {
    match &buffer.source {
        BufferSource::PodTemplate(name) => snapshot
            .pod_templates
            .iter()
            .find(|template| {
                template.key.namespace == buffer.key.namespace && template.key.name == *name
            })
            .map(|template| (&template.template, None)),
        BufferSource::Workload(kind, name) => {
            workload(snapshot, &buffer.key.namespace, (*kind, name))
                .map(|workload| (&workload.template, Some(workload.replicas)))
        }
    }
}

fn replicas(buffer: &CapacityBuffer, scale: Option<u32>, spec: &PodSpec) -> i64 {
    let share = buffer.percentage.zip(scale).map(|(percentage, scale)| {
        (i64::from(scale) * i64::from(percentage) + 99).div_euclid(100).max(1)
    });
    let wanted = match (buffer.replicas.map(i64::from), share) {
        (None, None) => None,
        (fixed, share) => Some(fixed.unwrap_or(0).max(share.unwrap_or(0))),
    };
    let by_limits = buffer
        .limits
        .iter()
        .filter(|(name, _)| spec.requests.get(name) > 0)
        .map(|(name, limit)| limit / spec.requests.get(name))
        .min();
    match (wanted, by_limits) {
        (Some(wanted), Some(most)) => wanted.min(most),
        (Some(wanted), None) => wanted,
        (None, Some(most)) => most,
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::pod::ObjectKey;
    use domain::resource::{CPU, Resources};

    fn buffer() -> CapacityBuffer {
        CapacityBuffer {
            key: ObjectKey::new("default", "headroom"),
            uid: "u".into(),
            provisioning_strategy: ACTIVE_CAPACITY.into(),
            source: BufferSource::PodTemplate("chunk".into()),
            replicas: None,
            percentage: None,
            limits: Resources::new(),
        }
    }

    fn one_cpu() -> PodSpec {
        PodSpec { requests: Resources::new().with(CPU, 1000), ..PodSpec::default() }
    }

    #[test]
    fn the_larger_of_replicas_and_percentage_counts() {
        let both = CapacityBuffer { replicas: Some(3), percentage: Some(50), ..buffer() };
        assert_eq!(replicas(&both, Some(4), &one_cpu()), 3);
        assert_eq!(replicas(&both, Some(40), &one_cpu()), 20);
    }

    #[test]
    fn a_percentage_asks_for_at_least_one() {
        let share = CapacityBuffer { percentage: Some(10), ..buffer() };
        assert_eq!(replicas(&share, Some(0), &one_cpu()), 1);
        assert_eq!(replicas(&share, Some(11), &one_cpu()), 2);
    }

    #[test]
    fn limits_cap_and_alone_decide() {
        let limits = Resources::new().with(CPU, 2500);
        let capped = CapacityBuffer { replicas: Some(9), limits: limits.clone(), ..buffer() };
        assert_eq!(replicas(&capped, None, &one_cpu()), 2);
        assert_eq!(replicas(&CapacityBuffer { limits, ..buffer() }, None, &one_cpu()), 2);
        assert_eq!(replicas(&buffer(), None, &one_cpu()), 0);
    }
}
