//! What the fields of each kind come to mean.

mod node;
mod pod;
mod scheduler_config;
mod volume;
mod workload;

use documents::Source;

use crate::object::{Object, Objects};
use crate::reader::read;

pub(super) fn read_text(text: &str) -> Objects {
    read(&[Source::new("in.yaml", text)])
}

/// The only object of a text.
#[track_caller]
pub(super) fn object(text: &str) -> Object {
    let mut objects = read_text(text);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    assert_eq!(objects.objects.len(), 1);
    objects.objects.remove(0).value
}

/// What is wrong with a text, without places.
pub(super) fn problems(text: &str) -> Vec<String> {
    read_text(text).errors.iter().map(|error| error.problem.to_string()).collect()
}

/// Takes an object apart that must be of one kind.
macro_rules! read_as {
    ($text:expr, $kind:path) => {
        match crate::kubernetes::tests::object($text) {
            $kind(object) => object,
            other => panic!("read as another kind: {other:?}"),
        }
    };
}
pub(super) use read_as;
