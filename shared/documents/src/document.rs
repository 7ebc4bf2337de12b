//! One document, and where its values stand.

use std::sync::Arc;

use crate::lines;
use crate::path::FieldPath;
use crate::value::Value;

/// One document of a source, or one item of a list in it.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    /// What it holds.
    pub value: Value<'t>,
    /// Where it comes from.
    pub origin: Origin<'t>,
}

/// Where an object comes from.
#[derive(Clone, Debug)]
pub struct Origin<'t> {
    /// The source's name.
    pub file: Arc<str>,
    /// The line on which the object starts.
    pub line: u32,
    /// The object's text, where it is JSON: lines of fields are looked up in it.
    pub json: Option<&'t str>,
}

/// Where a value stands in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line of the source, counted from 1.
    pub line: u32,
    /// The path from the object to the value.
    pub path: FieldPath,
}

impl Origin<'_> {
    /// Where a value inside the object stands, YAML and JSON alike.
    ///
    /// The value is found by its address, so it must be borrowed from `root`.
    pub fn position_of(&self, root: &Value<'_>, value: &Value<'_>) -> Position {
        let path = FieldPath::between(root, value).unwrap_or_default();
        let line = if value.line > 0 {
            value.line
        } else {
            let within = self.json.and_then(|text| lines::line_of(text, &path.steps));
            self.line + within.unwrap_or(0)
        };
        Position { line, path }
    }
}
