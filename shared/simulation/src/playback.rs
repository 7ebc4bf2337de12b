//! How far a replay is: which recorded pods are there, and what comes next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Timestamp;
use domain::pod::ObjectKey;

use crate::api::WorkloadId;
use crate::replay::{Leaves, Replay, Slot};

/// What the controller of recorded pods remembers.
#[derive(Debug)]
pub(crate) struct Playback {
    pub(crate) replay: Arc<Replay>,
    pub(crate) start: Timestamp,
    /// The slot that comes next.
    pub(crate) next: usize,
    /// Slots by when they leave.
    pub(crate) leaving: BTreeSet<(Timestamp, usize)>,
    /// Slots by their pod.
    pub(crate) current: BTreeMap<ObjectKey, usize>,
    /// Slots that need another pod.
    pub(crate) successors: BTreeSet<usize>,
    /// How many pods each slot has had.
    pub(crate) made: BTreeMap<usize, usize>,
    /// How many slots each workload has.
    pub(crate) replicas: BTreeMap<WorkloadId, u32>,
    /// The resource version up to which writes were looked at.
    pub(crate) seen: u64,
}

impl Playback {
    pub(crate) fn new(replay: Arc<Replay>, start: Timestamp) -> Self {
        Self {
            replay,
            start,
            next: 0,
            leaving: BTreeSet::new(),
            current: BTreeMap::new(),
            successors: BTreeSet::new(),
            made: BTreeMap::new(),
            replicas: BTreeMap::new(),
            seen: 0,
        }
    }

    /// When a recorded pod next comes or leaves.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        let comes = self.replay.slots.get(self.next).map(|slot| self.start + slot.at);
        let leaves = self.leaving.first().map(|(at, _)| *at);
        [comes, leaves].into_iter().flatten().min()
    }

    /// The slot of a pod.
    pub(crate) fn slot_of(&self, pod: &ObjectKey) -> Option<&Slot> {
        self.replay.slots.get(*self.current.get(pod)?)
    }

    /// How long a pod works before it ends by itself; `None` for one that does not.
    pub(crate) fn work_of(&self, pod: &ObjectKey) -> Option<domain::SignedDuration> {
        match self.slot_of(pod)?.leaves {
            Leaves::AfterWork(work) => Some(work),
            Leaves::Never | Leaves::At(_) => None,
        }
    }
}
