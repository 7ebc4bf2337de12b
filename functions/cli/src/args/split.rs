//! `--by` of `top`.

use std::fmt;
use std::str::FromStr;

use domain::Text;

/// What the cost of nodes is split by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SplitBy {
    /// The namespace of pods.
    Namespace,
    /// The NodePool of the node that a pod is on.
    NodePool,
    /// The value of a label of pods.
    Label(Text),
}

/// Why something is not what cost can be split by.
#[derive(Debug, thiserror::Error)]
#[error("it is one of: namespace, nodepool, label:KEY")]
pub(crate) struct SplitByError;

impl FromStr for SplitBy {
    type Err = SplitByError;

    fn from_str(text: &str) -> Result<Self, SplitByError> {
        match (text, text.strip_prefix("label:")) {
            ("namespace", _) => Ok(Self::Namespace),
            ("nodepool", _) => Ok(Self::NodePool),
            (_, Some(key)) if !key.is_empty() => Ok(Self::Label(key.into())),
            _ => Err(SplitByError),
        }
    }
}

impl fmt::Display for SplitBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str("namespace"),
            Self::NodePool => f.write_str("nodepool"),
            Self::Label(key) => write!(f, "label:{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_typed() {
        for text in ["namespace", "nodepool", "label:app.kubernetes.io/name"] {
            assert_eq!(text.parse::<SplitBy>().unwrap().to_string(), text);
        }
        for text in ["", "pod", "label:", "Namespace"] {
            assert!(text.parse::<SplitBy>().is_err(), "{text:?}");
        }
    }
}
