//! Typed indices, and tables and sets keyed by them, so that the number of a pod is never taken for
//! that of a node.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops;

use fixedbitset::FixedBitSet;

/// A number that says which of a list is meant.
pub(crate) trait Idx: Copy + Eq + Ord + Hash + fmt::Debug {
    /// The index at a position of the list.
    fn new(position: usize) -> Self;

    /// Its position in the list.
    fn index(self) -> usize;
}

macro_rules! idx {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        impl $crate::ids::Idx for $name {
            fn new(position: usize) -> Self {
                // Lists of a snapshot are in memory: none has four thousand million entries.
                Self(u32::try_from(position).unwrap_or(u32::MAX))
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) use idx;

idx! {
    /// A pod: those of the snapshot in its order, then the virtual ones.
    PodIx
}
idx! {
    /// A shape: pods that scheduling cannot tell apart, numbered as the snapshot lists pods.
    ShapeIx
}
idx! {
    /// A node or a claim in flight, in the order in which pods try them.
    NodeIx
}
idx! {
    /// A NodePool, heaviest first, then by name.
    PoolIx
}
idx! {
    /// An instance type of one NodePool, by name.
    TypeIx
}
idx! {
    /// A topology group.
    GroupIx
}
idx! {
    /// An item that packing finds nodes for.
    ItemIx
}
idx! {
    /// A zone, by name.
    ZoneIx
}
idx! {
    /// A way in which offerings of one NodePool are bought.
    PurchaseIx
}

/// A list that is indexed by `I` alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexVec<I, T> {
    list: Vec<T>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: Idx, T> IndexVec<I, T> {
    /// An empty list.
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new(), index: PhantomData }
    }

    /// A list of `length` copies of a value.
    pub(crate) fn filled(value: T, length: usize) -> Self
    where
        T: Clone,
    {
        vec![value; length].into()
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends an entry and returns its index.
    pub(crate) fn push(&mut self, value: T) -> I {
        self.list.push(value);
        I::new(self.list.len() - 1)
    }

    /// The entry at an index; `None` past the end.
    pub(crate) fn get(&self, index: I) -> Option<&T> {
        self.list.get(index.index())
    }

    /// Every index, in order.
    pub(crate) fn indices(
        &self,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.list.len()).map(I::new)
    }

    /// Entries in order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// Entries in order, to be changed in place.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.list.iter_mut()
    }

    /// Entries with their indices, in order.
    pub(crate) fn iter_enumerated(
        &self,
    ) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.list.iter().enumerate().map(|(index, value)| (I::new(index), value))
    }

    /// The first entry that meets the condition.
    pub(crate) fn position(&self, is_it: impl FnMut(&T) -> bool) -> Option<I> {
        self.list.iter().position(is_it).map(I::new)
    }

    /// Entries with their indices, to be changed in place.
    pub(crate) fn iter_mut_enumerated(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.list.iter_mut().enumerate().map(|(index, value)| (I::new(index), value))
    }

    /// The entries without their indices.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.list
    }
}

impl<I: Idx, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(list: Vec<T>) -> Self {
        Self { list, index: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(values: A) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'v, I, T> IntoIterator for &'v IndexVec<I, T> {
    type Item = &'v T;
    type IntoIter = std::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<I: Idx, T> ops::Index<I> for IndexVec<I, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        &self.list[index.index()]
    }
}

impl<I: Idx, T> ops::IndexMut<I> for IndexVec<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.list[index.index()]
    }
}

/// A set of indices into a list of known length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexSet<I> {
    bits: FixedBitSet,
    index: PhantomData<fn(I) -> I>,
}

impl<I: Idx> IndexSet<I> {
    /// The empty set of indices below `length`.
    pub(crate) fn empty(length: usize) -> Self {
        Self { bits: FixedBitSet::with_capacity(length), index: PhantomData }
    }

    /// Every index below `length`.
    pub(crate) fn full(length: usize) -> Self {
        let mut set = Self::empty(length);
        set.bits.insert_range(..);
        set
    }

    /// Whether the index is in it.
    pub(crate) fn contains(&self, index: I) -> bool {
        self.bits.contains(index.index())
    }

    /// Adds an index below the length; returns whether it was in already.
    pub(crate) fn insert(&mut self, index: I) -> bool {
        self.bits.put(index.index())
    }

    /// Takes an index out.
    pub(crate) fn remove(&mut self, index: I) {
        self.bits.set(index.index(), false);
    }

    /// Its indices, least first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.bits.ones().map(I::new)
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.bits.is_clear()
    }

    /// Whether no index is in both.
    pub(crate) fn is_disjoint(&self, other: &Self) -> bool {
        self.bits.is_disjoint(&other.bits)
    }

    /// Takes out what is not in the other.
    pub(crate) fn intersect_with(&mut self, other: &Self) {
        self.bits.intersect_with(&other.bits);
    }

    /// How many are in it.
    pub(crate) fn count(&self) -> usize {
        self.bits.count_ones(..)
    }

    /// Takes out what does not meet the condition.
    pub(crate) fn retain(&mut self, keep: impl Fn(I) -> bool) {
        for position in self.bits.clone().ones() {
            if !keep(I::new(position)) {
                self.bits.set(position, false);
            }
        }
    }
}

/// Instance types of one NodePool.
pub(crate) type TypeSet = IndexSet<TypeIx>;

/// A set of indices below 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SmallSet<I> {
    bits: u64,
    index: PhantomData<fn(I) -> I>,
}

/// Zones: no region has a quarter of 64.
pub(crate) type ZoneSet = SmallSet<ZoneIx>;

/// Ways of buying.
pub(crate) type PurchaseSet = SmallSet<PurchaseIx>;

impl<I: Idx> SmallSet<I> {
    /// Indices from here on are in no set.
    pub(crate) const MAX_LEN: usize = u64::BITS as usize;

    /// Whatever can be in a set.
    pub(crate) const ALL: Self = Self::of_bits(u64::MAX);

    const fn of_bits(bits: u64) -> Self {
        Self { bits, index: PhantomData }
    }

    /// The set of one index.
    pub(crate) fn one(index: I) -> Self {
        Self::default().with(index)
    }

    /// Every index below `length`.
    pub(crate) fn full(length: usize) -> Self {
        if length >= Self::MAX_LEN { Self::ALL } else { Self::of_bits((1 << length) - 1) }
    }

    /// With one index more.
    pub(crate) fn with(self, index: I) -> Self {
        Self::of_bits(self.bits | 1 << index.index())
    }

    /// Without one of its indices.
    pub(crate) fn without(self, index: I) -> Self {
        Self::of_bits(self.bits & !(1 << index.index()))
    }

    /// Whether the index is in it.
    pub(crate) fn contains(self, index: I) -> bool {
        self.bits >> index.index() & 1 == 1
    }

    /// Its indices, least first.
    pub(crate) fn iter(self) -> impl Iterator<Item = I> {
        (0..Self::MAX_LEN).map(I::new).filter(move |index| self.contains(*index))
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Its only index; `None` where it has several or none.
    pub(crate) fn single(self) -> Option<I> {
        self.bits.is_power_of_two().then(|| I::new(self.bits.trailing_zeros() as usize))
    }
}

impl<I: Idx> Default for SmallSet<I> {
    fn default() -> Self {
        Self::of_bits(0)
    }
}

impl<I: Idx> ops::BitAnd for SmallSet<I> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::of_bits(self.bits & other.bits)
    }
}

impl<I: Idx> ops::BitAndAssign for SmallSet<I> {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl<I: Idx> FromIterator<I> for SmallSet<I> {
    fn from_iter<A: IntoIterator<Item = I>>(indices: A) -> Self {
        indices.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_indexed_by_its_own_index() {
        let mut list: IndexVec<NodeIx, &str> = IndexVec::new();
        let first = list.push("a");
        let second = list.push("b");
        assert_eq!((list[first], list[second]), ("a", "b"));
        assert_eq!(list.iter_enumerated().last(), Some((second, &"b")));
        assert_eq!(list.get(NodeIx::new(2)), None);
    }

    #[test]
    fn a_set_of_zones_knows_its_only_one() {
        let (a, b) = (ZoneIx::new(0), ZoneIx::new(63));
        let both = ZoneSet::from_iter([a, b]);
        assert_eq!(both.single(), None);
        assert_eq!(both.without(a).single(), Some(b));
        assert_eq!(both.iter().collect::<Vec<_>>(), [a, b]);
        assert_eq!(ZoneSet::full(64) & both, both);
        assert!((ZoneSet::full(2) & ZoneSet::one(b)).is_empty());
    }

    #[test]
    fn a_set_of_types_keeps_what_it_is_told_to() {
        let mut types = TypeSet::full(3);
        types.retain(|index| index.index() != 1);
        assert_eq!(types.iter().map(Idx::index).collect::<Vec<_>>(), [0, 2]);
        assert!(types.insert(TypeIx::new(2)));
        assert!(!types.insert(TypeIx::new(1)));
    }
}
