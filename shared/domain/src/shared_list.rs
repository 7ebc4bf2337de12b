//! Lists that are shared rather than copied.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::{slice, vec};

/// A list that its clones share until one of them is changed.
///
/// Whoever lists a cluster hands its thousands of pods on, and most of those who get them only
/// read: a clone takes no time, and the first change of one copies the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedList<T>(Arc<Vec<T>>);

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Deref for SharedList<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Clone> DerefMut for SharedList<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<Vec<T>> for SharedList<T> {
    fn from(list: Vec<T>) -> Self {
        Self(Arc::new(list))
    }
}

impl<T, const N: usize> From<[T; N]> for SharedList<T> {
    fn from(list: [T; N]) -> Self {
        Vec::from(list).into()
    }
}

impl<T> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T: Clone> IntoIterator for SharedList<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SharedList<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut SharedList<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shares_the_list_until_either_changes_it() {
        let list: SharedList<u32> = vec![1, 2].into();
        let mut other = list.clone();
        assert_eq!(list.as_ptr(), other.as_ptr());
        other.push(3);
        assert_eq!((list.as_slice(), other.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
    }
}
