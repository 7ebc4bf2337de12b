//! How many pods a node holds, before it is known which.

use std::sync::Arc;

use crate::instance_type::InstanceType;
use crate::pod::{Pod, PodSpec};
use crate::resource::{CPU, MEMORY, PODS};

/// What pods of a cluster request on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AveragePod {
    cpu: i64,
    memory: i64,
}

impl AveragePod {
    /// Of all pods that neither have ended nor are of DaemonSets or kubelets, virtual ones left
    /// out.
    pub fn of<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Self {
        let counts = |pod: &&Pod| {
            pod.is_active() && !pod.is_daemon() && !pod.is_static() && pod.virtual_of.is_none()
        };
        let (mut count, mut cpu, mut memory) = (0_i128, 0_i128, 0_i128);
        // Pods of one workload stand side by side and share their specification.
        let mut last: Option<(&Arc<PodSpec>, [i128; 2])> = None;
        for pod in pods.into_iter().filter(counts) {
            let known = last.filter(|(spec, _)| Arc::ptr_eq(spec, &pod.spec));
            let own = known.map_or_else(
                || [CPU, MEMORY].map(|name| i128::from(pod.spec.requests.get(name))),
                |(_, own)| own,
            );
            last = Some((&pod.spec, own));
            count += 1;
            cpu += own[0];
            memory += own[1];
        }
        let mean = |sum: i128| i64::try_from(sum / count.max(1)).unwrap_or(i64::MAX);
        Self { cpu: mean(cpu), memory: mean(memory) }
    }

    /// How many of them a node of the type has room for; one at the least.
    pub fn count_on(self, instance_type: &InstanceType) -> i64 {
        let allocatable = &instance_type.allocatable;
        let by = |amount: i64, each: i64| if each > 0 { amount / each } else { i64::MAX };
        by(allocatable.get(CPU), self.cpu)
            .min(by(allocatable.get(MEMORY), self.memory))
            .min(allocatable.get(PODS))
            .max(1)
    }
}
