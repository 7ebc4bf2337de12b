//! What the checker says: which rule a plan breaks, about what, and the figures.

use std::fmt;

/// One broken rule.
///
/// It is an error as well, so that a caller that refuses to execute a plan can carry it as the
/// cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{rule}: {subject}: {message}")]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// What it is about: a pod, a claim, a node, a NodePool, a disruption.
    pub subject: String,
    /// What is wrong, with the figures.
    pub message: String,
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident => $word:literal,)+) => {
        /// A rule that a plan can break. The words are stable: scripts and tests rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The rule's word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The rule's code in JSON, in the style of Kubernetes' reasons.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }

            /// What a plan that breaks the rule does, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim(),)+
                }
            }
        }
    };
}

rules! {
    /// The plan gives a place to a pod that is bound, has ended or is being deleted.
    PodNotPending => "pod-not-pending",
    /// The plan names a pod that is not there.
    PodUnknown => "pod-unknown",
    /// A pending pod is not mentioned.
    PodMissing => "pod-missing",
    /// A pod is mentioned more than once.
    PodTwice => "pod-twice",
    /// A pod that has scheduling gates is given a place.
    PodGated => "pod-gated",
    /// A pod is placed on something that is neither a node nor a claim in flight.
    NodeUnknown => "node-unknown",
    /// A pod is placed on a node that is being deleted.
    NodeDeleting => "node-deleting",

    /// The name of a new claim is taken.
    ClaimName => "claim-name",
    /// A new claim is for no pod, and nothing requests spare capacity.
    ClaimEmpty => "claim-empty",
    /// A claim requires a label that its nodes cannot have.
    ClaimLabel => "claim-label",
    /// A claim leaves out a taint of its NodePool.
    ClaimTaints => "claim-taints",
    /// A claim requests less than its pods do.
    ClaimRequests => "claim-requests",
    /// A claim names a NodePool that is not there.
    NodePoolUnknown => "nodepool-unknown",
    /// A claim is made from a NodePool that is being deleted or not ready.
    NodePoolUnusable => "nodepool-unusable",
    /// A claim names another EC2NodeClass than its NodePool.
    NodeClass => "nodeclass",

    /// A claim lists no instance type.
    TypesEmpty => "types-empty",
    /// A claim lists an instance type twice.
    TypesTwice => "types-twice",
    /// A claim lists an instance type that does not exist.
    TypeUnknown => "type-unknown",
    /// A listed instance type cannot be launched under the requirements of claim and NodePool.
    TypeRequirements => "type-requirements",
    /// Instance types are not listed cheapest first.
    TypesOrder => "types-order",
    /// Too few distinct values of a key that the NodePool wants several of (`minValues`).
    MinValues => "min-values",

    /// The offering's instance type is not listed by the claim.
    OfferingType => "offering-type",
    /// The offering is not in the catalogue.
    OfferingUnknown => "offering-unknown",
    /// The offering cannot be launched now.
    OfferingUnavailable => "offering-unavailable",
    /// The offering does not meet the requirements of claim and NodePool.
    OfferingRequirements => "offering-requirements",
    /// The offering is quoted at another price than it has.
    OfferingPrice => "offering-price",
    /// There is a cheaper offering that meets the requirements.
    OfferingNotCheapest => "offering-not-cheapest",
    /// A claim names no offering to launch.
    OfferingsEmpty => "offerings-empty",
    /// The offerings to launch are not listed cheapest first.
    OfferingsOrder => "offerings-order",
    /// An offering to launch is listed twice.
    OfferingsTwice => "offerings-twice",
    /// A launch asks for several capacity types.
    OfferingsMixed => "offerings-mixed",
    /// A launch asks for more instance types than CreateFleet is offered at once.
    OfferingsMany => "offerings-many",
    /// A launch asks for metal or accelerated types though others would do.
    OfferingsExotic => "offerings-exotic",
    /// A launch asks for spot that costs more than on-demand.
    OfferingsSpotPrice => "offerings-spot-price",
    /// A launch asks for spot that is interrupted more often than its NodePool wants, though
    /// another offering is left.
    OfferingsInterrupted => "offerings-interrupted",
    /// A launch asks for on-demand though spot is cheaper.
    OfferingsCapacityType => "offerings-capacity-type",
    /// More claims use a capacity reservation than it has instances.
    Reservation => "reservation",

    /// A pod's node selector or required node affinity does not hold where it is put.
    NodeAffinity => "node-affinity",
    /// A pod does not tolerate a taint of the node it is put on.
    Taint => "taint",
    /// Pods, with what is there already, request more than a node has.
    Fit => "fit",
    /// Two pods of a node open the same host port.
    HostPort => "host-port",
    /// A volume keeps a pod from running anywhere.
    Volume => "volume",
    /// A volume cannot be used where its pod is put.
    VolumeTopology => "volume-topology",
    /// A node is given more volumes than it can attach.
    VolumeLimit => "volume-limit",
    /// A ReadWriteOncePod volume is used by several pods.
    VolumeExclusive => "volume-exclusive",

    /// Pods share a domain that one of them must not share with the other.
    AntiAffinity => "anti-affinity",
    /// No pod that required pod affinity selects is in the pod's domain.
    PodAffinity => "pod-affinity",
    /// A pod spreads over a topology key that its node does not have.
    SpreadKey => "spread-key",
    /// A domain holds too many pods of a topology spread.
    Spread => "spread",

    /// NodePool limits are exceeded.
    Limits => "limits",
    /// A node is launched for a pod that its NodePool counts as expendable.
    Expendable => "expendable",
    /// A node is launched from an EC2NodeClass whose images are all too young.
    ImageAge => "image-age",
    /// A drifted node goes beyond its wave, or while drift is halted.
    DriftWaves => "drift-waves",
    /// A zone gets more of a NodePool's nodes than its share, though another has room for no more
    /// money; or EC2 is left the choice.
    ZoneBalance => "zone-balance",
    /// Nodes are launched in a zone whose subnets have too few free addresses for them.
    Addresses => "addresses",
    /// A node is launched in a NodePool that is off, or goes for off hours of one that is on.
    OffHours => "off-hours",

    /// A disruption names no node.
    DisruptionEmpty => "disruption-empty",
    /// A disruption names a node that is not there.
    DisruptionUnknown => "disruption-unknown",
    /// A node is disrupted twice.
    DisruptionTwice => "disruption-twice",
    /// A node that belongs to no NodePool is disrupted.
    DisruptionUnmanaged => "disruption-unmanaged",
    /// A node that is being deleted already is disrupted.
    DisruptionDeleting => "disruption-deleting",
    /// A node that has not finished starting is disrupted by choice.
    DisruptionUninitialized => "disruption-uninitialized",
    /// A disruption names pods that are elsewhere, or leaves out some that have to move.
    DisruptionPods => "disruption-pods",
    /// A pod is placed on a node that the plan disrupts.
    PlacedOnDisrupted => "placed-on-disrupted",
    /// A node is disrupted although it, its claim or one of its pods must not be.
    DoNotDisrupt => "do-not-disrupt",
    /// A node is said to have expired, and is not past the moment from which its NodePool lets
    /// nodes go by force.
    Expiration => "expiration",
    /// A node is consolidated although its NodePool is not, or only when empty.
    ConsolidationPolicy => "consolidation-policy",
    /// A node is consolidated although its pods request as much of it as its NodePool's threshold.
    Utilization => "utilization",
    /// A node that is said to be empty holds pods.
    NotEmpty => "not-empty",
    /// A PodDisruptionBudget does not let a pod go.
    PodDisruptionBudget => "pdb",
    /// More nodes go than the budgets of their NodePool allow.
    Budget => "budget",
    /// A replacement lists pods that are not on the nodes it replaces, or on another replacement.
    ReplacementPods => "replacement-pods",
    /// A pod that has to move is given no other place.
    MoveMissing => "move-missing",
    /// A pod moves to a node that is not there or goes away itself.
    MoveUnknown => "move-unknown",
    /// A pod moves that is not on the disrupted nodes, or moves twice.
    MovePods => "move-pods",
    /// A consolidation saves nothing.
    NoSaving => "no-saving",
    /// A claim for pods with a share on one spot offering leaves EC2 a choice.
    SpotShareChoice => "spot-share-choice",
    /// More than a share of a workload's replicas would be on one spot offering, though another has
    /// room.
    SpotShare => "spot-share",
    /// A consolidation moves pods to spot where their interruptions cost more than it saves.
    DearInterruptions => "dear-interruptions",
    /// A disruption says that it saves more or less than it does.
    Savings => "savings",

    /// The lower bound on new capacity is above what the plan itself pays.
    LowerBound => "lower-bound",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_its_own_word_in_kebab_case() {
        let words: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(words.len(), Rule::ALL.len());
        for word in words {
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{word}");
        }
    }

    #[test]
    fn every_rule_says_in_a_sentence_what_a_plan_does_that_breaks_it() {
        assert_eq!(Rule::PodMissing.code(), "PodMissing");
        assert_eq!(Rule::PodMissing.meaning(), "A pending pod is not mentioned.");
        for rule in Rule::ALL {
            assert!(rule.meaning().ends_with('.'), "{}", rule.code());
        }
    }

    #[test]
    fn a_violation_reads_as_rule_subject_and_message() {
        let violation = Violation {
            rule: Rule::PodMissing,
            subject: "default/web-0".to_owned(),
            message: "a pending pod that the plan does not mention".to_owned(),
        };
        assert_eq!(
            violation.to_string(),
            "pod-missing: default/web-0: a pending pod that the plan does not mention"
        );
        let as_error: &dyn std::error::Error = &violation;
        assert!(as_error.source().is_none());
    }
}
