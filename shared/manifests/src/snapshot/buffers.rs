//! CapacityBuffers that come to nothing because of what they refer to. In a cluster their
//! conditions say so.

use domain::buffer::{BufferSource, CapacityBuffer};
use domain::pod::ObjectKey;
use domain::snapshot::ClusterObjects;
use domain::workload::{PodTemplate, Workload};

use crate::error::Warning;

/// One warning for each buffer without effect.
pub(super) fn warnings(objects: &ClusterObjects) -> Vec<Warning> {
    let faults = objects.capacity_buffers.iter().filter_map(|buffer| {
        let fault = fault(objects, buffer)?;
        let what = format!("CapacityBuffer {}, field {fault}: it has no effect", buffer.key);
        Some(Warning { what, place: None })
    });
    faults.collect()
}

/// The field that spoils the buffer, and why.
fn fault(objects: &ClusterObjects, buffer: &CapacityBuffer) -> Option<String> {
    let (field, kind, name) = match &buffer.source {
        BufferSource::PodTemplate(name) => ("spec.podTemplateRef", "PodTemplate", name),
        BufferSource::Workload(kind, name) => ("spec.scalableRef", kind.as_str(), name),
        BufferSource::Unsupported(what) => {
            return Some(format!(
                "spec.scalableRef: {what} is no Deployment, StatefulSet or ReplicaSet of apps"
            ));
        }
    };
    let key = ObjectKey::new(buffer.key.namespace.clone(), name.clone());
    let namesakes = namesakes(objects, &buffer.source);
    let Some((_, template)) = namesakes.iter().find(|(own, _)| **own == key) else {
        let advice = namesakes.first().map(|(own, _)| {
            format!(", and that of namespace {} is out of its reach", own.namespace)
        });
        let advice = advice.unwrap_or_default();
        return Some(format!("{field}: {kind} {key} is not in the input{advice}"));
    };
    let is_gated = !template.spec.scheduling_gates.is_empty();
    is_gated.then(|| format!("{field}: pods of {kind} {key} have schedulingGates"))
}

/// What a buffer may refer to by the kind and name that it gives, of all namespaces.
fn namesakes<'a>(
    objects: &'a ClusterObjects,
    source: &BufferSource,
) -> Vec<(&'a ObjectKey, &'a PodTemplate)> {
    match source {
        BufferSource::PodTemplate(name) => {
            let own = objects.pod_templates.iter().filter(|own| own.key.name == *name);
            own.map(|own| (&own.key, &own.template)).collect()
        }
        BufferSource::Workload(kind, name) => {
            let is_named = |own: &&Workload| own.kind == *kind && own.key.name == *name;
            let own = objects.workloads.iter().filter(is_named);
            own.map(|own| (&own.key, &own.template)).collect()
        }
        BufferSource::Unsupported(_) => Vec::new(),
    }
}
