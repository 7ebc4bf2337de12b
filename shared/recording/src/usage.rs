//! What containers used: samples in, and out what is worth a line.
//!
//! A sample a minute and container would be most of a recording. What suggestions need is the most
//! that each container used, so a line is written only where that has grown by a tenth, and the
//! exact figure once, when the pod ends.

use std::collections::BTreeMap;

use domain::pod::ObjectKey;
use serde_json::Value;

use crate::recorder::ContainerPeak;

/// By how much CPU in use must grow to be written, at least: millicores.
const CPU_STEP_MIN: i64 = 10;
/// By how much memory in use must grow to be written, at least: bytes.
const MEMORY_STEP_MIN: i64 = 16 << 20;
/// By what share of itself it must grow: one part in this many.
const STEP_SHARE: i64 = 10;

/// What a container uses at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// CPU, in millicores: the average of the last seconds.
    pub cpu_millis: i64,
    /// Memory of its working set, in bytes.
    pub memory_bytes: i64,
}

impl Sample {
    fn raised_to(self, other: Self) -> Self {
        Self {
            cpu_millis: self.cpu_millis.max(other.cpu_millis),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
        }
    }

    fn is_well_above(self, other: Self) -> bool {
        let above = |own: i64, other: i64, step: i64| own - other >= step.max(other / STEP_SHARE);
        above(self.cpu_millis, other.cpu_millis, CPU_STEP_MIN)
            || above(self.memory_bytes, other.memory_bytes, MEMORY_STEP_MIN)
    }
}

/// The most that a container used.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    most: Sample,
    /// As it was written last.
    written: Option<Sample>,
}

/// What the containers of the pods that run used.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    peaks: BTreeMap<ObjectKey, BTreeMap<String, Peak>>,
    /// Names of sidecars, of pods that have any.
    sidecars: BTreeMap<ObjectKey, Vec<String>>,
}

impl Usage {
    /// Takes note of which containers of a pod are sidecars.
    ///
    /// Source: <https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/>.
    pub(crate) fn sidecars(&mut self, key: &ObjectKey, pod: &Value) {
        let containers = pod.pointer("/spec/initContainers").and_then(Value::as_array);
        let names: Vec<String> = containers
            .into_iter()
            .flatten()
            .filter(|own| own.get("restartPolicy").and_then(Value::as_str) == Some("Always"))
            .filter_map(|own| own.get("name").and_then(Value::as_str))
            .map(ToOwned::to_owned)
            .collect();
        if !names.is_empty() {
            self.sidecars.insert(key.clone(), names);
        }
    }

    /// Takes note of a sample; what it has grown to, where that is to be written.
    pub(crate) fn noted(
        &mut self,
        key: &ObjectKey,
        container: &str,
        sample: Sample,
    ) -> Option<ContainerPeak> {
        let peaks = self.peaks.entry(key.clone()).or_default();
        let peak = peaks.entry(container.to_owned()).or_default();
        peak.most = peak.most.raised_to(sample);
        if peak.written.is_some_and(|written| !peak.most.is_well_above(written)) {
            return None;
        }
        peak.written = Some(peak.most);
        let most = peak.most;
        Some(self.peak(key, container, most))
    }

    /// Pods of which something was noted, by namespace and name.
    pub(crate) fn pods(&self) -> Vec<ObjectKey> {
        self.peaks.keys().cloned().collect()
    }

    /// Forgets a pod; what of its containers is not written yet.
    pub(crate) fn ended(&mut self, key: &ObjectKey) -> Vec<(String, ContainerPeak)> {
        let peaks = self.peaks.remove(key).unwrap_or_default();
        let unwritten = peaks.into_iter().filter(|(_, own)| own.written != Some(own.most));
        let unwritten = unwritten
            .map(|(name, own)| {
                let peak = self.peak(key, &name, own.most);
                (name, peak)
            })
            .collect();
        self.sidecars.remove(key);
        unwritten
    }

    fn peak(&self, key: &ObjectKey, container: &str, most: Sample) -> ContainerPeak {
        let sidecars = self.sidecars.get(key);
        ContainerPeak {
            cpu_millis: most.cpu_millis,
            memory_bytes: most.memory_bytes,
            is_sidecar: sidecars.is_some_and(|names| names.iter().any(|name| name == container)),
        }
    }
}
