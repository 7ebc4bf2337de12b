//! Why a node has drifted, and the hashes by which Karpenter tells that a template changed.

use std::fmt;

use crate::Text;
use crate::label::{
    Labels, NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION, NODE_POOL_HASH, NODE_POOL_HASH_VERSION,
};
use crate::node_class::Ec2NodeClass;
use crate::node_pool::NodePool;

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

/// The version of Karpenter's rules for hashing a NodePool's template that this code follows.
pub const NODE_POOL_RULES: &str = "v3";

/// The newest version of Karpenter's rules for hashing an EC2NodeClass that this code follows.
pub const NODE_CLASS_RULES: &str = "v6";

/// A hash, and the version of the rules by which it was taken, as annotations record them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// In decimal.
    pub hash: Text,
    /// Such as `v3`.
    pub version: Text,
}

impl Stamp {
    /// What annotations record of a NodePool's template.
    pub fn of_node_pool(annotations: &Labels) -> Option<Self> {
        Self::read(annotations, NODE_POOL_HASH, NODE_POOL_HASH_VERSION)
    }

    /// What annotations record of an EC2NodeClass.
    pub fn of_node_class(annotations: &Labels) -> Option<Self> {
        Self::read(annotations, NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION)
    }

    /// What a NodeClaim's annotations should record instead, where the rules have got a newer version than
    /// theirs: `newest` is the hash of what the claim was made from by that version. `None` where nothing is
    /// to be written.
    ///
    /// A claim is not drifted for another version of the rules. One that has drifted stays so: it keeps its
    /// hash under the new version. `same_rules` is the hash by the claim's own version, where that version is
    /// known still; it tells whether the claim has drifted. Otherwise `has_drifted` does, its condition.
    ///
    /// Source: Karpenter's design "Drift Hash Versioning".
    pub fn restamped(
        own: Option<&Self>,
        same_rules: Option<&Self>,
        newest: &Self,
        has_drifted: bool,
    ) -> Option<Self> {
        let Some(own) = own else { return (!has_drifted).then(|| newest.clone()) };
        if own.version == newest.version {
            return None;
        }
        let has_drifted = same_rules.map_or(has_drifted, |wanted| wanted.hash != own.hash);
        let hash = if has_drifted { own.hash.clone() } else { newest.hash.clone() };
        Some(Self { hash, version: newest.version.clone() })
    }

    fn read(annotations: &Labels, hash: &str, version: &str) -> Option<Self> {
        let (hash, version) = (annotations.get(hash)?, annotations.get(version)?);
        Some(Self { hash: hash.clone(), version: version.clone() })
    }

    /// As annotations of a NodePool, or of a NodeClaim about its NodePool.
    pub fn node_pool_annotations(&self) -> Labels {
        self.written(NODE_POOL_HASH, NODE_POOL_HASH_VERSION)
    }

    /// As annotations of an EC2NodeClass, or of a NodeClaim about its EC2NodeClass.
    pub fn node_class_annotations(&self) -> Labels {
        self.written(NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION)
    }

    fn written(&self, hash: &str, version: &str) -> Labels {
        [(hash, &self.hash), (version, &self.version)]
            .map(|(key, value)| (key.into(), value.clone()))
            .into()
    }
}

impl NodePool {
    /// The hash of its template as it stands now; `None` where it was not read from an object.
    pub fn stamp(&self) -> Option<Stamp> {
        let hash = self.template.hash.clone()?;
        Some(Stamp { hash, version: NODE_POOL_RULES.into() })
    }
}

impl Ec2NodeClass {
    /// The hash of its specification as it stands now, by one version of the rules; `None` where that
    /// version is not known, or the class was not read from an object.
    pub fn stamp(&self, version: &str, cluster_ca_bundle: &str) -> Option<Stamp> {
        let hash = self.spec.hashes.by_rules(version, cluster_ca_bundle)?;
        Some(Stamp { hash, version: version.into() })
    }
}

/// Hashes of an EC2NodeClass by each version of the rules that is known, all but the share of the cluster's
/// CA bundle, which the object does not hold.
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

    /// The hash by one version of the rules, in decimal. The CA bundle is base64 text, empty for none.
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

    #[test]
    fn a_claim_of_older_rules_is_stamped_anew_and_stays_drifted_if_it_was() {
        let stamp =
            |hash: &str, version: &str| Stamp { hash: hash.into(), version: version.into() };
        let newest = stamp("9", "v6");
        let restamped = |own: &Stamp, same_rules: Option<&Stamp>, has_drifted| {
            Stamp::restamped(Some(own), same_rules, &newest, has_drifted)
        };
        assert_eq!(restamped(&stamp("1", "v6"), None, false), None);
        assert_eq!(restamped(&stamp("1", "v4"), None, false), Some(newest.clone()));
        assert_eq!(restamped(&stamp("1", "v4"), None, true), Some(stamp("1", "v6")));
        let (same, other) = (stamp("1", "v5"), stamp("2", "v5"));
        assert_eq!(restamped(&same, Some(&same), true), Some(newest.clone()));
        assert_eq!(restamped(&same, Some(&other), false), Some(stamp("1", "v6")));
        assert_eq!(Stamp::restamped(None, None, &newest, false), Some(newest.clone()));
        assert_eq!(Stamp::restamped(None, None, &newest, true), None);
    }

    #[test]
    fn a_stamp_is_read_as_it_is_written() {
        let stamp = Stamp { hash: "1".into(), version: "v3".into() };
        assert_eq!(Stamp::of_node_pool(&stamp.node_pool_annotations()), Some(stamp.clone()));
        assert_eq!(Stamp::of_node_class(&stamp.node_class_annotations()), Some(stamp.clone()));
        assert_eq!(Stamp::of_node_class(&stamp.node_pool_annotations()), None);
    }
}
