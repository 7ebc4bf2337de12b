//! Annotations `outrigger.dev/…` of a NodePool.
//!
//! Karpenter's API server takes any text there, and so does ours: an annotation that says nothing
//! is a warning, and counts as not there.

use domain::label::{CONSOLIDATE_BELOW, EXPENDABLE_BELOW};
use domain::node_pool_options::NodePoolOptions;

use super::consolidate_below::read_consolidate_below;
use super::drift_waves::read_drift_waves;
use super::expendable::read_expendable;
use super::expiration::read_expiration;
use super::off_hours::read_off_hours;
use super::zone_balance::read_zone_balance;
use crate::field::Field;

/// Reads the options of a NodePool from its annotations.
pub(super) fn read_options(root: Field<'_>) -> NodePoolOptions {
    let annotations = root.get("metadata").get("annotations");
    NodePoolOptions {
        expendable_below: read_expendable(annotations.get(EXPENDABLE_BELOW)),
        expiration: read_expiration(annotations),
        drift_waves: read_drift_waves(annotations),
        off_hours: read_off_hours(annotations),
        zone_balance: read_zone_balance(annotations),
        consolidate_below: read_consolidate_below(annotations.get(CONSOLIDATE_BELOW)),
    }
}
