//! Which of the domains that go together are rare: one that goes with few others has pods while
//! these have room.

use std::collections::BTreeSet;

use domain::Text;
use rustc_hash::FxHashMap;

/// Keys and a domain of each.
pub(super) type Pins = Vec<(Text, Text)>;

/// Of some ways of pinning domains, how many have each of them.
pub(super) struct Rivals(FxHashMap<(Text, Text), usize>);

impl Rivals {
    /// Of ways that each count once.
    pub(super) fn of<'w>(ways: impl Iterator<Item = &'w Pins>) -> Self {
        let mut having: FxHashMap<(Text, Text), usize> = FxHashMap::default();
        for pin in ways.collect::<BTreeSet<_>>().into_iter().flatten() {
            *having.entry(pin.clone()).or_default() += 1;
        }
        Self(having)
    }

    /// In how many ways the rarest of the domains is.
    pub(super) fn of_rarest(&self, pins: &Pins) -> usize {
        pins.iter().map(|pin| self.0.get(pin).copied().unwrap_or(0)).min().unwrap_or_default()
    }
}
