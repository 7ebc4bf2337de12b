//! What one stage of planning hands to the next: pods that need new nodes, and nodes to launch for
//! them.

mod item;
mod least_by_zone;
mod new_node;
mod zone_prices;

pub(crate) use item::Item;
pub(crate) use least_by_zone::LeastByZone;
pub(crate) use new_node::{Member, NewNode, price_beyond_commitments};
pub(crate) use zone_prices::ZonePrices;

/// With fewer pods than this, nodes are found in less time than a thread is worth.
pub(crate) const PODS_FOR_THREADS: usize = 256;
