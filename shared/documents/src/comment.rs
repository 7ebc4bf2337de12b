//! Comments of YAML, for those who write a document anew and keep them.

use granit_parser::{Event, Options, Parser, Placement};

use crate::chunk::Chunk;

/// Most comments without anything between them that are found.
const COMMENTS_MAX: usize = 100_000;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The line of the source on which it stands.
    pub line: u32,
    /// The comment, from its `#` on.
    pub text: String,
    /// Whether nothing stands before it on its line.
    pub is_alone: bool,
}

/// The comments of a part of a source in order; none of JSON, or of what cannot be read.
pub fn comments_of(chunk: &Chunk<'_>) -> Vec<Comment> {
    if chunk.is_json() {
        return Vec::new();
    }
    let mut options = Options::default();
    options.set_emit_comments(true);
    options.max_buffered_comment_events = COMMENTS_MAX;
    let mut comments = Vec::new();
    for event in Parser::new_from_str_with_options(chunk.text, options) {
        match event {
            Ok((Event::Comment(text, placement), span)) => {
                let within = u32::try_from(span.start.line()).unwrap_or(u32::MAX);
                comments.push(Comment {
                    line: chunk.line + within.saturating_sub(1),
                    text: format!("#{}", text.trim_end()),
                    is_alone: placement != Placement::Right,
                });
            }
            Ok(_) => {}
            Err(_) => return Vec::new(),
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, chunks_of};

    #[test]
    fn comments_are_found_where_they_are_comments() {
        let source = Source::new(
            "in.yaml",
            "# head\na: 1 # right\nb: |\n  #!/bin/sh\n# below\nc: \"# text\"\n---\n# second\nd: 1\n",
        );
        let chunks = chunks_of(&source).unwrap();
        let found: Vec<Comment> = chunks.iter().flat_map(comments_of).collect();
        let shown: Vec<_> = found.iter().map(|c| (c.line, c.text.as_str(), c.is_alone)).collect();
        assert_eq!(
            shown,
            [
                (1, "# head", true),
                (2, "# right", false),
                (5, "# below", true),
                (8, "# second", true)
            ]
        );
    }

    #[test]
    fn a_thousand_comments_in_a_row_are_found() {
        let text = "# c\n".repeat(1_000) + "a: 1\n";
        let source = Source::new("in.yaml", text);
        assert_eq!(comments_of(&chunks_of(&source).unwrap()[0]).len(), 1_000);
    }
}
