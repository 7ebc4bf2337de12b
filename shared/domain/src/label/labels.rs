//! Maps of labels, shared until they change.
//!
//! Every run copies the Nodes and claims of a cluster several times: into the listing, into the
//! snapshot, into the record that may change. Nearly all of it stays as it is, so a copy shares its
//! entries until it is changed.

use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::Text;

/// Labels or annotations: key to value, ordered so that output never depends on input order.
///
/// A map in all it does, except that a copy costs nothing: the entries are copied when one of those
/// who share them changes them.
#[derive(Clone, Debug, Default)]
pub struct Labels(Option<Arc<BTreeMap<Text, Text>>>);

static NONE: BTreeMap<Text, Text> = BTreeMap::new();

impl Labels {
    /// None.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Whether both are one map, in which case they are equal without comparing entries.
    fn is_shared_with(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

impl Deref for Labels {
    type Target = BTreeMap<Text, Text>;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Labels {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || **self == **other
    }
}

impl Eq for Labels {}

impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Labels {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if self.is_shared_with(other) {
            return std::cmp::Ordering::Equal;
        }
        (**self).cmp(&**other)
    }
}

impl std::hash::Hash for Labels {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<BTreeMap<Text, Text>> for Labels {
    fn from(entries: BTreeMap<Text, Text>) -> Self {
        Self((!entries.is_empty()).then(|| Arc::new(entries)))
    }
}

impl<const N: usize> From<[(Text, Text); N]> for Labels {
    fn from(entries: [(Text, Text); N]) -> Self {
        BTreeMap::from(entries).into()
    }
}

impl FromIterator<(Text, Text)> for Labels {
    fn from_iter<I: IntoIterator<Item = (Text, Text)>>(entries: I) -> Self {
        BTreeMap::from_iter(entries).into()
    }
}

impl Extend<(Text, Text)> for Labels {
    /// Entries that are there already leave the map shared.
    fn extend<I: IntoIterator<Item = (Text, Text)>>(&mut self, entries: I) {
        for (key, value) in entries {
            if self.get(&key) != Some(&value) {
                self.insert(key, value);
            }
        }
    }
}

impl IntoIterator for Labels {
    type Item = (Text, Text);
    type IntoIter = btree_map::IntoIter<Text, Text>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = (&'a Text, &'a Text);
    type IntoIter = btree_map::Iter<'a, Text, Text>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_shared_until_one_of_them_changes() {
        let own = Labels::from([("app".into(), "web".into())]);
        let mut copy = own.clone();
        copy.extend(own.clone());
        assert!(copy.is_shared_with(&own), "what says the same changes nothing");
        copy.insert("team".into(), "blue".into());
        assert_eq!((own.len(), copy.len()), (1, 2));
        assert_ne!(own, copy);
        copy.remove("team");
        assert!(!copy.is_shared_with(&own));
        assert_eq!(own, copy);
    }

    #[test]
    fn what_was_emptied_equals_what_never_held_anything() {
        let mut emptied = Labels::from([("app".into(), "web".into())]);
        emptied.clear();
        assert_eq!(emptied, Labels::new());
        assert_eq!(emptied.cmp(&Labels::new()), std::cmp::Ordering::Equal);
        assert_eq!(Labels::from(BTreeMap::new()), Labels::default());
    }
}
