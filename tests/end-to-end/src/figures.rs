//! Figures that cases measure, and limits that they hold.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long something may take that is promised: a machine that does other things as well gets
/// three times as long, unless `OUTRIGGER_END_TO_END_IDLE` says that it does not.
pub(crate) fn promised(limit: Duration) -> Duration {
    if std::env::var_os("OUTRIGGER_END_TO_END_IDLE").is_some() { limit } else { limit * 3 }
}

/// Figures that cases found, in the order in which they did.
static FIGURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps a figure for the end of the report.
pub(crate) fn say(text: String) {
    FIGURES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

#[expect(clippy::print_stdout, reason = "who runs the rig reads the figures where the report is")]
pub(crate) fn report() {
    for figure in FIGURES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{figure}");
    }
}
