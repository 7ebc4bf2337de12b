//! Things made of older objects, with the places of those.

use documents::{Origin, Value};

/// Something made of an older object, with where that stood.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    /// What was made.
    pub(crate) value: T,
    /// The older object's origin.
    pub(crate) origin: Origin<'static>,
    /// The position that was given with the older object.
    pub(crate) position: usize,
}

/// An EC2NodeClass of v1 by its name.
#[derive(Clone, Debug)]
pub(super) struct NodeClass {
    pub(super) name: String,
    pub(super) object: Value<'static>,
}

impl<T> Placed<T> {
    /// Something else in the same place.
    pub(super) fn map<U>(self, make: impl FnOnce(T) -> U) -> Placed<U> {
        Placed { value: make(self.value), origin: self.origin, position: self.position }
    }
}
