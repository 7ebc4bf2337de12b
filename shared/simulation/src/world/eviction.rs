//! The Eviction API, and the controller that keeps the status of PodDisruptionBudgets.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/> and the
//! disruption controller of Kubernetes.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{ObjectKey, OwnerKind, Pod, PodPhase};
use domain::workload::WorkloadKind;
use manifests::WorkloadObject;

use super::{Deletion, World};
use crate::api::{ApiError, ApiServer, Kind, WorkloadId};
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
        self.refresh_budgets();
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
        for key in self.api.keys::<PodDisruptionBudget>() {
            let Some(budget) = self.api.get::<PodDisruptionBudget>(&key) else { continue };
            let status = Status::of(&self.api, budget);
            self.api.alter_unheard::<PodDisruptionBudget>(&key, |budget| {
                budget.current_healthy = status.healthy;
                budget.desired_healthy = status.desired;
                budget.disruptions_allowed = Some(status.healthy.saturating_sub(status.desired));
            });
        }
    }
}

struct Status {
    healthy: u32,
    desired: u32,
}

impl Status {
    fn of(api: &ApiServer, budget: &PodDisruptionBudget) -> Self {
        let pods = guarded(api, budget);
        let is_healthy = |pod: &&&Pod| pod.is_active() && pod.ready == Some(true);
        let healthy = count(pods.iter().filter(is_healthy).count());
        let expected = expected_pods(api, &pods);
        let desired = match (budget.max_unavailable, budget.min_available) {
            (Some(most), _) => expected.saturating_sub(most.of(expected)),
            (None, Some(least @ CountOrPercent::Percent(_))) => least.of(expected),
            (None, Some(CountOrPercent::Count(least))) => least,
            (None, None) => 0,
        };
        Self { healthy, desired }
    }
}

/// The pods that a budget guards. Those of one workload have their labels in common, and come one
/// after the other.
fn guarded<'a>(api: &'a ApiServer, budget: &PodDisruptionBudget) -> Vec<&'a Pod> {
    let mut guarded = Vec::new();
    let mut last: Option<(&Pod, bool)> = None;
    for pod in api.list::<Pod>() {
        let is_like = |other: &Pod| {
            Arc::ptr_eq(&other.labels, &pod.labels) && other.key.namespace == pod.key.namespace
        };
        let known = last.filter(|(other, _)| is_like(other)).map(|(_, guards)| guards);
        let guards = known.unwrap_or_else(|| budget.guards(pod));
        last = Some((pod, guards));
        if guards {
            guarded.push(pod);
        }
    }
    guarded
}

/// How many pods there should be: the replicas of the workloads they belong to, and those without
/// one.
fn expected_pods(api: &ApiServer, pods: &[&Pod]) -> u32 {
    let mut owners = BTreeSet::new();
    let mut single = 0;
    let mut last: Option<&Pod> = None;
    for pod in pods {
        let is_sibling = |other: &Pod| {
            other.owner.is_some()
                && other.owner == pod.owner
                && other.key.namespace == pod.key.namespace
        };
        if last.is_some_and(is_sibling) {
            continue;
        }
        last = None;
        match owner_of(pod) {
            Some(id) if api.get::<WorkloadObject>(&id).is_some() => {
                owners.insert(id);
                last = Some(pod);
            }
            _ => single += u32::from(!pod.is_terminal()),
        }
    }
    let replicas: u32 = owners
        .iter()
        .filter_map(|id| api.get::<WorkloadObject>(id))
        .map(|own| own.workload.replicas)
        .sum();
    replicas + single
}

fn owner_of(pod: &Pod) -> Option<WorkloadId> {
    let owner = pod.owner.as_ref()?;
    let kind = match owner.kind {
        OwnerKind::Deployment => WorkloadKind::Deployment,
        OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
        OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
        OwnerKind::Job => WorkloadKind::Job,
        OwnerKind::DaemonSet | OwnerKind::Node | OwnerKind::Other => return None,
    };
    Some(WorkloadId { kind, key: ObjectKey::new(pod.key.namespace.clone(), owner.name.clone()) })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
