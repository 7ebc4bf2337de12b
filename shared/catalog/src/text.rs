//! Texts that recur, kept once.

use domain::Text;
use rustc_hash::FxHashSet;

/// Hands out the same shared text for equal strings: zones, label keys and values recur thousands
/// of times in a catalogue. The set is never gone through, so its order cannot show.
#[derive(Debug, Default)]
pub(crate) struct Texts(FxHashSet<Text>);

impl Texts {
    pub(crate) fn text(&mut self, text: &str) -> Text {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let new = Text::from(text);
        self.0.insert(new.clone());
        new
    }
}
