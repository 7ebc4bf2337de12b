//! Documents as users write them: YAML and JSON read into one tree, in which every value has a
//! place.
//!
//! [`documents`] takes a text apart into its documents, [`each_object`] also opens lists of objects
//! (`List`, `PodList`) on the way. Both give [`Document`]s: a [`Value`], and the [`Origin`] that
//! says on which line of which file each part of it stands. What is no YAML or JSON is a
//! [`SyntaxError`] among the documents, and costs the others nothing.
//!
//! What the fields of an object mean is known elsewhere: `manifests` reads Kubernetes objects from
//! these trees, `catalog` reads instance catalogues.

mod chunk;
mod comment;
mod document;
mod error;
mod excerpt;
mod foreign;
mod json;
mod keys;
mod limit;
mod lines;
mod list;
mod path;
mod place;
mod reader;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod yaml;

pub use chunk::Chunk;
pub use comment::{Comment, comments_of};
pub use document::{Document, Origin, Position};
pub use error::{Language, Syntax, SyntaxError, SyntaxProblem};
pub use excerpt::{Excerpt, QUOTED_CHARS_MAX, with_short_quotes};
pub use json::value_without;
pub use limit::LINE_BYTES_MAX;
pub use list::open_lists;
pub use path::{FieldPath, Step};
pub use place::Place;
pub use reader::{chunks_of, documents, each_object, each_object_of, yaml_documents};
pub use source::Source;
pub use value::{Data, Value};
pub use yaml::plain_scalar;
