//! What is going to happen, by time: the clock jumps from one entry to the next.

use std::collections::BTreeMap;

use domain::pod::ObjectKey;
use domain::{Text, Timestamp};

use crate::ec2::CapacityPool;

/// Something that happens by itself once its time comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// An instance has booted and its kubelet registers a Node.
    NodeJoins { instance: Text },
    /// A Node's network and kubelet are up.
    NodeBecomesReady { node: Text },
    /// Whatever removes a Node's startup taints has done so.
    StartupTaintsGo { node: Text },
    /// A bound pod's containers run and are ready.
    PodStarts { pod: ObjectKey, uid: Text },
    /// A Job's pod has done its work.
    PodCompletes { pod: ObjectKey, uid: Text },
    /// A Job has been over for as long as it stays.
    JobExpires { job: ObjectKey, uid: Text },
    /// A deleted pod's containers have stopped.
    PodStops { pod: ObjectKey, uid: Text },
    /// EC2 takes a spot instance back.
    InstanceIsReclaimed { instance: Text },
    /// EC2 ends an instance that it has no room for after all.
    InstanceEndsEarly { instance: Text },
    /// EC2 announces that it takes a spot instance back, as was drawn when it was launched.
    InterruptionIsDrawn { instance: Text },
    /// A terminated instance has shut down.
    InstanceEnds { instance: Text },
    /// The cloud controller takes away the Node of an instance that is gone.
    NodeIsForgotten { node: Text },
    /// Pods may be tried again that found no node.
    SchedulerRetries,
    /// EC2 has capacity again.
    CapacityReturns { pool: CapacityPool },
    /// KEDA has something to do: a window opens or closes, or the pause after one is over.
    ScaledObjectTurns { scaled_object: ObjectKey },
}

/// Entries by time, in the order in which they were made among those of one moment.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<(Timestamp, u64), Due>,
    made: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, at: Timestamp, due: Due) {
        self.entries.insert((at, self.made), due);
        self.made += 1;
    }

    /// When the next entry is due.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the next entry that is due at a moment or before.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Due> {
        let entry = self.entries.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}
