//! Nodes.

use domain::label::{self, Labels};
use domain::node::{Node, NodeCondition};
use domain::node_claim::ConditionStatus;
use domain::resource::{CPU, Resources};
use domain::taint::{Taint, TaintEffect};
use domain::{Text, Timestamp};

/// A Node under construction.
#[derive(Clone, Debug)]
pub struct NodeBuilder(Node);

/// A Node without labels, taints, resources, conditions and uid.
pub fn node(name: impl Into<Text>) -> NodeBuilder {
    NodeBuilder(Node {
        name: name.into(),
        uid: "".into(),
        created: None,
        deleted: None,
        labels: Labels::new(),
        annotations: Labels::new(),
        taints: Vec::new(),
        provider_id: None,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        conditions: Vec::new(),
    })
}

impl NodeBuilder {
    /// Sets a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.into(), value.into());
        self
    }

    /// Sets several labels.
    pub fn labels<'a>(self, labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        labels.into_iter().fold(self, |node, (key, value)| node.label(key, value))
    }

    /// Sets the label of its zone.
    pub fn zone(self, zone: &str) -> Self {
        self.label(label::ZONE, zone)
    }

    /// Adds a taint without a value.
    pub fn taint(mut self, key: &str, effect: TaintEffect) -> Self {
        self.0.taints.push(Taint { key: key.into(), value: "".into(), effect });
        self
    }

    /// Cordons it, as `kubectl cordon` does.
    pub fn cordoned(mut self) -> Self {
        self.0.taints.push(Node::cordon());
        self
    }

    /// Sets capacity and allocatable resources.
    pub fn resources(mut self, resources: &Resources) -> Self {
        self.0.capacity = resources.clone();
        self.0.allocatable = resources.clone();
        self
    }

    /// Sets the allocatable CPU, in millicores.
    pub fn cpu(self, millis: i64) -> Self {
        self.allocatable(CPU, millis)
    }

    /// Sets the allocatable amount of one resource.
    pub fn allocatable(mut self, resource: &str, amount: i64) -> Self {
        self.0.allocatable.set(&resource.into(), amount);
        self
    }

    /// Sets the time of creation.
    pub fn created(mut self, at: Timestamp) -> Self {
        self.0.created = Some(at);
        self
    }

    /// Sets the condition Ready, with the time of its last change.
    pub fn ready(mut self, since: Option<Timestamp>) -> Self {
        let kind = "Ready".into();
        self.0.conditions.push(NodeCondition {
            kind,
            status: ConditionStatus::True,
            changed: since,
        });
        self
    }

    /// Changes any field.
    pub fn with(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.0);
        self
    }

    /// The Node.
    pub fn build(self) -> Node {
        self.0
    }
}
