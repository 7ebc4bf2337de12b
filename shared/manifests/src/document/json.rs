//! JSON, by way of serde_json, without looking at lines until an error needs one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Chunk, Document, Keys, ListKind};
use crate::error::{ManifestError, Problem};
use crate::field::Origin;
use crate::value::{Data, Step, Value};

/// Whether a text that begins with a brace is JSON rather than a flow mapping of YAML: its first key is
/// quoted (or there is none), which is all that a reader of errors needs to know.
pub(super) fn is_json(content: &str) -> bool {
    content.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

/// Hands over each JSON value of a chunk, lists left closed.
pub(super) fn each_document<'t>(
    chunk: &Chunk<'t>,
    file: &Arc<str>,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    let mut lines = Lines::of(chunk);
    each_raw(chunk, file, take, |raw, take| take(lines.document(raw.get(), file)));
}

/// Hands over each object of a chunk, lists opened item by item.
pub(super) fn each_object<'t>(
    chunk: &Chunk<'t>,
    file: &Arc<str>,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    let mut lines = Lines::of(chunk);
    each_raw(chunk, file, take, |raw, take| open(raw, None, &mut lines, file, take));
}

fn each_raw<'t, F: FnMut(Result<Document<'t>, ManifestError>)>(
    chunk: &Chunk<'t>,
    file: &Arc<str>,
    take: &mut F,
    mut with: impl FnMut(&'t RawValue, &mut F),
) {
    let text = chunk.content();
    let skipped = lines_before(chunk.text, text);
    for raw in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match raw {
            Ok(raw) => with(raw, take),
            Err(error) => {
                take(Err(chunk.error(file, skipped + line_of_error(&error), problem_of(&error))));
            }
        }
    }
}

/// The outside of an object that may be a list.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

fn open<'t>(
    raw: &'t RawValue,
    within: Option<&ListKind>,
    lines: &mut Lines<'t>,
    file: &Arc<str>,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    // An object whose envelope does not fit is no list; what is wrong with it shows when it is read.
    let list = serde_json::from_str::<Envelope<'t>>(raw.get()).ok().and_then(|envelope| {
        let kind = envelope.kind?.strip_suffix("List")?.to_owned();
        let api_version = envelope.api_version.map(Cow::into_owned);
        let items = envelope.items.or_else(|| kind.is_empty().then(Vec::new))?;
        Some((ListKind { kind, api_version }, items))
    });
    if let Some((list, items)) = list {
        for item in items {
            open_item(item, &list, lines, file, take);
        }
        return;
    }
    let mut document = lines.document(raw.get(), file);
    if let (Ok(document), Some(list)) = (&mut document, within) {
        list.complete(&mut document.value);
    }
    take(document);
}

/// Items are nearly never lists themselves: only those that say so are looked at twice.
fn open_item<'t>(
    item: &'t RawValue,
    list: &ListKind,
    lines: &mut Lines<'t>,
    file: &Arc<str>,
    take: &mut impl FnMut(Result<Document<'t>, ManifestError>),
) {
    if item.get().contains("List\"") && item.get().contains("\"items\"") {
        return open(item, Some(list), lines, file, take);
    }
    let mut document = lines.document(item.get(), file);
    if let Ok(document) = &mut document {
        list.complete(&mut document.value);
    }
    take(document);
}

/// Counts lines up to objects that come in the order of the text, looking at each byte once.
struct Lines<'t> {
    text: &'t str,
    counted: usize,
    line: u32,
}

impl<'t> Lines<'t> {
    const fn of(chunk: &Chunk<'t>) -> Self {
        Self { text: chunk.text, counted: 0, line: chunk.line }
    }

    fn document(&mut self, part: &'t str, file: &Arc<str>) -> Result<Document<'t>, ManifestError> {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if let Some(between) = self.text.get(self.counted..offset) {
            self.line += line_breaks(between);
            self.counted = offset;
        }
        let line = self.line;
        match serde_json::from_str(part) {
            Ok(value) => Ok(Document {
                value,
                origin: Origin { file: file.clone(), line, json: Some(part) },
            }),
            Err(error) => {
                let chunk = Chunk { text: part, line };
                Err(chunk.error(file, line_of_error(&error), problem_of(&error)))
            }
        }
    }
}

const TWICE: &str = "key given twice: ";

fn problem_of(error: &serde_json::Error) -> Problem {
    let shown = error.to_string();
    let what = shown.rsplit_once(" at line ").map_or(shown.as_str(), |(what, _)| what);
    what.strip_prefix(TWICE).map_or_else(
        || Problem::Syntax(format!("not JSON: {what}")),
        |key| Problem::DuplicateKey(key.to_owned()),
    )
}

/// Lines between the start of the text and the error.
fn line_of_error(error: &serde_json::Error) -> u32 {
    u32::try_from(error.line().saturating_sub(1)).unwrap_or(u32::MAX)
}

/// How many lines below the start of a JSON text the value at the end of the steps begins, or the last of
/// the values around it that can be found.
pub(crate) fn line_of(text: &str, steps: &[Step]) -> Option<u32> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for step in steps {
        let inner = match step {
            Step::Key(key) => serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
                .ok()
                .and_then(|mut members| members.remove(key)),
            Step::Index(index) => serde_json::from_str::<Vec<&RawValue>>(value.get())
                .ok()
                .and_then(|items| items.get(*index).copied()),
        };
        let Some(inner) = inner else { break };
        value = inner;
    }
    Some(lines_before(text, value.get()))
}

/// Line breaks of a text before a part of it.
pub(super) fn lines_before(text: &str, part: &str) -> u32 {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text.get(..offset).map_or(0, line_breaks)
}

fn line_breaks(text: &str) -> u32 {
    let breaks = text.matches('\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX)
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(|data| Value::new(0, data))
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Data<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Data<'de>, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Data<'de>, E> {
        Ok(Data::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Data<'de>, E> {
        Ok(Data::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Data<'de>, E> {
        Ok(i64::try_from(number)
            .map_or_else(|_| Data::Decimal(number.to_string().into()), Data::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Data<'de>, E> {
        Ok(Data::Decimal(number.to_string().into()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Data<'de>, E> {
        Ok(Data::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Data<'de>, E> {
        Ok(Data::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Data<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Data::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Data<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
        let mut keys = Keys::default();
        while let Some(Key(key)) = access.next_key()? {
            if keys.repeats(&members, &key) {
                return Err(de::Error::custom(format_args!("{TWICE}{key}")));
            }
            members.push((key, access.next_value()?));
        }
        Ok(Data::Object(members))
    }
}

/// A key, borrowed from the text where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(KeyVisitor).map(Key)
    }
}
