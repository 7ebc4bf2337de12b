//! JSON, by way of serde_json, without looking at lines until an error needs one.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::chunk::Chunk;
use crate::document::{Document, Origin};
use crate::error::{Syntax, SyntaxError, SyntaxProblem};
use crate::keys::Keys;
use crate::lines::{line_breaks, lines_before, offset_of};
use crate::list::ListKind;
use crate::value::{Data, Value};

/// Hands over each JSON value of a chunk, lists left closed.
pub(crate) fn each_document<'t>(
    chunk: &Chunk<'t>,
    take: &mut impl FnMut(Result<Document<'t>, SyntaxError>),
) {
    let mut reader = ObjectsReader::of(chunk);
    each_raw(chunk, take, |raw, take| take(reader.document(raw.get())));
}

/// Hands over each object of a chunk, lists opened item by item.
pub(crate) fn each_object<'t>(
    chunk: &Chunk<'t>,
    take: &mut impl FnMut(Result<Document<'t>, SyntaxError>),
) {
    let mut reader = ObjectsReader::of(chunk);
    each_raw(chunk, take, |raw, take| reader.open(raw, None, take));
}

/// Hands over each JSON value of a chunk unread, and what is wrong between them.
fn each_raw<'t, F: FnMut(Result<Document<'t>, SyntaxError>)>(
    chunk: &Chunk<'t>,
    take: &mut F,
    mut with: impl FnMut(&'t RawValue, &mut F),
) {
    let text = chunk.content();
    let skipped = lines_before(chunk.text, text);
    for raw in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match raw {
            Ok(raw) => with(raw, take),
            Err(error) => take(Err(syntax_error(chunk, skipped, &error))),
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

/// Reads the objects of a chunk in the order of the text, counting lines up to each, so that each
/// byte is looked at once.
struct ObjectsReader<'t> {
    chunk: Chunk<'t>,
    /// The bytes whose line breaks have been counted.
    counted: usize,
    /// The line of the source after those bytes.
    line: u32,
}

impl<'t> ObjectsReader<'t> {
    fn of(chunk: &Chunk<'t>) -> Self {
        Self { chunk: chunk.clone(), counted: 0, line: chunk.line }
    }

    /// Hands over the object, or the items of the list that it is.
    fn open(
        &mut self,
        raw: &'t RawValue,
        within: Option<&ListKind>,
        take: &mut impl FnMut(Result<Document<'t>, SyntaxError>),
    ) {
        // An object whose envelope does not fit is no list; what is wrong with it shows when it is
        // read.
        let list = serde_json::from_str::<Envelope<'t>>(raw.get()).ok().and_then(|envelope| {
            let kind = envelope.kind?.strip_suffix("List")?.to_owned();
            let api_version = envelope.api_version.map(Cow::into_owned);
            let items = envelope.items.or_else(|| kind.is_empty().then(Vec::new))?;
            Some((ListKind { kind, api_version }, items))
        });
        if let Some((list, items)) = list {
            for item in items {
                self.open_item(item, &list, take);
            }
            return;
        }
        let mut document = self.document(raw.get());
        if let (Ok(document), Some(list)) = (&mut document, within) {
            list.complete(&mut document.value);
        }
        take(document);
    }

    /// Items are nearly never lists themselves: only those that say so are looked at twice.
    fn open_item(
        &mut self,
        item: &'t RawValue,
        list: &ListKind,
        take: &mut impl FnMut(Result<Document<'t>, SyntaxError>),
    ) {
        if item.get().contains("List\"") && item.get().contains("\"items\"") {
            return self.open(item, Some(list), take);
        }
        let mut document = self.document(item.get());
        if let Ok(document) = &mut document {
            list.complete(&mut document.value);
        }
        take(document);
    }

    fn document(&mut self, part: &'t str) -> Result<Document<'t>, SyntaxError> {
        let offset = offset_of(self.chunk.text, part);
        if let Some(between) = self.chunk.text.get(self.counted..offset) {
            self.line += line_breaks(between);
            self.counted = offset;
        }
        let file = self.chunk.file.clone();
        match serde_json::from_str(part) {
            Ok(value) => {
                Ok(Document { value, origin: Origin { file, line: self.line, json: Some(part) } })
            }
            Err(error) => {
                Err(syntax_error(&Chunk { text: part, file, line: self.line }, 0, &error))
            }
        }
    }
}

/// How the visitor's error about a repeated key begins: serde_json's errors carry text only.
const DUPLICATE_KEY: &str = "key given twice: ";

/// The error of a text that begins so many lines below the start of the chunk.
fn syntax_error(chunk: &Chunk<'_>, lines_skipped: u32, error: &serde_json::Error) -> SyntaxError {
    let shown = error.to_string();
    let what = shown.rsplit_once(" at line ").map_or(shown.as_str(), |(what, _)| what);
    let problem = what.strip_prefix(DUPLICATE_KEY).map_or_else(
        || SyntaxProblem::malformed(Syntax::Json, what),
        |key| SyntaxProblem::DuplicateKey(key.to_owned()),
    );
    let line = u32::try_from(error.line().saturating_sub(1)).unwrap_or(u32::MAX);
    let found = chunk.error(lines_skipped + line, problem);
    SyntaxError { column: Some(error.column()), ..found }
}

/// Reads a JSON object without the member at the end of a path; every line is 0.
pub fn value_without<'t>(
    json: &'t str,
    path: &'static [&'static str],
) -> Result<Value<'t>, serde_json::Error> {
    Without { path }.deserialize(&mut serde_json::Deserializer::from_str(json))
}

/// Reads an object without the member at the end of a path.
#[derive(Clone, Copy)]
struct Without {
    path: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for Without {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Without {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
        while let Some(key) = access.next_key::<Cow<'de, str>>()? {
            match self.path {
                [last] if *last == key => {
                    access.next_value::<IgnoredAny>()?;
                }
                [first, rest @ ..] if *first == key => {
                    members.push((key, access.next_value_seed(Self { path: rest })?));
                }
                _ => members.push((key, access.next_value()?)),
            }
        }
        Ok(Value::new(0, Data::Object(members)))
    }
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
                return Err(de::Error::custom(format_args!("{DUPLICATE_KEY}{key}")));
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
