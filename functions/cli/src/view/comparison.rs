//! Runs of one scenario in its variants, for comparison.

use domain::Text;
use simulation::history::History;
use simulation::report::{Entry, Happening, Report};

/// One variant, and how it ran.
#[derive(Debug)]
pub(crate) struct VariantRun {
    /// The variant's name.
    pub(crate) variant: Text,
    /// Its run.
    pub(crate) report: Report,
    /// What became of its nodes and pods; empty where nobody asked for it.
    pub(crate) history: History,
}

impl VariantRun {
    /// Instances launched in the run.
    pub(crate) fn launches(&self) -> usize {
        let is_launch = |what: &Happening| matches!(what, Happening::Launched { .. });
        self.report.timeline.iter().filter(|entry| is_launch(&entry.what)).count()
    }

    /// What the scenario would have had happen, and was not there in this variant.
    pub(crate) fn nothing_there(&self) -> impl Iterator<Item = &Entry> {
        let is_it = |entry: &&Entry| matches!(entry.what, Happening::NothingThere { .. });
        self.report.timeline.iter().filter(is_it)
    }

    /// How many expectations hold, of how many.
    pub(crate) fn met(&self) -> (usize, usize) {
        let expectations = &self.report.expectations;
        (expectations.iter().filter(|outcome| outcome.holds()).count(), expectations.len())
    }
}
