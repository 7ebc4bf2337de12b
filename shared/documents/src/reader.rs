//! From a text to its documents.

use std::sync::Arc;

use crate::chunk::{Chunk, chunks};
use crate::document::Document;
use crate::error::SyntaxError;
use crate::foreign::hcl;
use crate::limit::too_long_line;
use crate::list::open_lists;
use crate::place::Place;
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
    let chunks = match chunks_of(source) {
        Ok(chunks) => chunks,
        Err(error) => return vec![Err(error)],
    };
    for chunk in chunks {
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
    let chunks = match chunks_of(source) {
        Ok(chunks) => chunks,
        Err(error) => return vec![Err(error)],
    };
    for chunk in chunks {
        yaml::each_document(&chunk, &mut |document| documents.push(document));
    }
    documents
}

/// Hands over each object of a source in order, with lists opened.
///
/// Items of JSON lists are handed over one at a time, so that a long list never stands in memory as
/// a whole.
pub fn each_object<'t>(source: &'t Source, take: &mut impl FnMut(Outcome<'t>)) {
    let chunks = match chunks_of(source) {
        Ok(chunks) => chunks,
        Err(error) => return take(Err(error)),
    };
    for chunk in chunks {
        each_object_of(&chunk, take);
    }
}

/// Hands over each object of a part of a source in order, with lists opened.
pub fn each_object_of<'t>(chunk: &Chunk<'t>, take: &mut impl FnMut(Outcome<'t>)) {
    if chunk.is_json() {
        json::each_object(chunk, take);
    } else {
        yaml::each_document(chunk, &mut |document| match document {
            Ok(document) => open_lists(document, &mut |object| take(Ok(object))),
            Err(error) => take(Err(error)),
        });
    }
}

/// The parts of a source, cut before each document marker, or why none of it is read.
pub fn chunks_of(source: &Source) -> Result<Vec<Chunk<'_>>, SyntaxError> {
    let file: Arc<str> = source.name.as_str().into();
    let refused = too_long_line(&source.text).or_else(|| Some((0, hcl(&source.text)?)));
    if let Some((line, problem)) = refused {
        let place = Place::line(file, line + 1);
        return Err(SyntaxError { problem, place, column: None });
    }
    Ok(chunks(&file, &source.text))
}
