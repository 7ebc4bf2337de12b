//! All objects of a kind as one list, for those who list the cluster again and again.

use std::collections::BTreeSet;

use domain::shared_list::SharedList;

/// All objects of a kind by key, as they were when they were listed last, and what was written
/// since.
#[derive(Debug)]
pub(super) struct ObjectList<K, T> {
    objects: SharedList<T>,
    /// Keys of objects that came, changed or went after that.
    written: BTreeSet<K>,
}

impl<K, T> Default for ObjectList<K, T> {
    fn default() -> Self {
        Self { objects: SharedList::default(), written: BTreeSet::new() }
    }
}

impl<K: Ord, T: Clone> ObjectList<K, T> {
    /// Takes note of a write.
    pub(super) fn note_write(&mut self, key: K) {
        self.written.insert(key);
    }

    /// The objects as they stand: `current` gets one by its key. The work grows with what was
    /// written since the last call.
    pub(super) fn updated(
        &mut self,
        key_of: impl Fn(&T) -> K,
        current: impl Fn(&K) -> Option<T>,
    ) -> SharedList<T> {
        for key in std::mem::take(&mut self.written) {
            let place = self.objects.binary_search_by(|own| key_of(own).cmp(&key));
            match (place, current(&key)) {
                (Ok(index), Some(object)) => self.objects[index] = object,
                (Ok(index), None) => {
                    self.objects.remove(index);
                }
                (Err(index), Some(object)) => self.objects.insert(index, object),
                (Err(_), None) => {}
            }
        }
        self.objects.clone()
    }
}
