//! StatefulSets: pods with numbers, one after the other (`podManagementPolicy: OrderedReady`).

use std::collections::BTreeMap;

use domain::pod::Pod;
use domain::workload::Workload;
use manifests::WorkloadObject;

use crate::world::{Deletion, World};

pub(super) fn reconcile(world: &mut World, object: &WorkloadObject, pods: &[Pod]) {
    let workload = &object.workload;
    let by_ordinal: BTreeMap<u32, &Pod> =
        pods.iter().filter_map(|pod| Some((ordinal(workload, pod)?, pod))).collect();
    for index in 0..workload.replicas {
        match by_ordinal.get(&index) {
            None => {
                let name = format!("{}-{index}", workload.key.name);
                world.create_pod(object.pod(name.into()));
                return;
            }
            Some(pod) if pod.is_terminal() => {
                // One that has ended is made again under its own name.
                world.delete_pod(&pod.key, Deletion::Graceful);
                return;
            }
            Some(pod) if pod.is_terminating() || pod.ready != Some(true) => return,
            Some(_) => {}
        }
    }
    // From the top, and only once the one above is gone.
    let Some((_, highest)) = by_ordinal.iter().next_back() else { return };
    let is_above = ordinal(workload, highest).is_some_and(|own| own >= workload.replicas);
    if is_above && !highest.is_terminating() {
        world.delete_pod(&highest.key, Deletion::Graceful);
    }
}

fn ordinal(workload: &Workload, pod: &Pod) -> Option<u32> {
    pod.key.name.strip_prefix(&*workload.key.name)?.strip_prefix('-')?.parse().ok()
}
