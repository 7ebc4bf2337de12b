//! What a scenario expects of a plan, as its file writes it. Every key that is not listed here is
//! refused.

use std::collections::BTreeMap;

use domain::selector::{LabelSelector, SelectorExpression, SelectorOperator};
use serde::Deserialize;

/// `expect`: all that is given must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expect {
    /// Pods with a place.
    pub scheduled: Option<PodsExpected>,
    /// Pods without one.
    pub unschedulable: Option<PodsExpected>,
    /// How many claims.
    pub new_nodes: Option<Count>,
    /// Pods of each list share a node.
    pub together: Option<Vec<Vec<String>>>,
    /// Pods of each list are on different nodes.
    pub apart: Option<Vec<Vec<String>>>,
    /// Nodes by pod.
    pub placed: Option<BTreeMap<String, String>>,
    /// Pods counted by domain.
    pub spread: Option<Vec<SpreadExpected>>,
    /// Claims by one of their pods.
    pub nodes: Option<Vec<NodeExpected>>,
    /// Disruptions, each matched by one of the plan and none left over.
    pub disruptions: Option<DisruptionsExpected>,
    /// Over all disruptions together.
    pub max_disrupted_nodes: Option<usize>,
    /// Nodes that are blocked.
    pub blocked: Option<Vec<String>>,
    /// Whether everything costs less after than before.
    pub saves_money: Option<bool>,
}

impl Expect {
    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        let Self {
            scheduled,
            unschedulable,
            new_nodes,
            together,
            apart,
            placed,
            spread,
            nodes,
            disruptions,
            max_disrupted_nodes,
            blocked,
            saves_money,
        } = self;
        scheduled.is_none()
            && unschedulable.is_none()
            && new_nodes.is_none()
            && together.is_none()
            && apart.is_none()
            && placed.is_none()
            && spread.is_none()
            && nodes.is_none()
            && disruptions.is_none()
            && max_disrupted_nodes.is_none()
            && blocked.is_none()
            && saves_money.is_none()
    }
}

/// Some pods or all or none.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum PodsExpected {
    /// A word.
    Word(AllOrNone),
    /// These.
    Listed(Vec<String>),
}

/// All or none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AllOrNone {
    /// Every one.
    All,
    /// Not one.
    None,
}

/// The word `none`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoneAtAll {
    /// Not one.
    None,
}

/// A number, or bounds of one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// Exactly so many.
    Exactly(usize),
    /// Within bounds.
    Within(Bounds),
}

/// At least and at most.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    min: Option<usize>,
    max: Option<usize>,
}

impl Count {
    /// Whether the number is as wanted.
    pub fn matches(&self, number: usize) -> bool {
        match self {
            Self::Exactly(wanted) => number == *wanted,
            Self::Within(Bounds { min, max }) => {
                min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
            }
        }
    }
}

/// One text or several: "one of".
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOf {
    /// This.
    One(String),
    /// One of these.
    Several(Vec<String>),
}

impl OneOf {
    /// Whether the text is among them.
    pub fn contains(&self, text: &str) -> bool {
        match self {
            Self::One(wanted) => wanted == text,
            Self::Several(wanted) => wanted.iter().any(|wanted| wanted == text),
        }
    }
}

/// How pods that match are spread over the domains of a key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpreadExpected {
    /// Which pods.
    pub selector: SelectorExpected,
    /// The topology key.
    pub key: String,
    /// Pods by domain, zeros left out, in any order.
    pub counts: Option<Vec<usize>>,
    /// The largest difference.
    pub max_skew: Option<usize>,
}

/// A label selector, or labels alone.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum SelectorExpected {
    /// As Kubernetes writes it.
    Selector(FullSelector),
    /// Labels.
    Labels(BTreeMap<String, String>),
}

/// `matchLabels` and `matchExpressions`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FullSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    key: String,
    operator: ExpressionOperator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum ExpressionOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl SelectorExpected {
    /// As a selector.
    pub fn selector(&self) -> LabelSelector {
        fn of(labels: &BTreeMap<String, String>) -> LabelSelector {
            LabelSelector::of_labels(labels.iter().map(|(key, value)| (&**key, &**value)))
        }
        match self {
            Self::Labels(labels) => of(labels),
            Self::Selector(FullSelector { match_labels, match_expressions }) => {
                match_expressions.iter().fold(of(match_labels), |selector, expression| {
                    selector.and(SelectorExpression {
                        key: (&*expression.key).into(),
                        operator: match expression.operator {
                            ExpressionOperator::In => SelectorOperator::In,
                            ExpressionOperator::NotIn => SelectorOperator::NotIn,
                            ExpressionOperator::Exists => SelectorOperator::Exists,
                            ExpressionOperator::DoesNotExist => SelectorOperator::DoesNotExist,
                        },
                        values: expression.values.iter().map(|value| (&**value).into()).collect(),
                    })
                })
            }
        }
    }
}

/// What is expected of the claim that holds a pod.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeExpected {
    /// The pod.
    pub pod: String,
    /// The claim's NodePool.
    pub node_pool: Option<OneOf>,
    /// Its offering's zone.
    pub zone: Option<OneOf>,
    /// Its offering's capacity type.
    pub capacity_type: Option<OneOf>,
    /// Its offering's instance type.
    pub instance_type: Option<OneOf>,
    /// The instance types it lists.
    pub instance_types: Option<TypesExpected>,
    /// Labels it is sure to have.
    pub labels: Option<BTreeMap<String, String>>,
    /// Taints among its own; none at all where the list is empty.
    pub taints: Option<Vec<TaintExpected>>,
    /// How many pods it holds.
    pub pods: Option<Count>,
}

/// A taint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaintExpected {
    /// The key.
    pub key: String,
    /// The value.
    #[serde(default)]
    pub value: String,
    /// The effect.
    pub effect: String,
}

/// What is expected of a list of instance types.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TypesExpected {
    /// No others.
    pub only: Option<Vec<String>>,
    /// At least one of them.
    pub any: Option<Vec<String>>,
    /// Each of them.
    pub all: Option<Vec<String>>,
    /// Not one of them.
    pub none: Option<Vec<String>>,
    /// At least so many.
    pub at_least: Option<usize>,
    /// At most so many.
    pub at_most: Option<usize>,
}

/// No disruption, or these.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum DisruptionsExpected {
    /// None.
    Word(NoneAtAll),
    /// These and no others.
    Listed(Vec<DisruptionExpected>),
}

/// What is expected of one disruption.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DisruptionExpected {
    /// Why.
    pub reason: Option<ReasonExpected>,
    /// Which nodes.
    pub nodes: Option<NodesExpected>,
    /// How many claims replace them.
    pub replacements: Option<Count>,
    /// What those list.
    pub replacement_types: Option<TypesExpected>,
    /// How those are bought.
    pub replacement_capacity_type: Option<OneOf>,
}

/// The reasons there are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum ReasonExpected {
    /// Empty.
    Empty,
    /// Underutilized.
    Underutilized,
    /// Drifted.
    Drifted,
    /// Expired.
    Expired,
    /// Unhealthy.
    Unhealthy,
    /// Interrupted.
    Interrupted,
}

/// Nodes by name, or so many of some.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum NodesExpected {
    /// Exactly these.
    Named(Vec<String>),
    /// So many of some.
    Some(SomeNodes),
}

/// So many of some nodes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SomeNodes {
    /// How many.
    pub count: Count,
    /// Of these.
    pub of: Vec<String>,
}
