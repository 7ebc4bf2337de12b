//! Older manifests of every shape that Karpenter documented: each converts to what an API server
//! takes, or the conversion names what has to be filled in, and marks it.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::fs;
use std::path::Path;

use manifests::{Source, convert, custom_resources, read};
use regex::Regex;
use serde_json::Value;

/// A manifest of `tests/older`, whose first line says what becomes of it: `# converts`, or `# fill
/// in:` and the fields.
struct Older {
    name: String,
    text: String,
    fields: Vec<String>,
}

fn all() -> Vec<Older> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/older");
    let mut all: Vec<Older> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let first = text.lines().next().unwrap();
            let fields = match first.strip_prefix("# fill in: ") {
                Some(fields) => fields.split(", ").map(str::to_owned).collect(),
                None if first == "# converts" => Vec::new(),
                None => panic!("{}: {first}", path.display()),
            };
            Older { name: path.file_name().unwrap().to_string_lossy().into_owned(), text, fields }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(all.len() > 80, "{}", all.len());
    all
}

#[test]
fn every_older_manifest_converts_or_says_what_to_fill_in() {
    let mut wrong = Vec::new();
    for Older { name, text, fields } in all() {
        let converted = convert(&[Source::new(name.as_str(), text)]);
        let mut gaps: Vec<String> =
            converted.gaps.iter().map(|gap| gap.place.field.clone().unwrap_or_default()).collect();
        gaps.sort();
        if !converted.errors.is_empty() || gaps != fields {
            wrong.push(format!("{name}: {:?}, {:?}", converted.errors, converted.gaps));
        }
        let yaml = converted.to_yaml();
        let marks = yaml.matches("# FILL IN:").count();
        if marks != gaps.len() {
            wrong.push(format!("{name}: {marks} marks in\n{yaml}"));
        }
        let again = read(&[Source::new(name.as_str(), yaml.as_str())]);
        if again.errors.is_empty() && !gaps.is_empty() && !is_planned_with(&gaps)
            || !again.errors.is_empty() && gaps.is_empty()
        {
            wrong.push(format!("{name}: {:?} in\n{yaml}", again.errors));
        }
        for old in ["v1alpha5", "v1beta1\nkind: NodePool", "provisioner-name", "do-not-evict"] {
            if yaml.contains(old) {
                wrong.push(format!("{name}: {old} is left in\n{yaml}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What definitions refuse and plans are made with all the same, for whoever relaxes `minValues`.
fn is_planned_with(gaps: &[String]) -> bool {
    gaps.iter().all(|field| field.ends_with(".minValues"))
}

/// The schema of a kind's specification, as `infra/kubernetes/crds` ships it.
fn schema_of(api_version: &str, kind: &str) -> Option<Value> {
    let definition =
        custom_resources().into_iter().map(|own| own.definition).find(|definition| {
            let spec = &definition["spec"];
            let version = spec["versions"][0]["name"].as_str().unwrap();
            let group = spec["group"].as_str().unwrap();
            spec["names"]["kind"] == kind && format!("{group}/{version}") == api_version
        })?;
    Some(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
}

/// Notes what a value has that its schema does not allow, or lacks, as an API server does.
fn check(schema: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
    let mut expect = |holds: bool, rule: &str| {
        if !holds {
            errors.push(format!("{path} is {value}, against {rule} {}", schema[rule]));
        }
    };
    let number = |rule: &str| schema[rule].as_f64();
    let count = |rule: &str| schema[rule].as_u64().map(|count| usize::try_from(count).unwrap());
    let is_of_type = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("{other}"),
        None => value.is_string() || value.is_i64(),
    };
    expect(is_of_type, "type");
    expect(schema["enum"].as_array().is_none_or(|words| words.contains(value)), "enum");
    if let Some(own) = value.as_f64() {
        expect(number("minimum").is_none_or(|least| own >= least), "minimum");
        expect(number("maximum").is_none_or(|most| own <= most), "maximum");
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count();
        expect(count("minLength").is_none_or(|least| length >= least), "minLength");
        expect(count("maxLength").is_none_or(|most| length <= most), "maxLength");
        let pattern = schema["pattern"].as_str().map(|pattern| Regex::new(pattern).unwrap());
        expect(pattern.is_none_or(|pattern| pattern.is_match(text)), "pattern");
    }
    if let Some(items) = value.as_array() {
        expect(count("minItems").is_none_or(|least| items.len() >= least), "minItems");
        expect(count("maxItems").is_none_or(|most| items.len() <= most), "maxItems");
        for (index, item) in items.iter().enumerate() {
            check(&schema["items"], item, &format!("{path}[{index}]"), errors);
        }
    } else if let Some(members) = value.as_object() {
        expect(count("maxProperties").is_none_or(|most| members.len() <= most), "maxProperties");
        for name in schema["required"].as_array().into_iter().flatten() {
            expect(members.contains_key(name.as_str().unwrap()), "required");
        }
        for (name, member) in members {
            let of_name = &schema["properties"][name];
            let own = if of_name.is_null() { &schema["additionalProperties"] } else { of_name };
            let is_open = !schema["x-kubernetes-preserve-unknown-fields"].is_null()
                || schema["properties"].is_null();
            if !own.is_null() {
                check(own, member, &format!("{path}.{name}"), errors);
            } else if !is_open {
                errors.push(format!("{path}.{name} is not known"));
            }
        }
    }
}

#[test]
fn what_converts_keeps_to_the_schemas_that_are_shipped() {
    let mut checked = 0;
    for Older { name, text, .. } in all().into_iter().filter(|own| own.fields.is_empty()) {
        let converted = convert(&[Source::new(name.as_str(), text)]);
        for object in &converted.files[0].objects {
            let json = object.to_json();
            let word = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
            let Some(schema) = schema_of(&word("apiVersion"), &word("kind")) else { continue };
            let mut errors = Vec::new();
            check(&schema, &json, "", &mut errors);
            assert!(errors.is_empty(), "{name}: {errors:?}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn converting_what_was_converted_changes_nothing() {
    for Older { name, text, .. } in all() {
        let once = convert(&[Source::new(name.as_str(), text)]);
        let twice = convert(&[Source::new(name.as_str(), once.files[0].text.as_str())]);
        assert!(!twice.files[0].is_changed, "{name}");
        assert_eq!(twice.files[0].text, once.files[0].text, "{name}");
        assert_eq!(twice.gaps.len(), once.gaps.len(), "{name}");
    }
}

#[test]
fn every_comment_is_kept() {
    for Older { name, text, .. } in all() {
        let comments = text.lines().filter(|line| line.starts_with('#')).count();
        let converted = convert(&[Source::new(name.as_str(), text)]).to_yaml();
        let kept = converted
            .lines()
            .filter(|line| line.starts_with('#') && !line.starts_with("# FILL IN:"))
            .count();
        assert_eq!(kept, comments, "{name}:\n{converted}");
    }
}
