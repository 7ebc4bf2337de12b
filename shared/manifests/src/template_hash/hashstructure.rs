//! The hash that Karpenter takes of its Go structs, bit for bit.
//!
//! Karpenter records a hash of a NodePool's template and of an EC2NodeClass on every NodeClaim, and
//! replaces the nodes whose hash is another. A cluster can be taken over without replacing a node
//! only if the same objects come to the same numbers here. The hash walks a value as Go's
//! reflection shows it, so it depends on the names of types and fields and on the width of numbers;
//! a [`Shape`] holds exactly that.
//!
//! Source: `github.com/mitchellh/hashstructure` v2 with `FormatV2`, `SlicesAsSets`,
//! `IgnoreZeroValue` and `ZeroNil`, as Karpenter calls it.

use std::borrow::Cow;

use domain::drift::fnv;

/// A value as the hash sees it. Fields that are absent, `null` or ignored are not listed: they do
/// not count.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape<'v> {
    /// A `bool`.
    Bool(bool),
    /// An `int32`.
    Int32(i32),
    /// An `int64`, or a duration in nanoseconds.
    Int64(i64),
    /// A string.
    Text(Cow<'v, str>),
    /// A slice: the order of its items does not count.
    Set(Vec<Self>),
    /// A map.
    Map(Vec<(Cow<'v, str>, Self)>),
    /// A struct: the name of its type, and its fields in the order in which the type declares them.
    Struct(&'static str, Vec<(&'static str, Self)>),
}

impl<'v> Shape<'v> {
    /// A string.
    pub(super) fn text(text: impl Into<Cow<'v, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The hash.
    pub(super) fn hash(&self) -> u64 {
        match self {
            Self::Bool(truth) => fnv(&[u8::from(*truth)]),
            Self::Int32(number) => fnv(&number.to_le_bytes()),
            Self::Int64(number) => fnv(&number.to_le_bytes()),
            Self::Text(text) => fnv(text.as_bytes()),
            Self::Set(items) => items.iter().fold(0, |hash, item| hash ^ item.hash()),
            Self::Map(entries) => finished(
                entries
                    .iter()
                    .fold(0, |hash, (key, value)| hash ^ pair(fnv(key.as_bytes()), value.hash())),
            ),
            // The sum is finished after every field, which makes the fields' order count.
            Self::Struct(name, fields) => {
                fields.iter().fold(fnv(name.as_bytes()), |hash, (field, value)| {
                    finished(hash ^ pair(fnv(field.as_bytes()), value.hash()))
                })
            }
        }
    }
}

/// Two hashes of which the first comes first.
fn pair(first: u64, second: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    fnv(&bytes)
}

/// A sum of hashes, hardened so that equal parts of two sums do not cancel each other out.
fn finished(sum: u64) -> u64 {
    fnv(&sum.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, text: &'static str) -> (&'static str, Shape<'static>) {
        (name, Shape::text(text))
    }

    #[test]
    fn the_order_of_a_sets_items_does_not_count() {
        let set = |a, b| Shape::Set(vec![Shape::text(a), Shape::text(b)]).hash();
        assert_eq!(set("x", "y"), set("y", "x"));
        assert_ne!(set("x", "y"), set("x", "z"));
    }

    #[test]
    fn names_of_types_and_fields_count() {
        let one = |name, field| Shape::Struct(name, vec![field]).hash();
        assert_ne!(one("Taint", field("Key", "a")), one("Label", field("Key", "a")));
        assert_ne!(one("Taint", field("Key", "a")), one("Taint", field("Value", "a")));
    }

    #[test]
    fn the_width_of_a_number_counts() {
        assert_ne!(Shape::Int32(1).hash(), Shape::Int64(1).hash());
    }
}
