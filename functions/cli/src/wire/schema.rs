//! JSON schemas of the documents, made from their types: JSON Schema 2020-12.

use std::collections::BTreeMap;

use catalog::document::InstanceCatalog;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};
use strum::VariantArray as _;

use super::bundled::BundledListDocument;
use super::comparison::ComparisonDocument;
use super::diff::DiffDocument;
use super::explanation::{NodeDocument, PodDocument};
use super::plan::PlanDocument;
use super::series::SeriesDocument;
use super::simulation::SimulationDocument;
use super::suggestions::SuggestionsDocument;
use super::top::TopDocument;
use super::until_stable::UntilStableDocument;
use crate::args::schema::DocumentKind;

#[cfg(test)]
mod tests;

/// The schema of a document: an object of it has no field that the schema does not name.
pub(crate) fn of(kind: DocumentKind) -> Schema {
    match kind {
        DocumentKind::Plan => of_printed::<PlanDocument>(),
        DocumentKind::PodExplanation => of_printed::<PodDocument>(),
        DocumentKind::NodeExplanation => of_printed::<NodeDocument>(),
        DocumentKind::InstanceCatalog => of_read::<InstanceCatalog>(),
        DocumentKind::Simulation => of_printed::<SimulationDocument>(),
        DocumentKind::SimulationComparison => of_printed::<ComparisonDocument>(),
        DocumentKind::Diff => of_printed::<DiffDocument>(),
        DocumentKind::SimulationSeries => of_printed::<SeriesDocument>(),
        DocumentKind::Recording => of_read::<recording::document::Line>(),
        DocumentKind::ClusterUse => of_printed::<TopDocument>(),
        DocumentKind::PlanUntilStable => of_printed::<UntilStableDocument>(),
        DocumentKind::Suggestions => of_printed::<SuggestionsDocument>(),
        DocumentKind::BundledList => of_printed::<BundledListDocument>(),
    }
}

/// Every code with its meaning, as Markdown: one table for each list of codes.
pub(crate) fn codes() -> String {
    let mut lists: BTreeMap<String, Value> = BTreeMap::new();
    for kind in DocumentKind::VARIANTS {
        if let Some(Value::Object(types)) = of(*kind).get("$defs") {
            let is_list =
                |name: &str, own: &Value| name.ends_with("Code") && own["oneOf"] != Value::Null;
            let own = types.iter().filter(|(name, own)| is_list(name, own));
            lists.extend(own.map(|(name, own)| (name.clone(), own.clone())));
        }
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for (name, list) in &lists {
        let about = text(&list["description"]);
        lines.extend([format!("### {name}\n\n{about}\n"), "| code | meaning |".to_owned()]);
        lines.push("| --- | --- |".to_owned());
        for code in list["oneOf"].as_array().into_iter().flatten() {
            let (code, meaning) = (text(&code["const"]), text(&code["description"]));
            lines.push(format!("| `{code}` | {meaning} |"));
        }
        lines.push(String::new());
    }
    lines.join("\n")
}

/// Of what is only printed: what is always there is required.
fn of_printed<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Of what is printed and read: what has a default may be absent.
fn of_read<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings
        .with_transform(RecursiveTransform(closed))
        .with_transform(RecursiveTransform(described_as_variant))
        .with_transform(RecursiveTransform(never_null_where_absent))
        .with_transform(RecursiveTransform(without_widths))
        .with_transform(RecursiveTransform(described_in_paragraphs))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// An object has no other fields, unless its type says so.
fn closed(schema: &mut Schema) {
    let is_open = schema.get("additionalProperties").is_some();
    if schema.get("properties").is_some() && !is_open {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// The only member of a variant means what the variant does.
fn described_as_variant(schema: &mut Schema) {
    let Some(description) = schema.get("description").cloned() else { return };
    if let Some(Value::Object(properties)) = schema.get_mut("properties")
        && properties.len() == 1
    {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.entry("description").or_insert_with(|| description.clone());
        }
    }
}

/// How many bits a number has here is no format that JSON Schema knows.
fn without_widths(schema: &mut Schema) {
    let is_number = match schema.get("type") {
        Some(Value::String(one)) => one == "number" || one == "integer",
        Some(Value::Array(several)) => {
            several.iter().any(|one| one == "number" || one == "integer")
        }
        _ => false,
    };
    if is_number {
        schema.remove("format");
    }
}

/// Lines of a comment are one line; paragraphs stay apart.
fn described_in_paragraphs(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
}

/// A field that need not be there is left out, not `null`, where it has no value.
fn never_null_where_absent(schema: &mut Schema) {
    let required = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.iter().any(|own| own == name)
        {
            take_null(property);
        }
    }
}

/// Takes `null` out of what a property may be.
fn take_null(property: &mut Map<String, Value>) {
    for list in ["type", "enum"] {
        if let Some(Value::Array(own)) = property.get_mut(list) {
            own.retain(|one| !one.is_null() && one != "null");
        }
    }
    if let Some(Value::Array(types)) = property.get("type")
        && let [only] = types.as_slice()
    {
        property.insert("type".to_owned(), only.clone());
    }
    if let Some(Value::Array(own)) = property.get_mut("anyOf") {
        own.retain(|one| one.get("type").is_none_or(|own| own != "null"));
        if let [Value::Object(only)] = own.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}
