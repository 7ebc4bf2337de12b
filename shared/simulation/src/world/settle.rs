//! The cluster's own controllers at work: workloads, disruption budgets, and the scheduler.

use domain::pod::ObjectKey;
use manifests::{DaemonSetObject, WorkloadObject};

use super::World;
use crate::api::WorkloadId;
use crate::workload;

/// More rounds than any cluster needs to settle; a round runs one step of each controller.
const SETTLE_ROUNDS_MAX: usize = 1000;

impl World {
    /// Lets the cluster's own controllers and the scheduler act until none has anything left to do.
    pub fn settle(&mut self) {
        for _ in 0..SETTLE_ROUNDS_MAX {
            if self.settled_revision == Some(self.api.stirred()) {
                return self.note_readiness();
            }
            self.settled_revision = Some(self.api.stirred());
            self.collect_pods_of_lost_nodes();
            workload::reconcile(self);
            self.refresh_budgets();
            self.schedule();
        }
    }

    /// Deletes a workload as `kubectl delete` does, with its dependents. False if there is none.
    pub fn delete_workload(&mut self, id: &WorkloadId) -> bool {
        let Ok(_) = self.api.remove::<WorkloadObject>(id) else { return false };
        workload::delete_dependents(self, id);
        true
    }

    /// Deletes a DaemonSet with its pods. False if there is none.
    pub fn delete_daemon_set(&mut self, key: &ObjectKey) -> bool {
        let is_there = self.api.remove::<DaemonSetObject>(key).is_ok();
        if is_there {
            workload::delete_daemon_pods(self, key);
        }
        is_there
    }
}
