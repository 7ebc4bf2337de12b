//! What a process keeps of the pods that it listed: fingerprints of those on each node.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use domain::Text;
use domain::node_claim::NodeClaim;
use domain::pod::Pod;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::record::claim::PodsFingerprint;

/// Fingerprints of nodes' pods that were worked out, shared by all clones. Each run compares those
/// of every node several times, and most stay the same from one run to the next. Right when empty.
#[derive(Clone, Debug, Default)]
pub struct PodFingerprints(Rc<RefCell<FxHashMap<Text, KnownPods>>>);

/// Uids of a node's pods, in the order in which they were listed, and their fingerprint.
#[derive(Debug)]
struct KnownPods {
    uids: Vec<Text>,
    fingerprint: PodsFingerprint,
}

impl PodFingerprints {
    /// The fingerprint of the active pods of a claim's node, without those of DaemonSets.
    pub(crate) fn of(&self, claim: &NodeClaim, pods: &[&Pod]) -> PodsFingerprint {
        let counted = pods.iter().filter(|pod| pod.is_active() && !pod.is_daemon());
        let uids = counted.map(|pod| &pod.uid);
        let mut known = self.0.borrow_mut();
        // Most are the very same as before, not only alike.
        let is_same = |(a, b): (&Text, &Text)| Arc::ptr_eq(a, b) || a == b;
        let are_known = |own: &&KnownPods| {
            own.uids.len() == uids.clone().count() && own.uids.iter().zip(uids.clone()).all(is_same)
        };
        if let Some(own) = known.get(&claim.uid).filter(are_known) {
            return own.fingerprint.clone();
        }
        let uids: Vec<Text> = uids.cloned().collect();
        let fingerprint = fingerprint(&uids);
        let own = KnownPods { uids, fingerprint: fingerprint.clone() };
        known.insert(claim.uid.clone(), own);
        fingerprint
    }
}

/// The fingerprint of pods with these uids, in any order.
fn fingerprint(uids: &[Text]) -> PodsFingerprint {
    let mut uids: Vec<&str> = uids.iter().map(|uid| &**uid).collect();
    uids.sort_unstable();
    let key = uids.join("\n");
    PodsFingerprint(Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes()).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, node_of, pod_on};

    #[test]
    fn pods_that_are_others_than_before_have_another_fingerprint() {
        let record = initialized_record("web-1", at(0));
        let node = node_of(&record);
        let (a, b) = (pod_on("a", &node), pod_on("b", &node));
        let known = PodFingerprints::default();
        let of = |pods: &[&Pod]| known.of(&record.claim, pods);
        let one = of(&[&a]);
        assert_eq!(of(&[&a]), one);
        let two = of(&[&a, &b]);
        assert!(two != one && of(&[&b, &a]) == two, "order means nothing");
        assert_eq!(of(&[&a]), one);
    }
}
