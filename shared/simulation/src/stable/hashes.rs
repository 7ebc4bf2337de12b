//! Recorded hashes of templates that the templates do not have.
//!
//! In a cluster somebody keeps what is recorded of a NodePool's template up to date. In a dump that
//! was edited by hand, or whose hashes were made up, it may be another than the template's:
//! lifecycle records the template's, and each node that has the one of the dump would drift for it.
//! A plan looks at what such a node and the template differ in instead, and a run begins with what
//! a plan sees.

use std::collections::BTreeMap;

use domain::Text;
use domain::drift::DriftReason;
use domain::node_claim::NodeClaim;
use domain::node_pool::NodePool;
use domain::snapshot::ClusterSnapshot;
use domain::stamp::Stamp;

/// The NodeClaims of a snapshot. Those that were made from their NodePool's template have its hash.
pub(super) fn node_claims(snapshot: &ClusterSnapshot) -> impl Iterator<Item = NodeClaim> {
    let drifted = planning::disruption::drifted(snapshot);
    let pools: BTreeMap<&Text, &NodePool> =
        snapshot.objects.node_pools.iter().map(|pool| (&pool.name, pool)).collect();
    snapshot.node_claims.iter().map(move |claim| {
        let mut claim = claim.clone();
        let pool = claim.node_pool().and_then(|name| pools.get(name));
        if drifted.get(&claim.name) != Some(&DriftReason::NodePoolDrifted)
            && let Some(stamp) = pool.and_then(|pool| stamp_due(&claim, pool))
        {
            claim.annotations.extend(stamp.node_pool_annotations());
        }
        claim
    })
}

/// The template's hash, where claim and pool record the same other one.
fn stamp_due(claim: &NodeClaim, pool: &NodePool) -> Option<Stamp> {
    let own = Stamp::of_node_pool(&claim.annotations)?;
    let recorded = Stamp::of_node_pool(&pool.annotations)?;
    let computed = pool.stamp()?;
    let is_due = own == recorded && own.version == computed.version && own != computed;
    is_due.then_some(computed)
}
