//! What zones are chosen by, beside constraints between pods.

use std::collections::BTreeMap;

use crate::ids::{GroupIx, IndexVec, ZoneIx};
use crate::work::ZonePrices;

/// What pods cost by zone, one by one and together.
#[derive(Default)]
pub(super) struct ZoneChoice {
    pub(super) prices: ZonePrices,
    /// Of each required affinity by zone, how dear each zone is for all pods that open or join it.
    pub(super) together: BTreeMap<GroupIx, IndexVec<ZoneIx, f64>>,
}

/// What all groups cost in a zone counts for each of them so many times as much as what it costs
/// there itself. Of the sample workloads those are the cheapest whose groups are all in one zone.
const TOGETHER: f64 = 3.0;

/// Weighs what each group costs in a zone with what all of them cost there, both beside the
/// cheapest zone: groups that cost about as much in several zones had better be in the same one,
/// where they share nodes.
pub(super) fn weigh_relatively(
    together: &mut BTreeMap<GroupIx, IndexVec<ZoneIx, f64>>,
    zones: usize,
) {
    let mut total: IndexVec<ZoneIx, f64> = IndexVec::filled(0.0, zones);
    for sums in together.values() {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total += sum;
        }
    }
    let least =
        |sums: &IndexVec<ZoneIx, f64>| sums.iter().copied().fold(f64::INFINITY, f64::min).max(1.0);
    let least_total = least(&total);
    for sums in together.values_mut() {
        let least_own = least(sums);
        for (sum, total) in sums.iter_mut().zip(&total) {
            *sum = *sum / least_own + total / least_total * TOGETHER;
        }
    }
}
