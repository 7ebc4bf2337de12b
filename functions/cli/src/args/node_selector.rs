//! Label selectors as `kubectl get -l` takes them.

use std::str::FromStr;

use domain::selector::{LabelSelector, SelectorExpression, SelectorOperator};

/// `--node-selector`: which nodes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeSelector(pub(crate) LabelSelector);

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NodeSelectorError {
    /// A part of it is no expression.
    #[error("{0:?} is no expression such as KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A,B)")]
    Expression(String),
}

impl FromStr for NodeSelector {
    type Err = NodeSelectorError;

    fn from_str(text: &str) -> Result<Self, NodeSelectorError> {
        let parts = parts(text);
        let expressions = parts.iter().map(|part| expression(part)).collect::<Result<Vec<_>, _>>();
        Ok(Self(LabelSelector::new(expressions?)))
    }
}

/// What stands between commas that are in no parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut parts = Vec::new();
    for (index, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn expression(part: &str) -> Result<SelectorExpression, NodeSelectorError> {
    let wrong = || NodeSelectorError::Expression(part.to_owned());
    let one = |key: &str, operator, value: &str| (key.to_owned(), operator, vec![value.to_owned()]);
    let (key, operator, values) = if let Some((key, value)) = part.split_once("!=") {
        one(key, SelectorOperator::NotIn, value)
    } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        one(key, SelectorOperator::In, value)
    } else if let Some(list) = part.strip_suffix(')') {
        let (head, list) = list.split_once('(').ok_or_else(wrong)?;
        let (key, word) = head.trim().rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
        let operator = match word {
            "in" => SelectorOperator::In,
            "notin" => SelectorOperator::NotIn,
            _ => return Err(wrong()),
        };
        (key.to_owned(), operator, list.split(',').map(|own| own.trim().to_owned()).collect())
    } else if let Some(key) = part.strip_prefix('!') {
        (key.to_owned(), SelectorOperator::DoesNotExist, Vec::new())
    } else {
        (part.to_owned(), SelectorOperator::Exists, Vec::new())
    };
    let key = key.trim();
    if key.is_empty() || key.contains(char::is_whitespace) || key.contains(['(', ')', '!', '=']) {
        return Err(wrong());
    }
    let values = values.iter().map(|own| own.trim().into()).collect();
    Ok(SelectorExpression { key: key.into(), operator, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        for (text, read) in [
            ("a=b", "a=b"),
            ("a==b, c", "a=b,c"),
            ("!old,tier in (back, front)", "!old,tier in (back,front)"),
            ("tier notin (a,b)", "tier notin (a,b)"),
        ] {
            assert_eq!(text.parse::<NodeSelector>().unwrap().0.to_string(), read, "{text}");
        }
        let unequal: NodeSelector = "a!=b".parse().unwrap();
        assert_eq!(unequal, "a notin (b)".parse().unwrap());
    }

    #[test]
    fn what_is_no_selector_is_refused_with_the_part_that_is_none() {
        for text in ["", "a=b,", "in (a)", "a within (b)", "a b", "!", "=b"] {
            assert!(text.parse::<NodeSelector>().is_err(), "{text}");
        }
    }
}
