//! NodeClaims.

use std::sync::Arc;

use domain::label::{self, Labels};
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::NeverOr;
use domain::resource::Resources;
use domain::{Text, Timestamp};

use crate::node_pool::node_class_ref;

/// A NodeClaim under construction.
#[derive(Clone, Debug)]
pub struct NodeClaimBuilder(NodeClaim);

/// A NodeClaim of EC2NodeClass `default` that never expires, without labels, taints, requests,
/// status and uid.
pub fn node_claim(name: impl Into<Text>) -> NodeClaimBuilder {
    NodeClaimBuilder(NodeClaim {
        name: name.into(),
        uid: "".into(),
        created: None,
        deleted: None,
        labels: Labels::new(),
        annotations: Labels::new(),
        requirements: Arc::default(),
        requests: Resources::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        node_class_ref: node_class_ref("default"),
        termination_grace_period: None,
        expire_after: NeverOr::Never,
        status: NodeClaimStatus::default(),
    })
}

/// A condition that is true, without reason, message and time.
pub fn condition(kind: ConditionType) -> Condition {
    Condition {
        kind,
        status: ConditionStatus::True,
        reason: "".into(),
        message: "".into(),
        changed: None,
    }
}

impl NodeClaimBuilder {
    /// Sets the uid.
    pub fn uid(mut self, uid: impl Into<Text>) -> Self {
        self.0.uid = uid.into();
        self
    }

    /// Sets the time of creation.
    pub fn created(mut self, at: Timestamp) -> Self {
        self.0.created = Some(at);
        self
    }

    /// Sets a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.into(), value.into());
        self
    }

    /// Sets the label of its NodePool.
    pub fn node_pool(self, name: &str) -> Self {
        self.label(label::NODE_POOL, name)
    }

    /// Sets capacity and allocatable resources of the status.
    pub fn resources(mut self, resources: &Resources) -> Self {
        self.0.status.capacity = resources.clone();
        self.0.status.allocatable = resources.clone();
        self
    }

    /// Adds conditions that are true.
    pub fn conditions(mut self, kinds: impl IntoIterator<Item = ConditionType>) -> Self {
        self.0.status.conditions.extend(kinds.into_iter().map(condition));
        self
    }

    /// Changes any field.
    pub fn with(mut self, change: impl FnOnce(&mut NodeClaim)) -> Self {
        change(&mut self.0);
        self
    }

    /// The NodeClaim.
    pub fn build(self) -> NodeClaim {
        self.0
    }
}
