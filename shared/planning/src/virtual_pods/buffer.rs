//! Virtual pods of CapacityBuffers.
//!
//! Source: the CapacityBuffer API (`autoscaling.x-k8s.io/v1beta1`) as Karpenter reads it: the
//! larger of `replicas` and `percentage` counts, at least one for a percentage, and `limits` cap
//! both.

use domain::buffer::{BufferSource, CapacityBuffer};
use domain::pod::{Pod, PodSpec, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use domain::workload::PodTemplate;

use super::source::{Source, WorkloadRef};

/// The only strategy that keeps capacity running.
const ACTIVE_CAPACITY: &str = "buffer.x-k8s.io/active-capacity";

/// The virtual pods of all buffers, by name of the buffer.
pub(super) fn virtual_pods(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    if !snapshot.settings.feature_gates.capacity_buffer {
        return Vec::new();
    }
    let mut buffers: Vec<&CapacityBuffer> = snapshot
        .objects
        .capacity_buffers
        .iter()
        .filter(|buffer| &*buffer.provisioning_strategy == ACTIVE_CAPACITY)
        .collect();
    buffers.sort_by(|a, b| a.key.cmp(&b.key));
    buffers.into_iter().flat_map(|buffer| pods_of(snapshot, buffer)).collect()
}

fn pods_of(snapshot: &ClusterSnapshot, buffer: &CapacityBuffer) -> Vec<Pod> {
    // A dangling reference yields no pods; the buffer's conditions say so.
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

/// The pod template that a buffer refers to, and for a workload its number of replicas.
fn resolved<'a>(
    snapshot: &'a ClusterSnapshot,
    buffer: &CapacityBuffer,
) -> Option<(&'a PodTemplate, Option<u32>)> {
    match &buffer.source {
        BufferSource::PodTemplate(name) => snapshot
            .objects
            .pod_templates
            .iter()
            .find(|template| {
                template.key.namespace == buffer.key.namespace && template.key.name == *name
            })
            .map(|template| (&template.template, None)),
        BufferSource::Workload(kind, name) => WorkloadRef { kind: *kind, name }
            .find(snapshot, &buffer.key.namespace)
            .map(|workload| (&workload.template, Some(workload.replicas))),
        BufferSource::Unsupported(_) => None,
    }
}

/// How many virtual pods a buffer wants. `scale` is the number of replicas that a percentage is of.
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
    fn a_percentage_is_at_least_one_pod() {
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
