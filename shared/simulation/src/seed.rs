//! A tree of random numbers: every draw is keyed by what it is for and whom it concerns, so that
//! one more pod or one more call does not shift every number that follows.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014); keys are hashed with 64-bit FNV-1a.

use domain::{SignedDuration, Text};

/// The one seed that everything random in a simulated world comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

/// A stream of numbers for one purpose and one name.
#[derive(Clone, Debug)]
pub struct Draw(u64);

/// Letters and digits of generated names, as Kubernetes draws them: no vowels, no look-alikes.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const HEX_ALPHABET: &[u8] = b"0123456789abcdef";

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

impl Seed {
    /// From the number that a scenario gives.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream for a purpose and a name; the same three always give the same stream.
    pub fn draw(self, purpose: &str, name: &str) -> Draw {
        let mut hash = FNV_OFFSET;
        for byte in purpose.bytes().chain([0]).chain(name.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        let mut draw = Draw(hash ^ self.0.rotate_left(32));
        // One step apart from the hash, so that similar names start far from each other.
        draw.0 = draw.next_u64() ^ self.0;
        draw
    }
}

impl Draw {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product is below the bound, and even enough for a simulation.
        let product = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A duration between two, both included, to the millisecond; the first where they are
    /// reversed.
    pub fn between(&mut self, least: SignedDuration, most: SignedDuration) -> SignedDuration {
        let span = u64::try_from((most - least).as_millis()).unwrap_or(0);
        let millis = i64::try_from(self.below(span + 1)).unwrap_or(0);
        least + SignedDuration::from_millis(millis)
    }

    /// Whether something happens that does so in so many of a thousand cases.
    pub fn happens(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.below(1000) < u64::from(per_mille)
    }

    /// A suffix of a generated name.
    pub fn name_suffix(&mut self, length: usize) -> String {
        self.letters(NAME_ALPHABET, length)
    }

    /// Hexadecimal digits.
    pub fn hex(&mut self, length: usize) -> String {
        self.letters(HEX_ALPHABET, length)
    }

    /// A uid in the form that Kubernetes gives (RFC 9562, version 4).
    pub fn uid(&mut self) -> Text {
        let digits = self.hex(30);
        let variant = ["8", "9", "a", "b"][usize::try_from(self.below(4)).unwrap_or(0)];
        let (time_low, rest) = digits.split_at(8);
        let (time_mid, rest) = rest.split_at(4);
        let (time_high, rest) = rest.split_at(3);
        let (sequence, node) = rest.split_at(3);
        format!("{time_low}-{time_mid}-4{time_high}-{variant}{sequence}-{node}").into()
    }

    fn letters(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length)
            .map(|_| {
                let index = self.below(alphabet.len() as u64);
                char::from(alphabet[usize::try_from(index).unwrap_or(0)])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_key_draws_the_same_and_other_keys_differ() {
        let seed = Seed::new(7);
        let first = |purpose, name| seed.draw(purpose, name).next_u64();
        assert_eq!(first("boot", "i-1"), first("boot", "i-1"));
        assert_ne!(first("boot", "i-1"), first("boot", "i-2"));
        assert_ne!(first("boot", "i-1"), first("uid", "i-1"));
        assert_ne!(first("boot", "i-1"), Seed::new(8).draw("boot", "i-1").next_u64());
    }

    #[test]
    fn durations_stay_within_their_bounds_and_reach_both_halves() {
        let (least, most) = (SignedDuration::from_secs(40), SignedDuration::from_secs(65));
        let drawn: Vec<_> = (0..100)
            .map(|index| Seed::new(1).draw("boot", &index.to_string()).between(least, most))
            .collect();
        assert!(drawn.iter().all(|duration| (least..=most).contains(duration)));
        let middle = SignedDuration::from_secs(52);
        assert!(drawn.iter().any(|duration| *duration < middle));
        assert!(drawn.iter().any(|duration| *duration > middle));
    }

    #[test]
    fn a_chance_of_nothing_never_happens_and_of_everything_always() {
        let mut draw = Seed::new(3).draw("fault", "x");
        assert!((0..100).all(|_| !draw.happens(0) && draw.happens(1000)));
        let often = (0..1000).filter(|_| draw.happens(250)).count();
        assert!((200..300).contains(&often), "{often}");
    }

    #[test]
    fn uids_have_the_form_that_kubernetes_gives() {
        let uid = Seed::new(3).draw("uid", "x").uid();
        let lengths: Vec<_> = uid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uid}");
    }
}
