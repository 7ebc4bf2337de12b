//! How often EC2 takes back instances of an offering, as far as it can be known.
//!
//! A Gamma-Poisson model, level upon level: each level's rate is a weighted mean of what was seen
//! there and of the level above, so that few data are pulled towards what is known in general. From
//! the region to the family (`m7g`), then by size (`large`) and zone as factors, then the offering.
//! How far an offering is pulled follows from how much offerings have been seen to differ: where
//! all are interrupted alike, one that was unlucky is not taken for worse.
//!
//! A planner that takes the offering of the least estimate takes one that was underestimated more
//! often than not. So prices are not weighted by the means, but by the rate within what is credible
//! that is nearest to that of offerings at large: a difference counts as far as it is more than
//! chance may make of none.

use std::collections::BTreeMap;

use super::rate::InterruptionRate;
use super::{ByOffering, HALF_LIFE};
use super::{OfferingHistory, SpotHistory, left_after};
use crate::{SignedDuration, Text, Timestamp};

/// Interruptions a node-hour before anything was seen: one in a hundred.
const RATE_FIRST: f64 = 0.01;
/// Interruptions that the first guess counts for.
const REGION_SHAPE: f64 = 1.0;
/// Interruptions that the region's rate counts for in a family's.
const FAMILY_SHAPE: f64 = 6.0;
/// Interruptions that no difference counts for in the factors of sizes and zones.
const FACTOR_SHAPE: f64 = 12.0;
/// What a size or a zone makes of a family's rate at the least and at the most.
const FACTOR_RANGE: [f64; 2] = [0.25, 4.0];
/// Squared coefficient of variation of rates between offerings before anything was seen, and how
/// many expected interruptions, squared, that counts for.
const VARIATION_FIRST: f64 = 1.0;
const VARIATION_WEIGHT: f64 = 0.5;
/// Interruptions that what is known in general counts for in an offering's rate: one over the
/// squared variation, within these.
const OFFERING_SHAPES: [f64; 2] = [0.15, 20.0];
/// Standard deviations on either side within which rates lie that are taken for no different: all
/// but 5 % of what is credible.
const DEVIATIONS: f64 = 2.0;
/// How long an offering that was over a maximum stays out at the least.
const OUT_AT_LEAST: SignedDuration = SignedDuration::from_hours(2);

/// What is known of an offering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpotEstimate {
    /// How often EC2 takes instances back.
    pub rate: InterruptionRate,
    /// The rate that prices are weighted by: as near to the region's as the credible interval of
    /// `rate` allows.
    pub weighed: InterruptionRate,
    /// The rate just after the last interruption; the same where there was none.
    pub peak: InterruptionRate,
    /// Launches that EC2 had no capacity for, of a thousand.
    pub shortage_per_mille: u32,
    /// When EC2 last took an instance back.
    last_interruption: Option<Timestamp>,
}

/// What a history says of every offering, whether it was seen or not.
#[derive(Clone, Debug)]
pub struct SpotRates {
    now: Timestamp,
    history: SpotHistory,
    region: f64,
    families: BTreeMap<Text, Level>,
    sizes: BTreeMap<Text, Level>,
    zones: BTreeMap<Text, Level>,
    /// Interruptions that what is known in general counts for in an offering's rate.
    shape: f64,
    known: ByOffering<SpotEstimate>,
}

/// Interruptions, and those that would be expected, or the node-hours.
#[derive(Clone, Copy, Default)]
struct Sum {
    interruptions: f64,
    of: f64,
}

impl Sum {
    fn add(&mut self, interruptions: f64, of: f64) {
        self.interruptions += interruptions;
        self.of += of;
    }

    /// What was seen, pulled to `prior` as if so many interruptions had been seen at that.
    fn pulled_to(self, prior: f64, shape: f64) -> f64 {
        (shape + self.interruptions) / (shape / prior + self.of)
    }

    /// As near to `reference` as what is known allows: as the credible interval of
    /// [`Self::pulled_to`] does, or, where that says more, the confidence interval of what was seen
    /// here alone; that one goes no further than the mean. Few interruptions in next to no time
    /// are many, however little is known.
    fn sure_from(self, reference: f64, prior: f64, shape: f64) -> f64 {
        let (mean, seen) = (self.pulled_to(prior, shape), self.interruptions);
        let events = shape + seen;
        let credible = |deviations: f64| quantile(events, deviations) * mean / events;
        let confident = |events: f64, deviations: f64| quantile(events, deviations) / self.of;
        let low = credible(-DEVIATIONS).max(confident(seen, -DEVIATIONS).min(mean));
        let high = credible(DEVIATIONS).min(confident(seen + 1.0, DEVIATIONS).max(mean));
        reference.max(low).min(high)
    }
}

/// So many standard deviations from the median of a gamma distribution of that shape, whose cube
/// root is nearly normal (Wilson and Hilferty, The distribution of chi-square, 1931). Of a count,
/// and one more than it, these are the bounds of its confidence interval (Breslow and Day,
/// Statistical Methods in Cancer Research II, 1987).
fn quantile(shape: f64, deviations: f64) -> f64 {
    if shape <= 0.0 {
        return 0.0;
    }
    let root = 1.0 - 1.0 / (9.0 * shape) + deviations / (3.0 * shape.sqrt());
    shape * root.max(0.0).powi(3)
}

/// A rate or a factor: what is expected, and the credible one that makes least of a difference.
#[derive(Clone, Copy, Debug)]
struct Level {
    mean: f64,
    sure: f64,
}

impl SpotRates {
    /// What a history says at a moment.
    pub fn of(history: &SpotHistory, now: Timestamp) -> Self {
        let history = history.clone().decayed_to(now);
        let (mut all, mut by_family) = (Sum::default(), BTreeMap::<Text, Sum>::new());
        for (instance_type, _, own) in history.iter() {
            all.add(own.interruptions, own.node_hours);
            let sum = by_family.entry(family_of(instance_type).into()).or_default();
            sum.add(own.interruptions, own.node_hours);
        }
        let region = all.pulled_to(RATE_FIRST, REGION_SHAPE);
        let level = |sum: Sum| Level {
            mean: sum.pulled_to(region, FAMILY_SHAPE),
            sure: sum.sure_from(region, region, FAMILY_SHAPE),
        };
        let families = by_family.into_iter().map(|(family, sum)| (family, level(sum))).collect();
        let mut rates = Self {
            now,
            history: SpotHistory::default(),
            region,
            families,
            sizes: BTreeMap::new(),
            zones: BTreeMap::new(),
            shape: 0.0,
            known: ByOffering::new(),
        };
        rates.sizes = rates.factors(&history, |instance_type, _| size_of(instance_type));
        rates.zones = rates.factors(&history, |_, zone| zone);
        rates.shape = rates.shape_of(&history);
        for (instance_type, zone, own) in history.iter() {
            let estimate = rates.estimate_of(instance_type, zone, own);
            rates.known.entry(instance_type.clone()).or_default().insert(zone.clone(), estimate);
        }
        rates.history = history;
        rates
    }

    /// Whether nothing was ever seen.
    pub fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    /// What was seen, decayed to the moment.
    pub fn history(&self) -> &SpotHistory {
        &self.history
    }

    /// What is known of an offering; of one that was never seen, what its family, its size and its
    /// zone say.
    pub fn get(&self, instance_type: &str, zone: &str) -> SpotEstimate {
        let known = self.known.get(instance_type).and_then(|zones| zones.get(zone)).copied();
        known.unwrap_or_else(|| {
            let Level { mean, sure } = self.prior(instance_type, zone);
            let (rate, weighed) = (InterruptionRate::of(mean), InterruptionRate::of(sure));
            SpotEstimate {
                rate,
                weighed,
                peak: rate,
                shortage_per_mille: 0,
                last_interruption: None,
            }
        })
    }

    /// Whether an offering is left out for a maximum: its rate is above it, or was after the last
    /// interruption and has not halved since, or not for two hours.
    pub fn is_over(&self, estimate: &SpotEstimate, max: InterruptionRate) -> bool {
        let is_recent =
            estimate.last_interruption.is_some_and(|at| self.now.duration_since(at) < OUT_AT_LEAST);
        let has_halved = estimate.rate.micros().saturating_mul(2) <= estimate.peak.micros();
        estimate.rate > max || estimate.peak > max && (is_recent || !has_halved)
    }

    /// What is known of an offering's rate without its own data.
    fn prior(&self, instance_type: &str, zone: &str) -> Level {
        let known = |levels: &BTreeMap<Text, Level>, key: &str, default: f64| {
            levels.get(key).copied().unwrap_or(Level { mean: default, sure: default })
        };
        let family = known(&self.families, family_of(instance_type), self.region);
        let size = known(&self.sizes, size_of(instance_type), 1.0);
        let zone = known(&self.zones, zone, 1.0);
        Level {
            mean: family.mean * size.mean * zone.mean,
            sure: family.sure * size.sure * zone.sure,
        }
    }

    /// How much more often than expected offerings with something in common were interrupted.
    fn factors<'h>(
        &self,
        history: &'h SpotHistory,
        key: impl Fn(&'h str, &'h str) -> &'h str,
    ) -> BTreeMap<Text, Level> {
        let mut sums = BTreeMap::<&str, Sum>::new();
        for (instance_type, zone, own) in history.iter() {
            let expected = self.prior(instance_type, zone).mean * own.node_hours;
            sums.entry(key(instance_type, zone)).or_default().add(own.interruptions, expected);
        }
        let factor = |sum: Sum| {
            let [least, most] = FACTOR_RANGE;
            Level {
                mean: sum.pulled_to(1.0, FACTOR_SHAPE).clamp(least, most),
                sure: sum.sure_from(1.0, 1.0, FACTOR_SHAPE).clamp(least, most),
            }
        };
        sums.into_iter().map(|(key, sum)| (key.into(), factor(sum))).collect()
    }

    /// By moments: interruptions differ from what is expected by chance, and beyond that by how
    /// much rates differ.
    fn shape_of(&self, history: &SpotHistory) -> f64 {
        let (mut beyond, mut squares) = (VARIATION_FIRST * VARIATION_WEIGHT, VARIATION_WEIGHT);
        for (instance_type, zone, own) in history.iter() {
            let expected = self.prior(instance_type, zone).mean * own.node_hours;
            beyond += (own.interruptions - expected).powi(2) - expected;
            squares += expected * expected;
        }
        let [least, most] = OFFERING_SHAPES;
        let variation = (beyond / squares).max(f64::MIN_POSITIVE);
        (1.0 / variation).clamp(least, most)
    }

    fn estimate_of(&self, instance_type: &str, zone: &str, own: &OfferingHistory) -> SpotEstimate {
        let Level { mean: prior, sure } = self.prior(instance_type, zone);
        let seen = Sum { interruptions: own.interruptions, of: own.node_hours };
        let rate = seen.pulled_to(prior, self.shape);
        let weighed = seen.sure_from(sure, prior, self.shape);
        let peak = own.last_interruption.map_or(rate, |at| {
            let left = left_after(self.now.duration_since(at), HALF_LIFE);
            let then = Sum { interruptions: seen.interruptions / left, of: seen.of / left };
            then.pulled_to(prior, self.shape).max(rate)
        });
        let asked = own.capacity_errors + own.launches + 1.0;
        let shortage = own.capacity_errors / asked * 1000.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 1000"
        )]
        SpotEstimate {
            rate: InterruptionRate::of(rate),
            weighed: InterruptionRate::of(weighed),
            peak: InterruptionRate::of(peak),
            shortage_per_mille: shortage.round() as u32,
            last_interruption: own.last_interruption,
        }
    }
}

/// `m7g` of `m7g.large`.
fn family_of(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or(instance_type, |(family, _)| family)
}

/// `large` of `m7g.large`.
fn size_of(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or("", |(_, size)| size)
}
