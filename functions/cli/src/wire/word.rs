//! Words and forms of text in documents, for their schemas: Kubernetes' and EC2's own words, pods,
//! quantities, moments.

use std::borrow::Cow;

use domain::instance_type::{CapacityType, PriceSource};
use domain::node_offering::NodeCapacityType;
use domain::requirement::Operator;
use domain::taint::TaintEffect;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use simulation::report;
use strum::VariantArray as _;

use super::code::DisruptionCode;
use crate::view::node_row::NodeState;

/// Text of a certain form: types that stand in schemas only.
macro_rules! forms {
    ($($(#[doc = $doc:literal])+ $name:ident: $form:tt,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub(super) enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).trim_end_matches("Word").into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($form);
                schema.insert("type".to_owned(), "string".into());
                schema.insert("description".to_owned(), concat!($($doc),+).trim().into());
                schema
            }
        }
    )+};
}

forms! {
    /// How an instance is bought.
    CapacityTypeWord: {
        "enum": CapacityType::ALL.iter().map(|own| own.as_str()).collect::<Vec<_>>()
    },
    /// How a node is paid for: as an instance, or as a node of Fargate.
    NodeCapacityTypeWord: {
        "enum": CapacityType::ALL
            .map(NodeCapacityType::Instance)
            .into_iter()
            .chain([NodeCapacityType::Fargate])
            .map(NodeCapacityType::as_str)
            .collect::<Vec<_>>()
    },
    /// How a requirement compares a label with its values.
    OperatorWord: {
        "enum": Operator::ALL.iter().map(|own| own.as_str()).collect::<Vec<_>>()
    },
    /// What a taint does to pods that do not tolerate it.
    TaintEffectWord: {
        "enum": TaintEffect::VARIANTS.iter().map(|own| own.as_str()).collect::<Vec<_>>()
    },
    /// The kind of object that wants room for pods to come.
    VirtualPodKind: { "enum": ["CapacityBuffer", "ScaledObject", "PrewarmSchedule"] },
    /// A pod, as `NAMESPACE/NAME`.
    PodName: { "pattern": "^[^/]+/[^/]+$" },
    /// An amount, as Kubernetes writes quantities: `1500m`, `2Gi`, `3`.
    Quantity: { "pattern": "^-?[0-9]+(\\.[0-9]+)?(m|[kMGTPE]|[KMGTPE]i)?$" },
    /// A moment, RFC 3339 in UTC.
    Moment: { "format": "date-time" },
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "NodeState")]
pub(super) enum NodeStateWord {
    /// Its instance boots.
    Launching,
    /// It has joined and is not ready for pods yet.
    Joining,
    /// It takes pods.
    Ready,
    /// It reports that it is not ready.
    #[serde(rename = "not ready")]
    NotReady,
    /// It is going away.
    Draining,
    /// The plan launches it.
    New,
}

/// How far a node is, or why the plan disrupts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum StateOrReason {
    State(NodeStateWord),
    Disrupted(DisruptionCode),
}

impl From<NodeState> for StateOrReason {
    fn from(state: NodeState) -> Self {
        Self::State(match state {
            NodeState::Ready => NodeStateWord::Ready,
            NodeState::NotReady => NodeStateWord::NotReady,
            NodeState::Launching => NodeStateWord::Launching,
            NodeState::Joining => NodeStateWord::Joining,
            NodeState::Planned => NodeStateWord::New,
            NodeState::Disrupted(reason) => return Self::Disrupted(reason.into()),
            NodeState::Draining => NodeStateWord::Draining,
        })
    }
}

impl From<report::NodeState> for NodeStateWord {
    fn from(state: report::NodeState) -> Self {
        match state {
            report::NodeState::Launching => Self::Launching,
            report::NodeState::Joining => Self::Joining,
            report::NodeState::Ready => Self::Ready,
            report::NodeState::NotReady => Self::NotReady,
            report::NodeState::Draining => Self::Draining,
        }
    }
}

/// How much prices can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PriceSource")]
pub(super) enum PriceSourceWord {
    /// AWS's list prices of the region, as they are part of the program.
    Listed,
    /// Derived from other prices: list prices of another region, or, for spot, on-demand prices.
    Estimated,
    /// Given with the catalogue: by AWS, or by whoever wrote it and answers for it.
    Imported,
}

impl From<PriceSource> for PriceSourceWord {
    fn from(source: PriceSource) -> Self {
        match source {
            PriceSource::Listed => Self::Listed,
            PriceSource::Estimated => Self::Estimated,
            PriceSource::Imported => Self::Imported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::reason::DisruptionReason;
    use serde_json::json;

    #[test]
    fn words_in_json_are_those_in_tables() {
        let reason = DisruptionReason::Underutilized;
        for state in [
            NodeState::Ready,
            NodeState::NotReady,
            NodeState::Launching,
            NodeState::Joining,
            NodeState::Planned,
            NodeState::Disrupted(reason),
            NodeState::Draining,
        ] {
            assert_eq!(json!(StateOrReason::from(state)), state.as_str());
        }
        for state in [
            report::NodeState::Launching,
            report::NodeState::Joining,
            report::NodeState::Ready,
            report::NodeState::NotReady,
            report::NodeState::Draining,
        ] {
            assert_eq!(json!(NodeStateWord::from(state)), state.as_str());
        }
        for source in [PriceSource::Listed, PriceSource::Estimated, PriceSource::Imported] {
            let word: &str = source.into();
            assert_eq!(json!(PriceSourceWord::from(source)), word);
        }
    }
}
