//! Expressions of DynamoDB: conditions, and the names and values in them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// A condition. `#name` in its text stands for the attribute `name`, so that reserved words can be
/// used.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(super) text: String,
    pub(super) values: HashMap<String, AttributeValue>,
}

impl Condition {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), values: HashMap::new() }
    }

    /// The condition that the item does not exist.
    pub(crate) fn absent() -> Self {
        Self::new("attribute_not_exists(#record)")
    }

    pub(crate) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }
}

/// Every `#name` in the texts, and the attribute that it stands for.
pub(super) fn names_in(texts: &[&str]) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for part in texts.iter().flat_map(|text| text.split('#').skip(1)) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &part[..end.unwrap_or(part.len())];
        names.insert(format!("#{name}"), name.to_owned());
    }
    names
}

/// The values, or `None` where there are none: DynamoDB rejects an empty map.
pub(super) fn some(
    values: HashMap<String, AttributeValue>,
) -> Option<HashMap<String, AttributeValue>> {
    (!values.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_an_expression_is_declared_once() {
        let names = names_in(&["#until <= :now AND #holder <> :h", "SET #until = :until"]);
        let mut declared: Vec<_> = names.keys().map(String::as_str).collect();
        declared.sort_unstable();
        assert_eq!(declared, ["#holder", "#until"]);
        assert_eq!(names["#until"], "until");
    }
}
