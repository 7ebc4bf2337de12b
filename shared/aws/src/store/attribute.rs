//! Attributes of items, and the place of an item in the table.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::error::DocumentError;
use super::schema::{CLUSTER, KEY};

/// An item, or its key, as DynamoDB has it.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// A string attribute.
pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// A number attribute.
pub(crate) fn number(value: impl ToString + Copy) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// An item's place: partition and sort key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) partition: &'a str,
    pub(crate) key: &'a str,
}

impl Place<'_> {
    pub(crate) fn attributes(self) -> Attributes {
        HashMap::from([
            (CLUSTER.to_owned(), text(self.partition)),
            (KEY.to_owned(), text(self.key)),
        ])
    }
}

/// The integer in an attribute.
pub(crate) fn integer<T: std::str::FromStr>(
    item: &Attributes,
    name: &'static str,
) -> Result<T, DocumentError> {
    item.get(name)
        .and_then(|value| value.as_n().ok())
        .and_then(|digits| digits.parse().ok())
        .ok_or(DocumentError::Attribute(name))
}

/// The string in an attribute.
pub(super) fn string<'a>(item: &'a Attributes, name: &'static str) -> Option<&'a str> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
}

/// The sort key, for messages.
pub(super) fn key_of(item: &Attributes) -> &str {
    string(item, KEY).unwrap_or_default()
}
