//! What placement knows of zones before any pod has its place.

use domain::Text;

use crate::ids::ShapeIx;

/// Pods of a shape that any plan has in each of some zones, since they must be spread over them.
pub(crate) struct LeastByZone {
    /// The shape.
    pub(crate) shape: ShapeIx,
    /// Zones over which its pods must be spread.
    pub(crate) zones: Vec<Text>,
    /// How many of its pods each of them has at the least, once all have a place.
    pub(crate) least: u32,
}
