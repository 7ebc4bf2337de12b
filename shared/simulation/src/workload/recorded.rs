//! Recorded pods, in place of the controllers that made them: they come and leave as recorded, and
//! one that is evicted or lost in the replay gets a successor at once, as its owner would make it.
//!
//! The Deployments, ReplicaSets and StatefulSets that pods belonged to are there, with as many
//! replicas as they have recorded pods, for whoever asks: PodDisruptionBudgets and schedules.

use std::sync::Arc;

use domain::Timestamp;
use domain::pod::{ObjectKey, Pod};
use domain::workload::{PodTemplate, Workload, WorkloadKind};
use manifests::{PodTraits, PriorityRef, WorkloadObject};

use crate::api::{Change, Kind, WorkloadId};
use crate::playback::Playback;
use crate::replay::{Leaves, Slot};
use crate::workload::deployment::POD_TEMPLATE_HASH;
use crate::world::{Deletion, World};

pub(super) fn reconcile(world: &mut World) {
    let Some(mut playback) = world.playback.take() else { return };
    note_displaced(world, &mut playback);
    let now = world.now();
    let replay = playback.replay.clone();
    while let Some(slot) = replay.slots.get(playback.next)
        && playback.start + slot.at <= now
    {
        let index = playback.next;
        playback.next += 1;
        begin(world, &mut playback, index, slot);
    }
    while let Some((at, index)) = playback.leaving.first().copied()
        && at <= now
    {
        playback.leaving.remove(&(at, index));
        leave(world, &mut playback, index);
    }
    for index in playback.successors.clone() {
        if let Some(slot) = replay.slots.get(index) {
            create(world, &mut playback, index, slot);
        }
    }
    world.playback = Some(playback);
}

/// Looks for recorded pods that have ended, are being deleted or are gone since the last call.
fn note_displaced(world: &mut World, playback: &mut Playback) {
    let is_change = |kind: Kind, change| kind == Kind::Pod && change != Change::Added;
    let events = world.api.events_after(playback.seen).iter();
    let changed: Vec<ObjectKey> = events
        .filter(|event| is_change(event.kind, event.change))
        .filter_map(|event| {
            let (namespace, name) = event.key.split_once('/')?;
            Some(ObjectKey::new(namespace, name))
        })
        .collect();
    playback.seen = world.api.revision();
    for key in changed {
        let Some(index) = playback.current.get(&key).copied() else { continue };
        let pod = world.api.get::<Pod>(&key);
        if pod.is_some_and(Pod::is_active) {
            continue;
        }
        let has_ended = pod.is_some_and(Pod::is_terminal);
        playback.current.remove(&key);
        let is_replaced = playback.replay.slots.get(index).is_some_and(Slot::is_replaced);
        if has_ended {
            world.delete_pod(&key, Deletion::Graceful);
        }
        if has_ended || !is_replaced {
            end(world, playback, index);
        } else {
            playback.successors.insert(index);
        }
    }
}

fn begin(world: &mut World, playback: &mut Playback, index: usize, slot: &Slot) {
    if let Leaves::At(at) = slot.leaves {
        playback.leaving.insert((playback.start + at, index));
    }
    for id in &slot.workloads {
        let replicas = playback.replicas.entry(id.clone()).or_default();
        *replicas += 1;
        let replicas = *replicas;
        show_replicas(world, id, replicas, Some(slot));
    }
    create(world, playback, index, slot);
}

/// Makes the next pod of a slot, once its name is free.
fn create(world: &mut World, playback: &mut Playback, index: usize, slot: &Slot) {
    let made = playback.made.get(&index).copied().unwrap_or(0);
    let recorded = slot.names.get(made).cloned();
    let (key, uid) = match (recorded, slot.names.last()) {
        (Some(recorded), _) => recorded,
        (None, Some((last, _))) if slot.keeps_name() => (last.clone(), "".into()),
        (None, last) => {
            let of = slot.pod.owner.as_ref().map_or(&slot.pod.key.name, |owner| &owner.name);
            let last = last.map_or_else(String::new, |(last, _)| last.to_string());
            let suffix = world.seed.draw("pod-name", &format!("{last} {made}")).name_suffix(5);
            (ObjectKey::new(slot.pod.key.namespace.clone(), format!("{of}-{suffix}")), "".into())
        }
    };
    if world.api.get::<Pod>(&key).is_some() {
        playback.successors.insert(index);
        return;
    }
    playback.successors.remove(&index);
    playback.made.insert(index, made + 1);
    playback.current.insert(key.clone(), index);
    world.create_pod(Pod { key, uid, created: Some(world.now()), ..slot.pod.clone() });
}

/// Takes a slot's pod away, as whoever owned it did.
fn leave(world: &mut World, playback: &mut Playback, index: usize) {
    let pod = playback.current.iter().find(|(_, own)| **own == index).map(|(key, _)| key.clone());
    if let Some(pod) = pod {
        playback.current.remove(&pod);
        world.delete_pod(&pod, Deletion::Graceful);
    }
    playback.successors.remove(&index);
    end(world, playback, index);
}

fn end(world: &mut World, playback: &mut Playback, index: usize) {
    let Some(slot) = playback.replay.slots.get(index) else { return };
    if let Leaves::At(at) = slot.leaves {
        let at: Timestamp = playback.start + at;
        playback.leaving.remove(&(at, index));
    }
    for id in &slot.workloads {
        let replicas = playback.replicas.entry(id.clone()).or_default();
        *replicas = replicas.saturating_sub(1);
        show_replicas(world, id, *replicas, None);
    }
}

/// The template of a slot's pods; a Deployment's has no label of one of its ReplicaSets.
fn template(kind: WorkloadKind, slot: &Slot) -> PodTemplate {
    let mut labels = slot.pod.labels.clone();
    if kind == WorkloadKind::Deployment && labels.contains_key(POD_TEMPLATE_HASH) {
        Arc::make_mut(&mut labels).remove(POD_TEMPLATE_HASH);
    }
    PodTemplate { labels, spec: slot.pod.spec.clone() }
}

/// Lets a workload have as many replicas as it has slots, and the template of the newest one.
fn show_replicas(world: &mut World, id: &WorkloadId, replicas: u32, newest: Option<&Slot>) {
    if replicas == 0 && id.kind == WorkloadKind::ReplicaSet {
        let _ = world.api.remove::<WorkloadObject>(id);
        return;
    }
    let template = newest.map(|slot| template(id.kind, slot));
    if world.api.get::<WorkloadObject>(id).is_some() {
        world.api.alter::<WorkloadObject>(id, |own| {
            own.workload.replicas = replicas;
            if let Some(template) = template {
                own.workload.template = template;
            }
        });
        return;
    }
    let (Some(template), Some(slot)) = (template, newest) else { return };
    world.apply(WorkloadObject {
        workload: Workload {
            kind: id.kind,
            key: id.key.clone(),
            replicas,
            template,
            selector: None,
        },
        uid: "".into(),
        owner: None,
        selector: None,
        claim_templates: Vec::new(),
        priority: PriorityRef::default(),
        traits: PodTraits {
            do_not_disrupt: slot.pod.do_not_disrupt,
            deletion_cost: slot.pod.deletion_cost,
        },
        job: None,
        rollout: None,
    });
}
