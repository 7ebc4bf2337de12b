//! Texts taken apart into the objects they hold: YAML streams, JSON, and lists of objects in either.

mod json;
#[cfg(test)]
mod tests;
mod yaml;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{ManifestError, Place, Problem};
use crate::field::Origin;
use crate::value::{Data, Value};

pub(crate) use json::line_of as json_line;

/// A text to read, and what errors call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What errors call it: a file's path, or `-` for standard input.
    pub name: String,
    /// YAML (any number of documents) or JSON (any number of values).
    pub text: String,
}

impl Source {
    /// From a name and a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// One document of a source, or one item of a list in it.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    /// What it holds.
    pub value: Value<'t>,
    /// Where it comes from.
    pub origin: Origin<'t>,
}

/// The documents of a source in order, lists left closed; documents without content do not count.
///
/// What cannot be read is among them as an error; the documents around it are not lost.
pub fn documents(source: &Source) -> Vec<Result<Document<'_>, ManifestError>> {
    let mut documents = Vec::new();
    let file: Arc<str> = source.name.as_str().into();
    for chunk in chunks(&source.text) {
        chunk.read(&file, &mut |document| documents.push(document));
    }
    documents
}

/// Hands over each object of a source in order, with lists opened; one at a time, so that a long list
/// never stands in memory as a whole.
pub(crate) fn each_object<'t>(
    source: &'t Source,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    let file: Arc<str> = source.name.as_str().into();
    for chunk in chunks(&source.text) {
        if chunk.is_json() {
            json::each_object(&chunk, &file, take);
        } else {
            chunk.read(&file, &mut |document| match document {
                Ok(document) => open_lists(document, take),
                Err(error) => take(Err(error)),
            });
        }
    }
}

/// Hands over a document, or the items of the list that it is.
pub(crate) fn open_lists<'t>(
    document: Document<'t>,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    let Some(list) = List::of(&document.value) else { return take(Ok(document)) };
    let list =
        ListKind { kind: list.kind.to_owned(), api_version: list.api_version.map(str::to_owned) };
    let Data::Object(members) = document.value.data else { return };
    for (key, member) in members {
        if let (true, Data::List(items)) = (key == "items", member.data) {
            for mut item in items {
                list.complete(&mut item);
                let origin = Origin { line: item.line, ..document.origin.clone() };
                open_lists(Document { value: item, origin }, take);
            }
        }
    }
}

/// What a value says about itself if it is a list of objects (`List`, `PodList`).
struct List<'v> {
    kind: &'v str,
    api_version: Option<&'v str>,
}

impl<'v> List<'v> {
    fn of(value: &'v Value<'_>) -> Option<Self> {
        let kind = value.get("kind")?.as_str()?.strip_suffix("List")?;
        // An empty `List` may come without items; of other kinds, items tell a list from a kind whose
        // name happens to end so.
        let items = value.get("items").map(|items| items.as_list().is_some());
        items
            .unwrap_or(kind.is_empty())
            .then(|| Self { kind, api_version: value.get("apiVersion").and_then(Value::as_str) })
    }
}

/// The kind of the items of a list: those of a `PodList` do not repeat that they are Pods.
struct ListKind {
    kind: String,
    api_version: Option<String>,
}

impl ListKind {
    fn complete(&self, item: &mut Value<'_>) {
        let line = item.line;
        let Data::Object(members) = &mut item.data else { return };
        if self.kind.is_empty() || members.iter().any(|(key, _)| key == "kind") {
            return;
        }
        members.push(("kind".into(), Value::text(line, self.kind.clone())));
        if let Some(version) = self.api_version.clone() {
            members.push(("apiVersion".into(), Value::text(line, version)));
        }
    }
}

/// A part of a source that is read on its own: nothing wrong in it can spoil the next.
struct Chunk<'t> {
    text: &'t str,
    /// The line of the source on which it starts.
    line: u32,
}

impl<'t> Chunk<'t> {
    /// The text after a bare document marker.
    fn content(&self) -> &'t str {
        let text = self.text.trim_start();
        text.strip_prefix("---").map_or(text, str::trim_start)
    }

    fn is_json(&self) -> bool {
        self.content().starts_with('{') && json::is_json(self.content())
    }

    fn read(&self, file: &Arc<str>, take: &mut impl FnMut(Result<Document<'t>, ManifestError>)) {
        if self.is_json() {
            json::each_document(self, file, take);
        } else {
            yaml::each_document(self, file, take);
        }
    }

    fn error(&self, file: &Arc<str>, line_within: u32, problem: Problem) -> ManifestError {
        let place =
            Place { file: file.clone(), line: self.line + line_within, object: None, field: None };
        ManifestError { problem, place }
    }
}

/// A text cut before each document marker. A line that begins with `---` is one wherever it stands, even
/// within a block of text, so this needs no parser.
///
/// Source: YAML 1.2, 9.1.2 "Document Markers".
fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut start_line = 1;
    let mut offset = 0;
    // Directives (`%YAML 1.2`) and comments belong to the document after them.
    let mut has_content = false;
    for (line, line_number) in text.split_inclusive('\n').zip(1..) {
        let is_marker = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && has_content {
            chunks.push(Chunk { text: &text[start..offset], line: start_line });
            (start, start_line) = (offset, line_number);
        }
        let blank = line.trim_start();
        has_content |= is_marker || !(blank.is_empty() || blank.starts_with(['#', '%']));
        offset += line.len();
    }
    if has_content {
        chunks.push(Chunk { text: &text[start..], line: start_line });
    }
    chunks
}

/// The keys of an object while it is read, to find one that is given twice.
#[derive(Default)]
struct Keys {
    many: BTreeSet<String>,
}

/// Up to so many keys are compared one by one, which is faster than any set.
const FEW_KEYS: usize = 24;

impl Keys {
    /// Whether the key is among the members; called before each is added.
    fn repeats(&mut self, members: &[(Cow<'_, str>, Value<'_>)], key: &str) -> bool {
        if members.len() <= FEW_KEYS {
            return members.iter().any(|(known, _)| known == key);
        }
        if self.many.is_empty() {
            self.many.extend(members.iter().map(|(known, _)| known.to_string()));
        }
        !self.many.insert(key.to_owned())
    }
}
