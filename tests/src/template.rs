//! The CloudFormation templates as data: short forms of functions (`!Ref`, `!Sub`, …) are written
//! out, as in JSON.

use std::collections::BTreeSet;
use std::path::Path;

use documents::plain_scalar;
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, StrInput, Tag};
use serde_json::{Map, Value, json};

use crate::workspace::root;

/// Why a template cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Not there.
    #[error("{0} cannot be read")]
    Read(String, #[source] std::io::Error),
    /// No YAML.
    #[error("{0} is no YAML")]
    Yaml(String, #[source] ScanError),
    /// Something in it that JSON has no word for.
    #[error("{0} holds {1}")]
    Unsupported(String, String),
}

/// A template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its path from the root of the repository.
    pub path: String,
    /// What it holds.
    pub body: Value,
}

/// A resource of a template.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// Its name in the template.
    pub id: &'a str,
    /// `Properties`.
    pub properties: &'a Value,
}

impl Template {
    /// Reads a template, by its path from the root of the repository.
    pub fn read(path: &str) -> Result<Self, TemplateError> {
        let text = std::fs::read_to_string(root().join(Path::new(path)))
            .map_err(|error| TemplateError::Read(path.to_owned(), error))?;
        let body = written_out(&text).map_err(|error| match error {
            Unreadable::Malformed(error) => TemplateError::Yaml(path.to_owned(), error),
            Unreadable::Unsupported(what) => {
                TemplateError::Unsupported(path.to_owned(), what.to_owned())
            }
        })?;
        Ok(Self { path: path.to_owned(), body })
    }

    /// The resources of a type, in the template's order.
    pub fn resources<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Resource<'a>> {
        let all = self.body["Resources"].as_object().into_iter().flatten();
        all.filter(move |(_, resource)| resource["Type"] == kind)
            .map(|(id, resource)| Resource { id, properties: &resource["Properties"] })
    }

    /// The parameters, by name.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.body["Parameters"].as_object().into_iter().flatten();
        all.map(|(name, parameter)| (name.as_str(), parameter))
    }

    /// The names that are referred to, by `Ref`, `Fn::GetAtt` (its resource), `Fn::Sub` and
    /// conditions.
    pub fn references(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for part in ["Conditions", "Globals", "Resources", "Outputs"] {
            references(&self.body[part], &mut found);
        }
        found
    }

    /// Every statement of every identity policy, with the resource that holds it.
    pub fn statements(&self) -> Vec<(&str, &Value)> {
        let roles = self.resources("AWS::IAM::Role").flat_map(|role| {
            let inline = role.properties["Policies"].as_array().into_iter().flatten();
            inline.map(move |policy| (role.id, &policy["PolicyDocument"]))
        });
        let shared = self
            .resources("AWS::IAM::Policy")
            .map(|policy| (policy.id, &policy.properties["PolicyDocument"]));
        roles
            .chain(shared)
            .flat_map(|(id, document)| {
                let statements = document["Statement"].as_array().into_iter().flatten();
                // One that depends on a condition stands in `Fn::If`.
                statements.map(move |own| (id, own["Fn::If"].get(1).unwrap_or(own)))
            })
            .collect()
    }
}

/// Strings of a value that is one string or a list of them.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match (key.as_str(), inner) {
                    ("Ref" | "Condition", Value::String(name)) => {
                        found.insert(name.clone());
                    }
                    ("Fn::GetAtt" | "Fn::If", Value::Array(parts)) => {
                        found.extend(parts.first().and_then(Value::as_str).map(str::to_owned));
                    }
                    ("Fn::Sub", _) => {
                        let text = inner.get(0).unwrap_or(inner).as_str().unwrap_or_default();
                        found.extend(substituted(text));
                    }
                    _ => {}
                }
                references(inner, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

/// `A` and `B` of `${A}-${B.Arn}`.
fn substituted(text: &str) -> Vec<String> {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
    names
        .filter(|name| !name.starts_with('!'))
        .filter_map(|name| name.split('.').next())
        .map(str::to_owned)
        .collect()
}

/// Why a text is no template.
#[derive(Debug)]
enum Unreadable {
    Malformed(ScanError),
    Unsupported(&'static str),
}

/// The last document of a text, with short forms written out.
fn written_out(text: &str) -> Result<Value, Unreadable> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut nodes = Nodes(Parser::new_from_str_with_options(text, options));
    let mut body = Value::Null;
    while let Some(event) = nodes.event()? {
        match event {
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd => {}
            node => body = nodes.value(node)?,
        }
    }
    Ok(body)
}

/// The parser's events, put together to nodes.
struct Nodes<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Nodes<'t> {
    /// The next event; `None` at the end of the text.
    fn event(&mut self) -> Result<Option<Event<'t>>, Unreadable> {
        let event = self.0.next().transpose().map_err(Unreadable::Malformed)?;
        Ok(event.map(|(event, _)| event))
    }

    fn inner_event(&mut self) -> Result<Event<'t>, Unreadable> {
        self.event()?.ok_or(Unreadable::Unsupported("a collection without an end"))
    }

    /// The node that begins with an event.
    fn value(&mut self, event: Event<'t>) -> Result<Value, Unreadable> {
        let (value, tag) = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                (if is_plain { plain(&text) } else { json!(text) }, tag)
            }
            Event::SequenceStart(_, _, tag) => (self.list()?, tag),
            Event::MappingStart(_, _, tag) => (self.map()?, tag),
            Event::Alias(_) => {
                let what = "an alias, which CloudFormation does not read";
                return Err(Unreadable::Unsupported(what));
            }
            _ => return Err(Unreadable::Unsupported("a value that is none")),
        };
        Ok(match tag.as_deref().map(Tag::suffix) {
            Some(tag) => short_form(tag, &value),
            None => value,
        })
    }

    fn list(&mut self) -> Result<Value, Unreadable> {
        let mut items = Vec::new();
        loop {
            match self.inner_event()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                item => items.push(self.value(item)?),
            }
        }
    }

    fn map(&mut self) -> Result<Value, Unreadable> {
        let mut members = Map::new();
        loop {
            match self.inner_event()? {
                Event::MappingEnd => return Ok(Value::Object(members)),
                Event::Scalar(key, ..) => {
                    let value = self.inner_event()?;
                    if members.insert(key.into_owned(), self.value(value)?).is_some() {
                        return Err(Unreadable::Unsupported("a key that is given twice"));
                    }
                }
                _ => return Err(Unreadable::Unsupported("a key that is no text")),
            }
        }
    }
}

/// What an unquoted scalar means.
fn plain(text: &str) -> Value {
    documents::Value::new(0, plain_scalar(text.into())).to_json()
}

/// `!Ref x` is `{"Ref": x}`; `!GetAtt a.b` is `{"Fn::GetAtt": ["a", "b"]}`; others are
/// `{"Fn::NAME": …}`.
fn short_form(tag: &str, value: &Value) -> Value {
    match (tag, value) {
        ("Ref" | "Condition", _) => json!({ tag: value }),
        ("GetAtt", Value::String(path)) => {
            let (resource, attribute) = path.split_once('.').unwrap_or((path, ""));
            json!({ "Fn::GetAtt": [resource, attribute] })
        }
        _ => json!({ format!("Fn::{tag}"): value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        written_out(text).unwrap()
    }

    #[test]
    fn short_forms_are_written_out() {
        let written =
            read("a: !Ref Table\nb: !GetAtt Role.Arn\nc: !If [X, !Ref Y, 1]\nd: !Sub 'x${Z}'\n");
        let expected = json!({
            "a": {"Ref": "Table"},
            "b": {"Fn::GetAtt": ["Role", "Arn"]},
            "c": {"Fn::If": ["X", {"Ref": "Y"}, 1]},
            "d": {"Fn::Sub": "x${Z}"},
        });
        assert_eq!(written, expected);
    }

    #[test]
    fn names_are_found_wherever_they_are_referred_to() {
        let mut found = BTreeSet::new();
        let value = read("- !Sub ['${A}-${B.Arn}-${!Literal}', {A: !Ref C}]\n- !GetAtt D.Name\n");
        references(&value, &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["A", "B", "C", "D"]);
    }
}
