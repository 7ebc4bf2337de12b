//! Converted objects as YAML that people commit.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use documents::{Data, Value};

/// A value in the order of its members.
pub(super) struct Printed<'v>(pub(super) &'v Value<'v>);

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
