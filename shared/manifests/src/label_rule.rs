//! What Kubernetes and Karpenter allow as label keys and values.
//!
//! Source: Kubernetes "Labels and Selectors" (syntax); Karpenter's restricted label domains.

use domain::label::{self, HOSTNAME, NODE_POOL};

/// Longest name part of a key, and longest value.
const NAME_MAX: usize = 63;
/// Longest prefix of a key.
const PREFIX_MAX: usize = 253;

/// Why a text may not be a label's key or value where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LabelRule {
    /// A key without a name.
    #[error("{0:?} is not a label key: the name is empty")]
    NameEmpty(String),
    /// A key whose name is too long.
    #[error("{0:?} is not a label key: the name has more than 63 characters")]
    NameTooLong(String),
    /// A key whose name has other characters.
    #[error(
        "{0:?} is not a label key: the name takes letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    )]
    NameMalformed(String),
    /// A key whose prefix is no DNS name.
    #[error("{0:?} is not a label key: the part before '/' is not a DNS name in lower case")]
    PrefixMalformed(String),
    /// A value that is too long.
    #[error("{0:?} is not a label value: it has more than 63 characters")]
    ValueTooLong(String),
    /// A value with other characters.
    #[error(
        "{0:?} is not a label value: it takes letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    )]
    ValueMalformed(String),
    /// The label that every node of a pool has by itself.
    #[error("label karpenter.sh/nodepool is set by the NodePool itself")]
    NodePool,
    /// The host name.
    #[error("label kubernetes.io/hostname is restricted: it differs on every node")]
    Hostname,
    /// A label of Karpenter's own.
    #[error(
        "label {key} is restricted: keys under {domain} are Karpenter's own, except its well-known labels"
    )]
    Restricted {
        /// The key.
        key: String,
        /// What stands before its slash.
        domain: String,
    },
}

/// Whether the text can be the key of a label, taint or annotation: a name, or `prefix/name`.
pub(crate) fn check_key(key: &str) -> Result<(), LabelRule> {
    let name = match key.split_once('/') {
        None => key,
        Some((prefix, name)) if is_dns_subdomain(prefix) => name,
        Some(_) => return Err(LabelRule::PrefixMalformed(key.to_owned())),
    };
    if name.is_empty() {
        Err(LabelRule::NameEmpty(key.to_owned()))
    } else if name.len() > NAME_MAX {
        Err(LabelRule::NameTooLong(key.to_owned()))
    } else if !is_name(name) {
        Err(LabelRule::NameMalformed(key.to_owned()))
    } else {
        Ok(())
    }
}

/// Whether the text can be the value of a label or taint; it may be empty.
pub(crate) fn check_value(value: &str) -> Result<(), LabelRule> {
    if value.len() > NAME_MAX {
        Err(LabelRule::ValueTooLong(value.to_owned()))
    } else if !value.is_empty() && !is_name(value) {
        Err(LabelRule::ValueMalformed(value.to_owned()))
    } else {
        Ok(())
    }
}

/// Whether users may set or require the label on nodes of a NodePool; the key is normalised.
pub(crate) fn check_unrestricted(key: &str) -> Result<(), LabelRule> {
    match key {
        NODE_POOL => Err(LabelRule::NodePool),
        HOSTNAME => Err(LabelRule::Hostname),
        _ if label::is_restricted(key) => Err(LabelRule::Restricted {
            key: key.to_owned(),
            domain: key.split_once('/').map_or("", |(domain, _)| domain).to_owned(),
        }),
        _ => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether the text is a DNS subdomain (RFC 1123): what names of objects and prefixes of keys are.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    !text.is_empty() && text.len() <= PREFIX_MAX && text.split('.').all(has_dns_letters)
}

/// Whether the text is a DNS label (RFC 1123): what names of namespaces are.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= NAME_MAX && has_dns_letters(text)
}

fn has_dns_letters(part: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && part.starts_with(edge)
        && part.ends_with(edge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_with_an_optional_dns_prefix() {
        for key in ["team", "example.com/team", "a/b", "k8s.io/A_b.c-d", "1", &"x".repeat(63)] {
            assert_eq!(check_key(key), Ok(()), "{key}");
        }
        for (key, rule) in [
            ("", LabelRule::NameEmpty(String::new())),
            ("example.com/", LabelRule::NameEmpty("example.com/".into())),
            ("/team", LabelRule::PrefixMalformed("/team".into())),
            ("Example.com/team", LabelRule::PrefixMalformed("Example.com/team".into())),
            ("a..b/team", LabelRule::PrefixMalformed("a..b/team".into())),
            ("a/b/c", LabelRule::NameMalformed("a/b/c".into())),
            ("-team", LabelRule::NameMalformed("-team".into())),
            ("te am", LabelRule::NameMalformed("te am".into())),
        ] {
            assert_eq!(check_key(key), Err(rule));
        }
        assert!(matches!(check_key(&"x".repeat(64)), Err(LabelRule::NameTooLong(_))));
    }

    #[test]
    fn values_may_be_empty_but_not_odd() {
        for value in ["", "blue", "A.b_c-9", "1000"] {
            assert_eq!(check_value(value), Ok(()), "{value}");
        }
        assert!(matches!(check_value("-x"), Err(LabelRule::ValueMalformed(_))));
        assert!(matches!(check_value("a b"), Err(LabelRule::ValueMalformed(_))));
        assert!(matches!(check_value(&"x".repeat(64)), Err(LabelRule::ValueTooLong(_))));
    }

    #[test]
    fn karpenters_own_labels_are_restricted_except_the_well_known() {
        for key in [
            "karpenter.sh/capacity-type",
            "karpenter.k8s.aws/instance-family",
            "topology.kubernetes.io/zone",
            "kubernetes.io/purpose",
            "notkarpenter.sh/team",
        ] {
            assert_eq!(check_unrestricted(key), Ok(()), "{key}");
        }
        assert_eq!(check_unrestricted("karpenter.sh/nodepool"), Err(LabelRule::NodePool));
        assert_eq!(check_unrestricted("kubernetes.io/hostname"), Err(LabelRule::Hostname));
        assert_eq!(
            check_unrestricted("compute.karpenter.sh/team").unwrap_err().to_string(),
            "label compute.karpenter.sh/team is restricted: keys under compute.karpenter.sh are \
             Karpenter's own, except its well-known labels"
        );
    }
}
