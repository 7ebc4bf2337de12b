//! Messages that stay readable whatever they quote.

use std::fmt;

/// Most characters of one quoted value that a message shows.
pub const QUOTED_CHARS_MAX: usize = 200;

/// The first [`QUOTED_CHARS_MAX`] characters of a text, followed by `…` where there are more.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(pub &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(QUOTED_CHARS_MAX) {
            Some((end, _)) => write!(f, "{}…", &self.0[..end]),
            None => f.write_str(self.0),
        }
    }
}

/// A message with what it quotes cut to [`QUOTED_CHARS_MAX`] characters: rules quote values as
/// Rust's `{:?}` writes them, and a value may have megabytes.
pub fn with_short_quotes(message: &str) -> String {
    let mut short = String::with_capacity(message.len().min(1_024));
    let mut rest = message;
    while let Some((before, quoted)) = rest.split_once('"') {
        short.push_str(before);
        let end = closing_quote(quoted);
        short.push('"');
        short.push_str(&Excerpt(&quoted[..end]).to_string());
        rest = &quoted[end..];
        if let Some(after) = rest.strip_prefix('"') {
            short.push('"');
            rest = after;
        }
    }
    short.push_str(rest);
    short
}

/// Where the first quote stands that no backslash stands before; the end of the text without one.
fn closing_quote(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return index,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_quotes_at_most_200_characters_of_each_value() {
        let long = "é\"".repeat(1_000);
        let message = format!("{long:?} is none of {:?}, not {long:?}", "a\"b");
        let short = with_short_quotes(&message);
        assert!(short.contains("is none of \"a\\\"b\", not \"é"), "{short}");
        assert!(short.chars().count() < 2 * QUOTED_CHARS_MAX + 50, "{short}");
    }

    #[test]
    fn a_message_without_long_quotes_stays_as_it_is() {
        for message in ["", "it is missing", "\"a\" is not \"b\"", "an open \"quote"] {
            assert_eq!(with_short_quotes(message), message);
        }
    }
}
