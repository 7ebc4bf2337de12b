//! What differs between two sets of objects, as far as nodes depend on it.

use std::collections::BTreeMap;

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
}

/// The objects that have an identity; catalogues have none.
pub(super) fn by_identity(objects: &Objects) -> ByIdentity<'_> {
    let identified = objects.objects.iter();
    identified.filter_map(|located| Some((located.value.identity()?, located))).collect()
}

/// What differs, by kind, namespace and name. Fields that no decision about nodes depends on, such
/// as a container's image, make no difference.
pub(super) fn differences(old: &ByIdentity<'_>, new: &ByIdentity<'_>) -> Vec<ObjectChange> {
    let mut found: Vec<ObjectChange> = Vec::new();
    for (identity, object) in new {
        let difference = match old.get(identity) {
            None => Difference::Added,
            Some(was) if was.value != object.value => Difference::Changed,
            Some(_) => continue,
        };
        found.push(ObjectChange { identity: identity.clone(), difference });
    }
    let removed = old.keys().filter(|identity| !new.contains_key(identity));
    found.extend(removed.map(|identity| ObjectChange {
        identity: identity.clone(),
        difference: Difference::Removed,
    }));
    found.sort_by(|a, b| a.identity.cmp(&b.identity));
    found
}
