//! A page of text in the making.

use std::fmt::Display;

use crate::terminal::Canvas;
use crate::text::paint::{Role, paint};
use crate::view::node_name::short;

/// Lines for one canvas.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    canvas: Canvas,
}

impl Page {
    /// Nothing yet.
    pub(crate) fn new(canvas: Canvas) -> Self {
        Self { text: String::new(), canvas }
    }

    /// What it is for.
    pub(crate) fn canvas(&self) -> Canvas {
        self.canvas
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// A node's name as the table of nodes shows it: on a terminal, its host alone.
    pub(crate) fn node_name<'n>(&self, name: &'n str) -> &'n str {
        if self.canvas.width.is_some() { short(name) } else { name }
    }

    /// Adds a line that is beside the point.
    pub(crate) fn faint(&mut self, line: impl Display) {
        let line = self.paint(Role::Faint, line);
        self.line(line);
    }

    /// Begins a section.
    pub(crate) fn heading(&mut self, word: &str, rest: &str) {
        let head = self.paint(Role::Heading, word);
        self.line(if rest.is_empty() { head } else { format!("{head}  {rest}") });
    }

    /// The text in the colour of its role.
    pub(crate) fn paint(&self, role: Role, text: impl Display) -> String {
        paint(self.canvas, role, text)
    }

    /// What was written.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
