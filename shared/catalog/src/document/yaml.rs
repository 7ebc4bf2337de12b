//! YAML as the JSON value it stands for.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value};

use crate::error::CatalogError;

/// The only document of a YAML text; documents without content do not count.
pub(super) fn single_document(text: &str) -> Result<Value, CatalogError> {
    let documents = Yaml::load_from_str(text).map_err(CatalogError::Yaml)?;
    let mut values: Vec<Value> = documents
        .into_iter()
        .map(|node| value_of(&node))
        .filter(|value| !value.is_null())
        .collect();
    match values.pop() {
        Some(value) if values.is_empty() => Ok(value),
        last => Err(CatalogError::Documents(values.len() + usize::from(last.is_some()))),
    }
}

fn value_of(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(scalar) => value_of_scalar(scalar),
        Yaml::Representation(text, ..) => Value::String(text.to_string()),
        Yaml::Sequence(items) => Value::Array(items.iter().map(value_of).collect()),
        Yaml::Mapping(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| (key_of(key), value_of(value)))
                .collect::<Map<_, _>>(),
        ),
        Yaml::Tagged(_, inner) => value_of(inner),
        Yaml::Alias(_) | Yaml::BadValue => Value::Null,
    }
}

fn value_of_scalar(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(truth) => Value::Bool(*truth),
        Scalar::Integer(number) => Value::Number((*number).into()),
        Scalar::FloatingPoint(number) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Scalar::String(text) => Value::String(text.to_string()),
    }
}

/// JSON's keys are strings: `4: x` is `"4": x`.
fn key_of(node: &Yaml<'_>) -> String {
    match value_of(node) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
