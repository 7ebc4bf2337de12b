//! NodePools.

use std::sync::Arc;

use domain::label::Labels;
use domain::node_pool::{Disruption, NodeClaimTemplate, NodeClassRef, NodePool};
use domain::node_pool_options::NodePoolOptions;
use domain::requirement::Requirement;
use domain::resource::{CPU, NODES, Resources};

use crate::scheduling::taint;

/// A NodePool under construction.
#[derive(Clone, Debug)]
pub struct NodePoolBuilder(NodePool);

/// A NodePool of EC2NodeClass `default`, everything else at Karpenter's defaults.
pub fn node_pool(name: &str) -> NodePoolBuilder {
    let template =
        NodeClaimTemplate { node_class_ref: node_class_ref("default"), ..Default::default() };
    NodePoolBuilder(NodePool {
        name: name.into(),
        uid: "".into(),
        annotations: Labels::new(),
        is_deleting: false,
        ready: None,
        template: Arc::new(template),
        disruption: Disruption::default(),
        limits: Resources::new(),
        weight: 0,
        replicas: None,
        options: NodePoolOptions::default(),
    })
}

/// A reference to an EC2NodeClass.
pub fn node_class_ref(name: &str) -> NodeClassRef {
    NodeClassRef {
        group: "karpenter.k8s.aws".into(),
        kind: "EC2NodeClass".into(),
        name: name.into(),
    }
}

impl NodePoolBuilder {
    /// Adds a requirement of its nodes.
    pub fn require(self, requirement: Requirement) -> Self {
        self.template(|template| template.requirements.push(requirement))
    }

    /// Adds a label of its nodes.
    pub fn label(self, key: &str, value: &str) -> Self {
        self.template(|template| {
            template.labels.insert(key.into(), value.into());
        })
    }

    /// Adds a `NoSchedule` taint of its nodes.
    pub fn taint(self, key: &str) -> Self {
        self.template(|template| template.taints.push(taint(key)))
    }

    /// Changes the template of its nodes.
    pub fn template(mut self, change: impl FnOnce(&mut NodeClaimTemplate)) -> Self {
        change(Arc::make_mut(&mut self.0.template));
        self
    }

    /// Sets the limit of all its nodes together, in millicores.
    pub fn cpu_limit(mut self, millis: i64) -> Self {
        self.0.limits.set(&CPU.into(), millis);
        self
    }

    /// Sets the limit of its number of nodes.
    pub fn node_limit(mut self, nodes: i64) -> Self {
        self.0.limits.set(&NODES.into(), nodes);
        self
    }

    /// Sets the weight; NodePools of a higher weight come first.
    pub fn weight(mut self, weight: u32) -> Self {
        self.0.weight = weight;
        self
    }

    /// Removes all disruption budgets, so that any number of nodes may go at once.
    pub fn without_budgets(mut self) -> Self {
        self.0.disruption.budgets.clear();
        self
    }

    /// Changes any field.
    pub fn with(mut self, change: impl FnOnce(&mut NodePool)) -> Self {
        change(&mut self.0);
        self
    }

    /// The NodePool.
    pub fn build(self) -> NodePool {
        self.0
    }
}
