//! Texts that stand once and are meant by their place. Of a text with several lines each line
//! stands once: what is said of one node is mostly said of others too.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

/// Stands for nothing in columns of numbers.
pub(super) const NONE: i64 = -1;

/// Texts in the order in which they were first meant. The map is never iterated.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: Vec<Entry>,
    places: HashMap<String, i64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Entry {
    Line(String),
    /// The places of lines.
    Lines(Vec<i64>),
}

impl Texts {
    /// The place of a text.
    pub(crate) fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let entry = if text.contains('\n') {
            Entry::Lines(text.split('\n').map(|line| self.place(line)).collect())
        } else {
            Entry::Line(text.to_owned())
        };
        let place = i64::try_from(self.all.len()).unwrap_or(i64::MAX);
        self.all.push(entry);
        self.places.insert(text.to_owned(), place);
        place
    }

    /// The place of a text, if there is one; [`NONE`] of an empty one too.
    pub(crate) fn place_of(&mut self, text: Option<&str>) -> i64 {
        text.filter(|text| !text.is_empty()).map_or(NONE, |text| self.place(text))
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_once() {
        let mut texts = Texts::default();
        assert_eq!([texts.place("a"), texts.place("b"), texts.place("a")], [0, 1, 0]);
        assert_eq!([texts.place_of(None), texts.place_of(Some(""))], [NONE, NONE]);
        assert_eq!(serde_json::to_string(&texts).unwrap(), r#"["a","b"]"#);
    }

    #[test]
    fn a_line_of_several_texts_stands_once() {
        let mut texts = Texts::default();
        let places = ["a\n  b\n", "a\n  c\n", "a\n  b\n"].map(|text| texts.place(text));
        assert_eq!(places, [3, 5, 3]);
        let written = serde_json::to_string(&texts).unwrap();
        assert_eq!(written, r#"["a","  b","",[0,1,2],"  c",[0,4,2]]"#);
    }
}
