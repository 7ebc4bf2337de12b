//! Drift as stored on a claim: the hashes of what it was made from, and condition Drifted.
//!
//! As in Karpenter, the condition is removed when the claim is no longer drifted, and hashes are
//! rewritten when the version of the hash rules changes.

use domain::Timestamp;
use domain::drift::DriftReason;
use domain::label::Labels;
use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::stamp::Stamp;

use super::condition::{ConditionState, clear, set_condition};

/// The current origins of a claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origins<'a> {
    /// Its NodePool.
    pub pool: Option<&'a NodePool>,
    /// Its EC2NodeClass.
    pub class: Option<&'a Ec2NodeClass>,
}

/// Annotations that record the hashes of a claim's pool and class by the newest rules, when its own
/// are missing or of older rules; empty when nothing is to be written. A drifted claim keeps its
/// hashes under the new version, so that it stays drifted.
///
/// `drift` is the claim's drift as far as it can be determined now. Hashes of different versions
/// cannot be compared, so condition Drifted, set when they could, counts as well.
pub fn stamps_due(claim: &NodeClaim, origins: Origins<'_>, drift: Option<&DriftReason>) -> Labels {
    let has_drifted = drift.is_some() || claim.is(ConditionType::Drifted);
    let own = Stamp::of_node_pool(&claim.annotations);
    let of_pool = origins.pool.and_then(|pool| {
        let same_rules = Stamp::of_node_pool(&pool.annotations)
            .filter(|recorded| own.as_ref().is_some_and(|own| own.version == recorded.version));
        Stamp::restamped(own.as_ref(), same_rules.as_ref(), &pool.stamp()?, has_drifted)
    });
    let of_class = origins.class.and_then(|class| {
        let own = Stamp::of_node_class(&claim.annotations);
        let newest = Stamp::of_node_class(&class.annotations)?;
        Stamp::restamped(own.as_ref(), None, &newest, has_drifted)
    });
    let of_pool = of_pool.map(|stamp| stamp.node_pool_annotations());
    let of_class = of_class.map(|stamp| stamp.node_class_annotations());
    of_pool.into_iter().chain(of_class).flatten().collect()
}

/// Whether condition Drifted matches the claim's drift; it is absent when the claim is not drifted.
pub fn is_drift_shown(claim: &NodeClaim, drift: Option<&DriftReason>) -> bool {
    match (claim.condition(ConditionType::Drifted), drift) {
        (Some(shown), Some(drift)) => {
            shown.status == ConditionStatus::True && *shown.message == drift.to_string()
        }
        (None, None) => true,
        _ => false,
    }
}

/// Sets or removes condition Drifted.
pub fn show_drift(claim: &mut NodeClaim, drift: Option<&DriftReason>, now: Timestamp) {
    let kind = ConditionType::Drifted;
    match drift {
        Some(drift) => {
            let message = drift.to_string();
            let state = ConditionState::new(ConditionStatus::True, drift.as_str(), &message);
            set_condition(claim, kind, state, now);
        }
        None => clear(claim, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, node_class, node_pool};
    use domain::stamp::NODE_POOL_RULES;

    fn stamp(hash: &str, version: &str) -> Stamp {
        Stamp { hash: hash.into(), version: version.into() }
    }

    /// A pool whose template has a hash by the newest rules, and a recorded one.
    fn pool(recorded: &Stamp) -> NodePool {
        let mut pool = node_pool("default");
        std::sync::Arc::make_mut(&mut pool.template).hash = Some("new".into());
        pool.annotations = recorded.node_pool_annotations();
        pool
    }

    fn claim_of(own: Option<&Stamp>) -> NodeClaim {
        let mut claim = initialized_record("web-1", at(0)).claim;
        claim.annotations = own.map(Stamp::node_pool_annotations).unwrap_or_default();
        claim
    }

    fn due(claim: &NodeClaim, pool: &NodePool, drift: Option<&DriftReason>) -> Option<Stamp> {
        let origins = Origins { pool: Some(pool), class: None };
        Stamp::of_node_pool(&stamps_due(claim, origins, drift))
    }

    #[test]
    fn a_claim_of_older_rules_gets_the_newest_hash() {
        let old = stamp("1", "v2");
        let due = due(&claim_of(Some(&old)), &pool(&old), None);
        assert_eq!(due, Some(stamp("new", NODE_POOL_RULES)));
    }

    #[test]
    fn one_that_had_drifted_by_the_older_rules_keeps_its_hash() {
        let own = claim_of(Some(&stamp("1", "v2")));
        let kept = Some(stamp("1", NODE_POOL_RULES));
        assert_eq!(due(&own, &pool(&stamp("2", "v2")), None), kept, "the pool had changed");
        let mut marked = own.clone();
        show_drift(&mut marked, Some(&DriftReason::NodePoolDrifted), at(0));
        let brought_up_to_date = pool(&stamp("new", NODE_POOL_RULES));
        assert_eq!(due(&marked, &brought_up_to_date, None), kept, "its condition remembers");
    }

    #[test]
    fn a_claim_without_a_hash_gets_one_unless_it_has_drifted() {
        let recorded = stamp("new", NODE_POOL_RULES);
        let own = claim_of(None);
        assert_eq!(due(&own, &pool(&recorded), None), Some(recorded.clone()));
        assert_eq!(due(&own, &pool(&recorded), Some(&DriftReason::NodePoolDrifted)), None);
    }

    #[test]
    fn a_hash_by_the_newest_rules_stays_whatever_it_is() {
        let own = claim_of(Some(&stamp("other", NODE_POOL_RULES)));
        assert_eq!(due(&own, &pool(&stamp("new", NODE_POOL_RULES)), None), None);
    }

    #[test]
    fn the_hash_of_the_class_is_brought_up_to_date_too() {
        let mut class = node_class("default");
        class.annotations = stamp("9", "v6").node_class_annotations();
        let mut own = claim_of(None);
        own.annotations = stamp("1", "v5").node_class_annotations();
        let due = |claim: &NodeClaim, class: &Ec2NodeClass| {
            let origins = Origins { pool: None, class: Some(class) };
            Stamp::of_node_class(&stamps_due(claim, origins, None))
        };
        assert_eq!(due(&own, &class), Some(stamp("9", "v6")));
        class.annotations.clear();
        assert_eq!(due(&own, &class), None, "the class is not stamped yet");
    }

    #[test]
    fn the_condition_comes_and_goes_with_the_drift() {
        let mut claim = claim_of(None);
        let drift = DriftReason::RequirementsDrifted("team".into());
        assert!(is_drift_shown(&claim, None) && !is_drift_shown(&claim, Some(&drift)));
        show_drift(&mut claim, Some(&drift), at(7));
        assert!(is_drift_shown(&claim, Some(&drift)));
        show_drift(&mut claim, Some(&DriftReason::AmiDrift), at(9));
        let shown = claim.condition(ConditionType::Drifted).unwrap();
        assert_eq!((&*shown.reason, shown.changed), ("AMIDrift", Some(at(7))));
        show_drift(&mut claim, None, at(10));
        assert!(is_drift_shown(&claim, None));
    }
}
