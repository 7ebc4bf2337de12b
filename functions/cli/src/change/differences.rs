//! What differs between two sets of objects, as far as nodes depend on it.

use std::collections::{BTreeMap, BTreeSet};

use manifests::{Identity, Located, Object, Objects};

/// Objects by kind, namespace and name; of one that is given twice, the later.
pub(super) type ByIdentity<'a> = BTreeMap<Identity, &'a Located<Object>>;

/// An object that is not the same in both sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectChange {
    /// Which object.
    pub(crate) identity: Identity,
    /// How it differs.
    pub(crate) difference: Difference,
}

/// How an object differs between an old and a new set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Only the new set has it.
    Added,
    /// Both have it, and not alike.
    Changed,
    /// Only the old set has it.
    Removed,
    /// The new set has it, and it cannot be read: it stays as it was.
    Invalid,
}

/// The objects that have an identity; catalogues have none.
pub(super) fn by_identity(objects: &Objects) -> ByIdentity<'_> {
    let identified = objects.objects.iter();
    identified.filter_map(|located| Some((located.value.identity()?, located))).collect()
}

/// Objects that cannot be read, but for those that are given a second time and can.
pub(super) fn invalid(objects: &Objects) -> BTreeSet<Identity> {
    let readable = by_identity(objects);
    let invalid = objects.unreadable.iter().filter(|identity| !readable.contains_key(identity));
    invalid.cloned().collect()
}

/// What differs, by kind, namespace and name. Fields that no decision about nodes depends on, such
/// as a container's image, make no difference.
pub(super) fn differences(
    old: &ByIdentity<'_>,
    new: &ByIdentity<'_>,
    invalid: &BTreeSet<Identity>,
) -> Vec<ObjectChange> {
    let changed =
        |identity: &Identity, difference| ObjectChange { identity: identity.clone(), difference };
    let mut found: Vec<ObjectChange> =
        invalid.iter().map(|identity| changed(identity, Difference::Invalid)).collect();
    for (identity, object) in new {
        let difference = match old.get(identity) {
            None => Difference::Added,
            Some(was) if was.value != object.value => Difference::Changed,
            Some(_) => continue,
        };
        found.push(changed(identity, difference));
    }
    let removed = old.keys().filter(|identity| !new.contains_key(identity));
    found.extend(removed.map(|identity| changed(identity, Difference::Removed)));
    found.sort_by(|a, b| a.identity.cmp(&b.identity));
    found
}
