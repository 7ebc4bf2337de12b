//! Label selectors (`metav1.LabelSelector`).

use std::fmt;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::Text;
use crate::label::Labels;

/// An operator of a label selector's expression.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum SelectorOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
}

/// One expression of a label selector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorExpression {
    /// The label's key.
    pub key: Text,
    /// How values are held against it.
    pub operator: SelectorOperator,
    /// Sorted, each once.
    pub values: Vec<Text>,
}

/// A label selector: every expression must hold, so one without expressions selects everything.
///
/// `matchLabels` are kept as `In` expressions of one value. A null selector, which selects nothing,
/// is an `Option` at the place where it may be null. Expressions are sorted, each once, so that
/// equal selectors are equal values.
///
/// Source:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSelector {
    expressions: Vec<SelectorExpression>,
}

impl LabelSelector {
    /// From expressions in any order.
    pub fn new(expressions: impl IntoIterator<Item = SelectorExpression>) -> Self {
        let mut expressions: Vec<_> = expressions
            .into_iter()
            .map(|mut expression| {
                expression.values.sort();
                expression.values.dedup();
                expression
            })
            .collect();
        expressions.sort();
        expressions.dedup();
        Self { expressions }
    }

    /// The selector of one label value each.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(labels.into_iter().map(|(key, value)| SelectorExpression {
            key: key.into(),
            operator: SelectorOperator::In,
            values: vec![value.into()],
        }))
    }

    /// This selector with one more expression.
    pub fn and(&self, expression: SelectorExpression) -> Self {
        Self::new(self.expressions.iter().cloned().chain([expression]))
    }

    /// The expressions, sorted.
    pub fn expressions(&self) -> &[SelectorExpression] {
        &self.expressions
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.expressions.iter().all(|expression| {
            let value = labels.get(&expression.key);
            let listed = value.is_some_and(|value| expression.values.contains(value));
            match expression.operator {
                SelectorOperator::In => listed,
                SelectorOperator::NotIn => !listed,
                SelectorOperator::Exists => value.is_some(),
                SelectorOperator::DoesNotExist => value.is_none(),
            }
        })
    }
}

impl fmt::Display for LabelSelector {
    /// As `kubectl get -l` takes it: `app=web,tier in (back,front),!old`; `every pod` without
    /// expressions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.expressions.is_empty() {
            return f.write_str("every pod");
        }
        for (index, SelectorExpression { key, operator, values }) in
            self.expressions.iter().enumerate()
        {
            f.write_str(if index == 0 { "" } else { "," })?;
            match (operator, values.as_slice()) {
                (SelectorOperator::In, [value]) => write!(f, "{key}={value}")?,
                (SelectorOperator::In, values) => write!(f, "{key} in ({})", values.join(","))?,
                (SelectorOperator::NotIn, values) => {
                    write!(f, "{key} notin ({})", values.join(","))?;
                }
                (SelectorOperator::Exists, _) => f.write_str(key)?,
                (SelectorOperator::DoesNotExist, _) => write!(f, "!{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_must_hold() {
        let labels: Labels = [("app".into(), "web".into()), ("tier".into(), "front".into())].into();
        let selector = LabelSelector::of_labels([("app", "web")]);
        assert!(selector.matches(&labels));
        let without_tier = SelectorExpression {
            key: "tier".into(),
            operator: SelectorOperator::DoesNotExist,
            values: vec![],
        };
        assert!(!selector.and(without_tier).matches(&labels));
        assert!(LabelSelector::default().matches(&Labels::new()));
    }

    #[test]
    fn selectors_read_as_on_the_command_line_of_kubectl() {
        let expression = |key: &str, operator, values: &[&str]| SelectorExpression {
            key: key.into(),
            operator,
            values: values.iter().map(|value| Text::from(*value)).collect(),
        };
        let selector = LabelSelector::of_labels([("app", "web")])
            .and(expression("old", SelectorOperator::DoesNotExist, &[]))
            .and(expression("tier", SelectorOperator::In, &["front", "back"]));
        assert_eq!(selector.to_string(), "app=web,!old,tier in (back,front)");
        assert_eq!(LabelSelector::default().to_string(), "every pod");
    }
}
