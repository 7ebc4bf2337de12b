//! Makers of nodes with their claims.

use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::NeverOr;
use domain::resource::Resources;
use domain::{Text, Timestamp, label};

use super::pool::node_pool;
use super::values::minutes_ago;

/// An initialized `m.xlarge` of pool `default` in zone `a`, a day old, with its claim.
pub(crate) fn node(name: &str) -> NodeMaker {
    let labels: Labels = [
        (label::HOSTNAME, name),
        (label::NODE_POOL, "default"),
        (label::ZONE, "a"),
        (label::CAPACITY_TYPE, "on-demand"),
        (label::INSTANCE_TYPE, "m.xlarge"),
        (label::ARCH, "amd64"),
        (label::OS, "linux"),
        (label::REGISTERED, "true"),
        (label::INITIALIZED, "true"),
    ]
    .map(|(key, value)| (key.into(), value.into()))
    .into();
    let provider_id = Some(Text::from(format!("aws:///a/i-{name}")));
    let created = Some(minutes_ago(24 * 60));
    NodeMaker {
        node: Node {
            name: name.into(),
            uid: name.into(),
            created,
            deleted: None,
            labels: labels.clone(),
            annotations: Labels::new(),
            taints: Vec::new(),
            provider_id: provider_id.clone(),
            capacity: Resources::new(),
            allocatable: Resources::new(),
            conditions: Vec::new(),
        },
        claim: NodeClaim {
            name: format!("claim-{name}").into(),
            uid: name.into(),
            created,
            deleted: None,
            labels,
            annotations: Labels::new(),
            requirements: Vec::new().into(),
            requests: Resources::new(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            node_class_ref: node_pool("default").template.node_class_ref.clone(),
            termination_grace_period: None,
            expire_after: NeverOr::default(),
            status: NodeClaimStatus {
                node_name: Some(name.into()),
                provider_id,
                conditions: [
                    ConditionType::Launched,
                    ConditionType::Registered,
                    ConditionType::Initialized,
                ]
                .map(|kind| condition(kind, created))
                .into(),
                ..NodeClaimStatus::default()
            },
        },
    }
}

fn condition(kind: ConditionType, changed: Option<Timestamp>) -> Condition {
    Condition {
        kind,
        status: ConditionStatus::True,
        reason: "".into(),
        message: "".into(),
        changed,
    }
}

#[derive(Clone)]
pub(crate) struct NodeMaker {
    pub(crate) node: Node,
    pub(crate) claim: NodeClaim,
}

impl NodeMaker {
    /// Sets a label of the Node and its claim.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.node.labels.insert(key.into(), value.into());
        self.claim.labels.insert(key.into(), value.into());
        self
    }

    pub(crate) fn of_type(self, name: &str) -> Self {
        self.label(label::INSTANCE_TYPE, name)
    }

    pub(crate) fn in_zone(self, zone: &str) -> Self {
        self.label(label::ZONE, zone)
    }

    pub(crate) fn of_pool(self, pool: &str) -> Self {
        self.label(label::NODE_POOL, pool)
    }

    /// Joined, not ready for pods yet.
    pub(crate) fn starting(mut self) -> Self {
        self.node.labels.remove(label::INITIALIZED);
        self.claim.status.conditions.retain(|own| own.kind != ConditionType::Initialized);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.node);
        self
    }

    pub(crate) fn with_claim(mut self, change: impl FnOnce(&mut NodeClaim)) -> Self {
        change(&mut self.claim);
        self
    }
}
