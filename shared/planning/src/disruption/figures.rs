//! Figures as reasons print them.

/// A count of pods or nodes.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
