//! Makers of nodes with their claims.

use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::{Condition, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::NeverOr;
use domain::{Text, label};

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
    let claim = testkit::node_claim(format!("claim-{name}")).uid(name);
    NodeMaker {
        node: Node {
            uid: name.into(),
            created,
            labels: labels.clone(),
            provider_id: provider_id.clone(),
            ..testkit::node(name).build()
        },
        claim: NodeClaim {
            created,
            labels,
            expire_after: NeverOr::default(),
            status: NodeClaimStatus {
                node_name: Some(name.into()),
                provider_id,
                conditions: [
                    ConditionType::Launched,
                    ConditionType::Registered,
                    ConditionType::Initialized,
                ]
                .map(|kind| Condition { changed: created, ..testkit::condition(kind) })
                .into(),
                ..NodeClaimStatus::default()
            },
            ..claim.build()
        },
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
