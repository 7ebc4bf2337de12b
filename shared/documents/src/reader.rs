//! From a text to its documents.

use std::sync::Arc;

use crate::chunk::{Chunk, chunks};
use crate::document::Document;
use crate::error::SyntaxError;
use crate::list::open_lists;
use crate::source::Source;
use crate::{json, yaml};

/// A document, or why it was left out.
type Outcome<'t> = Result<Document<'t>, SyntaxError>;

/// The documents of a source in order, lists left closed; documents without content do not count.
///
/// A part that begins with `{"` or `{}` is read as JSON, everything else as YAML. What cannot be
/// read is among the documents as an error; the documents around it are not lost.
pub fn documents(source: &Source) -> Vec<Result<Document<'_>, SyntaxError>> {
    let mut documents = Vec::new();
    for chunk in chunks_of(source) {
        if chunk.is_json() {
            json::each_document(&chunk, &mut |document| documents.push(document));
        } else {
            yaml::each_document(&chunk, &mut |document| documents.push(document));
        }
    }
    documents
}

/// The documents of a source that is read as YAML throughout, also where it looks like JSON: YAML
/// takes flow mappings that JSON does not, such as one with a trailing comma.
pub fn yaml_documents(source: &Source) -> Vec<Result<Document<'_>, SyntaxError>> {
    let mut documents = Vec::new();
    for chunk in chunks_of(source) {
        yaml::each_document(&chunk, &mut |document| documents.push(document));
    }
    documents
}

/// Hands over each object of a source in order, with lists opened.
///
/// Items of JSON lists are handed over one at a time, so that a long list never stands in memory as
/// a whole.
pub fn each_object<'t>(source: &'t Source, take: &mut impl FnMut(Outcome<'t>)) {
    for chunk in chunks_of(source) {
        if chunk.is_json() {
            json::each_object(&chunk, take);
        } else {
            yaml::each_document(&chunk, &mut |document| match document {
                Ok(document) => open_lists(document, &mut |object| take(Ok(object))),
                Err(error) => take(Err(error)),
            });
        }
    }
}

fn chunks_of(source: &Source) -> Vec<Chunk<'_>> {
    let file: Arc<str> = source.name.as_str().into();
    chunks(&file, &source.text)
}
