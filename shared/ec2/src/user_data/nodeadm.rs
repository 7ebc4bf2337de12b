//! Amazon Linux 2023: the user's documents first, then a NodeConfig for nodeadm, which merges them.
//!
//! The NodeConfig is written as JSON: nodeadm reads that as it reads YAML, and nothing in it can be
//! mistaken for a number or a truth value.
//!
//! Source: <https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/>.

use serde_json::{Map, Value, json};

use domain::node_class::EvictionThreshold;
use domain::resource::Resources;

use super::bootstrap::{Bootstrap, UserDataError};
use super::kubelet;
use super::mime::{self, NODE_CONFIG, Part, SHELL_SCRIPT};

pub(super) fn user_data(bootstrap: &Bootstrap<'_>) -> Result<String, UserDataError> {
    let mut parts = match bootstrap.spec.user_data.as_deref() {
        None => Vec::new(),
        Some(own) => mime::parts(own)?.unwrap_or_else(|| {
            let content_type = if is_node_config(own) { NODE_CONFIG } else { SHELL_SCRIPT };
            vec![Part::of(content_type, own.trim_end())]
        }),
    };
    parts.push(Part::of(NODE_CONFIG, &format!("{:#}", node_config(bootstrap)?)));
    Ok(mime::archive(&parts))
}

/// Whether the user wrote a document of nodeadm's rather than a script.
fn is_node_config(text: &str) -> bool {
    text.lines().any(|line| {
        line.strip_prefix("apiVersion:").is_some_and(|version| {
            version.trim().trim_matches(['"', '\'']).starts_with("node.eks.aws/")
        })
    })
}

fn node_config(bootstrap: &Bootstrap<'_>) -> Result<Value, UserDataError> {
    let cluster = bootstrap.cluster;
    let cidr = cluster.service_cidr.as_deref().ok_or(UserDataError::NoServiceCidr)?;
    let mut spec = json!({
        "cluster": {
            "name": &*cluster.name,
            "apiServerEndpoint": &*cluster.endpoint,
            "certificateAuthority": &*cluster.certificate_authority,
            "cidr": cidr,
        },
        "kubelet": { "config": kubelet_config(bootstrap)? },
    });
    let labels = kubelet::node_labels(bootstrap);
    if !labels.is_empty() {
        spec["kubelet"]["flags"] = json!([format!("--node-labels={labels}")]);
    }
    if bootstrap.spec.instance_store_raid0 {
        spec["instance"] = json!({ "localStorage": { "strategy": "RAID0" } });
    }
    Ok(json!({ "apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec }))
}

/// The kubelet's own configuration, in the words of `kubelet.config.k8s.io/v1beta1`.
fn kubelet_config(bootstrap: &Bootstrap<'_>) -> Result<Map<String, Value>, UserDataError> {
    let own = &bootstrap.spec.kubelet;
    let mut config = Map::new();
    // First what has no meaning to us, so that what has one counts.
    for (field, text) in &own.other {
        let value =
            serde_json::from_str(text).map_err(|_| UserDataError::KubeletField(field.clone()))?;
        config.insert(field.to_string(), value);
    }
    let mut set = |field: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_empty {
            config.insert(field.to_owned(), value);
        }
    };
    let taint = |taint: &domain::taint::Taint| {
        let mut own = json!({ "key": &*taint.key, "effect": taint.effect.as_str() });
        if !taint.value.is_empty() {
            own["value"] = json!(&*taint.value);
        }
        own
    };
    set("registerWithTaints", bootstrap.taints.iter().map(taint).collect());
    set("maxPods", json!(bootstrap.max_pods));
    set("podsPerCore", json!(own.pods_per_core));
    set("kubeReserved", reserved(bootstrap.kube_reserved));
    set("systemReserved", reserved(&own.system_reserved));
    set("evictionHard", thresholds(own.eviction_hard.iter()));
    set("evictionSoft", thresholds(own.eviction_soft.iter()));
    let grace = own.eviction_soft_grace_period.iter();
    set(
        "evictionSoftGracePeriod",
        grace
            .map(|(signal, after)| (signal.to_string(), json!(kubelet::seconds(*after))))
            .collect(),
    );
    set("evictionMaxPodGracePeriod", json!(own.eviction_max_pod_grace_period));
    set("imageGCHighThresholdPercent", json!(own.image_gc_high_threshold_percent));
    set("imageGCLowThresholdPercent", json!(own.image_gc_low_threshold_percent));
    set("cpuCFSQuota", json!(own.cpu_cfs_quota));
    set("clusterDNS", bootstrap.cluster_dns().iter().map(|address| json!(&**address)).collect());
    Ok(config)
}

fn reserved(amounts: &Resources) -> Value {
    let quantity = |name: &str, amount| json!(kubelet::quantity(name, amount));
    amounts.iter().map(|(name, amount)| (name.to_string(), quantity(name, amount))).collect()
}

fn thresholds<'a>(
    thresholds: impl Iterator<Item = (&'a domain::Text, &'a EvictionThreshold)>,
) -> Value {
    thresholds
        .map(|(signal, at)| (signal.to_string(), json!(kubelet::threshold(signal, *at))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testkit::Node;
    use super::*;
    use domain::node_class::AmiFamily;

    fn last_document(text: &str) -> Value {
        let last = text.rsplit("Content-Type: application/node.eks.aws\n\n").next().unwrap();
        serde_json::from_str(last.trim_end().trim_end_matches("--//--")).unwrap()
    }

    #[test]
    fn nodeadm_is_told_the_cluster_and_the_kubelets_settings() {
        let mut node = Node::of(AmiFamily::Al2023);
        node.spec.instance_store_raid0 = true;
        let kubelet = &mut node.spec.kubelet;
        kubelet
            .eviction_hard
            .insert("memory.available".into(), EvictionThreshold::PercentMillis(5000));
        kubelet.eviction_soft_grace_period.insert("memory.available".into(), 120);
        kubelet.cpu_cfs_quota = Some(false);
        kubelet.other.insert("serializeImagePulls".into(), "false".into());
        kubelet.other.insert("maxPods".into(), "1".into());
        let text = user_data(&node.bootstrap()).unwrap();
        assert_eq!(
            last_document(&text),
            json!({
                "apiVersion": "node.eks.aws/v1alpha1",
                "kind": "NodeConfig",
                "spec": {
                    "cluster": {
                        "name": "prod",
                        "apiServerEndpoint": "https://ABC.gr7.eu-west-1.eks.amazonaws.com",
                        "certificateAuthority": "Q0E=",
                        "cidr": "10.100.0.0/16",
                    },
                    "instance": { "localStorage": { "strategy": "RAID0" } },
                    "kubelet": {
                        "config": {
                            "clusterDNS": ["10.100.0.10"],
                            "cpuCFSQuota": false,
                            "evictionHard": { "memory.available": "5%" },
                            "evictionSoftGracePeriod": { "memory.available": "120s" },
                            "kubeReserved": { "cpu": "70m", "memory": "574Mi" },
                            "maxPods": 29,
                            "registerWithTaints":
                                [{ "key": "team", "value": "blue", "effect": "NoSchedule" }],
                            "serializeImagePulls": false,
                        },
                        "flags": ["--node-labels=karpenter.sh/nodepool=default"],
                    },
                },
            })
        );
    }

    #[test]
    fn what_the_user_wrote_keeps_its_kind() {
        let kind = |own: &str| {
            let mut node = Node::of(AmiFamily::Al2023);
            node.spec.user_data = Some(own.into());
            let text = user_data(&node.bootstrap()).unwrap();
            let first = text.lines().nth(4).unwrap().to_owned();
            assert_eq!(text.matches("\n--//\n").count(), 2);
            first
        };
        let script = "Content-Type: text/x-shellscript; charset=\"us-ascii\"";
        assert_eq!(kind("echo hello"), script);
        assert_eq!(kind("#!/bin/bash\n# apiVersion: node.eks.aws/v1alpha1\n"), script);
        let config = "apiVersion: \"node.eks.aws/v1alpha1\"\nkind: NodeConfig\nspec: {}\n";
        assert_eq!(kind(config), "Content-Type: application/node.eks.aws");
        let archive = mime::archive(&[Part::of("text/cloud-config", "runcmd: []")]);
        assert_eq!(kind(&archive), "Content-Type: text/cloud-config");
    }

    #[test]
    fn without_the_range_of_services_there_is_no_joining() {
        let mut node = Node::of(AmiFamily::Al2023);
        node.cluster.service_cidr = None;
        assert_eq!(user_data(&node.bootstrap()), Err(UserDataError::NoServiceCidr));
    }
}
