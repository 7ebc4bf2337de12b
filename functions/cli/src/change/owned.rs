//! What becomes of pods that are there once what made them changes.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::Text;
use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::WorkloadKind;
use manifests::{Located, Object, PodObject, WorkloadObject};

/// Lets the pods of a workload or a DaemonSet follow its change; `is` is `None` where it is
/// removed.
pub(super) fn follow(objects: &mut Vec<Located<Object>>, was: &Object, is: Option<&Object>) {
    match (was, is) {
        (Object::Workload(was), Some(Object::Workload(is))) => workload(objects, was, is),
        (Object::Workload(was), _) => objects.retain(|own| !is_active_of(own, was)),
        // Its pods are made anew: where they may run, planning keeps room for them.
        (Object::DaemonSet(was), _) => {
            let key = &was.daemon_set.key;
            objects.retain(|own| !pod(own).is_some_and(|pod| is_daemon_of(pod, key)));
        }
        _ => {}
    }
}

/// A pod of another template is another pod; it keeps the name, so that both can be compared. The
/// number of pods follows where the number that is wanted changes.
fn workload(objects: &mut Vec<Located<Object>>, was: &WorkloadObject, is: &WorkloadObject) {
    let mut own: Vec<usize> =
        (0..objects.len()).filter(|index| is_active_of(&objects[*index], was)).collect();
    if own.is_empty() {
        return;
    }
    let wanted = usize::try_from(is.workload.replicas).unwrap_or(usize::MAX);
    let is_scaled = was.workload.replicas != is.workload.replicas;
    let mut surplus: BTreeSet<usize> = BTreeSet::new();
    if is_scaled && own.len() > wanted {
        own.sort_by_key(|index| pod(&objects[*index]).map(|pod| stays_rank(is, pod)));
        surplus.extend(own.split_off(wanted));
    }
    if makes_other_pods(was, is) {
        for index in &own {
            if let Some(old) = pod(&objects[*index]) {
                let name = old.key.name.clone();
                objects[*index].value = made(is, name);
            }
        }
    }
    if is_scaled && own.len() < wanted {
        let place = objects[own[0]].clone();
        let names = free_names(objects, is).take(wanted - own.len());
        let names: Vec<Text> = names.collect();
        objects.extend(
            names.into_iter().map(|name| Located { value: made(is, name), ..place.clone() }),
        );
    }
    let mut index = 0;
    objects.retain(|_| {
        let stays = !surplus.contains(&index);
        index += 1;
        stays
    });
}

/// Which pods stay when there are to be fewer, the smallest first: of a StatefulSet those of low
/// ordinals, else those that have a node, that are dearest to delete and oldest.
///
/// Source: Kubernetes' `ActivePodsWithRanks`, as far as manifests tell.
fn stays_rank(is: &WorkloadObject, pod: &Pod) -> impl Ord + use<> {
    let ordinal = (is.workload.kind == WorkloadKind::StatefulSet)
        .then(|| pod.key.name.rsplit_once('-').and_then(|(_, own)| own.parse::<u32>().ok()));
    (
        ordinal.flatten(),
        pod.node_name.is_none(),
        pod.ready == Some(false),
        Reverse(pod.scale_down_cost()),
        pod.created,
        pod.key.name.clone(),
    )
}

/// Whether pods of both differ as far as nodes depend on them.
fn makes_other_pods(was: &WorkloadObject, is: &WorkloadObject) -> bool {
    was.workload.template != is.workload.template
        || was.claim_templates != is.claim_templates
        || was.priority != is.priority
        || was.traits != is.traits
}

fn made(workload: &WorkloadObject, name: Text) -> Object {
    Object::Pod(PodObject { pod: workload.pod(name), priority: workload.priority.clone() })
}

/// Names `WORKLOAD-0`, `WORKLOAD-1`, … that no pod has.
fn free_names(
    objects: &[Located<Object>],
    workload: &WorkloadObject,
) -> impl Iterator<Item = Text> {
    let ObjectKey { namespace, name } = workload.workload.key.clone();
    let taken: BTreeSet<Text> = objects
        .iter()
        .filter_map(pod)
        .filter(|pod| pod.key.namespace == namespace)
        .map(|pod| pod.key.name.clone())
        .collect();
    (0..u32::MAX)
        .map(move |index| Text::from(format!("{name}-{index}")))
        .filter(move |name| !taken.contains(name))
}

fn pod(located: &Located<Object>) -> Option<&Pod> {
    match &located.value {
        Object::Pod(object) => Some(&object.pod),
        _ => None,
    }
}

fn is_active_of(located: &Located<Object>, workload: &WorkloadObject) -> bool {
    pod(located).is_some_and(|pod| pod.is_active() && owns(workload, pod))
}

fn is_daemon_of(pod: &Pod, daemon_set: &ObjectKey) -> bool {
    let owner = pod.owner.as_ref().filter(|owner| owner.kind == OwnerKind::DaemonSet);
    pod.key.namespace == daemon_set.namespace
        && owner.is_some_and(|owner| owner.name == daemon_set.name)
}

/// Whether a pod is of a workload. A Deployment owns pods through a ReplicaSet, which is named
/// after it and a hash without a dash.
fn owns(workload: &WorkloadObject, pod: &Pod) -> bool {
    let key = &workload.workload.key;
    let Some(owner) = pod.owner.as_ref().filter(|_| pod.key.namespace == key.namespace) else {
        return false;
    };
    let kind = match workload.workload.kind {
        WorkloadKind::Deployment => OwnerKind::Deployment,
        WorkloadKind::StatefulSet => OwnerKind::StatefulSet,
        WorkloadKind::ReplicaSet => OwnerKind::ReplicaSet,
        WorkloadKind::Job => OwnerKind::Job,
    };
    if owner.kind == kind {
        return owner.name == key.name;
    }
    let named_after = |hash: &str| hash.starts_with('-') && !hash[1..].contains('-');
    kind == OwnerKind::Deployment
        && owner.kind == OwnerKind::ReplicaSet
        && owner.name.strip_prefix(&*key.name).is_some_and(named_after)
        && workload.selector.as_ref().is_none_or(|selector| selector.matches(&pod.labels))
}
