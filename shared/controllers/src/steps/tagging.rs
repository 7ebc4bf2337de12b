//! Tags of instances whose Nodes have joined.

use domain::label::Labels;
use domain::node_claim::ConditionType;
use domain::node_class::Ec2NodeClass;

use crate::ports::cloud::TagRequest;
use crate::record::claim::ClaimRecord;

/// Karpenter's annotations for claims that are tagged, so that either controller may continue.
const TAGGED: [&str; 2] = ["karpenter.k8s.aws/tagged", "karpenter.k8s.aws/cluster-name-tagged"];
const NAME: &str = "Name";
const NODE_CLAIM: &str = "karpenter.sh/nodeclaim";
const CLUSTER: &str = "eks:eks-cluster-name";

/// The tags that a claim's instance lacks; `None` when it has them, or has not joined.
///
/// A Name that the node class sets is kept.
pub fn missing_tags(
    record: &ClaimRecord,
    class: Option<&Ec2NodeClass>,
    cluster: &str,
) -> Option<TagRequest> {
    let is_tagged = TAGGED.iter().all(|key| record.claim.annotations.contains_key(*key));
    if is_tagged || !record.claim.is(ConditionType::Registered) {
        return None;
    }
    let instance_id = record.instance.as_ref()?.id.clone();
    let mut tags: Labels =
        [(NODE_CLAIM.into(), record.claim.name.clone()), (CLUSTER.into(), cluster.into())].into();
    let has_name = class.is_some_and(|class| class.spec.tags.contains_key(NAME));
    if let (false, Some(node)) = (has_name, &record.claim.status.node_name) {
        tags.insert(NAME.into(), node.clone());
    }
    Some(TagRequest { instance_id, tags })
}

/// The record of a claim whose instance is tagged.
pub fn tagged(mut record: ClaimRecord) -> ClaimRecord {
    for key in TAGGED {
        record.claim.annotations.insert(key.into(), "true".into());
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, launched_record, node_class};

    #[test]
    fn an_instance_is_named_after_its_node_once_that_has_joined() {
        assert_eq!(missing_tags(&launched_record("web-1", at(0)), None, "shop"), None);
        let record = initialized_record("web-1", at(0));
        let request = missing_tags(&record, None, "shop").unwrap();
        assert_eq!(request.tags[NAME], "node-web-1".into());
        assert_eq!(request.tags[CLUSTER], "shop".into());
        assert_eq!(missing_tags(&tagged(record), None, "shop"), None);
    }

    #[test]
    fn a_name_that_the_node_class_gives_stays() {
        let mut class = node_class("default");
        class.spec.tags.insert(NAME.into(), "worker".into());
        let record = initialized_record("web-1", at(0));
        assert!(!missing_tags(&record, Some(&class), "shop").unwrap().tags.contains_key(NAME));
    }
}
