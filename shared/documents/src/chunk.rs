//! A text cut into parts that are read on their own.

use std::sync::Arc;

use crate::error::{SyntaxError, SyntaxProblem};
use crate::place::Place;

/// A part of a source that is read on its own: nothing wrong in it can spoil the next.
#[derive(Clone, Debug)]
pub(crate) struct Chunk<'t> {
    pub(crate) text: &'t str,
    /// What errors call the source.
    pub(crate) file: Arc<str>,
    /// The line of the source on which it starts.
    pub(crate) line: u32,
}

impl<'t> Chunk<'t> {
    /// The text after a bare document marker.
    pub(crate) fn content(&self) -> &'t str {
        let text = self.text.trim_start();
        text.strip_prefix("---").map_or(text, str::trim_start)
    }

    /// Whether it is JSON rather than YAML: it begins with a brace and its first key is quoted (or
    /// there is none), which is all that a reader of errors needs to know.
    pub(crate) fn is_json(&self) -> bool {
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
        let is_marker = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && has_content {
            chunks.push(chunk(&text[start..offset], start_line));
            (start, start_line) = (offset, line_number);
        }
        let blank = line.trim_start();
        has_content |= is_marker || !(blank.is_empty() || blank.starts_with(['#', '%']));
        offset += line.len();
    }
    if has_content {
        chunks.push(chunk(&text[start..], start_line));
    }
    chunks
}
