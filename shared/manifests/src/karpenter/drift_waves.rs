//! Annotations `outrigger.dev/drift-waves`, `drift-soak`, `drift-halt-after`, `drift-halted` and
//! `drift-failures` of a NodePool.

use domain::drift_waves::{DEFAULT_SOAK, DriftFailures, DriftHalt, DriftWaves};
use domain::label::{DRIFT_FAILURES, DRIFT_HALT_AFTER, DRIFT_HALTED, DRIFT_SOAK, DRIFT_WAVES};
use domain::pdb::CountOrPercent;

use crate::duration;
use crate::field::Field;

/// In which waves nodes drift; `None` without any of the annotations that users write. Where one
/// says nothing, the safe side is that nodes stay: what has drifted can still be replaced later. So
/// with waves that are none nothing drifts, and a malformed `drift-halt-after` is read as 1.
pub(super) fn read_drift_waves(annotations: Field<'_>) -> Option<DriftWaves> {
    let (waves, halt_after) = (annotations.get(DRIFT_WAVES), annotations.get(DRIFT_HALT_AFTER));
    let halted = annotations.get(DRIFT_HALTED).str().map(str::trim).filter(|own| !own.is_empty());
    if !waves.exists() && !halt_after.exists() && halted.is_none() {
        return None;
    }
    let sizes = read_sizes(waves);
    Some(DriftWaves {
        halted: halted.map(DriftHalt::read),
        is_unreadable: sizes.is_none(),
        sizes: sizes.unwrap_or_default(),
        soak: read_soak(annotations.get(DRIFT_SOAK)),
        halt_after: read_halt_after(halt_after),
        failures: read_failures(annotations.get(DRIFT_FAILURES)),
    })
}

/// The sizes of the waves, empty without the annotation; `None` where it says nothing.
fn read_sizes(field: Field<'_>) -> Option<Vec<CountOrPercent>> {
    let Some(text) = field.str() else { return Some(Vec::new()) };
    let sizes: Option<Vec<CountOrPercent>> = text.split(',').map(|own| size(own.trim())).collect();
    if sizes.is_none() {
        field.warn(format!(
            "{text:?} is not a list of numbers and percentages such as \"1, 10%, 50%\": no node drifts"
        ));
    }
    sizes
}

fn size(text: &str) -> Option<CountOrPercent> {
    let digits = |text: &str| -> Option<u32> {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    match text.strip_suffix('%') {
        Some(percent) => {
            digits(percent).filter(|own| (1..=100).contains(own)).map(CountOrPercent::Percent)
        }
        None => digits(text).filter(|own| *own > 0).map(CountOrPercent::Count),
    }
}

fn read_soak(field: Field<'_>) -> domain::SignedDuration {
    let Some(text) = field.str() else { return DEFAULT_SOAK };
    duration::parse(text).unwrap_or_else(|error| {
        field.warn(format!("{error}: nodes of a wave have to be ready for {DEFAULT_SOAK:#}"));
        DEFAULT_SOAK
    })
}

fn read_halt_after(field: Field<'_>) -> Option<u32> {
    let text = field.str()?;
    let count = text.parse().ok().filter(|own| *own > 0);
    if count.is_none() {
        field.warn(format!("{text:?} is not a number from 1: drift halts after 1 failure"));
    }
    Some(count.unwrap_or(1))
}

fn read_failures(field: Field<'_>) -> DriftFailures {
    let Some(text) = field.str() else { return DriftFailures::default() };
    text.parse().unwrap_or_else(|error| {
        field.warn(format!("{error}: no node counts as failed"));
        DriftFailures::default()
    })
}
