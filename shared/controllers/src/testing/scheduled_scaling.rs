//! Builders of schedules and buffers, and of what they refer to.

use std::sync::Arc;

use domain::buffer::{BufferSource, CapacityBuffer, CronTrigger, PrewarmSchedule, PrewarmTarget};
use domain::pod::{ObjectKey, PodSpec};
use domain::resource::Resources;
use domain::schedule::time_zone;
use domain::workload::{PodTemplate, PodTemplateObject, Workload, WorkloadKind};

fn template() -> PodTemplate {
    PodTemplate { labels: Arc::default(), spec: Arc::new(PodSpec::default()) }
}

/// A Deployment.
pub(crate) fn workload(name: &str, replicas: u32) -> Workload {
    Workload {
        kind: WorkloadKind::Deployment,
        key: ObjectKey::new("default", name),
        replicas,
        template: template(),
        selector: None,
    }
}

/// A PodTemplate of a generation.
pub(crate) fn pod_template(name: &str, generation: i64) -> PodTemplateObject {
    PodTemplateObject { key: ObjectKey::new("default", name), generation, template: template() }
}

/// These replicas between two minutes of every hour.
pub(crate) fn minutes_trigger(start: u8, end: u8, desired_replicas: u32) -> CronTrigger {
    let minute = |minute: u8| format!("{minute} * * * *").parse().unwrap();
    CronTrigger {
        timezone: time_zone("UTC").unwrap(),
        start: minute(start),
        end: minute(end),
        desired_replicas,
    }
}

/// A schedule that scales the Deployment of its name.
pub(crate) fn prewarm_schedule(name: &str, trigger: CronTrigger) -> PrewarmSchedule {
    PrewarmSchedule {
        key: ObjectKey::new("default", name),
        uid: format!("uid-{name}").into(),
        target: PrewarmTarget::Workload {
            kind: WorkloadKind::Deployment,
            name: name.into(),
            scale: true,
        },
        min_replicas: 0,
        max_replicas: 100,
        triggers: vec![trigger],
        lead_time: None,
    }
}

/// A buffer of one pod.
pub(crate) fn capacity_buffer(name: &str, source: BufferSource) -> CapacityBuffer {
    CapacityBuffer {
        key: ObjectKey::new("default", name),
        uid: format!("uid-{name}").into(),
        provisioning_strategy: "buffer.x-k8s.io/active-capacity".into(),
        source,
        replicas: Some(1),
        percentage: None,
        limits: Resources::new(),
    }
}
