//! A hundred thousand messages: each interruption is handled once in effect, none is lost, and the
//! dead letters hold exactly what could not be handled, whatever else is in the queue and whenever
//! the function dies.
//!
//! By default a few generations; all of them with
//! `cargo test --release -p outrigger-interruption --test soak -- --ignored`.

#![expect(clippy::unwrap_used, reason = "what cannot be set up ends the test")]

mod soak_world;

use std::collections::{BTreeMap, BTreeSet};

use domain::SignedDuration;
use domain::label::REBALANCE_RECOMMENDED;
use domain::reason::DisruptionReason;
use soak_world::{Kind, Queue, Region};

use controllers::record::claim::{ClaimRecord, EndReason};

/// Each a region with five clusters, all interruptions of which come at once.
fn generations(count: u64) -> Total {
    let mut total = Total::default();
    for seed in 0..count {
        total.add(&generation(seed));
    }
    total
}

/// What was sent and what came of it.
#[derive(Debug, Default)]
struct Total {
    messages: usize,
    duplicates: usize,
    garbage: usize,
    unknown: usize,
    deaths: usize,
    came_back: usize,
    dead_letters: usize,
}

impl Total {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.duplicates += other.duplicates;
        self.garbage += other.garbage;
        self.unknown += other.unknown;
        self.deaths += other.deaths;
        self.came_back += other.came_back;
        self.dead_letters += other.dead_letters;
    }
}

fn generation(seed: u64) -> Total {
    let region = Region::start(seed);
    let before = region.claims();
    let sent = region.messages();
    let mut queue = Queue::new(&sent);
    region.break_things();
    let mut deaths = 0;
    let mut news: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(batch) = queue.next_batch(&region) {
        // Faults pass: what fails every time is the dead letters' matter, and is so on purpose.
        if queue.is_last_chance(&batch) {
            region.mend_things();
        }
        let handled = region.invoke(&sent, &batch);
        region.break_things();
        match handled {
            None => deaths += 1,
            Some(handled) => {
                let failed: BTreeSet<&str> = handled
                    .response
                    .batch_item_failures
                    .iter()
                    .map(|failure| &*failure.item_identifier)
                    .collect();
                queue.delete(&batch, &failed);
                for claim in soak_world::news(&handled) {
                    *news.entry(claim).or_default() += 1;
                }
            }
        }
    }
    region.mend_things();
    check_dead_letters(&region, &sent, &queue);
    assert!(news.values().all(|times| *times == 1), "seed {seed}: recorded twice: {news:?}");
    // Before anything else has had a turn: what the messages mean is stored.
    check_marks(&region, &before);
    region.live(SignedDuration::from_mins(8));
    check_marks(&region, &before);
    region.check_rest(&before);
    let count = |kind: fn(&Kind) -> bool| sent.iter().filter(|own| kind(&own.kind)).count();
    Total {
        messages: sent.len(),
        duplicates: sent.iter().filter(|own| own.is_duplicate).count(),
        garbage: count(|kind| matches!(kind, Kind::Garbage)),
        unknown: count(|kind| matches!(kind, Kind::Unknown)),
        deaths,
        came_back: queue.came_back,
        dead_letters: queue.dead_letters.len(),
    }
}

/// Exactly the messages whose instance could never be looked up.
fn check_dead_letters(region: &Region, sent: &[soak_world::Sent], queue: &Queue) {
    let expected: BTreeSet<usize> = (0..sent.len())
        .filter(|index| {
            sent[*index].instance.as_ref().is_some_and(|id| region.poisoned.contains(id))
        })
        .collect();
    assert_eq!(queue.dead_letters, expected);
}

/// Every claim is as what was said about its instance has it.
fn check_marks(region: &Region, before: &BTreeMap<String, ClaimRecord>) {
    let now = region.claims();
    for (instance, record) in before {
        let claim = now.get(instance);
        let ending = claim.and_then(|record| record.ending.as_ref());
        match region.fate(instance) {
            None => assert!(claim.is_some() && ending.is_none(), "{instance} was left alone"),
            Some(Kind::Rebalance) => {
                let claim = claim.unwrap();
                assert!(claim.claim.annotations.contains_key(REBALANCE_RECOMMENDED), "{instance}");
                assert!(ending.is_none());
            }
            Some(kind) => {
                // Gone is as good.
                let Some(ending) = ending else {
                    assert!(claim.is_none(), "{instance}: {kind:?} was lost: {:?}", record.name());
                    continue;
                };
                assert_eq!(ending.reason, EndReason::Disrupted(DisruptionReason::Interrupted));
                if *kind == Kind::Spot {
                    assert_eq!(ending.deadline, Some(region.said() + SignedDuration::from_mins(2)));
                }
            }
        }
    }
}

#[test]
fn every_interruption_is_handled_once_and_none_is_lost() {
    let total = generations(2);
    assert!(total.messages > 300 && total.deaths > 3 && total.came_back > 0, "{total:?}");
    assert!(total.dead_letters > 0 && total.garbage > 10 && total.unknown > 10, "{total:?}");
}

#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_messages() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let totals: Vec<Total> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut total = Total::default();
                    let mut seed = 1000 + thread as u64;
                    while total.messages < 100_000_usize.div_ceil(threads) {
                        total.add(&generation(seed));
                        seed += threads as u64;
                    }
                    total
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut total = Total::default();
    for own in &totals {
        total.add(own);
    }
    println!("{total:?}"); // With --nocapture: the figures.
    let share = |part: usize| part * 1000 / total.messages;
    assert!(share(total.duplicates) >= 95 && share(total.garbage) >= 45, "{total:?}");
    assert!(share(total.unknown) >= 45 && total.deaths > 100, "{total:?}");
    assert!(total.dead_letters > 100, "{total:?}");
}
