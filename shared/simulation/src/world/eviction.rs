//! The Eviction API, and the controller that keeps the status of PodDisruptionBudgets.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/> and the
//! disruption controller of Kubernetes.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::Text;
use domain::label::Labels;
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{ObjectKey, Pod, PodPhase};
use manifests::WorkloadObject;

use super::{Deletion, World};
use crate::api::{ApiError, ApiServer, Kind, LabelGroup, WorkloadId};
use crate::report::Happening;

impl World {
    /// Requests a pod's eviction, by uid where one is given.
    pub(crate) fn evict(&mut self, key: &ObjectKey, uid: &str) -> Result<(), ApiError> {
        let not_found = || ApiError::NotFound { kind: Kind::Pod, key: key.to_string().into() };
        let pod = self.api.get::<Pod>(key).ok_or_else(not_found)?;
        if !uid.is_empty() && &*pod.uid != uid {
            return Err(not_found());
        }
        // What does not run yet, or no more, disturbs nobody.
        let is_free = pod.is_terminal() || pod.is_terminating() || pod.phase == PodPhase::Pending;
        // The eviction of a pod that no budget guards changes no budget's status.
        let is_guarded = self.api.list::<PodDisruptionBudget>().any(|budget| budget.guards(pod));
        if is_guarded {
            self.refresh_budgets();
        }
        if !is_free {
            self.ask_budgets(key)?;
        }
        let pod = self.api.get::<Pod>(key).ok_or_else(not_found)?;
        if let (Some(node), false) = (pod.node_name.clone(), pod.is_terminating()) {
            let pods = vec![key.clone()];
            self.journal.add(self.now, Happening::PodsEvicted { node, pods });
        }
        self.delete_pod(key, Deletion::Graceful);
        // The budget counts at once, so that the next eviction of the same moment sees this one.
        if is_guarded {
            self.refresh_budgets();
        }
        Ok(())
    }

    fn ask_budgets(&self, key: &ObjectKey) -> Result<(), ApiError> {
        let Some(pod) = self.api.get::<Pod>(key) else { return Ok(()) };
        let guards: Vec<&PodDisruptionBudget> =
            self.api.list::<PodDisruptionBudget>().filter(|budget| budget.guards(pod)).collect();
        match guards.as_slice() {
            [] => Ok(()),
            [budget] => {
                let is_ready = pod.ready == Some(true);
                let may_go = budget.disruptions_allowed.unwrap_or(0) > 0
                    || (!is_ready && budget.lets_unready_go());
                if may_go {
                    return Ok(());
                }
                Err(ApiError::TooManyRequests { budget: budget.key.to_string().into() })
            }
            _ => Err(ApiError::SeveralBudgets { pod: key.to_string().into() }),
        }
    }

    /// Brings the status of every budget up to date.
    pub(super) fn refresh_budgets(&mut self) {
        let api = &self.api;
        let before = self.budgets_refreshed;
        let now = latest_for_budgets(api);
        if before == Some(now) {
            return;
        }
        // Where only pods were written to, budgets that guard none of those stay as they are.
        let only_pods_changed = before.filter(|before| before[1..] == now[1..]);
        let changed: Option<Vec<_>> = only_pods_changed
            .map(|[version, ..]| api.pods().labels_changed_after(version).collect());
        let is_touched = |budget: &&PodDisruptionBudget| {
            let guards = |(namespace, labels): &&(Text, Arc<Labels>)| {
                budget.guards_labels(namespace, labels)
            };
            changed.as_ref().is_none_or(|changed| changed.iter().any(guards))
        };
        let refreshed = |budget: &PodDisruptionBudget| {
            let status = Status::of(api, budget);
            (!status.is_shown(budget)).then(|| (budget.key.clone(), status))
        };
        let budgets = api.list::<PodDisruptionBudget>().filter(is_touched);
        let stale: Vec<(ObjectKey, Status)> = budgets.filter_map(refreshed).collect();
        for (key, status) in stale {
            self.api.alter_unheard::<PodDisruptionBudget>(&key, |budget| {
                budget.current_healthy = status.healthy;
                budget.desired_healthy = status.desired;
                budget.disruptions_allowed = Some(status.allowed());
            });
        }
        self.budgets_refreshed = Some(latest_for_budgets(&self.api));
    }
}

/// The latest writes to what the status of budgets follows from.
fn latest_for_budgets(api: &ApiServer) -> [u64; 3] {
    [Kind::Pod, Kind::Workload, Kind::PodDisruptionBudget].map(|kind| api.latest(kind))
}

struct Status {
    healthy: u32,
    desired: u32,
}

impl Status {
    fn of(api: &ApiServer, budget: &PodDisruptionBudget) -> Self {
        let guarded: Vec<&LabelGroup> = api.pods().guarded_by(budget).collect();
        let healthy = guarded.iter().map(|own| own.healthy).sum();
        let expected = expected_pods(api, &guarded);
        let desired = match (budget.max_unavailable, budget.min_available) {
            (Some(most), _) => expected.saturating_sub(most.of(expected)),
            (None, Some(least @ CountOrPercent::Percent(_))) => least.of(expected),
            (None, Some(CountOrPercent::Count(least))) => least,
            (None, None) => 0,
        };
        Self { healthy, desired }
    }

    fn allowed(&self) -> u32 {
        self.healthy.saturating_sub(self.desired)
    }

    fn is_shown(&self, budget: &PodDisruptionBudget) -> bool {
        budget.current_healthy == self.healthy
            && budget.desired_healthy == self.desired
            && budget.disruptions_allowed == Some(self.allowed())
    }
}

/// How many pods there should be: the replicas of the workloads they belong to, and those without
/// one that have not ended.
fn expected_pods(api: &ApiServer, guarded: &[&LabelGroup]) -> u32 {
    let mut owners: BTreeSet<&WorkloadId> = BTreeSet::new();
    let mut single = 0;
    for (owner, pods) in guarded.iter().flat_map(|own| &own.owners) {
        match owner {
            Some(id) if api.get::<WorkloadObject>(id).is_some() => {
                owners.insert(id);
            }
            _ => single += pods.not_ended,
        }
    }
    let workloads = owners.into_iter().filter_map(|id| api.get::<WorkloadObject>(id));
    single + workloads.map(|own| own.workload.replicas).sum::<u32>()
}
