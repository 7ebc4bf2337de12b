//! Objects of other controllers that share Karpenter's API, such as EKS Auto Mode: whoever acted on
//! them would fight their owner over status, hashes and nodes.

use std::collections::BTreeSet;

use domain::Text;
use domain::label;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::snapshot::ClusterObjects;

use crate::error::Warning;

/// Drops NodePools and NodeClaims whose class is no EC2NodeClass. Their nodes stay, with what runs
/// on them, as nodes that no NodePool stands behind and that nobody registered. One warning a
/// NodePool.
pub(super) fn drop_foreign(
    objects: &mut ClusterObjects,
    node_claims: &mut Vec<NodeClaim>,
    warnings: &mut Vec<Warning>,
) {
    let mut pools: BTreeSet<Text> = BTreeSet::new();
    objects.node_pools.retain(|pool| {
        let class = &pool.template.node_class_ref;
        if !class.is_ec2() {
            let what = format!(
                "NodePool {} is left alone: its class is {} {} of {}, not an EC2NodeClass",
                pool.name, class.kind, class.name, class.group
            );
            warnings.push(Warning { what, place: None });
            pools.insert(pool.name.clone());
        }
        class.is_ec2()
    });
    let mut nodes: BTreeSet<Text> = BTreeSet::new();
    node_claims.retain(|claim| {
        let is_ours = claim.node_class_ref.is_ec2();
        nodes.extend(claim.status.node_name.iter().filter(|_| !is_ours).cloned());
        is_ours
    });
    let is_foreign = |node: &Node| {
        node.labels.contains_key(label::AUTO_MODE_NODE_CLASS)
            || nodes.contains(&node.name)
            || node.labels.get(label::NODE_POOL).is_some_and(|pool| pools.contains(pool))
    };
    for node in objects.nodes.iter_mut().filter(|node| is_foreign(node)) {
        for own in [label::NODE_POOL, label::REGISTERED, label::INITIALIZED] {
            node.labels.remove(own);
        }
    }
}
