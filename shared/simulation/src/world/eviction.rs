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
        let latest = |api: &ApiServer| {
            Some([Kind::Pod, Kind::Workload, Kind::PodDisruptionBudget].map(|own| api.latest(own)))
        };
        if self.budgets_refreshed == latest(&self.api) {
            return;
        }
        let stale: Vec<(ObjectKey, Status)> = {
            let mut budgets = self.api.list::<PodDisruptionBudget>().peekable();
            if budgets.peek().is_none() {
                return;
            }
            let groups = Group::all(&self.api);
            let refreshed = |budget: &PodDisruptionBudget| {
                let status = Status::of(&self.api, budget, &groups);
                (!status.is_shown(budget)).then(|| (budget.key.clone(), status))
            };
            budgets.filter_map(refreshed).collect()
        };
        for (key, status) in stale {
            self.api.alter_unheard::<PodDisruptionBudget>(&key, |budget| {
                budget.current_healthy = status.healthy;
                budget.desired_healthy = status.desired;
                budget.disruptions_allowed = Some(status.allowed());
            });
        }
        self.budgets_refreshed = latest(&self.api);
    }
}

struct Status {
    healthy: u32,
    desired: u32,
}

impl Status {
    fn of(api: &ApiServer, budget: &PodDisruptionBudget, groups: &[Group<'_>]) -> Self {
        let guarded: Vec<&Group> = groups.iter().filter(|own| budget.guards(own.first)).collect();
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

/// Pods with labels in common, one after the other: those of one workload have theirs in common,
/// and a budget guards all of them or none.
struct Group<'a> {
    first: &'a Pod,
    /// Pods that are active and ready.
    healthy: u32,
    /// The workloads that they belong to.
    owners: BTreeSet<WorkloadId>,
    /// Pods that belong to none, and have not ended.
    single: u32,
    last: &'a Pod,
}

impl<'a> Group<'a> {
    fn all(api: &'a ApiServer) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for pod in api.list::<Pod>() {
            match groups.last_mut().filter(|own| own.is_like(pod)) {
                Some(group) => group.add(api, pod),
                None => groups.push(Self::new(api, pod)),
            }
        }
        groups
    }

    fn new(api: &ApiServer, pod: &'a Pod) -> Self {
        let owners = BTreeSet::new();
        let mut group = Self { first: pod, healthy: 0, owners, single: 0, last: pod };
        group.count(api, pod);
        group
    }

    fn is_like(&self, pod: &Pod) -> bool {
        Arc::ptr_eq(&self.first.labels, &pod.labels)
            && self.first.key.namespace == pod.key.namespace
    }

    fn add(&mut self, api: &ApiServer, pod: &'a Pod) {
        let is_sibling = pod.owner.is_some() && pod.owner == self.last.owner;
        if is_sibling && !self.owners.is_empty() {
            self.healthy += u32::from(is_healthy(pod));
        } else {
            self.count(api, pod);
        }
        self.last = pod;
    }

    fn count(&mut self, api: &ApiServer, pod: &Pod) {
        self.healthy += u32::from(is_healthy(pod));
        match owner_of(pod) {
            Some(id) if api.get::<WorkloadObject>(&id).is_some() => {
                self.owners.insert(id);
            }
            _ => self.single += u32::from(!pod.is_terminal()),
        }
    }
}

fn is_healthy(pod: &Pod) -> bool {
    pod.is_active() && pod.ready == Some(true)
}

/// How many pods there should be: the replicas of the workloads they belong to, and those without
/// one.
fn expected_pods(api: &ApiServer, guarded: &[&Group<'_>]) -> u32 {
    let owners: BTreeSet<&WorkloadId> = guarded.iter().flat_map(|own| &own.owners).collect();
    let replicas: u32 = owners
        .into_iter()
        .filter_map(|id| api.get::<WorkloadObject>(id))
        .map(|own| own.workload.replicas)
        .sum();
    replicas + guarded.iter().map(|own| own.single).sum::<u32>()
}

fn owner_of(pod: &Pod) -> Option<WorkloadId> {
    let owner = pod.owner.as_ref()?;
    let kind = match owner.kind {
        OwnerKind::Deployment => WorkloadKind::Deployment,
        OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
        OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
        OwnerKind::Job => WorkloadKind::Job,
        OwnerKind::DaemonSet
        | OwnerKind::Node
        | OwnerKind::Other
        | OwnerKind::ReplicationController => return None,
    };
    Some(WorkloadId { kind, key: ObjectKey::new(pod.key.namespace.clone(), owner.name.clone()) })
}
