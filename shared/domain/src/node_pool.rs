//! NodePool (`karpenter.sh/v1`): which nodes may be launched, how many, and when they may go.

use std::sync::Arc;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::budget::Budget;
use crate::label::{Labels, MODE, ON_REBALANCE_RECOMMENDATION};
use crate::node_pool_options::NodePoolOptions;
use crate::reason::DisruptionReason;
use crate::requirement::Requirement;
use crate::resource::Resources;
use crate::taint::Taint;
use crate::{SignedDuration, Text, Timestamp};

/// A NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePool {
    /// The name.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Text,
    /// Annotations (the drift hash among them).
    pub annotations: Labels,
    /// Being deleted.
    pub is_deleting: bool,
    /// Condition Ready; `None` when not reported, which counts as ready.
    pub ready: Option<bool>,
    /// What its nodes are made from.
    pub template: Arc<NodeClaimTemplate>,
    /// When its nodes may go.
    pub disruption: Disruption,
    /// The most capacity that all its nodes may have together; `nodes` counts them. Absent means
    /// unlimited.
    pub limits: Resources,
    /// Heavier pools are tried first; 0 when unset.
    pub weight: u32,
    /// The number of nodes of a static NodePool, which launches none for pending pods.
    pub replicas: Option<u32>,
    /// What annotations of ours say.
    pub options: NodePoolOptions,
}

impl NodePool {
    /// Whether pending pods may get new nodes from it.
    pub fn serves_pending_pods(&self) -> bool {
        !self.is_deleting && self.replicas.is_none() && self.ready != Some(false)
    }

    /// Whether its nodes are replaced when EC2 recommends to rebalance: annotation
    /// `outrigger.dev/on-rebalance-recommendation: replace`.
    pub fn replaces_on_rebalance(&self) -> bool {
        self.annotations.get(ON_REBALANCE_RECOMMENDATION).is_some_and(|own| &**own == "replace")
    }

    /// Whether what it would do is planned and never done: annotation `outrigger.dev/mode:
    /// observe`.
    pub fn is_only_observed(&self) -> bool {
        self.annotations.get(MODE).is_some_and(|own| &**own == "observe")
    }

    /// The smallest number of nodes, of a total, that its budgets let go for a reason at a moment;
    /// `None` when no budget applies.
    pub fn allowed_disruptions(
        &self,
        reason: DisruptionReason,
        total: u32,
        now: Timestamp,
    ) -> Option<u32> {
        self.strictest_budget(reason, total, now).map(|budget| budget.allowed_of(total))
    }

    /// The budget that lets the fewest nodes, of a total, go for a reason at a moment; `None` when
    /// no budget applies.
    pub fn strictest_budget(
        &self,
        reason: DisruptionReason,
        total: u32,
        now: Timestamp,
    ) -> Option<&Budget> {
        let applying = self.disruption.budgets.iter().filter(|own| own.applies(reason, now));
        applying.min_by_key(|budget| budget.allowed_of(total))
    }
}

/// `spec.template` of a NodePool: what is copied to each NodeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClaimTemplate {
    /// Labels of the nodes, keys normalised.
    pub labels: Labels,
    /// Annotations of the nodes.
    pub annotations: Labels,
    /// Taints of the nodes.
    pub taints: Vec<Taint>,
    /// Taints that something removes once the node is set up; pods need not tolerate them.
    pub startup_taints: Vec<Taint>,
    /// Requirements, keys normalised.
    pub requirements: Vec<Requirement>,
    /// The node class.
    pub node_class_ref: NodeClassRef,
    /// How long a drain may take; `None` means forever.
    pub termination_grace_period: Option<SignedDuration>,
    /// How long a node may live.
    pub expire_after: NeverOr,
    /// Karpenter's hash of the template, where it was read from an object: what drift compares.
    pub hash: Option<Text>,
}

/// `nodeClassRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeClassRef {
    /// `karpenter.k8s.aws`.
    pub group: Text,
    /// `EC2NodeClass`.
    pub kind: Text,
    /// The name.
    pub name: Text,
}

impl NodeClassRef {
    /// The key of the label that names the class on its nodes, such as
    /// `karpenter.k8s.aws/ec2nodeclass`; `None` where it names none.
    pub fn label_key(&self) -> Option<Text> {
        let Self { group, kind, name } = self;
        (!name.is_empty()).then(|| format!("{group}/{}", kind.to_lowercase()).into())
    }

    /// Whether it refers to an EC2NodeClass. Others belong to other controllers, such as that of
    /// EKS Auto Mode (`eks.amazonaws.com`, `NodeClass`). What is not given is taken for ours.
    ///
    /// Source: Karpenter `pkg/utils/nodepool`, `IsManaged`.
    pub fn is_ec2(&self) -> bool {
        (self.group.is_empty() || &*self.group == "karpenter.k8s.aws")
            && (self.kind.is_empty() || &*self.kind == "EC2NodeClass")
    }
}

/// A duration, or the word `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeverOr {
    /// After so long.
    After(SignedDuration),
    /// Not at all.
    Never,
}

impl NeverOr {
    /// The duration, unless it is Never.
    pub const fn duration(self) -> Option<SignedDuration> {
        match self {
            Self::After(duration) => Some(duration),
            Self::Never => None,
        }
    }
}

impl Default for NeverOr {
    /// `expireAfter` when unset: 720h.
    fn default() -> Self {
        Self::After(SignedDuration::from_hours(720))
    }
}

/// `spec.disruption` of a NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// How long a node must see no pod come or go before it is consolidated.
    pub consolidate_after: NeverOr,
    /// Which nodes are consolidated.
    pub consolidation_policy: ConsolidationPolicy,
    /// How many may go at once; the strictest counts. Empty means unlimited.
    pub budgets: Vec<Budget>,
}

impl Default for Disruption {
    fn default() -> Self {
        Self {
            consolidate_after: NeverOr::After(SignedDuration::ZERO),
            consolidation_policy: ConsolidationPolicy::WhenEmptyOrUnderutilized,
            budgets: vec![Budget::default_budget()],
        }
    }
}

/// `consolidationPolicy`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum ConsolidationPolicy {
    /// Only nodes without pods.
    WhenEmpty,
    /// Also nodes whose pods fit elsewhere, or on a cheaper node.
    WhenEmptyOrUnderutilized,
    /// The latter, where the saving is worth the disruption.
    Balanced,
}

impl ConsolidationPolicy {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WhenEmpty => "WhenEmpty",
            Self::WhenEmptyOrUnderutilized => "WhenEmptyOrUnderutilized",
            Self::Balanced => "Balanced",
        }
    }
}
