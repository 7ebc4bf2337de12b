//! Kubernetes objects that cases apply.

use serde_json::{Value, json};

use crate::cloud::NODE_ROLE;
use crate::world::CLUSTER;

/// The EC2NodeClass `default`: AL2023, discovered by the cluster's tag.
pub fn node_class() -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "role": NODE_ROLE,
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        },
    })
}

/// A NodePool of the class `default`.
#[derive(Clone, Debug)]
pub struct NodePool {
    name: &'static str,
    requirements: Vec<Value>,
    architectures: &'static [&'static str],
    limits: Value,
    labels: Value,
    expire_after: &'static str,
    consolidate_after: &'static str,
}

/// The NodePool `default`: on-demand instances of current generations.
pub fn node_pool() -> NodePool {
    NodePool {
        name: "default",
        requirements: vec![
            json!({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]}),
            json!({"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]}),
        ],
        architectures: &["amd64"],
        limits: json!({}),
        labels: json!({}),
        expire_after: "Never",
        consolidate_after: "0s",
    }
}

impl NodePool {
    /// Of other architectures than `amd64`.
    #[must_use]
    pub const fn of_architectures(mut self, architectures: &'static [&'static str]) -> Self {
        self.architectures = architectures;
        self
    }

    /// With one more requirement.
    #[must_use]
    pub fn requiring(mut self, key: &str, values: &[&str]) -> Self {
        self.requirements.push(json!({"key": key, "operator": "In", "values": values}));
        self
    }

    /// Whose nodes bear a label. Those that were made before drift.
    #[must_use]
    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.labels = json!({key: value});
        self
    }

    /// Whose nodes are not consolidated.
    #[must_use]
    pub const fn settled(mut self) -> Self {
        self.consolidate_after = "Never";
        self
    }

    /// With a limit on nodes.
    #[must_use]
    pub fn at_most(mut self, nodes: u32) -> Self {
        self.limits = json!({"nodes": nodes.to_string()});
        self
    }

    /// The object.
    pub fn object(&self) -> Value {
        let mut requirements = self.requirements.clone();
        requirements.push(
            json!({"key": "kubernetes.io/arch", "operator": "In", "values": self.architectures}),
        );
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": self.name},
            "spec": {
                "template": {"metadata": {"labels": self.labels}, "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": requirements,
                    "expireAfter": self.expire_after,
                }},
                "disruption": {
                    "consolidationPolicy": "WhenEmptyOrUnderutilized",
                    "consolidateAfter": self.consolidate_after,
                    "budgets": [{"nodes": "100%"}],
                },
                "limits": self.limits,
            },
        })
    }
}

/// A Deployment of the namespace `default` whose pods ask for so much each.
pub fn deployment(name: &str, replicas: u32, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": pod_spec(cpu, memory),
            },
        },
    })
}

/// A ReplicaSet of the namespace `default` with one pod.
///
/// Not a pod alone: the controller of taints may see a pod bound to a new node before it sees that
/// the node's taint is gone, and then deletes it, as in any cluster. Here it comes again.
pub fn one_pod(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu, memory)},
        },
    })
}

/// A pod of the namespace `default` without an owner.
pub fn pod(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": pod_spec(cpu, memory),
    })
}

fn pod_spec(cpu: &str, memory: &str) -> Value {
    json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{
            "name": "main",
            "image": "registry.example/pause:3",
            "resources": {"requests": {"cpu": cpu, "memory": memory}},
        }],
    })
}

/// A PodDisruptionBudget for the pods of a Deployment.
pub fn disruption_budget(app: &str, min_available: u32) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
    })
}
