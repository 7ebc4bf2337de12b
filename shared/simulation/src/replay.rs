//! Recorded pods as a simulation replays them.
//!
//! What is replayed are *slots*: a pod that its owner made, and the pods that the owner made in its
//! place when it was evicted or lost. When and where pods are displaced depends on the nodes, which
//! are others in a replay; when a slot comes and when it leaves does not.

use std::collections::BTreeMap;

use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text};
use recording::{PodEnd, RecordedPod, Recording};

use crate::api::WorkloadId;

/// A pod that comes so soon after one of its owner was displaced stands in for it. Longer than the
/// grace period that a StatefulSet's successor waits for by default.
const SUCCESSOR_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// The pods of a recording, made ready.
#[derive(Debug, Default)]
pub struct Replay {
    /// By when they come.
    pub(crate) slots: Vec<Slot>,
}

/// A pod and its successors.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// When it comes, from the start.
    pub(crate) at: SignedDuration,
    /// It was there when the recording began.
    pub(crate) was_there: bool,
    /// The pod, without a node.
    pub(crate) pod: Pod,
    /// Names and uids that its pods had one after the other, at least one.
    pub(crate) names: Vec<(ObjectKey, Text)>,
    /// The workloads that count it among their replicas.
    pub(crate) workloads: Vec<WorkloadId>,
    /// When it leaves.
    pub(crate) leaves: Leaves,
}

/// When a slot leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Not before the recording's end.
    Never,
    /// Its owner or a user takes it away at a moment, counted from the start.
    At(SignedDuration),
    /// It ends by itself once it has run for so long, wherever that is.
    AfterWork(SignedDuration),
}

impl Slot {
    /// Whether whoever owns it makes another pod where one is displaced.
    pub(crate) fn is_replaced(&self) -> bool {
        self.pod.owner.is_some()
    }

    /// Whether its pods share one name, so that a successor waits until the pod before is gone.
    pub(crate) fn keeps_name(&self) -> bool {
        self.pod.owner_kind() == Some(OwnerKind::StatefulSet)
    }
}

/// Namespace, kind and name of an owner.
type OwnerKey = (Text, OwnerKind, Text);

impl Replay {
    /// The pods of a recording; those of DaemonSets and static ones come with their nodes.
    pub fn of(recording: &Recording) -> Self {
        let mut slots: Vec<Slot> = Vec::new();
        // Slots by owner whose pod was displaced, and when.
        let mut displaced: BTreeMap<OwnerKey, Vec<(SignedDuration, usize)>> = BTreeMap::new();
        for own in &recording.pods {
            if own.pod.is_daemon() || own.pod.is_static() {
                continue;
            }
            let owner = own.pod.owner.as_ref();
            let owner = owner.map(|of| (own.pod.key.namespace.clone(), of.kind, of.name.clone()));
            let before = owner.as_ref().and_then(|owner| {
                let waiting = displaced.get_mut(owner)?;
                let is_its = |(at, _): &(SignedDuration, usize)| {
                    *at <= own.created && own.created - *at <= SUCCESSOR_WITHIN
                };
                let index = waiting.iter().position(is_its)?;
                Some(waiting.remove(index).1)
            });
            let index = before.unwrap_or(slots.len());
            match slots.get_mut(index) {
                Some(slot) => slot.names.push((own.pod.key.clone(), own.pod.uid.clone())),
                None => slots.push(slot(own)),
            }
            if let Some(slot) = slots.get_mut(index) {
                slot.leaves = leaves(own);
            }
            if let (Some(owner), Some(end)) = (owner, own.end)
                && end.how == PodEnd::Displaced
            {
                displaced.entry(owner).or_default().push((end.at, index));
            }
        }
        Self { slots }
    }

    /// Whether it has no pod.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

fn slot(own: &RecordedPod) -> Slot {
    let key = |name: &Text| ObjectKey::new(own.pod.key.namespace.clone(), name.clone());
    let owner = own.pod.owner.as_ref().and_then(|owner| {
        let kind = match owner.kind {
            OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
            OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
            _ => return None,
        };
        Some(WorkloadId { kind, key: key(&owner.name) })
    });
    let above =
        own.workload.as_ref().map(|(kind, name)| WorkloadId { kind: *kind, key: key(name) });
    Slot {
        at: own.created.max(SignedDuration::ZERO),
        was_there: own.created.is_negative(),
        pod: own.pod.clone(),
        names: vec![(own.pod.key.clone(), own.pod.uid.clone())],
        workloads: owner.into_iter().chain(above).collect(),
        leaves: Leaves::Never,
    }
}

fn leaves(own: &RecordedPod) -> Leaves {
    match own.end {
        None => Leaves::Never,
        // What a pod had done before the recording began need not be done again.
        Some(end) => match end.how {
            PodEnd::Finished(ran) if own.created.is_negative() => {
                Leaves::AfterWork(ran.min(end.at))
            }
            PodEnd::Finished(ran) => Leaves::AfterWork(ran),
            PodEnd::Deleted | PodEnd::Displaced => Leaves::At(end.at),
        },
    }
}
