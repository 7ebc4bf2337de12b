//! Why a node has drifted, and the hashes by which Karpenter tells that a template changed.

use std::fmt;

use crate::Text;

/// How a NodeClaim differs from what it was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftReason {
    /// The NodePool's template changed.
    NodePoolDrifted,
    /// A label of the claim is outside the pool's requirements.
    RequirementsDrifted(Text),
    /// Its instance type is no longer on offer.
    InstanceTypeNotFound,
    /// The EC2NodeClass changed.
    NodeClassDrift,
    /// Its image is no longer the one that is selected.
    AmiDrift,
    /// Its subnet is no longer selected.
    SubnetDrift,
    /// Its security groups are no longer those selected.
    SecurityGroupDrift,
    /// Its capacity reservation is no longer selected.
    CapacityReservationDrift,
    /// Its placement group is no longer the one that is selected.
    PlacementGroupDrift,
    /// EC2 recommended to replace its instance, and its pool wants that done.
    RebalanceRecommended,
    /// It is past its age limit, and nodes of its pool expire gracefully.
    Expired,
}

impl DriftReason {
    /// The word of the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NodePoolDrifted => "NodePoolDrifted",
            Self::RequirementsDrifted(_) => "RequirementsDrifted",
            Self::InstanceTypeNotFound => "InstanceTypeNotFound",
            Self::NodeClassDrift => "NodeClassDrift",
            Self::AmiDrift => "AMIDrift",
            Self::SubnetDrift => "SubnetDrift",
            Self::SecurityGroupDrift => "SecurityGroupDrift",
            Self::CapacityReservationDrift => "CapacityReservationDrift",
            Self::PlacementGroupDrift => "PlacementGroupDrift",
            Self::RebalanceRecommended => "RebalanceRecommended",
            Self::Expired => "Expired",
        }
    }
}

impl DriftReason {
    /// Whether it comes of what the NodePool, the EC2NodeClass, its images or what EC2 sells have
    /// become, so that many nodes may drift at once: what waves are for. A node's own age and a
    /// recommendation of EC2 are no such thing.
    pub const fn is_rollout(&self) -> bool {
        match self {
            Self::NodePoolDrifted
            | Self::RequirementsDrifted(_)
            | Self::InstanceTypeNotFound
            | Self::NodeClassDrift
            | Self::AmiDrift
            | Self::SubnetDrift
            | Self::SecurityGroupDrift
            | Self::CapacityReservationDrift
            | Self::PlacementGroupDrift => true,
            Self::RebalanceRecommended | Self::Expired => false,
        }
    }
}

impl fmt::Display for DriftReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        match self {
            Self::RequirementsDrifted(key) => write!(f, " ({key})"),
            _ => Ok(()),
        }
    }
}

/// Hashes of an EC2NodeClass by each version of the rules that is known, all but the share of the
/// cluster's CA bundle, which the object does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeClassHashes {
    v5: Option<u64>,
    v6: Option<u64>,
}

impl NodeClassHashes {
    /// Hashes by the rules of version 5 and 6, as far as they could be taken.
    pub const fn new(v5: Option<u64>, v6: Option<u64>) -> Self {
        Self { v5, v6 }
    }

    /// The hash by one version of the rules, in decimal. The CA bundle is base64 text, empty for
    /// none.
    pub fn by_rules(self, version: &str, cluster_ca_bundle: &str) -> Option<Text> {
        let own = match version {
            "v5" => self.v5?,
            "v6" => self.v6?,
            _ => return None,
        };
        // What is hashed is a set, and a set's hash is the sum (exclusive or) of its members'.
        Some((own ^ fnv(cluster_ca_bundle.as_bytes())).to_string().into())
    }
}

/// FNV-1 of 64 bits, Go's `fnv.New64`: what Karpenter's hashes are made of.
///
/// Source: <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_its_published_values() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_bd4c_8601_b7be);
        assert_eq!(fnv(b"foobar"), 0x340d_8765_a4dd_a9c2);
    }

    #[test]
    fn the_ca_bundle_is_part_of_a_node_classs_hash() {
        let hashes = NodeClassHashes::new(Some(1), None);
        assert_ne!(hashes.by_rules("v5", "Q0E="), hashes.by_rules("v5", ""));
        assert_eq!(hashes.by_rules("v6", ""), None);
        assert_eq!(hashes.by_rules("v4", ""), None);
    }
}
