//! What pods, workloads and DaemonSets leave open and others say: priorities, and what daemon pods
//! take.

use domain::pod::Pod;
use domain::workload::DaemonSet;

use super::daemon;
use super::priority::Priorities;
use crate::error::Warning;
use crate::kubernetes::{DaemonSetObject, PodObject, PriorityClass, WorkloadObject};

/// Objects as they were read, each by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsettled {
    /// Pods.
    pub(super) pods: Vec<PodObject>,
    /// Deployments, StatefulSets, ReplicaSets and Jobs.
    pub(super) workloads: Vec<WorkloadObject>,
    /// DaemonSets.
    pub(super) daemon_sets: Vec<DaemonSetObject>,
    /// PriorityClasses.
    pub(super) priority_classes: Vec<PriorityClass>,
}

/// Objects with what other objects decide for them filled in: priorities, daemon requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// Pods with their priority.
    pub(super) pods: Vec<Pod>,
    /// Workloads with the priority of their pods.
    pub(super) workloads: Vec<WorkloadObject>,
    /// DaemonSets that new nodes will run, with what their newest running pod takes.
    pub(super) daemon_sets: Vec<DaemonSet>,
    /// What is referred to and not there.
    pub(super) warnings: Vec<Warning>,
}

impl Unsettled {
    /// Lets the objects complete each other. Lists keep their order.
    pub(super) fn settle(self) -> Settled {
        let Self { pods, mut workloads, mut daemon_sets, priority_classes } = self;
        let mut priorities = Priorities::of(priority_classes);
        let pods: Vec<Pod> = pods
            .into_iter()
            .map(|PodObject { mut pod, priority }| {
                priorities.settle(&mut pod.spec, &priority);
                pod
            })
            .collect();
        for workload in &mut workloads {
            priorities.settle(&mut workload.workload.template.spec, &workload.priority);
        }
        for daemon_set in &mut daemon_sets {
            priorities.settle(&mut daemon_set.daemon_set.template.spec, &daemon_set.priority);
        }
        let daemon_sets = daemon::daemon_sets(daemon_sets, &pods);
        Settled { pods, workloads, daemon_sets, warnings: priorities.into_warnings().collect() }
    }
}
