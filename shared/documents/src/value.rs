//! A value of a YAML or JSON document that knows its line.

use std::borrow::Cow;

use crate::excerpt::Excerpt;

/// A value, and the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// The line, counted from 1: that of the key for a member of an object. 0 in JSON, where the
    /// line is looked for only when an error needs it.
    pub line: u32,
    /// What it holds.
    pub data: Data<'a>,
}

/// What a value holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    /// `null`; everywhere in Kubernetes' API the same as an absent field.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number, as written.
    Decimal(Cow<'a, str>),
    /// A string.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Value<'a>>),
    /// An object: its members in the order written, each key once.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// A value on a line.
    pub const fn new(line: u32, data: Data<'a>) -> Self {
        Self { line, data }
    }

    /// A string on a line.
    pub fn text(line: u32, text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(line, Data::Text(text.into()))
    }

    /// The member of an object; `None` where there is none, or `null`.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The members of an object that are not `null`; none for other values.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = match &self.data {
            Data::Object(members) => members.as_slice(),
            _ => &[],
        };
        members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.as_ref(), value))
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// A copy that borrows nothing from the text it was read from.
    pub fn into_owned(self) -> Value<'static> {
        let data = match self.data {
            Data::Null => Data::Null,
            Data::Bool(truth) => Data::Bool(truth),
            Data::Integer(number) => Data::Integer(number),
            Data::Decimal(number) => Data::Decimal(number.into_owned().into()),
            Data::Text(text) => Data::Text(text.into_owned().into()),
            Data::List(items) => Data::List(items.into_iter().map(Value::into_owned).collect()),
            Data::Object(members) => Data::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key.into_owned().into(), value.into_owned()))
                    .collect(),
            ),
        };
        Value::new(self.line, data)
    }

    /// Whether it is `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// What it is, for errors: `the string "x"`, `a list`, `true`.
    pub fn described(&self) -> String {
        match &self.data {
            Data::Null => "nothing".to_owned(),
            Data::Bool(truth) => truth.to_string(),
            Data::Integer(number) => format!("the number {number}"),
            Data::Decimal(number) => format!("the number {}", Excerpt(number)),
            Data::Text(text) => format!("the string {:?}", Excerpt(text).to_string()),
            Data::List(_) => "a list".to_owned(),
            Data::Object(_) => "an object".to_owned(),
        }
    }

    /// The value as JSON, without its line.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.data {
            Data::Null => Json::Null,
            Data::Bool(truth) => Json::Bool(*truth),
            Data::Integer(number) => Json::from(*number),
            Data::Decimal(number) => number
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map_or_else(|| Json::String(number.to_string()), Json::Number),
            Data::Text(text) => Json::String(text.to_string()),
            Data::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Data::Object(members) => Json::Object(
                members.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect(),
            ),
        }
    }

    /// The value of a JSON value; every line is 0.
    pub fn from_json(json: &'a serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let data = match json {
            Json::Null => Data::Null,
            Json::Bool(truth) => Data::Bool(*truth),
            Json::Number(number) => number
                .as_i64()
                .map_or_else(|| Data::Decimal(number.to_string().into()), Data::Integer),
            Json::String(text) => Data::Text(text.as_str().into()),
            Json::Array(items) => Data::List(items.iter().map(Self::from_json).collect()),
            Json::Object(members) => Data::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.as_str().into(), Self::from_json(value)))
                    .collect(),
            ),
        };
        Self::new(0, data)
    }
}
