//! Label selectors, node selector terms and tolerations.

use domain::Text;
use domain::label::normalized_key;
use domain::pod::NodeSelectorTerm;
use domain::requirement::{Operator, Requirement};
use domain::selector::{LabelSelector, SelectorExpression, SelectorOperator};
use domain::taint::{Taint, TaintEffect, Toleration};

use crate::field::Field;

/// A `metav1.LabelSelector`; `None` where it is absent, which selects nothing.
pub(crate) fn label_selector(field: Field<'_>) -> Option<LabelSelector> {
    field.value()?;
    let labels = field.get("matchLabels").labels();
    let equal = labels.into_iter().map(|(key, value)| SelectorExpression {
        key,
        operator: SelectorOperator::In,
        values: vec![value],
    });
    let expressions = field.get("matchExpressions").items().filter_map(|expression| {
        let operator = expression.get("operator").required().word()?;
        let values = expression.get("values");
        let takes_values = matches!(operator, SelectorOperator::In | SelectorOperator::NotIn);
        check_values(values, takes_values);
        Some(SelectorExpression {
            key: expression.get("key").required().text()?,
            operator,
            values: values.texts(),
        })
    });
    Some(LabelSelector::new(equal.chain(expressions)))
}

fn check_values(values: Field<'_>, takes_values: bool) {
    if takes_values && values.items().len() == 0 {
        values.note_rule("operators In and NotIn take at least one value");
    } else if !takes_values && values.items().len() > 0 {
        values.note_rule("operators Exists and DoesNotExist take no values");
    }
}

/// The current name of a label key, shared.
pub(crate) fn node_label_key(field: Field<'_>) -> Option<Text> {
    field.str().map(|key| field.reader().interner().text(normalized_key(key)))
}

/// One `key operator values` of a node selector term; `None` where something was noted.
fn node_expression(expression: Field<'_>, key: Option<Text>) -> Option<Requirement> {
    let operator = expression.get("operator").required().word::<Operator>()?;
    let values = expression.get("values");
    match operator {
        Operator::In | Operator::NotIn => check_values(values, true),
        Operator::Exists | Operator::DoesNotExist => check_values(values, false),
        Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
            let is_one_integer = values.items().len() == 1
                && values
                    .items()
                    .all(|value| value.str().is_some_and(|text| text.parse::<i64>().is_ok()));
            if !is_one_integer {
                values.note_rule(format!(
                    "operator {} takes one value, an integer written as a string",
                    operator.as_str()
                ));
            }
        }
    }
    let mut values = values.texts();
    values.sort();
    values.dedup();
    Some(Requirement { key: key?, operator, values, min_values: None })
}

/// A `v1.NodeSelectorTerm`.
pub(crate) fn node_selector_term(field: Field<'_>) -> NodeSelectorTerm {
    let expressions = field.get("matchExpressions").items().filter_map(|expression| {
        node_expression(expression, node_label_key(expression.get("key").required()))
    });
    let fields = field.get("matchFields").items().filter_map(|expression| {
        node_expression(expression, expression.get("key").required().text())
    });
    NodeSelectorTerm { expressions: expressions.collect(), fields: fields.collect() }
}

/// A list of `v1.NodeSelectorTerm`. Terms without expressions match nothing and are left out.
pub(crate) fn node_selector_terms(field: Field<'_>) -> Vec<NodeSelectorTerm> {
    field
        .items()
        .map(node_selector_term)
        .filter(|term| !term.expressions.is_empty() || !term.fields.is_empty())
        .collect()
}

/// Tolerations, sorted, each once.
pub(crate) fn tolerations(field: Field<'_>) -> Vec<Toleration> {
    let mut tolerations: Vec<_> = field.items().map(toleration).collect();
    tolerations.sort();
    tolerations.dedup();
    tolerations
}

fn toleration(field: Field<'_>) -> Toleration {
    let operator = field.get("operator");
    let exists = match operator.str() {
        None | Some("") => false,
        Some(_) => operator.choice(&[(true, "Exists"), (false, "Equal")]).unwrap_or_default(),
    };
    let key = field.get("key").text().filter(|key| !key.is_empty());
    if key.is_none() && !exists {
        operator.note_rule("a toleration without a key needs operator Exists");
    }
    // With Exists a value means nothing; equal tolerations shall be equal values.
    let value = field.get("value").text().filter(|_| !exists).unwrap_or_default();
    Toleration { key, exists, value, effect: optional_effect(field.get("effect")) }
}

fn optional_effect(field: Field<'_>) -> Option<TaintEffect> {
    match field.str() {
        None | Some("") => None,
        Some(_) => field.word(),
    }
}

/// A taint; `None` where something was noted.
pub(crate) fn taint(field: Field<'_>) -> Option<Taint> {
    Some(Taint {
        key: field.get("key").required().text()?,
        value: field.get("value").text().unwrap_or_default(),
        effect: field.get("effect").required().word()?,
    })
}
