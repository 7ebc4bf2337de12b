//! Which type limits count a node as before its instance types are listed.

use domain::settings::MinValuesPolicy;

use super::launchable::{Compatible, Pool};
use crate::ids::{TypeIx, TypeSet};

impl Pool<'_> {
    /// The type that limits count for a node of the cheapest of these types: where `minValues`
    /// strictly requires more to be listed, the smallest beside which there is enough to list that
    /// is no larger. A node may turn out to be any of those listed.
    pub(crate) fn counted_type(
        &self,
        policy: MinValuesPolicy,
        compatible: &Compatible,
        cheapest: TypeIx,
    ) -> TypeIx {
        if policy != MinValuesPolicy::Strict
            || self.min_values.is_empty()
            || self.limited.is_empty()
        {
            return cheapest;
        }
        let mut larger: Vec<TypeIx> =
            compatible.types.iter().filter(|own| self.takes_no_more(cheapest, *own)).collect();
        larger.sort_by_cached_key(|own| (self.limited_amounts(*own), *own));
        let is_enough = |largest: &TypeIx| {
            let mut listed = TypeSet::empty(self.types.len());
            for own in compatible.types.iter().filter(|own| self.takes_no_more(*own, *largest)) {
                listed.insert(own);
            }
            let (zones, purchases) = (compatible.zones, compatible.purchases);
            self.min_values_unmet(&listed, zones, purchases).is_none()
        };
        larger.iter().copied().find(is_enough).or(larger.last().copied()).unwrap_or(cheapest)
    }

    /// Whether a type takes no more of anything that limits name than another.
    fn takes_no_more(&self, own: TypeIx, other: TypeIx) -> bool {
        let (own, other) = (&self.types[own].capacity, &self.types[other].capacity);
        self.limited.iter().all(|name| own.get(name) <= other.get(name))
    }

    fn limited_amounts(&self, index: TypeIx) -> Vec<i64> {
        let capacity = &self.types[index].capacity;
        self.limited.iter().map(|name| capacity.get(name)).collect()
    }
}
