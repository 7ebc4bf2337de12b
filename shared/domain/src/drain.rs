//! Nodes that are being drained: for how long, and what holds each of their pods.
//!
//! Source: Karpenter's termination controller,
//! <https://karpenter.sh/docs/concepts/disruption/#termination-controller>.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::label::PODS_ROLLING;
use crate::node::Node;
use crate::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use crate::pdb::{PdbRefusal, refusal};
use crate::pod::{DoNotDisrupt, Pod, PodKey};
use crate::rollout::pods_rolling;
use crate::snapshot::ClusterSnapshot;
use crate::taint::{Taint, tolerated};
use crate::{SignedDuration, Text, Timestamp};

/// From when on a drain is called stuck.
pub const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// How long after its deletion timestamp a pod is no longer waited for.
pub const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// Whether a drain waits for the pod: not for those that tolerate taint `karpenter.sh/disrupted`,
/// static ones, those that have ended, and those that are more than a minute past their deletion
/// timestamp.
pub fn is_drained(pod: &Pod, now: Timestamp) -> bool {
    let is_abandoned =
        pod.deleted.is_some_and(|deleted| now.duration_since(deleted) > ABANDONED_AFTER);
    !pod.is_terminal()
        && !pod.is_static()
        && !is_abandoned
        && !tolerated(&pod.spec.tolerations, &Taint::disrupted())
}

/// Pods leave in four tiers, least first: non-critical, non-critical of DaemonSets, critical,
/// critical of DaemonSets.
pub fn tier(pod: &Pod) -> (bool, bool) {
    (pod.spec.is_critical, pod.is_daemon())
}

/// A node that is being drained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The Node.
    pub node: Text,
    /// Since when, as far as its NodeClaim or the Node says it.
    pub since: Option<Timestamp>,
    /// When what is left goes by force (`terminationGracePeriod`); never, where unset.
    pub forced: Option<Timestamp>,
    /// Its pods that have to leave still, each with what holds it, in the order in which they go.
    pub holds: Vec<(PodKey, DrainHold)>,
    /// What is said of its volumes once its pods are gone.
    pub volumes: Option<Text>,
}

impl Drain {
    /// For how long it has lasted.
    pub fn lasted(&self, now: Timestamp) -> Option<SignedDuration> {
        Some(now.duration_since(self.since?))
    }

    /// Whether it lasts longer than drains do.
    pub fn is_stuck(&self, now: Timestamp) -> bool {
        self.lasted(now).is_some_and(|lasted| lasted > STUCK_AFTER)
    }
}

/// What holds a pod on a node that is being drained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainHold {
    /// `karpenter.sh/do-not-disrupt`.
    DoNotDisrupt {
        /// Until when; for good, where unset.
        until: Option<Timestamp>,
    },
    /// A PodDisruptionBudget.
    PodDisruptionBudget {
        /// The budget.
        budget: Text,
        /// Why it keeps the pod.
        refusal: PdbRefusal,
        /// By its terms it never lets one go.
        is_for_good: bool,
    },
    /// It ends: its `terminationGracePeriodSeconds`, or a finalizer.
    Terminating {
        /// When its grace period is over.
        until: Timestamp,
    },
    /// A rollout of its Deployment is going to end it.
    Rollout,
    /// Pods go before it.
    InTurn,
    /// Nothing that the cluster shows: it is evicted once it has room elsewhere.
    Room,
}

impl DrainHold {
    /// Whether it keeps the pod, and not only for a while as drains take.
    pub const fn is_obstacle(&self) -> bool {
        match self {
            Self::DoNotDisrupt { .. } | Self::PodDisruptionBudget { .. } | Self::Room => true,
            Self::Terminating { .. } | Self::Rollout | Self::InTurn => false,
        }
    }
}

impl fmt::Display for DrainHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoNotDisrupt { until: None } => {
                f.write_str("karpenter.sh/do-not-disrupt holds it")
            }
            Self::DoNotDisrupt { until: Some(until) } => {
                write!(f, "karpenter.sh/do-not-disrupt holds it until {until:.0}")
            }
            Self::PodDisruptionBudget { budget, refusal, .. } => {
                write!(f, "PodDisruptionBudget {budget} does not let it go: {refusal}")
            }
            Self::Terminating { until } => {
                write!(f, "it is ending, and has until {until:.0} for it")
            }
            Self::Rollout => f.write_str("a rollout of its Deployment is to end it"),
            Self::InTurn => f.write_str("pods go before it"),
            Self::Room => f.write_str("it goes once it has a place elsewhere"),
        }
    }
}

/// Nodes of NodeClaims that are being drained, by name.
pub fn drains(snapshot: &ClusterSnapshot) -> Vec<Drain> {
    let claims = ClaimsOfNodes::of(&snapshot.node_claims);
    let nodes = snapshot.objects.nodes.iter();
    let with_claims = nodes.filter_map(|node| Some((node, claims.get(node)?)));
    let draining: Vec<(&Node, &NodeClaim)> =
        with_claims.filter(|(node, claim)| is_draining(node, claim)).collect();
    if draining.is_empty() {
        return Vec::new();
    }
    let mut pods: BTreeMap<&Text, Vec<&Pod>> =
        draining.iter().map(|(node, _)| (&node.name, Vec::new())).collect();
    for pod in &snapshot.objects.pods {
        if let Some(on_node) = pod.node_name.as_ref().and_then(|node| pods.get_mut(node)) {
            on_node.push(pod);
        }
    }
    let mut drains: Vec<Drain> = draining
        .into_iter()
        .map(|(node, claim)| drain(snapshot, node, claim, &pods[&node.name]))
        .collect();
    drains.sort_by(|a, b| a.node.cmp(&b.node));
    drains
}

/// NodeClaims by what tells their Nodes.
struct ClaimsOfNodes<'s> {
    by_provider_id: BTreeMap<&'s Text, &'s NodeClaim>,
    by_node_name: BTreeMap<&'s Text, &'s NodeClaim>,
}

impl<'s> ClaimsOfNodes<'s> {
    fn of(claims: &'s [NodeClaim]) -> Self {
        let with = |key: fn(&NodeClaim) -> Option<&Text>| {
            claims.iter().filter_map(|claim| Some((key(claim)?, claim))).collect()
        };
        Self {
            by_provider_id: with(|claim| claim.status.provider_id.as_ref()),
            by_node_name: with(|claim| claim.status.node_name.as_ref()),
        }
    }

    fn get(&self, node: &Node) -> Option<&'s NodeClaim> {
        let of_instance = node.provider_id.as_ref().and_then(|id| self.by_provider_id.get(id));
        of_instance.or_else(|| self.by_node_name.get(&node.name)).copied()
    }
}

fn is_draining(node: &Node, claim: &NodeClaim) -> bool {
    claim.deleted.or(node.deleted).is_some() || claim.condition(ConditionType::Drained).is_some()
}

fn drain(snapshot: &ClusterSnapshot, node: &Node, claim: &NodeClaim, pods: &[&Pod]) -> Drain {
    let deleted = claim.deleted.or(node.deleted);
    let drained = claim.condition(ConditionType::Drained);
    let now = snapshot.now;
    // While it drains the condition is Unknown; it changes once more when the drain is done.
    let under_way = drained.filter(|own| own.status != ConditionStatus::True);
    let since = under_way.and_then(|own| own.changed).or(deleted);
    let grace = claim.termination_grace_period;
    let forced = deleted.zip(grace).and_then(|(deleted, grace)| deleted.checked_add(grace).ok());
    let rolling: BTreeSet<PodKey> = claim
        .annotations
        .get(PODS_ROLLING)
        .map(|own| pods_rolling(own).collect())
        .unwrap_or_default();
    let mut left: Vec<&Pod> = pods.iter().copied().filter(|pod| is_drained(pod, now)).collect();
    left.sort_by_key(|pod| (tier(pod), &pod.key));
    let current = left.first().map(|pod| tier(pod));
    let hold = |pod: &Pod| {
        if let Some(until) = pod.deleted {
            return DrainHold::Terminating { until };
        }
        if Some(tier(pod)) != current {
            return DrainHold::InTurn;
        }
        if pod.refuses_disruption(now) {
            return DrainHold::DoNotDisrupt { until: protected_until(pod) };
        }
        if rolling.contains(&pod.key) {
            return DrainHold::Rollout;
        }
        let budgets = &snapshot.objects.pod_disruption_budgets;
        refusal(budgets, pod).map_or(DrainHold::Room, |own| DrainHold::PodDisruptionBudget {
            budget: own.budget,
            refusal: own.refusal,
            is_for_good: own.is_for_good,
        })
    };
    let holds: Vec<_> = left.into_iter().map(|pod| (pod.key.clone(), hold(pod))).collect();
    let volumes = claim
        .condition(ConditionType::VolumesDetached)
        .filter(|own| own.status != ConditionStatus::True && holds.is_empty())
        .map(|own| own.message.clone());
    Drain { node: node.name.clone(), since, forced, holds, volumes }
}

fn protected_until(pod: &Pod) -> Option<Timestamp> {
    match pod.do_not_disrupt? {
        DoNotDisrupt::Always => None,
        DoNotDisrupt::For(duration) => pod.started?.checked_add(duration).ok(),
    }
}
