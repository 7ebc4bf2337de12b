//! Expectations, held against the world.

use std::collections::BTreeSet;

use domain::money::UsdPerHour;
use domain::pod::Pod;
use domain::{SignedDuration, Text, Timestamp};

use super::needed::Stretches;
use super::{Simulation, bound, view};
use crate::ec2::Instance;
use crate::ports::CLAIM_TAG;
use crate::report::{ExpectationOutcome, Waiting};
use crate::scenario::{Expected, InstanceFilter, PodCount, PriceBound};
use crate::world::World;
use crate::world::readiness::is_pod_of;

impl Simulation {
    /// Judges the expectations of a moment; those without one at the end.
    pub(super) fn judge(&mut self, now: Timestamp) {
        let is_due = |index: &usize| {
            let at = self.scenario.expectations[*index].at;
            let at = at.map_or(self.end, |at| self.scenario.start + at);
            at <= now && !self.outcomes.iter().any(|(known, _)| known == index)
        };
        let due: Vec<usize> = (0..self.scenario.expectations.len()).filter(is_due).collect();
        if !due.is_empty() {
            self.end_stretch();
        }
        for index in due {
            let expectation = &self.scenario.expectations[index];
            let outcome = ExpectationOutcome {
                at: now,
                expected: expectation.what.to_string().into(),
                found: self.contradiction(&expectation.what).map(Text::from),
            };
            self.outcomes.push((index, outcome));
        }
    }

    /// What is found instead of what is expected.
    fn contradiction(&self, expected: &Expected) -> Option<String> {
        let world = self.world.read();
        match expected {
            Expected::Nodes(filter, range) => {
                let found = billed(&world, filter).count();
                (!range.contains(count(found))).then(|| found.to_string())
            }
            Expected::Zones(range) => {
                let every = InstanceFilter::default();
                let zones: BTreeSet<&Text> =
                    billed(&world, &every).map(|own| &own.pool.zone).collect();
                let found = count(zones.len());
                (!range.contains(found)).then(|| format!("{found}: {zones:?}"))
            }
            Expected::Launched(filter, range) => {
                let is_ours = |own: &&Instance| own.tags.contains_key(CLAIM_TAG);
                let meant = world.ec2().instances().filter(is_ours);
                let found = meant.filter(|own| filter.matches(own)).count();
                (!range.contains(count(found))).then(|| found.to_string())
            }
            Expected::Hourly { above, below } => {
                let found = world.ec2().hourly();
                let holds =
                    self.is_above(found, above.as_ref()) && self.is_below(found, below.as_ref());
                (!holds).then(|| self.compared(found, &[above.as_ref(), below.as_ref()]))
            }
            Expected::Cost(min, max) => {
                let found = world.cost_nano_usd();
                let holds = min.is_none_or(|min| found >= i128::from(min))
                    && max.is_none_or(|max| found <= i128::from(max));
                let dollars = i64::try_from(found).unwrap_or(i64::MAX);
                (!holds).then(|| format!("${:.4}", UsdPerHour::from_nanos(dollars).to_f64()))
            }
            Expected::Pods { workload, counts } => counts.iter().find_map(|(kind, range)| {
                let found = count(pods(&world, workload.as_ref(), *kind));
                (!range.contains(found)).then(|| format!("{found} {}", word(*kind)))
            }),
            Expected::Waiting { pod, because } => waits(&world, pod, because),
            Expected::UnplacedSeconds { since, range } => {
                let found = seconds(match since {
                    None => waiting(&world).longest,
                    Some(since) => longest_since(&world, self.scenario.start + *since),
                });
                (!range.contains(found)).then(|| format!("{found} s"))
            }
            Expected::WithoutReadySeconds { workload, range } => {
                let found = seconds(world.without_ready(workload));
                (!range.contains(found)).then(|| format!("{found} s"))
            }
            Expected::Interruptions(range) => {
                let found = world.interruptions.count;
                (!range.contains(found)).then(|| found.to_string())
            }
            Expected::PercentOfBound(range) => {
                let found =
                    bound::percent(&world, &self.clockwork.core(), self.clockwork.settings());
                self.percent_of_bound.set(Some(found));
                (!range.contains(found)).then(|| format!("{found} %"))
            }
            Expected::CostPercentOfBound(range) => {
                let sum = self.stretches.as_ref().map(Stretches::sum).unwrap_or_default();
                let found = bound::percent_of(world.remaining_nano_usd(), sum.nano_usd);
                (!range.contains(found)).then(|| format!("{found} %"))
            }
            Expected::AfterEvictionSeconds(range) => {
                let found = seconds(waiting(&world).longest_after_eviction);
                (!range.contains(found)).then(|| format!("{found} s"))
            }
        }
    }

    fn is_above(&self, found: UsdPerHour, bound: Option<&PriceBound>) -> bool {
        match bound {
            None => true,
            Some(PriceBound::Figure(figure)) => found >= *figure,
            Some(PriceBound::Mark(mark)) => self.marks.get(mark).is_some_and(|own| found > *own),
        }
    }

    fn is_below(&self, found: UsdPerHour, bound: Option<&PriceBound>) -> bool {
        match bound {
            None => true,
            Some(PriceBound::Figure(figure)) => found <= *figure,
            Some(PriceBound::Mark(mark)) => self.marks.get(mark).is_some_and(|own| found < *own),
        }
    }

    fn compared(&self, found: UsdPerHour, bounds: &[Option<&PriceBound>]) -> String {
        let marks = bounds.iter().copied().flatten().filter_map(|bound| match bound {
            PriceBound::Mark(mark) => Some((mark, self.marks.get(mark)?)),
            PriceBound::Figure(_) => None,
        });
        let known: Vec<String> = marks.map(|(mark, own)| format!(", {mark} was {own}")).collect();
        format!("{found}{}", known.concat())
    }
}

fn billed<'w>(world: &'w World, filter: &'w InstanceFilter) -> impl Iterator<Item = &'w Instance> {
    world.ec2().billed().filter(move |own| filter.matches(own))
}

fn pods(world: &World, workload: Option<&Text>, kind: PodCount) -> usize {
    let is_its = |pod: &&Pod| workload.is_none_or(|name| is_pod_of(pod, name));
    match kind {
        PodCount::Pending => view::pods_pending(world).filter(is_its).count(),
        PodCount::Running => world
            .api()
            .list::<Pod>()
            .filter(|pod| pod.is_active() && pod.ready == Some(true) && !pod.is_daemon())
            .filter(is_its)
            .count(),
    }
}

const fn word(kind: PodCount) -> &'static str {
    match kind {
        PodCount::Running => "running",
        PodCount::Pending => "pending",
    }
}

fn waits(world: &World, prefix: &Text, because: &Text) -> Option<String> {
    let mut found = Vec::new();
    for pod in view::pods_pending(world).filter(|pod| pod.key.name.starts_with(&**prefix)) {
        match world.unschedulable.get(&pod.key) {
            Some(why) if why.contains(&**because) => return None,
            Some(why) => found.push(why.to_string()),
            None => found.push(format!("{} waits, and nobody says why", pod.key)),
        }
    }
    found.sort();
    found.dedup();
    Some(if found.is_empty() { "no such pod waits".to_owned() } else { found.join("; ") })
}

/// How long pods waited, those included that wait still and could be hosted.
pub(super) fn waiting(world: &World) -> Waiting {
    let mut waiting = world.waiting;
    let mut sorted = world.each_wait.clone();
    sorted.sort_unstable();
    waiting.median = percentile(&sorted, 50);
    waiting.percentile_95 = percentile(&sorted, 95);
    for pod in view::pods_pending(world) {
        if world.unschedulable.contains_key(&pod.key) {
            continue;
        }
        let waited = world.waited(pod);
        waiting.longest = waiting.longest.max(waited);
        if world.is_successor_of_moved(pod) {
            waiting.longest_after_eviction = waiting.longest_after_eviction.max(waited);
        }
    }
    waiting
}

/// What so many percent of sorted waits do not exceed: the least of the waits for which that is so.
fn percentile(sorted: &[SignedDuration], percent: usize) -> SignedDuration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// The longest wait of pods made from a moment on, as [`waiting`] counts them.
fn longest_since(world: &World, since: Timestamp) -> SignedDuration {
    let bound = world.waits.range(since..).map(|(_, waited)| *waited);
    let is_meant = |pod: &&Pod| {
        pod.created.is_some_and(|created| created >= since)
            && !world.unschedulable.contains_key(&pod.key)
    };
    let pending = view::pods_pending(world).filter(is_meant).map(|pod| world.waited(pod));
    bound.chain(pending).max().unwrap_or_default()
}

fn seconds(duration: domain::SignedDuration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
