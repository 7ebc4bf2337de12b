//! A text cut into parts that are read on their own.

use std::sync::Arc;

use crate::error::{SyntaxError, SyntaxProblem};
use crate::place::Place;

/// A part of a source that is read on its own: nothing wrong in it can spoil the next.
///
/// The parts of a source put together are the source, but for a byte order mark before the first.
#[derive(Clone, Debug)]
pub struct Chunk<'t> {
    /// The part, from its document marker on.
    pub text: &'t str,
    /// What errors call the source.
    pub file: Arc<str>,
    /// The line of the source on which it starts.
    pub line: u32,
}

impl<'t> Chunk<'t> {
    /// Whether a document marker stands before its content.
    pub fn has_marker(&self) -> bool {
        let mut lines = self.text.lines().filter(|line| !is_blank(line));
        lines.next().is_some_and(is_marker)
    }

    /// The text after a bare document marker.
    pub(crate) fn content(&self) -> &'t str {
        let text = self.text.trim_start();
        text.strip_prefix("---").map_or(text, str::trim_start)
    }

    /// Whether it is JSON rather than YAML: it begins with a brace and its first key is quoted (or
    /// there is none), which is all that a reader of errors needs to know.
    pub fn is_json(&self) -> bool {
        let inside = self.content().strip_prefix('{');
        inside.is_some_and(|inside| inside.trim_start().starts_with(['"', '}']))
    }

    /// A problem on a line counted from 0 at the start of the chunk.
    pub(crate) fn error(&self, line_within: u32, problem: SyntaxProblem) -> SyntaxError {
        let place = Place::line(self.file.clone(), self.line + line_within);
        SyntaxError { problem, place, column: None }
    }
}

/// The text of a source cut before each document marker. A line that begins with `---` is one
/// wherever it stands, even within a block of text, so this needs no parser.
///
/// Source: YAML 1.2, 9.1.2 "Document Markers".
pub(crate) fn chunks<'t>(file: &Arc<str>, text: &'t str) -> Vec<Chunk<'t>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let chunk = |text, line| Chunk { text, file: file.clone(), line };
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut start_line = 1;
    let mut offset = 0;
    // Directives (`%YAML 1.2`) and comments belong to the document after them.
    let mut has_content = false;
    for (line, line_number) in text.split_inclusive('\n').zip(1..) {
        let is_marker = is_marker(line);
        if is_marker && has_content {
            chunks.push(chunk(&text[start..offset], start_line));
            (start, start_line) = (offset, line_number);
        }
        has_content |= is_marker || !is_blank(line);
        offset += line.len();
    }
    if has_content {
        chunks.push(chunk(&text[start..], start_line));
    }
    chunks
}

fn is_marker(line: &str) -> bool {
    let rest = line.strip_prefix("---");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether the line holds nothing but a comment or a directive, or nothing at all.
fn is_blank(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty() || text.starts_with(['#', '%'])
}
