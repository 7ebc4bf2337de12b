//! YAML 1.2 with its core schema, from the events of granit-parser.
//!
//! Plain scalars are null, booleans and numbers as the core schema says; everything else is a
//! string, timestamps and `1:30` among it. Beyond the schema, `<<` merges a mapping, since
//! manifests with anchors rely on it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, Tag};

use crate::chunk::Chunk;
use crate::document::{Document, Origin};
use crate::error::{Syntax, SyntaxError, SyntaxProblem};
use crate::foreign::or_template;
use crate::keys::Keys;
use crate::value::{Data, Value};

/// Deeper nesting is refused; the API's own objects stay under 30.
const DEPTH_MAX: usize = 128;
/// Most values that may come from aliases in all; a few lines of them can stand for billions.
const ALIASED_VALUES_MAX: usize = 1_000_000;

/// Hands over each document of a chunk, lists left closed.
pub(crate) fn each_document<'t>(
    chunk: &Chunk<'t>,
    take: &mut impl FnMut(Result<Document<'t>, SyntaxError>),
) {
    let mut builder = Builder::default();
    let mut options = Options::default();
    options.set_emit_comments(false);
    for event in Parser::new_from_str_with_options(chunk.text, options) {
        let (event, line) = match event {
            Ok((event, span)) => (written(event, span), line_number(span.start.line())),
            Err(error) => {
                let within = line_number(error.marker().line()).saturating_sub(1);
                let problem = SyntaxProblem::malformed(Syntax::Yaml, error.info());
                let problem = or_template(chunk, problem);
                let column = Some(error.marker().col() + 1);
                return take(Err(SyntaxError { column, ..chunk.error(within, problem) }));
            }
        };
        let line = chunk.line + line.saturating_sub(1);
        if let Err(problem) = builder.event(event, line) {
            return take(Err(chunk.error(line - chunk.line, or_template(chunk, problem))));
        }
        if let Some(key) = builder.repeated.take() {
            take(Err(chunk.error(line - chunk.line, SyntaxProblem::DuplicateKey(key))));
        }
        if let Some(value) = builder.finished.take().filter(|value| !value.is_null()) {
            let origin = Origin { file: chunk.file.clone(), line: value.line, json: None };
            take(Ok(Document { value, origin }));
        }
    }
}

/// The event, with the scalar that is not there (`key:`) as the empty text that was written, where
/// the parser says `~`.
fn written(event: Event<'_>, span: Span) -> Event<'_> {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, anchor, tag) if text == "~" && span.is_empty() => {
            Event::Scalar(Cow::Borrowed(""), ScalarStyle::Plain, anchor, tag)
        }
        other => other,
    }
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// A collection that is still open.
enum Frame<'t> {
    List { line: u32, anchor: usize, items: Vec<Value<'t>> },
    Object(ObjectFrame<'t>),
}

struct ObjectFrame<'t> {
    line: u32,
    anchor: usize,
    members: Vec<(Cow<'t, str>, Value<'t>)>,
    keys: Keys,
    /// The key that waits for its value.
    key: Option<(MemberKey<'t>, u32)>,
    /// Mappings to merge, in the order written.
    merged: Vec<Value<'t>>,
}

enum MemberKey<'t> {
    Name(Cow<'t, str>),
    /// An unquoted `<<`.
    Merge,
}

#[derive(Default)]
struct Builder<'t> {
    frames: Vec<Frame<'t>>,
    anchors: BTreeMap<usize, Value<'t>>,
    aliased_values: usize,
    /// A key that was just given for the second time.
    repeated: Option<String>,
    /// The frame that is left out when it closes, because a key in it is given twice.
    left_out: Option<usize>,
    /// The document that was just completed.
    finished: Option<Value<'t>>,
}

impl<'t> Builder<'t> {
    fn event(&mut self, event: Event<'t>, line: u32) -> Result<(), SyntaxProblem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if self.awaits_key() {
                    let is_merge = text == "<<" && style == ScalarStyle::Plain;
                    let key = if is_merge { MemberKey::Merge } else { MemberKey::Name(text) };
                    self.key(key, line);
                    return Ok(());
                }
                let data = scalar(text, style, tag.as_deref());
                self.value(Value::new(line, data), anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    SyntaxProblem::malformed(Syntax::Yaml, "an anchor stands for itself")
                })?;
                if self.awaits_key() {
                    let name = value.as_str().map(|name| Cow::Owned(name.to_owned()));
                    self.key(MemberKey::Name(name.ok_or_else(complex_key)?), line);
                    return Ok(());
                }
                self.aliased_values += values_in(&value);
                if self.aliased_values > ALIASED_VALUES_MAX {
                    return Err(SyntaxProblem::Refused(
                        "aliases stand for too many values".to_owned(),
                    ));
                }
                self.value(value, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(Frame::List { line, anchor, items: Vec::new() })
            }
            Event::MappingStart(_, anchor, _) => self.open(Frame::Object(ObjectFrame {
                line,
                anchor,
                members: Vec::new(),
                keys: Keys::default(),
                key: None,
                merged: Vec::new(),
            })),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            // What begins and ends around documents, and what the options leave out.
            _ => Ok(()),
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Object(frame)) if frame.key.is_none())
    }

    fn key(&mut self, key: MemberKey<'t>, line: u32) {
        let Some(Frame::Object(frame)) = self.frames.last_mut() else { return };
        if let MemberKey::Name(name) = &key
            && frame.keys.repeats(&frame.members, name)
        {
            self.repeated = Some(name.to_string());
        }
        frame.key = Some((key, line));
        if self.repeated.is_some() {
            self.left_out = Some(self.object_frame());
        }
    }

    /// The frame of the object being read: an item of a list, or the whole document.
    fn object_frame(&self) -> usize {
        let is_item = matches!(
            self.frames.as_slice(),
            [Frame::Object(root), Frame::List { .. }, _, ..]
                if matches!(&root.key, Some((MemberKey::Name(name), _)) if name == "items")
        );
        if is_item { 2 } else { 0 }
    }

    fn open(&mut self, frame: Frame<'t>) -> Result<(), SyntaxProblem> {
        if self.awaits_key() {
            return Err(complex_key());
        }
        if self.frames.len() == DEPTH_MAX {
            return Err(SyntaxProblem::Refused(format!("nested more than {DEPTH_MAX} deep")));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxProblem> {
        let closed = self.frames.pop();
        if self.left_out == Some(self.frames.len()) {
            self.left_out = None;
            return Ok(());
        }
        match closed {
            Some(Frame::List { line, anchor, items }) => {
                self.value(Value::new(line, Data::List(items)), anchor)
            }
            Some(Frame::Object(frame)) => {
                let (line, anchor) = (frame.line, frame.anchor);
                let members = frame.with_merged()?;
                self.value(Value::new(line, Data::Object(members)), anchor)
            }
            None => Ok(()),
        }
    }

    fn value(&mut self, mut value: Value<'t>, anchor: usize) -> Result<(), SyntaxProblem> {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.frames.last_mut() {
            None => self.finished = Some(value),
            Some(Frame::List { items, .. }) => items.push(value),
            Some(Frame::Object(frame)) => match frame.key.take() {
                Some((MemberKey::Name(name), line)) => {
                    // The line of the key is where a reader looks for a field.
                    value.line = line;
                    frame.members.push((name, value));
                }
                Some((MemberKey::Merge, _)) => frame.merged.push(value),
                None => return Err(complex_key()),
            },
        }
        Ok(())
    }
}

impl<'t> ObjectFrame<'t> {
    /// The members, with those of merged mappings that are not given here; earlier mappings win.
    fn with_merged(self) -> Result<Vec<(Cow<'t, str>, Value<'t>)>, SyntaxProblem> {
        let mut members = self.members;
        let mut merged = Vec::new();
        for value in self.merged {
            match value.data {
                Data::List(items) => merged.extend(items),
                _ => merged.push(value),
            }
        }
        for value in merged {
            let Data::Object(more) = value.data else {
                return Err(SyntaxProblem::Refused(
                    "`<<` takes a mapping, or a list of them".to_owned(),
                ));
            };
            for (key, value) in more {
                if !members.iter().any(|(known, _)| *known == key) {
                    members.push((key, value));
                }
            }
        }
        Ok(members)
    }
}

fn complex_key() -> SyntaxProblem {
    SyntaxProblem::Refused("a key must be a string".to_owned())
}

fn values_in(value: &Value<'_>) -> usize {
    1 + match &value.data {
        Data::List(items) => items.iter().map(values_in).sum(),
        Data::Object(members) => members.iter().map(|(_, member)| values_in(member)).sum(),
        _ => 0,
    }
}

/// What a scalar means: quoted ones are strings, plain ones by the core schema, a tag decides
/// first.
fn scalar<'t>(text: Cow<'t, str>, style: ScalarStyle, tag: Option<&Tag>) -> Data<'t> {
    let core_tag = tag.filter(|tag| tag.is_yaml_core_schema()).map(Tag::suffix);
    match core_tag {
        Some("str") => Data::Text(text),
        Some("null" | "bool" | "int" | "float") => plain_scalar(text),
        _ if style == ScalarStyle::Plain => plain_scalar(text),
        _ => Data::Text(text),
    }
}

/// What a plain (unquoted) scalar means by YAML's core schema.
///
/// Source: YAML 1.2.2, 10.3.2 "Tag Resolution".
pub fn plain_scalar(text: Cow<'_, str>) -> Data<'_> {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => return Data::Null,
        "true" | "True" | "TRUE" => return Data::Bool(true),
        "false" | "False" | "FALSE" => return Data::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" | ".nan" | ".NaN" | ".NAN" => {
            return Data::Decimal(text);
        }
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Data::Text(text);
    }
    let radix = |prefix: &str, radix| {
        text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok())
    };
    if let Some(number) = text.parse().ok().or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8)) {
        return Data::Integer(number);
    }
    if is_number(&text) { Data::Decimal(text) } else { Data::Text(text) }
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text: &str| text.strip_prefix(['+', '-']).unwrap_or(text).to_owned();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (unsigned(mantissa), Some(unsigned(exponent))),
        None => (unsigned(text), None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
    !(whole.is_empty() && fraction.is_empty())
        && digits(whole)
        && digits(fraction)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(&exponent))
}
