//! The keys of an object while it is read.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::value::Value;

/// The keys of an object while it is read, to find one that is given twice.
#[derive(Default)]
pub(crate) struct Keys {
    many: BTreeSet<String>,
}

/// Up to this many keys are compared one by one, which is faster than any set.
const COMPARED_KEYS_MAX: usize = 24;

impl Keys {
    /// Whether the key is among the members; to be called before each member is added.
    pub(crate) fn repeats(&mut self, members: &[(Cow<'_, str>, Value<'_>)], key: &str) -> bool {
        if members.len() <= COMPARED_KEYS_MAX {
            return members.iter().any(|(known, _)| known == key);
        }
        if self.many.is_empty() {
            self.many.extend(members.iter().map(|(known, _)| known.to_string()));
        }
        !self.many.insert(key.to_owned())
    }
}
