//! Which pods of leaving nodes get a place ahead of their end.

use domain::pdb::PodDisruptionBudget;
use domain::taint::{Taint, tolerated};

use super::Model;
use crate::ids::PodIx;

/// Whether a bound pod has to run elsewhere once its node goes: it is reschedulable, and its
/// NodePool does not count it as expendable.
pub(crate) fn must_move(model: &Model, index: PodIx) -> bool {
    model.pod(index).is_reschedulable() && !model.expendable.contains(&index)
}

/// Whether a pod of a leaving node gets a place ahead of its end: it must move, may move, and no
/// PodDisruptionBudget keeps it for good. Any other stays until its node is gone.
///
/// Source: Karpenter `pkg/utils/pdb`, `IsCurrentlyReschedulable`.
pub(crate) fn needs_successor(model: &Model, index: PodIx) -> bool {
    let pod = model.pod(index);
    if model.expendable.contains(&index) {
        return false;
    }
    let kept_for_good = || {
        let is_evicted = !tolerated(&pod.spec.tolerations, &Taint::disrupted());
        let mut budgets = model.snapshot.objects.pod_disruption_budgets.iter();
        let keeps = |budget: &PodDisruptionBudget| budget.never_allows() && budget.keeps(pod);
        is_evicted && budgets.any(|budget| keeps(budget) && budget.guards(pod))
    };
    pod.is_reschedulable() && !pod.refuses_disruption(model.snapshot.now) && !kept_for_good()
}
