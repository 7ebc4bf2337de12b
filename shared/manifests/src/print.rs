//! YAML as people commit it.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use documents::{Data, Value};

/// Why a value cannot be printed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write YAML")]
pub struct PrintError(#[from] serde_saphyr::ser::Error);

/// Manifests as one stream of YAML documents.
pub fn to_yaml(manifests: &[serde_json::Value]) -> Result<String, PrintError> {
    let documents: Vec<String> = manifests.iter().map(yaml).collect::<Result<_, _>>()?;
    Ok(documents.join("---\n"))
}

/// A value as one YAML document.
pub(crate) fn yaml(value: &impl Serialize) -> Result<String, PrintError> {
    Ok(serde_saphyr::to_string(value)?)
}

/// A value in the order of its members.
pub(crate) struct Printed<'v>(pub(crate) &'v Value<'v>);

impl Serialize for Printed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.data {
            Data::Null => serializer.serialize_unit(),
            Data::Bool(truth) => serializer.serialize_bool(*truth),
            Data::Integer(number) => serializer.serialize_i64(*number),
            Data::Decimal(number) => match number.parse::<f64>() {
                Ok(number) => serializer.serialize_f64(number),
                Err(_) => serializer.serialize_str(number),
            },
            Data::Text(text) => serializer.serialize_str(text),
            Data::List(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&Printed(item))?;
                }
                sequence.end()
            }
            Data::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, member) in members {
                    map.serialize_entry(key, &Printed(member))?;
                }
                map.end()
            }
        }
    }
}
