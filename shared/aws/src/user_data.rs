//! User data: what an instance is told at its first boot, so that its kubelet joins the cluster as planned.
//!
//! Each image family has its own form ([`al2`], [`nodeadm`], [`bottlerocket`], [`windows`]); what the
//! user wrote is merged in, and where both speak of the same thing, ours counts. Own images (`Custom`)
//! get the user's text as it is.
//!
//! Source: reference E6.1 to E6.5; Karpenter's documentation of `spec.userData`.

mod al2;
mod bottlerocket;
mod kubelet;
mod mime;
mod nodeadm;
#[cfg(test)]
pub(crate) mod testkit;
mod windows;

use domain::Text;
use domain::label::{self, Labels};
use domain::node_class::{AmiFamily, Ec2NodeClassSpec};
use domain::resource::Resources;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};

use crate::cluster::ClusterFacts;

/// The most that EC2 takes, in bytes, before base64.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html>.
pub const BYTES_MAX: usize = 16_384;

/// What user data is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bootstrap<'a> {
    /// The cluster to join.
    pub(crate) cluster: &'a ClusterFacts,
    /// How nodes are set up.
    pub(crate) spec: &'a Ec2NodeClassSpec,
    /// Labels that the kubelet registers with; see [`registered_labels`].
    pub(crate) labels: &'a Labels,
    /// Taints that it registers with; see [`registered_taints`].
    pub(crate) taints: &'a [Taint],
    /// Pods that it takes.
    pub(crate) max_pods: u32,
    /// What it keeps for itself.
    pub(crate) kube_reserved: &'a Resources,
    /// The name of the image, which tells Bottlerocket's version.
    pub(crate) image_name: Option<&'a str>,
}

/// Why there can be no user data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// It says that it is a MIME archive, and is none.
    #[error("spec.userData begins like a MIME multipart archive, but {0}")]
    Mime(String),
    /// It is no TOML.
    #[error("spec.userData of Bottlerocket nodes must be TOML: {0}")]
    Toml(String),
    /// It is TOML, but of another form.
    #[error("spec.userData: {0} must be a table")]
    NotATable(&'static str),
    /// nodeadm must know the range of the services' addresses.
    #[error("the cluster's service CIDR is not known, and AL2023 nodes cannot join without it")]
    NoServiceCidr,
    /// A setting that was read as JSON is none.
    #[error("spec.kubelet.{0} is not valid JSON")]
    KubeletField(Text),
    /// EC2 would not take it.
    #[error("user data has {0} bytes, EC2 takes at most {BYTES_MAX}")]
    TooLong(usize),
}

/// The user data for nodes of a launch; `None` where there is nothing to say.
pub(crate) fn user_data(bootstrap: &Bootstrap<'_>) -> Result<Option<String>, UserDataError> {
    let text = match bootstrap.spec.ami_family {
        AmiFamily::Al2 => Some(al2::user_data(bootstrap)?),
        AmiFamily::Al2023 => Some(nodeadm::user_data(bootstrap)?),
        AmiFamily::Bottlerocket => Some(bottlerocket::user_data(bootstrap)?),
        AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => {
            Some(windows::user_data(bootstrap))
        }
        AmiFamily::Custom => bootstrap.spec.user_data.as_deref().map(str::to_owned),
    };
    match text {
        Some(text) if text.len() > BYTES_MAX => Err(UserDataError::TooLong(text.len())),
        text => Ok(text),
    }
}

/// The labels that a kubelet may give its own Node: none of Kubernetes' own domains, which the API
/// server's NodeRestriction refuses (the lifecycle controller sets those once the Node has joined). Where
/// user data says the taints, the controller need not set them again.
pub(crate) fn registered_labels(labels: &Labels, capacity_type: &str, family: AmiFamily) -> Labels {
    let mut registered: Labels = labels
        .iter()
        .filter(|(key, _)| !is_kubernetes_own(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    registered.insert(label::CAPACITY_TYPE.into(), capacity_type.into());
    if family != AmiFamily::Custom {
        registered.insert(label::DO_NOT_SYNC_TAINTS.into(), "true".into());
    }
    registered
}

fn is_kubernetes_own(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    ["kubernetes.io", "k8s.io"].iter().any(|own| {
        domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// The taints with the one that keeps pods off until the Node was matched to its claim.
pub(crate) fn registered_taints(taints: &[Taint]) -> Vec<Taint> {
    let mut registered = taints.to_vec();
    if !registered.iter().any(|taint| &*taint.key == UNREGISTERED) {
        registered.push(Taint {
            key: UNREGISTERED.into(),
            value: "".into(),
            effect: TaintEffect::NoExecute,
        });
    }
    registered
}

impl Bootstrap<'_> {
    /// The addresses of DNS servers: the user's, else the cluster's own.
    fn cluster_dns(&self) -> Vec<Text> {
        match self.spec.kubelet.cluster_dns.as_slice() {
            [] => self.cluster.dns_address().into_iter().collect(),
            own => own.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::{Node, taint};

    #[test]
    fn kubelets_do_not_set_labels_of_kubernetes_own_domains() {
        let labels = Labels::from([
            ("topology.kubernetes.io/zone".into(), "a".into()),
            ("node.k8s.io/x".into(), "1".into()),
            ("karpenter.sh/nodepool".into(), "default".into()),
            ("mykubernetes.io/team".into(), "blue".into()),
        ]);
        let keys = |family| -> Vec<String> {
            registered_labels(&labels, "spot", family).keys().map(ToString::to_string).collect()
        };
        assert_eq!(
            keys(AmiFamily::Al2023),
            [
                "karpenter.sh/capacity-type",
                "karpenter.sh/do-not-sync-taints",
                "karpenter.sh/nodepool",
                "mykubernetes.io/team"
            ]
        );
        assert!(!keys(AmiFamily::Custom).contains(&"karpenter.sh/do-not-sync-taints".to_owned()));
    }

    #[test]
    fn every_node_registers_with_the_taint_that_waits_for_its_claim() {
        let once = registered_taints(&[taint("team", "blue")]);
        assert_eq!(once[1].to_string(), "karpenter.sh/unregistered:NoExecute");
        assert_eq!(registered_taints(&once), once);
    }

    #[test]
    fn own_images_get_the_users_text_as_it_is() {
        let mut node = Node::of(AmiFamily::Custom);
        assert_eq!(user_data(&node.bootstrap()), Ok(None));
        node.spec.user_data = Some("anything\u{e9}\r\n".into());
        assert_eq!(user_data(&node.bootstrap()).unwrap().as_deref(), Some("anything\u{e9}\r\n"));
    }

    #[test]
    fn more_than_ec2_takes_is_refused_here() {
        let mut node = Node::of(AmiFamily::Custom);
        node.spec.user_data = Some("x".repeat(BYTES_MAX + 1).into());
        assert_eq!(user_data(&node.bootstrap()), Err(UserDataError::TooLong(BYTES_MAX + 1)));
    }
}
