//! Which of two attempts leaves fewer pods.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use crate::ids::PodIx;
use crate::model::Model;

/// Compares how many pods are left of the highest priority of which not the same number is.
pub(super) fn compare_left(
    model: &Model,
    a: impl Iterator<Item = PodIx>,
    b: impl Iterator<Item = PodIx>,
) -> Ordering {
    let mut difference: BTreeMap<Reverse<i32>, i64> = BTreeMap::new();
    let all = a.map(|pod| (pod, 1)).chain(b.map(|pod| (pod, -1)));
    for (pod, by) in all {
        *difference.entry(Reverse(model.pod(pod).spec.priority)).or_default() += by;
    }
    difference
        .into_values()
        .map(|own| own.cmp(&0))
        .find(|own| own.is_ne())
        .unwrap_or(Ordering::Equal)
}
