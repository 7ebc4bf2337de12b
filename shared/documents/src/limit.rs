//! How much is read at all, so that what nobody wrote by hand ends in an error and not in minutes.

use crate::error::SyntaxProblem;

/// Longest line of a source, in bytes. A whole cluster of 5,000 pods written as JSON on one line,
/// as `jq -c` writes it, is some 50 MiB.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// The first line that is too long, counted from 0, and the problem with it.
pub(crate) fn too_long_line(text: &str) -> Option<(u32, SyntaxProblem)> {
    // Most sources are shorter than one line may be.
    if text.len() <= LINE_BYTES_MAX {
        return None;
    }
    let (index, line) =
        (0..).zip(text.split('\n')).find(|(_, line)| line.len() > LINE_BYTES_MAX)?;
    let problem = SyntaxProblem::Refused(format!(
        "a line of {} MiB, where at most {} MiB are read: write it over several lines",
        line.len() >> 20,
        LINE_BYTES_MAX >> 20
    ));
    Some((index, problem))
}
