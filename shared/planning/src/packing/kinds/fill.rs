//! Filling one bin with kinds of pods.

use super::Kinds;
use crate::packing::pattern::NODE_COST_NANOS;
use crate::relaxation::Open;

/// Pods of one kind are put in by this part of those that fit, where they compete.
const CHUNKS: u32 = 3;

/// A bin, filled.
pub(super) struct Filling {
    /// How many pods of which kinds.
    pub(super) counts: Vec<(usize, u32)>,
    /// Price over worth: the lower, the better the bin is used.
    pub(super) score: f64,
}

/// Room to fill bins in, used again from one to the next.
#[derive(Default)]
pub(super) struct Scratch {
    /// Places among the bin's kinds that may still go in.
    open: Open<usize>,
    /// By place, how many are in.
    taken: Vec<u32>,
    /// What is left of each resource.
    room: Vec<f64>,
}

impl Kinds<'_> {
    /// Fills a bin with what is worth most for what it takes of what is left, of pods that are
    /// left: of a resource that runs short, the same amount weighs more. `None` if it takes
    /// nothing.
    pub(super) fn fill(
        &self,
        bin: usize,
        left: &[u32],
        values: &[f64],
        scratch: &mut Scratch,
    ) -> Option<Filling> {
        let own = &self.bins[bin];
        let width = own.amounts.len();
        let Scratch { open, taken, room } = scratch;
        let places = own.kinds.iter().enumerate().filter(|(_, kind)| left[**kind] > 0);
        let places = places.map(|(place, kind)| (place, values[*kind]));
        open.refill(places, width, |place, resource| own.requests[place * width + resource]);
        taken.clear();
        taken.resize(own.kinds.len(), 0);
        room.clone_from(&own.amounts);
        let mut value = 0.0;
        while let Some((handle, place)) = open.densest(room.iter().copied()) {
            let kind = own.kinds[place];
            let requests = &own.requests[place * width..(place + 1) * width];
            let most = left[kind].min(self.per_node[kind]) - taken[place];
            let count = (copies_that_fit(room, requests).min(most) / CHUNKS).max(1).min(most);
            for (room, amount) in room.iter_mut().zip(requests) {
                *room -= amount * f64::from(count);
            }
            taken[place] += count;
            value += values[kind] * f64::from(count);
            if count == most {
                open.close(handle);
            }
        }
        let counts: Vec<(usize, u32)> = taken
            .iter()
            .zip(&own.kinds)
            .filter(|(count, _)| **count > 0)
            .map(|(count, kind)| (*kind, *count))
            .collect();
        let score = (own.bin.price + NODE_COST_NANOS) / f64::max(value, 1.0);
        (!counts.is_empty()).then_some(Filling { counts, score })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at least nothing, and no more than pods fit on a node"
)]
fn copies_that_fit(room: &[f64], requests: &[f64]) -> u32 {
    let fitting = room.iter().zip(requests).filter(|(_, amount)| **amount > 0.0);
    fitting.map(|(room, amount)| room / amount).fold(f64::from(u32::MAX), f64::min).floor() as u32
}
