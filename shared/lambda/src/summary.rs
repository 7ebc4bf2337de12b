//! What an invocation answers to whoever invoked it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::hand_back::HandBackAnswer;

/// The answer of an invocation for one cluster, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Runs of the controller that took place.
    pub runs: usize,
    /// Runs that did not take place because another run held the lease.
    pub held: usize,
    /// Runs that failed.
    pub failed: usize,
    /// What was done, by kind.
    pub done: BTreeMap<&'static str, usize>,
    /// Why nothing was done in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Nothing was done, because the cluster was handed back to Karpenter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_handed_back: bool,
    /// How far handing the cluster back has come, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_back: Option<HandBackAnswer>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_has_the_keys_that_scripts_read() {
        let expected = json!({"runs": 0, "held": 0, "failed": 0, "done": {}});
        assert_eq!(serde_json::to_value(Summary::default()).unwrap(), expected);
    }
}
