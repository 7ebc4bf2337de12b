//! Control characters of data made visible, so that no name or message can steer a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What stands for the escape character of our own styles until a text is written. It is a
/// noncharacter, which Unicode leaves to the inner workings of programs.
const STYLE_MARK: char = '\u{fdd0}';

/// The text with control characters and changes of writing direction as Rust writes them in
/// strings, `\u{1b}`; line ends and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !has_hidden(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Whether there is such a character. Plain ASCII, which most texts are, is looked at in blocks.
fn has_hidden(text: &str) -> bool {
    if !text.is_ascii() {
        return text.contains(is_hidden);
    }
    let hidden = |byte: &u8| is_hidden(char::from(*byte));
    text.as_bytes().chunks(64).any(|block| block.iter().fold(false, |any, byte| any | hidden(byte)))
}

/// Whether a terminal acts on the character instead of showing it.
fn is_hidden(letter: char) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
    is_control || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of which every escape code is a style of ours, for [`for_terminal`].
pub(crate) fn styled(text: &str) -> String {
    text.replace('\x1b', STYLE_MARK.encode_utf8(&mut [0; 4]))
}

/// The text as it is written: control characters visible, but for our own styles.
pub(crate) fn for_terminal(text: &str) -> String {
    if text.is_ascii() && !has_hidden(text) {
        return text.to_owned();
    }
    // Files with line ends of another system are quoted as they are.
    let shown = text.split("\r\n").map(visible).collect::<Vec<_>>().join("\r\n");
    let mut parts = shown.split(STYLE_MARK);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if is_style(part) {
            written.push('\x1b');
        }
        written.push_str(part);
    }
    written
}

/// Whether the text begins with what follows the escape character of a style: `[1;31m`.
fn is_style(text: &str) -> bool {
    let codes = text.strip_prefix('[').and_then(|rest| rest.split_once('m'));
    codes.is_some_and(|(codes, _)| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'))
}

/// JSON with the control characters that its grammar allows in strings escaped as well.
pub(crate) fn visible_json(json: String) -> String {
    if !has_hidden(&json) {
        return json;
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_hidden(letter) {
            let _ = write!(shown, "\\u{:04x}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// A page of HTML, in which control characters have no place and no notation.
pub(crate) fn visible_html(html: &str) -> String {
    html.replace(is_hidden, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_data_are_shown_and_not_sent() {
        let text = for_terminal("a\x1b[31mb\x07\r\u{9b}2J\x7f\u{202e}c\td\n");
        assert_eq!(text, "a\\u{1b}[31mb\\u{7}\\u{d}\\u{9b}2J\\u{7f}\\u{202e}c\td\n");
        assert_eq!(for_terminal("모두 ✓"), "모두 ✓");
    }

    #[test]
    fn styles_of_ours_are_kept_and_nothing_else_can_pass_for_one() {
        let ours = styled("\x1b[1;31mred\x1b[0m");
        assert_eq!(for_terminal(&format!("{ours} \x1b[31m")), "\x1b[1;31mred\x1b[0m \\u{1b}[31m");
        assert_eq!(for_terminal("\u{fdd0}]0;title\u{7}"), "]0;title\\u{7}");
    }

    #[test]
    fn json_and_html_hold_no_control_character_either() {
        let json = visible_json(serde_json::to_string("a\x1b\u{9b}\x7f").unwrap());
        assert_eq!(json, r#""a\u001b\u009b\u007f""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "a\x1b\u{9b}\x7f");
        assert_eq!(visible_html("<b>a\x1b[2Jb</b>"), "<b>a\u{fffd}[2Jb</b>");
    }
}
