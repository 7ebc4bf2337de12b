//! What an installation remembers of spot capacity: per offering, how often EC2 took instances
//! back, and over how many node-hours.
//!
//! EC2 tells nobody how likely an interruption is. Whoever runs nodes sees it: each cluster keeps a
//! [`SpotHistory`] of its own, and what is planned from is the sum of all of them in a region.
//! Everything decays, so that what a pool was like last month does not decide what is launched
//! today. [`SpotRates`] says what follows from it, [`SpotPolicy`] what a NodePool makes of that.

mod average_pod;
mod costs;
mod policy;
mod rate;
mod rates;
mod share;
mod skipped;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod worlds;

use std::collections::BTreeMap;

use crate::{SignedDuration, Text, Timestamp};

pub use average_pod::AveragePod;
pub use costs::{INTERRUPTION_NOTICE, InterruptionCosts, NodeInterruptionCost, PodInterruption};
pub use policy::{InterruptionCost, SpotPolicy, SpotPolicyError};
pub use rate::InterruptionRate;
pub use rates::{SpotEstimate, SpotRates};
pub use share::{SpotOfferingShare, SpotOfferingShareError};
pub use skipped::{SKIPPED_FOR, SkippedSpot};

/// After so long an interruption, a launch, a recommendation or a node-hour counts half.
pub const HALF_LIFE: SignedDuration = SignedDuration::from_hours(72);
/// After so long a capacity error counts half: shortage passes sooner than the habits of a pool.
pub const SHORTAGE_HALF_LIFE: SignedDuration = SignedDuration::from_hours(6);
/// Most offerings that one history keeps; those of which least is known go first. A region has
/// about 1,300 types in six zones.
pub const OFFERINGS_MAX: usize = 8_192;
/// What counts for less than this is forgotten: node-hours or events.
const NEGLIGIBLE: f64 = 0.01;

/// Offerings by instance type, then zone.
pub type ByOffering<T> = BTreeMap<Text, BTreeMap<Text, T>>;

/// What is remembered of the spot offerings of a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotHistory {
    /// The moment that all counts are decayed to.
    as_of: Timestamp,
    offerings: ByOffering<OfferingHistory>,
}

/// What is remembered of one offering. Every count is decayed to one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfferingHistory {
    /// Instances launched.
    pub launches: f64,
    /// Hours that instances ran, all together.
    pub node_hours: f64,
    /// Interruption warnings.
    pub interruptions: f64,
    /// Rebalance recommendations.
    pub rebalances: f64,
    /// Launches that EC2 had no capacity for.
    pub capacity_errors: f64,
    /// When EC2 last took an instance back.
    pub last_interruption: Option<Timestamp>,
}

/// Something that was seen of an offering.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotEvent {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// When it happened.
    pub at: Timestamp,
    /// What it is.
    pub kind: SpotEventKind,
}

/// What can be seen of an offering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpotEventKind {
    /// An instance was launched.
    Launch,
    /// An instance ran for so many hours, up to the event's time.
    NodeHours(f64),
    /// EC2 warned that it takes an instance back.
    Interruption,
    /// EC2 recommended to replace an instance.
    Rebalance,
    /// EC2 had no capacity for a launch.
    CapacityError,
}

impl SpotHistory {
    /// With counts that are decayed to a moment. Counts that are no finite number from zero up
    /// count as zero.
    pub fn new(
        as_of: Timestamp,
        offerings: impl IntoIterator<Item = (Text, Text, OfferingHistory)>,
    ) -> Self {
        let mut own = Self { as_of, offerings: BTreeMap::new() };
        for (instance_type, zone, history) in offerings {
            own.offerings.entry(instance_type).or_default().insert(zone, history.sound());
        }
        own
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.offerings.is_empty()
    }

    /// The moment that all counts are decayed to.
    pub const fn as_of(&self) -> Timestamp {
        self.as_of
    }

    /// Every offering, by instance type and zone.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Text, &OfferingHistory)> {
        self.offerings
            .iter()
            .flat_map(|(name, zones)| zones.iter().map(move |(zone, own)| (name, zone, own)))
    }

    /// What is remembered of an offering.
    pub fn get(&self, instance_type: &str, zone: &str) -> Option<&OfferingHistory> {
        self.offerings.get(instance_type)?.get(zone)
    }

    /// This history, decayed to a later moment; an earlier one changes nothing.
    pub fn decayed_to(mut self, moment: Timestamp) -> Self {
        if moment > self.as_of {
            let (slow, fast) = decays(moment.duration_since(self.as_of));
            for own in self.offerings.values_mut().flat_map(BTreeMap::values_mut) {
                *own = own.times(slow, fast);
            }
            self.as_of = moment;
        }
        self
    }

    /// Counts an event. Events count the same whatever the order in which they are heard of.
    pub fn record(&mut self, event: &SpotEvent) {
        if event.at > self.as_of || self.is_empty() {
            *self = std::mem::take(self).decayed_to(event.at);
            self.as_of = self.as_of.max(event.at);
        }
        let (slow, fast) = decays(self.as_of.duration_since(event.at));
        let zones = self.offerings.entry(event.instance_type.clone()).or_default();
        let own = zones.entry(event.zone.clone()).or_default();
        match event.kind {
            SpotEventKind::Launch => own.launches += slow,
            SpotEventKind::NodeHours(hours) => own.node_hours += sound(hours) * slow,
            SpotEventKind::Interruption => {
                own.interruptions += slow;
                own.last_interruption = own.last_interruption.max(Some(event.at));
            }
            SpotEventKind::Rebalance => own.rebalances += slow,
            SpotEventKind::CapacityError => own.capacity_errors += fast,
        }
    }

    /// Adds what another remembers.
    pub fn merge(&mut self, other: Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        let moment = self.as_of.max(other.as_of);
        *self = std::mem::take(self).decayed_to(moment);
        for (instance_type, zones) in other.decayed_to(moment).offerings {
            let known = self.offerings.entry(instance_type).or_default();
            for (zone, history) in zones {
                let own = known.entry(zone).or_default();
                *own = own.plus(&history);
            }
        }
    }

    /// Without what no longer counts, and with no more offerings than are kept.
    pub fn pruned(mut self) -> Self {
        self.retain(|own| own.weight() >= NEGLIGIBLE);
        let mut weights: Vec<f64> = self
            .offerings
            .values()
            .flat_map(BTreeMap::values)
            .map(OfferingHistory::weight)
            .collect();
        if weights.len() > OFFERINGS_MAX {
            weights.sort_by(|a, b| b.total_cmp(a));
            let least = weights[OFFERINGS_MAX - 1];
            let mut left = OFFERINGS_MAX;
            self.retain(|own| {
                let is_kept = left > 0 && own.weight() >= least;
                left -= usize::from(is_kept);
                is_kept
            });
        }
        self
    }

    fn retain(&mut self, mut keep: impl FnMut(&OfferingHistory) -> bool) {
        for zones in self.offerings.values_mut() {
            zones.retain(|_, own| keep(own));
        }
        self.offerings.retain(|_, zones| !zones.is_empty());
    }
}

impl OfferingHistory {
    /// How much is known: node-hours and events.
    fn weight(&self) -> f64 {
        self.node_hours
            + self.launches
            + self.interruptions
            + self.rebalances
            + self.capacity_errors
    }

    fn times(&self, slow: f64, fast: f64) -> Self {
        Self {
            launches: self.launches * slow,
            node_hours: self.node_hours * slow,
            interruptions: self.interruptions * slow,
            rebalances: self.rebalances * slow,
            capacity_errors: self.capacity_errors * fast,
            last_interruption: self.last_interruption,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            launches: self.launches + other.launches,
            node_hours: self.node_hours + other.node_hours,
            interruptions: self.interruptions + other.interruptions,
            rebalances: self.rebalances + other.rebalances,
            capacity_errors: self.capacity_errors + other.capacity_errors,
            last_interruption: self.last_interruption.max(other.last_interruption),
        }
    }

    fn sound(&self) -> Self {
        Self {
            launches: sound(self.launches),
            node_hours: sound(self.node_hours),
            interruptions: sound(self.interruptions),
            rebalances: sound(self.rebalances),
            capacity_errors: sound(self.capacity_errors),
            last_interruption: self.last_interruption,
        }
    }
}

fn sound(count: f64) -> f64 {
    if count.is_finite() { count.max(0.0) } else { 0.0 }
}

/// What is left of a count after so long, of the slow ones and of capacity errors.
fn decays(elapsed: SignedDuration) -> (f64, f64) {
    (left_after(elapsed, HALF_LIFE), left_after(elapsed, SHORTAGE_HALF_LIFE))
}

/// What is left of a count after so long; all of it before.
fn left_after(elapsed: SignedDuration, half_life: SignedDuration) -> f64 {
    let halvings = elapsed.as_secs_f64() / half_life.as_secs_f64();
    (-halvings.max(0.0)).exp2()
}
