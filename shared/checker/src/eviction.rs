//! Whether PodDisruptionBudgets let a pod go.

use rustc_hash::FxHashMap;

use domain::Text;
use domain::pdb::PodDisruptionBudget;
use domain::pod::Pod;
use domain::taint::{Taint, tolerated};

use crate::plan_index::PlanIndex;
use crate::pods::{GroupId, PodId, Pods};

/// PodDisruptionBudgets, by the label groups that they guard.
pub(crate) struct Evictions<'w> {
    pods: &'w Pods<'w>,
    guarding: FxHashMap<GroupId, Vec<&'w PodDisruptionBudget>>,
}

impl<'w> Evictions<'w> {
    /// Over all budgets of the cluster.
    pub(crate) fn new(index: &PlanIndex<'w>) -> Self {
        let pods = index.pods();
        let mut guarding: FxHashMap<GroupId, Vec<&'w PodDisruptionBudget>> = FxHashMap::default();
        let mut budgets: Vec<_> =
            index.cluster.snapshot.objects.pod_disruption_budgets.iter().collect();
        budgets.sort_by(|a, b| a.key.cmp(&b.key));
        for budget in budgets {
            let in_namespace = |namespace: &Text| *namespace == budget.key.namespace;
            for group in pods.groups.selected(budget.selector.as_ref(), in_namespace) {
                guarding.entry(group).or_default().push(budget);
            }
        }
        Self { pods, guarding }
    }

    /// Whether a pod is never evicted: it has do-not-disrupt, or a budget that by its terms allows
    /// no disruption guards it and does not let it go as one that is not ready.
    pub(crate) fn is_refused_for_good(&self, index: &PlanIndex<'_>, id: PodId) -> bool {
        let pod = self.pods.pod(id);
        if pod.refuses_disruption(index.cluster.snapshot.now) {
            return true;
        }
        let guarding = self.guarding.get(&self.pods.group(id)).map_or(&[][..], Vec::as_slice);
        !tolerated(&pod.spec.tolerations, &Taint::disrupted())
            && guarding.iter().any(|budget| budget.never_allows() && !lets_go(budget, pod))
    }

    /// The budget, or the two, under which the pod cannot be evicted: one that allows none, or
    /// several that all guard it, of which an eviction may spend only one.
    pub(crate) fn blocking(&self, id: PodId) -> Option<String> {
        let pod = self.pods.pod(id);
        // Such pods are not evicted: they go with their node, or stay on it to the end.
        if pod.is_static() || tolerated(&pod.spec.tolerations, &Taint::disrupted()) {
            return None;
        }
        let guarding = self.guarding.get(&self.pods.group(id))?;
        if let Some(strict) = guarding.iter().find(|budget| !lets_go(budget, pod)) {
            return Some(strict.key.to_string());
        }
        if guarding.len() < 2 {
            return None;
        }
        let names: Vec<_> = guarding.iter().map(|budget| &*budget.key.name).collect();
        Some(format!("{} (an eviction needs at most one)", names.join(" and ")))
    }
}

/// Whether a budget lets a pod that it guards be evicted now.
fn lets_go(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let unready = pod.ready == Some(false) && budget.lets_unready_go();
    unready || !budget.allows_none()
}
