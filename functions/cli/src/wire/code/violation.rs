//! Codes of rules of the checker.

use std::borrow::Cow;

use checker::{Rule, Violation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The rule that a plan breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViolationCode(Rule);

impl From<&Violation> for ViolationCode {
    fn from(violation: &Violation) -> Self {
        Self(violation.rule)
    }
}

impl Serialize for ViolationCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.code())
    }
}

impl JsonSchema for ViolationCode {
    fn schema_name() -> Cow<'static, str> {
        "ViolationCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let known = Rule::ALL.iter().map(|rule| {
            json_schema!({
                "type": "string",
                "const": rule.code(),
                "description": rule.meaning(),
            })
        });
        json_schema!({
            "description": "A rule that a plan breaks: a defect of the planner.",
            "oneOf": known.collect::<Vec<_>>(),
        })
    }
}
