//! What NodePools and EC2NodeClasses say of themselves in `status`, where Karpenter's users look for it.
//!
//! Source: reference A1.21, A5.21.

use domain::node_claim::ConditionStatus;
use domain::node_class::{ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet};
use domain::resource::Resources;
use domain::{Text, Timestamp};

/// An object's status, and what tells whether it is out of date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed<S> {
    /// `metadata.generation`: grows with every change of the specification.
    pub generation: i64,
    /// The finalizer that is ours is on it: `karpenter.k8s.aws/termination` on an EC2NodeClass. Always
    /// `false` for NodePools, which have none.
    pub has_finalizer: bool,
    /// `status` as it stands.
    pub status: S,
}

/// A condition (`metav1.Condition`) of an object whose kinds of condition are `K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCondition<K> {
    /// Which one.
    pub kind: K,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// A word why; never empty.
    pub reason: Text,
    /// A sentence why.
    pub message: Text,
    /// `lastTransitionTime`: when the status last changed.
    pub changed: Timestamp,
    /// `observedGeneration`: of which specification it speaks.
    pub observed_generation: i64,
}

/// `status` of a NodePool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolStatus {
    /// Capacity of all its nodes together, `nodes` among them.
    pub resources: Resources,
    /// How many nodes it has (`status.nodes`, read by the scale subresource).
    pub nodes: u32,
    /// Generation of its node class when registration health was last reset.
    pub node_class_observed_generation: i64,
    /// Conditions, by kind.
    pub conditions: Vec<ObjectCondition<NodePoolCondition>>,
}

/// `status` of an EC2NodeClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClassStatus {
    /// Subnets, those with most free addresses first.
    pub subnets: Vec<ResolvedSubnet>,
    /// Security groups, by id.
    pub security_groups: Vec<ResolvedSecurityGroup>,
    /// Images, in order of preference.
    pub amis: Vec<ResolvedAmi>,
    /// Capacity reservations, by id.
    pub capacity_reservations: Vec<ReservationStatus>,
    /// The instance profile in use.
    pub instance_profile: Option<Text>,
    /// Conditions, by kind.
    pub conditions: Vec<ObjectCondition<NodeClassCondition>>,
}

/// A security group of a node class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedSecurityGroup {
    /// `sg-…`.
    pub id: Text,
    /// Its name.
    pub name: Option<Text>,
}

/// A capacity reservation as `status` shows it: more than decisions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationStatus {
    /// What decisions need of it.
    pub reservation: ResolvedCapacityReservation,
    /// The account that owns it.
    pub owner_id: Text,
    /// `open` or `targeted`.
    pub match_criteria: Text,
    /// When it ends; `None` for one without an end.
    pub end: Option<Timestamp>,
}

/// `status` of a CapacityBuffer.
///
/// Source: reference A4.4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityBufferStatus {
    /// The PodTemplate that its pods are made from, if it names one that is there.
    pub pod_template: Option<Text>,
    /// `metadata.generation` of that PodTemplate.
    pub pod_template_generation: Option<i64>,
    /// How many pods room is kept for; `None` where that is not known.
    pub replicas: Option<u32>,
    /// The strategy acted on.
    pub provisioning_strategy: Text,
    /// Conditions, by kind.
    pub conditions: Vec<ObjectCondition<CapacityBufferCondition>>,
}

macro_rules! conditions {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the order in which they are shown.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word of the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Reads the word of the API; `None` for a condition that is not ours, which is left alone.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
            }
        }
    };
}

conditions! {
    /// Conditions of NodePools.
    NodePoolCondition {
        /// Its node class is there and ready.
        NodeClassReady "NodeClassReady",
        /// Enough of its latest nodes joined the cluster. For information only.
        NodeRegistrationHealthy "NodeRegistrationHealthy",
        /// Its specification makes sense.
        ValidationSucceeded "ValidationSucceeded",
        /// ValidationSucceeded and NodeClassReady.
        Ready "Ready",
    }
}

conditions! {
    /// Conditions of EC2NodeClasses.
    NodeClassCondition {
        /// An image is there for every family asked for.
        AmisReady "AMIsReady",
        /// Capacity reservations were looked up.
        CapacityReservationsReady "CapacityReservationsReady",
        /// The instance profile is there.
        InstanceProfileReady "InstanceProfileReady",
        /// The placement group is there.
        PlacementGroupReady "PlacementGroupReady",
        /// A security group is there.
        SecurityGroupsReady "SecurityGroupsReady",
        /// A subnet is there.
        SubnetsReady "SubnetsReady",
        /// EC2 would let instances be launched from it.
        ValidationSucceeded "ValidationSucceeded",
        /// All of the others.
        Ready "Ready",
    }
}

conditions! {
    /// Conditions of CapacityBuffers. What else they may have (`LimitedByQuotas`) is for others to say.
    CapacityBufferCondition {
        /// What it refers to is there.
        ReadyForProvisioning "ReadyForProvisioning",
        /// There is room for all its pods on nodes that are there or on their way.
        Provisioning "Provisioning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_written_and_read_in_the_words_of_the_api() {
        assert_eq!(NodeClassCondition::AmisReady.as_str(), "AMIsReady");
        for kind in NodeClassCondition::ALL {
            assert_eq!(NodeClassCondition::parse(kind.as_str()), Some(*kind));
        }
        for kind in NodePoolCondition::ALL {
            assert_eq!(NodePoolCondition::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(NodePoolCondition::parse("SomebodyElses"), None);
    }
}
