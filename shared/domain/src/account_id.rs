//! AWS account ids, which appear in no log and no message.

use std::borrow::Cow;
use std::iter;

const DIGITS: usize = 12;

/// The text with `ACCOUNT` in place of everything in the form of an AWS account id: twelve digits
/// that are a word of their own. Those of `i-0123456789012345a` are none.
///
/// Source:
/// <https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-identifiers.html>.
pub fn without_account_ids(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut copied = 0;
    for (start, end) in runs_of_digits(text) {
        if end - start == DIGITS && stands_alone(text, start, end) {
            clean.push_str(&text[copied..start]);
            clean.push_str("ACCOUNT");
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

fn runs_of_digits(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut from = 0;
    iter::from_fn(move || {
        let start = from + text[from..].find(|c: char| c.is_ascii_digit())?;
        let rest = &text[start..];
        let end = start + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        from = end;
        Some((start, end))
    })
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    !text[..start].ends_with(is_part) && !text[end..].starts_with(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_account_id_of_a_text_is_cut_out() {
        assert_eq!(
            without_account_ids("arn:aws:sts::123456789012:role/x, 210987654321"),
            "arn:aws:sts::ACCOUNT:role/x, ACCOUNT"
        );
    }

    #[test]
    fn other_numbers_and_instance_ids_stay() {
        let text = "i-0123456789012345a of 1234567890123, i-a123456789012";
        assert_eq!(without_account_ids(text), text);
    }
}
