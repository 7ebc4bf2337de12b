//! What may still go on a node while it is filled.

use std::array;

/// As many candidates are weighed at once.
const LANES: usize = 8;

/// A figure for each of some candidates that are weighed at once.
type Lanes = [f64; LANES];

/// The value of what is closed: below any, whatever it is divided by.
const CLOSED: f64 = f64::NEG_INFINITY;

/// Candidates for the room that is left on a node, by what names them. All of them are weighed for
/// each step, which is what most of the time of a packing goes to: so they are weighed in blocks,
/// the last of which may be filled up with closed ones.
#[derive(Debug)]
pub(crate) struct Open<C> {
    candidates: Vec<C>,
    /// How many of them are not closed.
    unclosed: usize,
    /// By block, what one of each is worth; [`CLOSED`] once it is closed.
    values: Vec<Lanes>,
    /// By block, and in it by resource, what one of each takes.
    amounts: Vec<Lanes>,
    resources: Vec<Resource>,
}

#[derive(Clone, Debug, Default)]
struct Resource {
    /// At least the most that one of any candidate takes.
    largest: f64,
    /// What is left on the node.
    room: f64,
    /// One over it.
    scarcity: f64,
}

impl<C> Default for Open<C> {
    fn default() -> Self {
        Self {
            candidates: Vec::new(),
            unclosed: 0,
            values: Vec::new(),
            amounts: Vec::new(),
            resources: Vec::new(),
        }
    }
}

/// Where a candidate stands among those that are open, until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place(usize);

impl<C: Copy> Open<C> {
    /// Opens these and no others: what one of each is worth, at least nothing, and how much it
    /// takes of each of `width` resources.
    pub(crate) fn refill(
        &mut self,
        candidates: impl Iterator<Item = (C, f64)>,
        width: usize,
        amount: impl Fn(C, usize) -> f64,
    ) {
        self.candidates.clear();
        self.values.clear();
        for (place, (candidate, value)) in candidates.enumerate() {
            if place % LANES == 0 {
                self.values.push([CLOSED; LANES]);
            }
            self.candidates.push(candidate);
            self.values[place / LANES][place % LANES] = value;
        }
        self.unclosed = self.candidates.len();
        self.resources.clear();
        self.resources.resize(width, Resource::default());
        self.amounts.clear();
        for block in self.candidates.chunks(LANES) {
            for (resource, own) in self.resources.iter_mut().enumerate() {
                let mut amounts = [0.0; LANES];
                for (slot, candidate) in amounts.iter_mut().zip(block) {
                    *slot = amount(*candidate, resource);
                    own.largest = own.largest.max(*slot);
                }
                self.amounts.push(amounts);
            }
        }
    }

    /// The one that is worth most for what it takes of the room that is left, the first of equal
    /// ones: of a resource that runs short, the same amount weighs more. `None` if nothing fits.
    pub(crate) fn densest(&mut self, room: impl Iterator<Item = f64>) -> Option<(Place, C)> {
        for (own, room) in self.resources.iter_mut().zip(room) {
            own.room = room;
            own.scarcity = 1.0 / room.max(1.0);
        }
        let all_fit = self.resources.iter().all(|own| own.largest <= own.room);
        let mut best = (-1.0, None);
        let mut fitting = 0;
        let width = self.resources.len().max(1);
        for (block, (values, amounts)) in
            self.values.iter().zip(self.amounts.chunks_exact(width)).enumerate()
        {
            let taken = if all_fit { self.taken(amounts) } else { self.taken_if_it_fits(amounts) };
            let densities: Lanes = array::from_fn(|lane| values[lane] / taken[lane]);
            if !all_fit {
                fitting += densities.iter().filter(|density| **density >= 0.0).count();
            }
            #[expect(
                clippy::unnecessary_fold,
                reason = "all are compared at once, where `any` looks at one after the other"
            )]
            let is_better =
                densities.iter().fold(false, |is_better, density| is_better || *density > best.0);
            if is_better {
                for (lane, density) in densities.into_iter().enumerate() {
                    if density > best.0 {
                        best = (density, Some(block * LANES + lane));
                    }
                }
            }
        }
        let mut place = best.1?;
        let candidate = self.candidates[place];
        if all_fit {
            fitting = self.unclosed;
        }
        // Of what does not fit any more, nothing will: once it is the larger part, it is left out.
        if fitting * 2 < self.candidates.len() {
            place = self.shorten(place);
        }
        Some((Place(place), candidate))
    }

    /// By candidate of a block, the part that one takes of what is left, summed over resources.
    fn taken(&self, amounts: &[Lanes]) -> Lanes {
        let mut taken = [TAKEN_MIN; LANES];
        for (amounts, own) in amounts.iter().zip(&self.resources) {
            for (taken, amount) in taken.iter_mut().zip(amounts) {
                *taken += amount * own.scarcity;
            }
        }
        taken
    }

    /// As [`Self::taken`], but not a number where one does not fit: no density made of it is
    /// greater than another.
    fn taken_if_it_fits(&self, amounts: &[Lanes]) -> Lanes {
        let mut taken = [TAKEN_MIN; LANES];
        for (amounts, own) in amounts.iter().zip(&self.resources) {
            for (taken, amount) in taken.iter_mut().zip(amounts) {
                let part = amount * own.scarcity;
                *taken += if *amount <= own.room { part } else { f64::NAN };
            }
        }
        taken
    }

    /// Leaves out what is closed or does not fit; returns where a place that stays has moved to.
    fn shorten(&mut self, place: usize) -> usize {
        let width = self.resources.len();
        for own in &mut self.resources {
            own.largest = 0.0;
        }
        let (mut kept, mut moved) = (0, place);
        for from in 0..self.candidates.len() {
            let (block, lane) = (from / LANES, from % LANES);
            let value = self.values[block][lane];
            let amounts = &self.amounts[block * width..(block + 1) * width];
            let fits = amounts.iter().zip(&self.resources).all(|(own, of)| own[lane] <= of.room);
            if value < 0.0 || !fits {
                continue;
            }
            if from == place {
                moved = kept;
            }
            let (to_block, to_lane) = (kept / LANES, kept % LANES);
            self.candidates[kept] = self.candidates[from];
            self.values[to_block][to_lane] = value;
            for (resource, own) in self.resources.iter_mut().enumerate() {
                let amount = self.amounts[block * width + resource][lane];
                self.amounts[to_block * width + resource][to_lane] = amount;
                own.largest = own.largest.max(amount);
            }
            kept += 1;
        }
        self.candidates.truncate(kept);
        self.unclosed = kept;
        let blocks = kept.div_ceil(LANES);
        self.values.truncate(blocks);
        self.amounts.truncate(blocks * width);
        for place in kept..blocks * LANES {
            self.values[place / LANES][place % LANES] = CLOSED;
            for amounts in &mut self.amounts[place / LANES * width..] {
                amounts[place % LANES] = 0.0;
            }
        }
        moved
    }

    /// No more of one.
    pub(crate) fn close(&mut self, place: Place) {
        self.values[place.0 / LANES][place.0 % LANES] = CLOSED;
        self.unclosed -= 1;
    }
}

/// What takes nothing is still not worth more than anything.
const TAKEN_MIN: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: [f64; 2] = [10.0, 40.0];

    fn open(requests: &[(f64, [f64; 2])]) -> Open<usize> {
        let mut open = Open::default();
        let values = requests.iter().map(|(value, _)| *value).enumerate();
        open.refill(values, ROOM.len(), |own: usize, resource| requests[own].1[resource]);
        open
    }

    fn densest(open: &mut Open<usize>, room: [f64; 2]) -> Option<usize> {
        open.densest(room.into_iter()).map(|(_, candidate)| candidate)
    }

    #[test]
    fn what_is_worth_most_for_the_room_it_takes_comes_first() {
        let mut both = open(&[(1.0, [1.0, 4.0]), (1.0, [1.0, 8.0])]);
        assert_eq!(densest(&mut both, ROOM), Some(0));
        let mut worth_more = open(&[(1.0, [1.0, 4.0]), (2.0, [1.0, 8.0])]);
        assert_eq!(densest(&mut worth_more, ROOM), Some(1));
    }

    #[test]
    fn a_resource_that_runs_short_weighs_more() {
        let mut both = open(&[(1.0, [2.0, 1.0]), (1.0, [1.0, 8.0])]);
        assert_eq!(densest(&mut both, [4.0, 40.0]), Some(1));
        assert_eq!(densest(&mut both, [40.0, 10.0]), Some(0));
    }

    #[test]
    fn the_first_of_equal_ones_comes_first() {
        let mut equal = open(&[(1.0, [11.0, 1.0]), (1.0, [1.0, 1.0]), (1.0, [1.0, 1.0])]);
        assert_eq!(densest(&mut equal, ROOM), Some(1));
    }

    #[test]
    fn what_does_not_fit_or_is_closed_is_left_out_and_what_is_worth_nothing_is_not() {
        let mut three = open(&[(9.0, [11.0, 1.0]), (5.0, [2.0, 2.0]), (0.0, [1.0, 1.0])]);
        let (place, candidate) = three.densest(ROOM.into_iter()).expect("two fit");
        assert_eq!(candidate, 1);
        three.close(place);
        assert_eq!(densest(&mut three, ROOM), Some(2));
        assert_eq!(densest(&mut three, [0.0, 0.0]), None);
    }

    #[test]
    fn a_place_still_names_its_candidate_once_others_are_left_out() {
        let over = (9.0, [11.0, 1.0]);
        let mut six = open(&[over, over, (1.0, [2.0, 2.0]), over, (5.0, [2.0, 2.0]), over]);
        let (place, candidate) = six.densest(ROOM.into_iter()).expect("two fit");
        assert_eq!(candidate, 4);
        assert_eq!(six.candidates, [2, 4], "what does not fit is the larger part");
        six.close(place);
        assert_eq!(densest(&mut six, ROOM), Some(2));
    }

    /// The first of those that fit and are worth most for what they take, looked at one by one.
    fn densest_one_by_one(
        requests: &[(f64, [f64; 2])],
        closed: &[usize],
        room: [f64; 2],
    ) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (candidate, (value, amounts)) in requests.iter().enumerate() {
            let fits = amounts.iter().zip(room).all(|(amount, room)| *amount <= room);
            let parts = amounts.iter().zip(room).map(|(amount, room)| amount * (1.0 / room));
            let taken = parts.fold(TAKEN_MIN, |sum, part| sum + part);
            if fits
                && !closed.contains(&candidate)
                && best.is_none_or(|(_, most)| value / taken > most)
            {
                best = Some((candidate, value / taken));
            }
        }
        best.map(|(candidate, _)| candidate)
    }

    #[test]
    fn many_are_weighed_in_blocks_as_they_would_be_one_by_one() {
        let requests: Vec<(f64, [f64; 2])> = (0..2 * LANES + 5)
            .map(|own| {
                let figure =
                    |factor: usize, of: usize| f64::from(u8::try_from(own * factor % of).unwrap());
                (1.0 + figure(5, 11), [1.0 + figure(7, 13), 1.0 + figure(3, 17)])
            })
            .collect();
        let mut many = open(&requests);
        let (mut room, mut closed) = ([160.0, 160.0], Vec::new());
        while let Some((place, candidate)) = many.densest(room.into_iter()) {
            assert_eq!(Some(candidate), densest_one_by_one(&requests, &closed, room), "{room:?}");
            let (_, amounts) = requests[candidate];
            room = [room[0] - amounts[0], room[1] - amounts[1]];
            many.close(place);
            closed.push(candidate);
        }
        assert_eq!(None, densest_one_by_one(&requests, &closed, room));
        assert!(closed.len() > LANES, "{closed:?}");
        assert!(many.candidates.len() < LANES, "what does not fit was left out");
    }
}
