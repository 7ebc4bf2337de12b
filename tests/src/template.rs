//! The CloudFormation templates as data: short forms of functions (`!Ref`, `!Sub`, …) are written out, as in JSON.

use std::collections::BTreeSet;
use std::path::Path;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
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
    Yaml(String, #[source] saphyr::ScanError),
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
        let documents = Yaml::load_from_str(&text)
            .map_err(|error| TemplateError::Yaml(path.to_owned(), error))?;
        let mut body = Value::Null;
        for document in &documents {
            body = written_out(document)
                .map_err(|what| TemplateError::Unsupported(path.to_owned(), what))?;
        }
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

    /// The names that are referred to, by `Ref`, `Fn::GetAtt` (its resource), `Fn::Sub` and conditions.
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

fn written_out(node: &Yaml<'_>) -> Result<Value, String> {
    Ok(match node {
        Yaml::Value(scalar) => plain(scalar),
        Yaml::Sequence(nodes) => {
            Value::Array(nodes.iter().map(written_out).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(nodes) => {
            let mut map = Map::new();
            for (key, value) in nodes {
                let key = key.as_str().ok_or("a key that is no text")?;
                map.insert(key.to_owned(), written_out(value)?);
            }
            Value::Object(map)
        }
        Yaml::Tagged(tag, node) => short_form(&tag.suffix, &written_out(node)?),
        // A tagged scalar that no schema resolves.
        Yaml::Representation(text, _, Some(tag)) => short_form(&tag.suffix, &json!(text)),
        Yaml::Representation(text, _, None) => json!(text),
        Yaml::Alias(_) => return Err("an alias, which CloudFormation does not read".to_owned()),
        Yaml::BadValue => return Err("a value that is none".to_owned()),
    })
}

fn plain(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(value) => json!(value),
        Scalar::Integer(value) => json!(value),
        Scalar::FloatingPoint(value) => json!(value.into_inner()),
        Scalar::String(text) => json!(text),
    }
}

/// `!Ref x` is `{"Ref": x}`; `!GetAtt a.b` is `{"Fn::GetAtt": ["a", "b"]}`; others are `{"Fn::NAME": …}`.
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
        written_out(&Yaml::load_from_str(text).unwrap()[0]).unwrap()
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
