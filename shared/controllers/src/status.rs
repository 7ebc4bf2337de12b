//! Status of NodePools, EC2NodeClasses and CapacityBuffers, as their CRDs define it.

use domain::node_claim::ConditionStatus;
use domain::node_class::{ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet};
use domain::resource::Resources;
use domain::{Text, Timestamp};

/// The observed status of an object, with what tells whether it is out of date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed<S> {
    /// `metadata.generation`: grows with every change of the specification.
    pub generation: i64,
    /// It has our finalizer: `karpenter.k8s.aws/termination` on an EC2NodeClass. Always `false` for
    /// NodePools, which have none.
    pub has_finalizer: bool,
    /// `status` as read.
    pub status: S,
}

/// A condition (`metav1.Condition`) of an object whose kinds of condition are `K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCondition<K> {
    /// `type`.
    pub kind: K,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// `reason`: a CamelCase word; never empty.
    pub reason: Text,
    /// `message`.
    pub message: Text,
    /// `lastTransitionTime`: when the status last changed.
    pub changed: Timestamp,
    /// `observedGeneration`: the generation of the specification that it describes.
    pub observed_generation: i64,
}

/// `status` of a NodePool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolStatus {
    /// Capacity of all its nodes together, `nodes` included.
    pub resources: Resources,
    /// `status.nodes`, which the scale subresource reads.
    pub nodes: u32,
    /// Generation of its node class when its registration health was last reset.
    pub node_class_observed_generation: i64,
    /// Conditions, by kind.
    pub conditions: Vec<ObjectCondition<NodePoolCondition>>,
}

/// `status` of an EC2NodeClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClassStatus {
    /// Subnets, most free addresses first.
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

/// A capacity reservation as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationStatus {
    /// The part that decisions depend on.
    pub reservation: ResolvedCapacityReservation,
    /// The owner's account id.
    pub owner_id: Text,
    /// `open` or `targeted`.
    pub match_criteria: Text,
    /// When it ends; `None` for an open-ended reservation.
    pub end: Option<Timestamp>,
}

/// `status` of a CapacityBuffer.
///
/// Source: `autoscaling.x-k8s.io/v1beta1` of the Cluster Autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityBufferStatus {
    /// The PodTemplate of its pods, if it refers to one that exists.
    pub pod_template: Option<Text>,
    /// `metadata.generation` of that PodTemplate.
    pub pod_template_generation: Option<i64>,
    /// Number of pods that room is kept for; `None` when unknown.
    pub replicas: Option<u32>,
    /// The provisioning strategy in effect.
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

            /// The condition's `type`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Parses a condition's `type`; `None` for a condition that we do not set, which is
            /// left alone.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
            }
        }
    };
}

conditions! {
    /// Conditions of NodePools.
    NodePoolCondition {
        /// Its node class exists and is ready.
        NodeClassReady "NodeClassReady",
        /// Enough of its latest nodes registered. Informational.
        NodeRegistrationHealthy "NodeRegistrationHealthy",
        /// Its specification is valid.
        ValidationSucceeded "ValidationSucceeded",
        /// Its nodes did not come up, and no more of them drift. Absent where they do. Not in
        /// Karpenter.
        DriftHalted "DriftHalted",
        /// NodeClassReady. An invalid specification that is kept holds nodes, not launches.
        Ready "Ready",
    }
}

conditions! {
    /// Conditions of EC2NodeClasses.
    NodeClassCondition {
        /// An AMI was found for every family that is selected.
        AmisReady "AMIsReady",
        /// Capacity reservations were resolved.
        CapacityReservationsReady "CapacityReservationsReady",
        /// The instance profile exists.
        InstanceProfileReady "InstanceProfileReady",
        /// The placement group exists.
        PlacementGroupReady "PlacementGroupReady",
        /// At least one security group was found.
        SecurityGroupsReady "SecurityGroupsReady",
        /// At least one subnet was found.
        SubnetsReady "SubnetsReady",
        /// EC2 accepts launches from it, according to dry runs.
        ValidationSucceeded "ValidationSucceeded",
        /// All other conditions are True.
        Ready "Ready",
    }
}

conditions! {
    /// Conditions of CapacityBuffers that we set; `LimitedByQuotas` is set by others.
    CapacityBufferCondition {
        /// The object that it refers to exists.
        ReadyForProvisioning "ReadyForProvisioning",
        /// All its pods have room on nodes that exist or are in flight.
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
