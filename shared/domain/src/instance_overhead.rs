//! What an EC2NodeClass says of its instances that Karpenter knows one value of for all:
//! `outrigger.dev/vm-memory-overhead-percent` and `outrigger.dev/reserved-enis`.

/// Reserved interfaces at the most: the largest instances have 15 on their first network card, and
/// one is the node's own.
pub const RESERVED_ENIS_MAX: u32 = 14;

/// A whole, in millionths.
const PARTS_PER_MILLION: f64 = 1e6;

/// What pods of a class's instances cannot use, as its annotations say; what is unset is as the
/// installation's settings say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceOverhead {
    /// Share of an instance's memory that its node never sees, in millionths, below 1,000,000.
    pub vm_memory_overhead_ppm: Option<u32>,
    /// Network interfaces of each instance that pods get no addresses from, at most
    /// [`RESERVED_ENIS_MAX`].
    pub reserved_enis: Option<u32>,
}

/// A share that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOverhead {
    /// No decimal number.
    #[error("{0:?} is not a number")]
    NoNumber(String),
    /// Below 0, or 1 and more.
    #[error("{0} is not a share of one, such as 0.075")]
    NoShare(String),
    /// No count of interfaces.
    #[error("{0:?} is not a count of network interfaces from 0 to 14")]
    NoCount(String),
}

/// Reads a share of memory as Karpenter's `--vm-memory-overhead-percent` is written, `0.075` for
/// 7.5 %, in millionths.
pub fn parse_memory_overhead(text: &str) -> Result<u32, InvalidOverhead> {
    let text = text.trim();
    let share: f64 = text.parse().map_err(|_| InvalidOverhead::NoNumber(text.to_owned()))?;
    // The largest share that is less than all of it once it is rounded.
    let parts = (share * PARTS_PER_MILLION).round();
    if share < 0.0 || !(0.0..PARTS_PER_MILLION).contains(&parts) {
        return Err(InvalidOverhead::NoShare(text.to_owned()));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number between 0 and a million"
    )]
    let ppm = parts as u32;
    Ok(ppm)
}

/// Reads a count of reserved interfaces, as Karpenter's `--reserved-enis` is written.
pub fn parse_reserved_enis(text: &str) -> Result<u32, InvalidOverhead> {
    let count = text.trim().parse().ok().filter(|count| *count <= RESERVED_ENIS_MAX);
    count.ok_or_else(|| InvalidOverhead::NoCount(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_memory_is_read_in_millionths() {
        for (text, ppm) in [("0.075", 75_000), ("0", 0), (" 0.05 ", 50_000), ("0.9999994", 999_999)]
        {
            assert_eq!(parse_memory_overhead(text), Ok(ppm), "{text}");
        }
    }

    #[test]
    fn what_is_no_share_of_one_is_refused() {
        for text in ["7.5", "1", "-0.1", "-0.0000001", "NaN", "inf", "0.9999999"] {
            let refused = InvalidOverhead::NoShare(text.to_owned());
            assert_eq!(parse_memory_overhead(text), Err(refused), "{text}");
        }
        for text in ["", "7.5%", "a tenth"] {
            let refused = InvalidOverhead::NoNumber(text.to_owned());
            assert_eq!(parse_memory_overhead(text), Err(refused), "{text}");
        }
    }

    #[test]
    fn reserved_interfaces_are_a_small_count() {
        assert_eq!(parse_reserved_enis("0"), Ok(0));
        assert_eq!(parse_reserved_enis(" 14 "), Ok(14));
        for text in ["", "-1", "15", "1.5", "one"] {
            let refused = InvalidOverhead::NoCount(text.to_owned());
            assert_eq!(parse_reserved_enis(text), Err(refused), "{text}");
        }
    }
}
