//! Documents of NodeClaims, and of parts that plans and claims share.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::node_claim::{Condition, InstanceNetwork, NodeClaim, NodeClaimStatus};
use domain::node_pool::{NeverOr, NodeClassRef};
use domain::requirement::Requirement;
use domain::resource::Resources;
use domain::taint::Taint;
use serde::{Deserialize, Serialize};

use super::scalar::{Duration, Moment, moment, timestamp};
use super::words::{ConditionWord, EffectWord, OperatorWord, StatusWord};

#[derive(Serialize, Deserialize)]
pub(super) struct NodeClaimDocument {
    name: Text,
    uid: Text,
    created: Option<Moment>,
    deleted: Option<Moment>,
    labels: BTreeMap<Text, Text>,
    annotations: BTreeMap<Text, Text>,
    requirements: Vec<RequirementDocument>,
    requests: Amounts,
    taints: Vec<TaintDocument>,
    startup_taints: Vec<TaintDocument>,
    node_class_group: Text,
    node_class_kind: Text,
    node_class_name: Text,
    termination_grace_period: Option<Duration>,
    /// `None` is `Never`.
    expire_after: Option<Duration>,
    status: StatusDocument,
}

impl From<&NodeClaim> for NodeClaimDocument {
    fn from(claim: &NodeClaim) -> Self {
        let NodeClaim {
            name,
            uid,
            created,
            deleted,
            labels,
            annotations,
            requirements,
            requests,
            taints,
            startup_taints,
            node_class_ref: NodeClassRef { group, kind, name: class },
            termination_grace_period,
            expire_after,
            status,
        } = claim;
        Self {
            name: name.clone(),
            uid: uid.clone(),
            created: moment(*created),
            deleted: moment(*deleted),
            labels: (**labels).clone(),
            annotations: (**annotations).clone(),
            requirements: each(requirements),
            requests: amounts(requests),
            taints: each(taints),
            startup_taints: each(startup_taints),
            node_class_group: group.clone(),
            node_class_kind: kind.clone(),
            node_class_name: class.clone(),
            termination_grace_period: termination_grace_period.map(Into::into),
            expire_after: expire_after.duration().map(Into::into),
            status: status.into(),
        }
    }
}

impl From<NodeClaimDocument> for NodeClaim {
    fn from(document: NodeClaimDocument) -> Self {
        Self {
            name: document.name,
            uid: document.uid,
            created: timestamp(document.created),
            deleted: timestamp(document.deleted),
            labels: document.labels.into(),
            annotations: document.annotations.into(),
            requirements: Arc::new(all(document.requirements)),
            requests: resources(document.requests),
            taints: all(document.taints),
            startup_taints: all(document.startup_taints),
            node_class_ref: NodeClassRef {
                group: document.node_class_group,
                kind: document.node_class_kind,
                name: document.node_class_name,
            },
            termination_grace_period: document.termination_grace_period.map(Into::into),
            expire_after: document
                .expire_after
                .map_or(NeverOr::Never, |after| NeverOr::After(after.into())),
            status: document.status.into(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StatusDocument {
    node_name: Option<Text>,
    provider_id: Option<Text>,
    image_id: Option<Text>,
    capacity: Amounts,
    allocatable: Amounts,
    last_pod_event: Option<Moment>,
    network: Option<NetworkDocument>,
    conditions: Vec<ConditionDocument>,
}

#[derive(Serialize, Deserialize)]
struct NetworkDocument {
    subnet: Text,
    security_groups: Vec<Text>,
}

impl From<&InstanceNetwork> for NetworkDocument {
    fn from(InstanceNetwork { subnet, security_groups }: &InstanceNetwork) -> Self {
        Self { subnet: subnet.clone(), security_groups: security_groups.clone() }
    }
}

impl From<NetworkDocument> for InstanceNetwork {
    fn from(NetworkDocument { subnet, security_groups }: NetworkDocument) -> Self {
        Self { subnet, security_groups }
    }
}

impl From<&NodeClaimStatus> for StatusDocument {
    fn from(status: &NodeClaimStatus) -> Self {
        let NodeClaimStatus {
            node_name,
            provider_id,
            image_id,
            capacity,
            allocatable,
            last_pod_event,
            network,
            conditions,
        } = status;
        Self {
            node_name: node_name.clone(),
            provider_id: provider_id.clone(),
            image_id: image_id.clone(),
            capacity: amounts(capacity),
            allocatable: amounts(allocatable),
            last_pod_event: moment(*last_pod_event),
            network: network.as_ref().map(Into::into),
            conditions: each(conditions),
        }
    }
}

impl From<StatusDocument> for NodeClaimStatus {
    fn from(document: StatusDocument) -> Self {
        Self {
            node_name: document.node_name,
            provider_id: document.provider_id,
            image_id: document.image_id,
            capacity: resources(document.capacity),
            allocatable: resources(document.allocatable),
            last_pod_event: timestamp(document.last_pod_event),
            network: document.network.map(Into::into),
            conditions: all(document.conditions),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct ConditionDocument {
    kind: ConditionWord,
    status: StatusWord,
    reason: Text,
    message: Text,
    changed: Option<Moment>,
}

impl From<&Condition> for ConditionDocument {
    fn from(condition: &Condition) -> Self {
        let Condition { kind, status, reason, message, changed } = condition;
        Self {
            kind: (*kind).into(),
            status: (*status).into(),
            reason: reason.clone(),
            message: message.clone(),
            changed: moment(*changed),
        }
    }
}

impl From<ConditionDocument> for Condition {
    fn from(document: ConditionDocument) -> Self {
        Self {
            kind: document.kind.into(),
            status: document.status.into(),
            reason: document.reason,
            message: document.message,
            changed: timestamp(document.changed),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RequirementDocument {
    key: Text,
    operator: OperatorWord,
    values: Vec<Text>,
    min_values: Option<u32>,
}

impl From<&Requirement> for RequirementDocument {
    fn from(requirement: &Requirement) -> Self {
        let Requirement { key, operator, values, min_values } = requirement;
        Self {
            key: key.clone(),
            operator: (*operator).into(),
            values: values.clone(),
            min_values: *min_values,
        }
    }
}

impl From<RequirementDocument> for Requirement {
    fn from(document: RequirementDocument) -> Self {
        Self {
            key: document.key,
            operator: document.operator.into(),
            values: document.values,
            min_values: document.min_values,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct TaintDocument {
    key: Text,
    value: Text,
    effect: EffectWord,
}

impl From<&Taint> for TaintDocument {
    fn from(Taint { key, value, effect }: &Taint) -> Self {
        Self { key: key.clone(), value: value.clone(), effect: (*effect).into() }
    }
}

impl From<TaintDocument> for Taint {
    fn from(TaintDocument { key, value, effect }: TaintDocument) -> Self {
        Self { key, value, effect: effect.into() }
    }
}

/// Amounts by resource name, in the units of the domain.
pub(super) type Amounts = BTreeMap<Text, i64>;

pub(super) fn amounts(resources: &Resources) -> Amounts {
    resources.iter().map(|(name, amount)| (name.clone(), amount)).collect()
}

pub(super) fn resources(amounts: Amounts) -> Resources {
    amounts.into_iter().collect()
}

/// The documents of the values.
pub(super) fn each<'a, T, D: From<&'a T>>(values: &'a [T]) -> Vec<D> {
    values.iter().map(D::from).collect()
}

/// The values of the documents.
pub(super) fn all<D, T: From<D>>(documents: Vec<D>) -> Vec<T> {
    documents.into_iter().map(T::from).collect()
}
