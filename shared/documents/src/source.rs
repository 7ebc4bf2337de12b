//! A text to read.

/// A text to read, and what errors call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What errors call it: a file's path, or `-` for standard input.
    pub name: String,
    /// YAML (any number of documents) or JSON (any number of values).
    pub text: String,
}

impl Source {
    /// A source from its name and its text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}
