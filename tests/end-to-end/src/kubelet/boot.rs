//! From user data to what kubelet is started with, as the node agents of EKS read it: `nodeadm` on
//! AL2023, Bottlerocket's settings, `bootstrap.sh` on AL2.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Taint;
use mailparse::ParsedMail;
use serde::Deserialize;
use serde_json::Value;

use crate::cloud::Instance;

/// The cluster that nodes have to find.
#[derive(Clone, Debug)]
pub(super) struct ExpectedCluster {
    pub(super) name: String,
    pub(super) endpoint: String,
    /// Base64 of PEM.
    pub(super) authority: String,
}

/// What a machine starts kubelet with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BootConfig {
    cluster: String,
    endpoint: String,
    authority: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    pub(super) max_pods: Option<u32>,
    pub(super) kube_reserved: BTreeMap<String, String>,
    pub(super) system_reserved: BTreeMap<String, String>,
}

/// `node.eks.aws/v1alpha1`, as far as it matters here.
#[derive(Debug, Deserialize)]
struct NodeConfig {
    kind: String,
    #[serde(default)]
    spec: NodeSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeSpec {
    cluster: ClusterDetails,
    kubelet: KubeletOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClusterDetails {
    name: Option<String>,
    api_server_endpoint: Option<String>,
    certificate_authority: Option<String>,
    cidr: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KubeletOptions {
    config: BTreeMap<String, Value>,
    flags: Vec<String>,
}

impl BootConfig {
    /// Reads the user data of an instance by the family of its image.
    pub(super) fn of(instance: &Instance) -> Result<Self> {
        let user_data = instance.user_data.as_deref().context("it has no user data")?;
        match instance.image.as_str() {
            name if name.starts_with("bottlerocket-") => Self::from_settings(user_data),
            name if name.contains("al2023") => Self::from_node_configs(user_data),
            name => bail!("the stand-in does not boot the image {name}"),
        }
    }

    /// What keeps a real machine from joining.
    pub(super) fn check(&self, instance: &Instance, expected: &ExpectedCluster) -> Result<()> {
        ensure!(
            instance.instance_profile.is_some(),
            "it has no instance profile, so no credentials"
        );
        ensure!(!instance.security_groups.is_empty(), "it has no security group");
        ensure!(self.cluster == expected.name, "its cluster is {:?}", self.cluster);
        ensure!(self.endpoint == expected.endpoint, "its API server is {:?}", self.endpoint);
        ensure!(self.authority == expected.authority, "it trusts another authority");
        Ok(())
    }

    fn from_node_configs(user_data: &str) -> Result<Self> {
        let mut boot = Self::default();
        let mut cidr = None;
        for document in node_configs(user_data)? {
            let config: NodeConfig = serde_saphyr::from_str(&document).context("a NodeConfig")?;
            ensure!(config.kind == "NodeConfig", "a part of the user data is a {}", config.kind);
            let ClusterDetails { name, api_server_endpoint, certificate_authority, cidr: range } =
                config.spec.cluster;
            boot.cluster = name.unwrap_or(boot.cluster);
            boot.endpoint = api_server_endpoint.unwrap_or(boot.endpoint);
            boot.authority = certificate_authority.unwrap_or(boot.authority);
            cidr = range.or(cidr);
            boot.apply_kubelet(&config.spec.kubelet)?;
        }
        ensure!(cidr.is_some(), "the NodeConfig has no cidr: nodeadm cannot tell the DNS address");
        Ok(boot)
    }

    fn apply_kubelet(&mut self, kubelet: &KubeletOptions) -> Result<()> {
        for flag in &kubelet.flags {
            if let Some(labels) = flag.strip_prefix("--node-labels=") {
                let labels = labels.trim_matches('"');
                for pair in labels.split(',').filter(|pair| !pair.is_empty()) {
                    let (key, value) =
                        pair.split_once('=').context("a node label without a value")?;
                    self.labels.insert(key.to_owned(), value.to_owned());
                }
            } else if let Some(taints) = flag.strip_prefix("--register-with-taints=") {
                for taint in taints.trim_matches('"').split(',').filter(|taint| !taint.is_empty()) {
                    self.taints.push(parse_taint(taint)?);
                }
            }
        }
        let take = |key: &str| kubelet.config.get(key).cloned();
        if let Some(taints) = take("registerWithTaints") {
            self.taints = serde_json::from_value(taints).context("registerWithTaints")?;
        }
        if let Some(max_pods) = take("maxPods") {
            self.max_pods = serde_json::from_value(max_pods).context("maxPods")?;
        }
        if let Some(reserved) = take("kubeReserved") {
            self.kube_reserved = serde_json::from_value(reserved).context("kubeReserved")?;
        }
        if let Some(reserved) = take("systemReserved") {
            self.system_reserved = serde_json::from_value(reserved).context("systemReserved")?;
        }
        Ok(())
    }

    fn from_settings(user_data: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Document {
            settings: Settings,
        }
        #[derive(Deserialize)]
        struct Settings {
            kubernetes: Kubernetes,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Kubernetes {
            cluster_name: String,
            api_server: String,
            cluster_certificate: String,
            #[serde(default)]
            node_labels: BTreeMap<String, String>,
            #[serde(default)]
            node_taints: BTreeMap<String, Vec<String>>,
            max_pods: Option<u32>,
            #[serde(default)]
            kube_reserved: BTreeMap<String, String>,
            #[serde(default)]
            system_reserved: BTreeMap<String, String>,
        }
        let document: Document = toml::from_str(user_data).context("Bottlerocket's settings")?;
        let settings = document.settings.kubernetes;
        let mut taints = Vec::new();
        for (key, values) in settings.node_taints {
            for value in values {
                taints.push(parse_taint(&format!("{key}={value}"))?);
            }
        }
        Ok(Self {
            cluster: settings.cluster_name,
            endpoint: settings.api_server,
            authority: settings.cluster_certificate,
            labels: settings.node_labels,
            taints,
            max_pods: settings.max_pods,
            kube_reserved: settings.kube_reserved,
            system_reserved: settings.system_reserved,
        })
    }
}

/// `key=value:Effect`; the value may be missing, also its `=`.
fn parse_taint(text: &str) -> Result<Taint> {
    let (pair, effect) = text.rsplit_once(':').with_context(|| format!("taint {text:?}"))?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Ok(Taint {
        key: key.to_owned(),
        value: Some(value.to_owned()).filter(|value| !value.is_empty()),
        effect: effect.to_owned(),
        time_added: None,
    })
}

/// The NodeConfig documents of user data: the data itself, or the parts of a MIME message that are
/// of their type.
fn node_configs(user_data: &str) -> Result<Vec<String>> {
    if !user_data.trim_start().starts_with("MIME-Version")
        && !user_data.trim_start().to_ascii_lowercase().starts_with("content-type:")
    {
        return Ok(vec![user_data.to_owned()]);
    }
    let mail =
        mailparse::parse_mail(user_data.trim_start().as_bytes()).context("MIME user data")?;
    let is_config = |part: &&ParsedMail<'_>| part.ctype.mimetype == "application/node.eks.aws";
    let documents: Result<Vec<_>, _> =
        mail.subparts.iter().filter(is_config).map(ParsedMail::get_body).collect();
    let documents = documents.context("a part of the user data")?;
    ensure!(!documents.is_empty(), "no part of the user data is a NodeConfig");
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE_CONFIG: &str = "
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: rig, apiServerEndpoint: 'https://x', certificateAuthority: QQ==, cidr: 10.96.0.0/16}
  kubelet:
    config:
      maxPods: 29
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
    flags: ['--node-labels=\"a=b,c=\"']
";

    #[test]
    fn a_node_config_says_what_kubelet_starts_with() {
        let boot = BootConfig::from_node_configs(NODE_CONFIG).unwrap();
        assert_eq!((boot.cluster.as_str(), boot.max_pods), ("rig", Some(29)));
        assert_eq!(boot.labels.get("a").map(String::as_str), Some("b"));
        assert_eq!(boot.labels.get("c").map(String::as_str), Some(""));
        assert_eq!(boot.taints[0].effect, "NoExecute");
    }

    #[test]
    fn a_node_config_is_found_beside_a_script() {
        let mime = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n\
             #!/bin/sh\n\n--//\nContent-Type: application/node.eks.aws\n\n{NODE_CONFIG}\n--//--\n"
        );
        assert_eq!(BootConfig::from_node_configs(&mime).unwrap().cluster, "rig");
    }

    #[test]
    fn a_node_config_without_the_service_range_does_not_boot() {
        let without = NODE_CONFIG.replace(", cidr: 10.96.0.0/16", "");
        let error = BootConfig::from_node_configs(&without).unwrap_err();
        assert!(error.to_string().contains("cidr"), "{error}");
    }

    #[test]
    fn bottlerocket_says_the_same_in_toml() {
        let settings = "[settings.kubernetes]\ncluster-name = \"rig\"\napi-server = \"https://x\"\ncluster-certificate = \"QQ==\"\n\
                        [settings.kubernetes.node-labels]\n\"a\" = \"b\"\n[settings.kubernetes.node-taints]\n\
                        \"karpenter.sh/unregistered\" = [\":NoExecute\"]\n";
        let boot = BootConfig::from_settings(settings).unwrap();
        assert_eq!(boot.cluster, "rig");
        assert_eq!(
            (boot.taints[0].key.as_str(), &boot.taints[0].value),
            ("karpenter.sh/unregistered", &None)
        );
    }
}
