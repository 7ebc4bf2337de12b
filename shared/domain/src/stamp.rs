//! The hashes by which Karpenter tells that a template changed, as annotations record them.

use crate::Text;
use crate::label::{
    Labels, NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION, NODE_POOL_HASH, NODE_POOL_HASH_VERSION,
};
use crate::node_class::Ec2NodeClass;
use crate::node_pool::NodePool;

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

    /// What a NodeClaim's annotations should record instead, where the rules have got a newer
    /// version than theirs: `newest` is the hash of what the claim was made from by that version.
    /// `None` where nothing is to be written.
    ///
    /// A claim is not drifted for another version of the rules. One that has drifted stays so: it
    /// keeps its hash under the new version. `same_rules` is the hash by the claim's own version,
    /// where that version is known still; it tells whether the claim has drifted. Otherwise
    /// `has_drifted` does, its condition.
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
    /// The hash of its specification as it stands now, by one version of the rules; `None` where
    /// that version is not known, or the class was not read from an object.
    pub fn stamp(&self, version: &str, cluster_ca_bundle: &str) -> Option<Stamp> {
        let hash = self.spec.hashes.by_rules(version, cluster_ca_bundle)?;
        Some(Stamp { hash, version: version.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
