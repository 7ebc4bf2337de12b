//! Parts of a source written anew, with the comments that stood in them.

use std::collections::BTreeMap;

use documents::{
    Chunk, Comment, Data, Document, Source, Value, comments_of, documents, each_object_of,
};

use crate::convert::rewritten_line;
use crate::convert::tree::is_same;
use crate::print::{self, PrintError, Printed};

/// The part with new names on some lines of the source, every other byte as it was; `None` where
/// that does not make it the objects wanted.
pub(super) fn with_names_rewritten(
    chunk: &Chunk<'_>,
    lines: &[u32],
    wanted: &[&Value<'static>],
) -> Option<String> {
    let text: String = (chunk.line..)
        .zip(chunk.text.split_inclusive('\n'))
        .map(
            |(number, line)| {
                if lines.contains(&number) { rewritten_line(line) } else { line.to_owned() }
            },
        )
        .collect();
    let rewritten = Chunk { text: &text, file: chunk.file.clone(), line: chunk.line };
    let mut found = Vec::new();
    each_object_of(&rewritten, &mut |object| {
        found.push(object.ok().map(|own| own.value.into_owned()));
    });
    let is_as_wanted = found.len() == wanted.len()
        && found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found.as_ref().is_some_and(|found| is_same(found, wanted)));
    is_as_wanted.then_some(text)
}

/// The objects as YAML, one text each, with the comments of the part that they come from.
pub(super) fn printed(
    chunk: &Chunk<'_>,
    objects: &[Value<'static>],
) -> Result<Vec<String>, PrintError> {
    let mut texts = Vec::with_capacity(objects.len());
    for object in objects {
        texts.push(print::yaml(&Printed(object))?);
    }
    let comments = comments_of(chunk);
    if comments.is_empty() {
        return Ok(texts);
    }
    let commented = with_comments(&texts, objects, &comments);
    // A comment in a wrong place could change what is said; then none is better.
    let is_kept = |(text, object): (&String, &Value<'static>)| {
        parsed(text).is_some_and(|parsed| is_same(&parsed, object))
    };
    Ok(if commented.iter().zip(objects).all(is_kept) { commented } else { texts })
}

/// Comments of one printed text, by its lines.
#[derive(Clone, Debug, Default)]
struct Comments<'c> {
    above: BTreeMap<u32, Vec<&'c str>>,
    right: BTreeMap<u32, &'c str>,
    last: Vec<&'c str>,
}

fn with_comments(
    texts: &[String],
    objects: &[Value<'static>],
    comments: &[Comment],
) -> Vec<String> {
    // Where what stood on a line of the source is printed: text and line, by the line it stood on.
    let mut printed: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for (index, (text, object)) in texts.iter().zip(objects).enumerate() {
        if let Some(parsed) = parsed(text) {
            match_lines(object, &parsed, &mut |old, new| {
                printed.entry(old).or_insert((index, new));
            });
        }
    }
    let mut of_texts = vec![Comments::default(); texts.len()];
    for comment in comments {
        let right = printed.get(&comment.line).filter(|_| !comment.is_alone);
        let is_first = printed.keys().next().is_some_and(|first| comment.line < *first);
        if is_first && let Some(first) = of_texts.first_mut() {
            first.above.entry(1).or_default().push(&comment.text);
        } else if let Some(&(index, line)) = right
            && !of_texts[index].right.contains_key(&line)
        {
            of_texts[index].right.insert(line, &comment.text);
        } else if let Some((_, &(index, line))) = printed.range(comment.line..).next() {
            of_texts[index].above.entry(line).or_default().push(&comment.text);
        } else if let Some(last) = of_texts.last_mut() {
            last.last.push(&comment.text);
        }
    }
    texts.iter().zip(&of_texts).map(|(text, comments)| woven(text, comments)).collect()
}

fn woven(text: &str, comments: &Comments<'_>) -> String {
    let mut woven = String::with_capacity(text.len());
    for (number, line) in (1..).zip(text.lines()) {
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        for comment in comments.above.get(&number).into_iter().flatten() {
            woven.extend([indent, comment, "\n"]);
        }
        woven.push_str(line);
        if let Some(comment) = comments.right.get(&number) {
            woven.extend([" ", comment]);
        }
        woven.push('\n');
    }
    for comment in &comments.last {
        woven.extend([comment, "\n"]);
    }
    woven
}

/// The only document of a text, with the lines of that text.
fn parsed(text: &str) -> Option<Value<'static>> {
    let source = Source::new("printed", text);
    let mut all = documents(&source);
    let only = all.pop().filter(|_| all.is_empty())?;
    only.ok().map(|Document { value, .. }| value.into_owned())
}

/// Hands over the lines of equal values of two trees, from outside inwards.
fn match_lines(a: &Value<'_>, b: &Value<'_>, take: &mut impl FnMut(u32, u32)) {
    if a.line > 0 {
        take(a.line, b.line);
    }
    match (&a.data, &b.data) {
        (Data::List(a), Data::List(b)) => {
            for (a, b) in a.iter().zip(b) {
                match_lines(a, b, take);
            }
        }
        (Data::Object(a), Data::Object(b)) => {
            for ((_, a), (_, b)) in a.iter().zip(b) {
                match_lines(a, b, take);
            }
        }
        _ => {}
    }
}
