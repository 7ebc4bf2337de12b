//! PodDisruptionBudgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Text;
use crate::label::Labels;
use crate::pod::{ObjectKey, Pod};
use crate::selector::LabelSelector;

/// A number of pods, or a share of those selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CountOrPercent {
    /// A number.
    Count(u32),
    /// A percentage.
    Percent(u32),
}

impl CountOrPercent {
    /// How many of a total, a percentage rounded up.
    pub const fn of(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (total * percent).div_ceil(100),
        }
    }
}

/// Why a PodDisruptionBudget keeps a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum PdbRefusal {
    /// Its status allows none now.
    #[error("it allows 0 disruptions now ({healthy} healthy, {desired} needed)")]
    NoneAllowed {
        /// `status.currentHealthy`.
        healthy: u32,
        /// `status.desiredHealthy`.
        desired: u32,
    },
    /// It has no status, and by its terms it never allows one.
    #[error("by its terms it never allows a disruption")]
    NeverAllows,
    /// It has no status yet; until Kubernetes has written one, evictions are refused.
    #[error("it has no status yet, and allows no disruption until it has")]
    NoStatus,
    /// More than one guards the pod.
    #[error("a pod that several budgets guard is never evicted")]
    Several,
}

/// A PodDisruptionBudget.
///
/// Source: <https://kubernetes.io/docs/tasks/run-application/configure-pdb/>.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods it guards; `None` guards none.
    pub selector: Option<LabelSelector>,
    /// `spec.maxUnavailable`.
    pub max_unavailable: Option<CountOrPercent>,
    /// `spec.minAvailable`.
    pub min_available: Option<CountOrPercent>,
    /// `spec.unhealthyPodEvictionPolicy: AlwaysAllow`.
    pub always_allow_unhealthy: bool,
    /// `status.disruptionsAllowed`; `None` for a manifest without status.
    pub disruptions_allowed: Option<u32>,
    /// `status.currentHealthy`.
    pub current_healthy: u32,
    /// `status.desiredHealthy`.
    pub desired_healthy: u32,
}

impl PodDisruptionBudget {
    /// Whether it guards the pod.
    pub fn guards(&self, pod: &Pod) -> bool {
        self.guards_labels(&pod.key.namespace, &pod.labels)
    }

    /// Whether it guards pods of a namespace that have these labels.
    pub fn guards_labels(&self, namespace: &Text, labels: &Labels) -> bool {
        self.key.namespace == *namespace
            && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// Whether by its terms it can never allow a disruption: at most none unavailable, or all
    /// available. As long as its status lags behind and still allows one, it does.
    pub fn never_allows(&self) -> bool {
        self.allows_none() && self.is_prohibitive()
    }

    fn is_prohibitive(&self) -> bool {
        matches!(self.max_unavailable, Some(CountOrPercent::Count(0) | CountOrPercent::Percent(0)))
            || matches!(self.min_available, Some(CountOrPercent::Percent(100)))
    }

    /// Whether it allows no disruption now: without a status it allows none, as with the Eviction
    /// API.
    pub fn allows_none(&self) -> bool {
        self.disruptions_allowed.is_none_or(|allowed| allowed == 0)
    }

    /// Why it allows no disruption, where it allows none.
    pub fn refusal(&self) -> PdbRefusal {
        match self.disruptions_allowed {
            Some(_) => PdbRefusal::NoneAllowed {
                healthy: self.current_healthy,
                desired: self.desired_healthy,
            },
            None if self.is_prohibitive() => PdbRefusal::NeverAllows,
            None => PdbRefusal::NoStatus,
        }
    }

    /// Whether it keeps a guarded pod from being evicted now.
    pub fn keeps(&self, pod: &Pod) -> bool {
        self.allows_none() && !(pod.ready == Some(false) && self.lets_unready_go())
    }

    /// Gives a budget without a status the one that Kubernetes' controller would write, over the
    /// pods that it guards.
    ///
    /// Source: <https://kubernetes.io/docs/tasks/run-application/configure-pdb/>.
    pub fn complete_status(&mut self, pods: &[Pod]) {
        if self.disruptions_allowed.is_some() {
            return;
        }
        let guarded = || pods.iter().filter(|pod| pod.is_active() && self.guards(pod));
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let expected = number(guarded().count());
        if expected == 0 {
            return;
        }
        let is_healthy = |pod: &&Pod| pod.node_name.is_some() && pod.ready != Some(false);
        let healthy = number(guarded().filter(is_healthy).count());
        let desired = match (self.min_available, self.max_unavailable) {
            (Some(least), _) => least.of(expected),
            (None, Some(most)) => expected.saturating_sub(most.of(expected)),
            (None, None) => expected,
        };
        self.disruptions_allowed = Some(healthy.saturating_sub(desired));
        self.current_healthy = healthy;
        self.desired_healthy = desired;
    }

    /// Whether a guarded pod that is not ready may be evicted regardless: always by policy, or when
    /// the budget is met without it.
    pub fn lets_unready_go(&self) -> bool {
        self.always_allow_unhealthy
            || (self.desired_healthy > 0 && self.current_healthy >= self.desired_healthy)
    }
}

/// A pod that budgets keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The budget, `NAMESPACE/NAME`; all of them by ` and ` where they are several.
    pub budget: Text,
    /// Why it keeps the pod.
    pub refusal: PdbRefusal,
    /// Whether it does so for good, as long as nobody changes it.
    pub is_for_good: bool,
}

/// Which of the budgets keeps a pod from being evicted now.
pub fn refusal(budgets: &[PodDisruptionBudget], pod: &Pod) -> Option<Refused> {
    refusal_of(&guards(budgets, pod), pod)
}

fn guards<'a>(budgets: &'a [PodDisruptionBudget], pod: &Pod) -> Vec<&'a PodDisruptionBudget> {
    budgets.iter().filter(|budget| budget.guards(pod)).collect()
}

/// Which budgets guard pods, for whoever asks about many: pods of one workload share their labels,
/// and are looked for once.
#[derive(Debug)]
pub struct Guards<'a> {
    budgets: &'a [PodDisruptionBudget],
    /// By where the labels are, which is quick to compare, and namespace.
    known: BTreeMap<(*const Labels, &'a str), Vec<&'a PodDisruptionBudget>>,
}

impl<'a> Guards<'a> {
    /// Of these budgets.
    pub const fn of(budgets: &'a [PodDisruptionBudget]) -> Self {
        Self { budgets, known: BTreeMap::new() }
    }

    /// Which of them keeps a pod from being evicted now.
    pub fn refusal(&mut self, pod: &'a Pod) -> Option<Refused> {
        let address = (Arc::as_ptr(&pod.labels), &*pod.key.namespace);
        let guards = self.known.entry(address).or_insert_with(|| guards(self.budgets, pod));
        refusal_of(guards, pod)
    }
}

fn refusal_of(guards: &[&PodDisruptionBudget], pod: &Pod) -> Option<Refused> {
    if let Some(budget) = guards.iter().find(|budget| budget.keeps(pod)) {
        let is_for_good = guards.len() > 1 || budget.never_allows();
        let (budget, refusal) = (budget.key.to_string().into(), budget.refusal());
        return Some(Refused { budget, refusal, is_for_good });
    }
    // The Eviction API refuses a pod that more than one budget guards.
    (guards.len() > 1).then(|| {
        let mut names: Vec<String> = guards.iter().map(|budget| budget.key.to_string()).collect();
        names.sort();
        let budget = names.join(" and ").into();
        Refused { budget, refusal: PdbRefusal::Several, is_for_good: true }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_without_a_status_allows_none_until_it_has_one() {
        let mut budget = PodDisruptionBudget {
            key: ObjectKey::new("default", "web"),
            selector: None,
            max_unavailable: Some(CountOrPercent::Count(1)),
            min_available: None,
            always_allow_unhealthy: false,
            disruptions_allowed: None,
            current_healthy: 0,
            desired_healthy: 0,
        };
        assert!(budget.allows_none() && !budget.never_allows());
        assert_eq!(budget.refusal(), PdbRefusal::NoStatus);
        budget.max_unavailable = Some(CountOrPercent::Count(0));
        assert!(budget.never_allows());
        assert_eq!(budget.refusal(), PdbRefusal::NeverAllows);
        budget.disruptions_allowed = Some(1);
        assert!(!budget.allows_none() && !budget.never_allows());
    }
}
