//! Structural schemas, put together from parts.

use serde_json::{Map, Value, json};
use strum::VariantArray;

/// A schema of OpenAPI 3, as CustomResourceDefinitions take it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema(Map<String, Value>);

impl Schema {
    fn of_type(kind: &str) -> Self {
        Self(Map::from_iter([("type".to_owned(), json!(kind))]))
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn text() -> Self {
        Self::of_type("string")
    }

    /// Text that is one of some words.
    pub(super) fn word<T>(words: &[(T, &'static str)]) -> Self {
        Self::word_of(words.iter().map(|(_, word)| *word))
    }

    /// Text that is a word of the API.
    pub(super) fn word_from<T>() -> Self
    where
        T: Copy + VariantArray,
        &'static str: From<T>,
    {
        Self::word_of(T::VARIANTS.iter().map(|variant| <&'static str>::from(*variant)))
    }

    /// Text that is one of some words.
    pub(super) fn word_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::text().with("enum", words.into_iter().collect::<Vec<_>>())
    }

    pub(super) fn boolean() -> Self {
        Self::of_type("boolean")
    }

    pub(super) fn time() -> Self {
        Self::text().with("format", "date-time")
    }

    /// A whole number from `least` on.
    pub(super) fn count(least: i64) -> Self {
        Self::of_type("integer").with("format", "int64").with("minimum", least)
    }

    pub(super) fn count_32(least: i64) -> Self {
        Self::count(least).with("format", "int32")
    }

    /// A quantity: a number, or text such as `500m`.
    pub(super) fn quantity() -> Self {
        // Source: Kubernetes' resource.Quantity.
        Self(Map::new())
            .with("x-kubernetes-int-or-string", true)
            .with("pattern", r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$")
    }

    /// A whole number, or the same in quotes.
    pub(super) fn number_or_text() -> Self {
        Self(Map::new()).with("x-kubernetes-int-or-string", true).pattern("^[0-9]+$")
    }

    /// A decimal figure from zero up: a number, or the same in quotes.
    pub(super) fn decimal() -> Self {
        Self(Map::new()).with("x-kubernetes-int-or-string", true).pattern(r"^[0-9]+(\.[0-9]+)?$")
    }

    pub(super) fn object<N: Into<String>>(fields: impl IntoIterator<Item = (N, Self)>) -> Self {
        let fields = fields.into_iter().map(|(name, field)| (name.into(), field.into_value()));
        Self::of_type("object").with("properties", fields.collect::<Map<_, _>>())
    }

    /// An object with any fields.
    pub(super) fn any_object() -> Self {
        Self::of_type("object")
    }

    /// Names to values of one kind.
    pub(super) fn map(values: Self) -> Self {
        Self::of_type("object").with("additionalProperties", values.into_value())
    }

    pub(super) fn list(items: Self) -> Self {
        Self::of_type("array").with("items", items.into_value())
    }

    pub(super) fn about(self, text: &str) -> Self {
        self.with("description", text)
    }

    pub(super) fn required(self, fields: &[&str]) -> Self {
        self.with("required", fields)
    }

    pub(super) fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    pub(super) fn pattern(self, pattern: &str) -> Self {
        self.with("pattern", pattern)
    }

    pub(super) fn length(self, least: usize, most: usize) -> Self {
        let own = if least > 0 { self.with("minLength", least) } else { self };
        own.with("maxLength", most)
    }

    pub(super) fn at_least_long(self, least: usize) -> Self {
        self.with("minLength", least)
    }

    pub(super) fn at_most(self, most: i64) -> Self {
        self.with("maximum", most)
    }

    pub(super) fn items(self, least: usize, most: usize) -> Self {
        let own = if least > 0 { self.with("minItems", least) } else { self };
        own.with("maxItems", most)
    }

    pub(super) fn entries_at_most(self, most: usize) -> Self {
        self.with("maxProperties", most)
    }

    /// Fields that are not named are kept: others may know more.
    pub(super) fn open(self) -> Self {
        self.with("x-kubernetes-preserve-unknown-fields", true)
    }

    /// A rule in the Common Expression Language, and the message for whoever breaks it.
    pub(super) fn rule(mut self, rule: &str, message: &str) -> Self {
        let rules = self.0.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Some(rules) = rules.as_array_mut() {
            rules.push(json!({"rule": rule, "message": message}));
        }
        self
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}
