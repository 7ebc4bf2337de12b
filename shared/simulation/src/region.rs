//! Which region a run takes place in: what says so.

use std::fmt;

/// What says which region prices are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidBy {
    /// `--region`.
    Option,
    /// The catalogue that was given.
    Catalog,
    /// The scenario.
    Scenario,
    /// The recording.
    Recording,
    /// Objects of the input.
    Objects {
        /// Their kind, of which an s makes the plural.
        kind: &'static str,
        /// How many of them say so.
        count: usize,
    },
    /// Nothing does.
    Nothing,
}

impl fmt::Display for SaidBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option => f.write_str("--region"),
            Self::Catalog => f.write_str("the catalogue says so"),
            Self::Scenario => f.write_str("the scenario's region"),
            Self::Recording => f.write_str("the recording's region"),
            Self::Objects { kind, count: 1 } => write!(f, "1 {kind} says so"),
            Self::Objects { kind, count } => write!(f, "{count} {kind}s say so"),
            Self::Nothing => f.write_str("nothing says another region"),
        }
    }
}
