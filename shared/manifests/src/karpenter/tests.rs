//! Rules of the kinds, each as a user meets it: a manifest in, an object or an error out.

mod capacity;
mod commitment;
mod node_class;
mod node_pool;
mod options;
mod spot;

use documents::Source;

use crate::object::{Object, Objects};

/// Reads one text.
fn read(text: &str) -> Objects {
    crate::read(&[Source::new("pool.yaml", text)])
}

/// The errors of a text, as users see them.
fn errors(text: &str) -> Vec<String> {
    read(text).errors.iter().map(ToString::to_string).collect()
}

/// The only object of a text that reads without error.
#[track_caller]
fn only_object(text: &str) -> Object {
    let mut objects = read(text);
    assert!(objects.errors.is_empty(), "{:?}", errors(text));
    assert_eq!(objects.objects.len(), 1);
    objects.objects.remove(0).value
}

/// Indents each line of a text, to hang it into another.
fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    text.lines().flat_map(|line| [indent.as_str(), line, "\n"]).collect()
}
