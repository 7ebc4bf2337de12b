//! What annotations of ours say about a NodePool, beyond Karpenter's API.

use crate::drift_waves::DriftWaves;
use crate::off_hours::{OffHours, OffPeriod};
use crate::zone_balance::ZoneBalance;
use crate::{SignedDuration, Timestamp};

/// Options of a NodePool, each an annotation `outrigger.dev/…` of its object. Without them it is
/// exactly what Karpenter's API says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolOptions {
    /// Pods of a lower priority buy no node of the pool, hold none, and need no place when one goes
    /// (`outrigger.dev/expendable-below`).
    pub expendable_below: Option<i32>,
    /// How its nodes expire.
    pub expiration: Expiration,
    /// Nodes of which pods request this many percent or more, in CPU or in memory, are not
    /// consolidated, 1 to 100 (`outrigger.dev/consolidate-below`).
    pub consolidate_below: Option<u8>,
    /// When it has no nodes (`outrigger.dev/off-schedule`).
    pub off_hours: Option<OffHours>,
    /// In which waves its nodes drift, and when that stops (`outrigger.dev/drift-waves`,
    /// `drift-halt-after`).
    pub drift_waves: Option<DriftWaves>,
    /// How evenly its new nodes are spread over zones (`outrigger.dev/zone-balance`).
    pub zone_balance: Option<ZoneBalance>,
}

impl NodePoolOptions {
    /// The time in which the pool is off, if the moment is in one.
    pub fn off_period(&self, now: Timestamp) -> Option<OffPeriod> {
        self.off_hours.as_ref()?.period(now)
    }

    /// Whether pods of the priority are expendable on the pool's nodes.
    pub fn is_expendable(&self, priority: i32) -> bool {
        self.expendable_below.is_some_and(|below| priority < below)
    }
}

/// How nodes of a NodePool expire. By default as in Karpenter: at exactly `expireAfter`, whatever
/// holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiration {
    /// Whether a node that is past its age limit counts as drifted: budgets,
    /// PodDisruptionBudgets and do-not-disrupt hold it (`outrigger.dev/expiration: graceful`).
    pub is_graceful: bool,
    /// By how many percent of `expireAfter` a node's age limit may fall short of it, 0 to 100
    /// (`outrigger.dev/expiration-spread`).
    pub spread_percent: u8,
    /// How long after its age limit a node that expires gracefully goes by force
    /// (`outrigger.dev/expire-by`); never, where unset.
    pub expire_by: Option<SignedDuration>,
}
