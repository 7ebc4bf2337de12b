//! User data: the configuration that an instance boots with, so that its kubelet joins the cluster
//! as planned.
//!
//! Each image family has its own form ([`al2`], [`nodeadm`], [`bottlerocket`], [`windows`]). The
//! user's text is merged in; where both set the same field, ours takes precedence. Custom images
//! get the user's text unchanged.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/#specuserdata>.

mod al2;
mod bootstrap;
mod bottlerocket;
mod kubelet;
mod mime;
mod nodeadm;
#[cfg(test)]
pub(crate) mod testkit;
mod windows;

use domain::label::{self, Labels};
use domain::node_class::AmiFamily;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};

pub(crate) use bootstrap::Bootstrap;
pub use bootstrap::{BYTES_MAX, UserDataError};

/// The user data of a launch; `None` for a custom image without any.
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

/// The labels that a kubelet may set on its own Node: none of Kubernetes' own domains, which the
/// API server's NodeRestriction refuses (lifecycle sets those once the Node has joined). Where user
/// data sets the taints, lifecycle need not set them again.
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

/// The taints, with the one that keeps pods off until the Node is matched to its claim.
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

#[cfg(test)]
mod tests {
    use super::testkit::{Node, taint};
    use super::*;

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
