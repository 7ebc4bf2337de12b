//! What pods cost by the zone of their node, as whoever chooses zones weighs it.

use rustc_hash::FxHashMap;

use crate::ids::{Idx, ShapeIx, ZoneIx};

/// By shape, what one more pod costs in each zone, in nano-USD an hour.
#[derive(Default)]
pub(crate) struct ZonePrices {
    by_shape: FxHashMap<ShapeIx, Vec<f64>>,
}

impl ZonePrices {
    /// Notes what a pod of the shape costs, by zone: infinite where no node hosts it.
    pub(crate) fn insert(&mut self, shape: ShapeIx, by_zone: Vec<f64>) {
        self.by_shape.insert(shape, by_zone);
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_shape.is_empty()
    }

    /// What one more pod of the shape costs in the zone; `None` where that is not known.
    pub(crate) fn price(&self, shape: ShapeIx, zone: ZoneIx) -> Option<f64> {
        self.by_shape.get(&shape)?.get(zone.index()).copied()
    }
}
