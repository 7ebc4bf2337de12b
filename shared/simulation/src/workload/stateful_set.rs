//! StatefulSets: pods with numbers, one after the other (`podManagementPolicy: OrderedReady`).

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::pod::{ObjectKey, OwnerKind, Pod, VolumeUse};
use domain::workload::Workload;

use super::pod_of;
use crate::world::{Deletion, World};

pub(super) fn reconcile(world: &mut World, workload: &Workload, pods: &[Pod]) {
    let by_ordinal: BTreeMap<u32, &Pod> =
        pods.iter().filter_map(|pod| Some((ordinal(workload, pod)?, pod))).collect();
    for index in 0..workload.replicas {
        match by_ordinal.get(&index) {
            None => {
                create(world, workload, index);
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

fn create(world: &mut World, workload: &Workload, index: u32) {
    let name = format!("{}-{index}", workload.key.name);
    let key = ObjectKey::new(workload.key.namespace.clone(), name.clone());
    let mut pod = pod_of(&workload.template, key, OwnerKind::StatefulSet, &workload.key.name);
    let has_templates = pod
        .spec
        .volumes
        .iter()
        .any(|volume| matches!(volume, VolumeUse::Claim { template: Some(_), .. }));
    if has_templates {
        for volume in &mut Arc::make_mut(&mut pod.spec).volumes {
            if let VolumeUse::Claim { name: claim, template: Some(_) } = volume {
                *claim = format!("{claim}-{name}").into();
            }
        }
    }
    world.create_pod(pod);
}
