//! Pauses before something is tried again: twice as long each time, and never the same for two who
//! try together.
//!
//! Claims that EC2 throttled in one moment would otherwise all come back in one moment. Half of
//! each pause is certain and half is jitter ("equal jitter"). The jitter is no random number but
//! follows from who waits and how often: a run that is repeated decides the same.
//!
//! Source: <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>.

use domain::SignedDuration;

/// The pause of `who` after this many failures, counted from 1: between half and all of
/// `first` · 2^(failures - 1), where that is at most `most`.
pub fn pause(
    first: SignedDuration,
    most: SignedDuration,
    who: &str,
    failures: u32,
) -> SignedDuration {
    let doubled = 1_i32.checked_shl(failures.saturating_sub(1)).filter(|factor| *factor > 0);
    let whole =
        doubled.and_then(|factor| first.checked_mul(factor)).map_or(most, |own| own.min(most));
    let whole = whole.as_millis();
    let half = whole / 2;
    let jitter = i128::from(spread(who, failures)) * (whole - half) / i128::from(u32::MAX);
    SignedDuration::from_millis(i64::try_from(half + jitter).unwrap_or(i64::MAX))
}

/// A number that differs from one text, and from one count, to the next as if it were drawn:
/// FNV-1a, whose upper bits [`mixed`] makes depend on every byte.
///
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
fn spread(who: &str, failures: u32) -> u32 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = who.bytes().chain(failures.to_le_bytes());
    let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    u32::try_from(mixed(hash) >> 32).unwrap_or(u32::MAX)
}

/// The finalizer of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: SignedDuration = SignedDuration::from_secs(1);
    const MOST: SignedDuration = SignedDuration::from_mins(1);

    fn millis(who: &str, failures: u32) -> i128 {
        pause(FIRST, MOST, who, failures).as_millis()
    }

    #[test]
    fn a_pause_is_between_half_and_all_of_one_that_doubles_up_to_the_longest() {
        for who in ["default-1", "default-2", ""] {
            let wholes = [1, 2, 4, 8, 16, 32, 60, 60];
            for (failures, whole) in (1..).zip(wholes) {
                let own = millis(who, failures);
                assert!((whole * 500..=whole * 1000).contains(&own), "{who} {failures}: {own} ms");
            }
            for failures in [31, 32, 33, u32::MAX] {
                assert!((30_000..=60_000).contains(&millis(who, failures)), "{failures}");
            }
            assert!((500..=1000).contains(&millis(who, 0)));
        }
    }

    #[test]
    fn the_same_one_pauses_the_same_and_others_pause_otherwise() {
        assert_eq!(millis("default-1", 3), millis("default-1", 3));
        // A thousand that fail together come back over half of the pause, in every part of it.
        let mut tenths = [0_u32; 10];
        for index in 0..1000 {
            let after_half = millis(&format!("default-{index}"), 7) - 30_000;
            tenths[usize::try_from(after_half * 10 / 30_001).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|own| (60..=140).contains(own)), "{tenths:?}");
        // One that keeps failing is not always early or late.
        let early = (7..207).filter(|failures| millis("default-1", *failures) < 45_000).count();
        assert!((70..=130).contains(&early), "{early} of 200");
    }
}
