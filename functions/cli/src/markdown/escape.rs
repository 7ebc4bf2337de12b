//! Text from outside within Markdown.

use crate::visible::visible;

/// The text as it is: nothing in it formats, links, notifies or breaks a table.
pub(super) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in visible(text).chars() {
        match letter {
            '\n' | '\r' => shown.push(' '),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            // A mention needs the sign and a name next to each other.
            '@' => shown.push_str("@\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                shown.push('\\');
                shown.push(letter);
            }
            letter => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_formats() {
        assert_eq!(escaped("a_b|c"), "a\\_b\\|c");
        assert_eq!(escaped("<img>\n@team"), "&lt;img&gt; @\u{200b}team");
    }
}
