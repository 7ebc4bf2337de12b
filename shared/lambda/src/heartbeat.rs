//! Whether every function that a cluster relies on has succeeded lately, as one metric.
//!
//! Provisioning and disruption note when they did what their schedules woke them for. Lifecycle,
//! each time its own schedule wakes it, counts those that have not for too long, and the catalogue
//! where nobody has refreshed it. An alarm goes by that count, and by its absence: then it is
//! lifecycle that does not succeed.

use std::collections::BTreeMap;

use controllers::ports::{ClaimStore as _, Clock as _, FunctionName, Ports as _};
use domain::{SignedDuration, Timestamp};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::metrics::Unit;
use crate::schedule::{Schedule, Schedules};

/// The function that counts the others.
const COUNTS: &str = "lifecycle";
/// A catalogue that somebody has refreshed meanwhile is noticed within so long.
const CATALOGUE_NOTICED: SignedDuration = SignedDuration::from_mins(15);
/// For how long a success that was noted is enough: of the runs of every minute, every other one
/// notes it, so that a function counts as late after four or five minutes without a success.
const NOTED_FOR: SignedDuration = SignedDuration::from_secs(90);

/// What is known of who succeeded when.
#[derive(Clone, Debug)]
struct Known {
    successes: BTreeMap<FunctionName, Timestamp>,
    /// When the catalogue was gathered; `None` for the embedded one.
    catalogue: Option<Timestamp>,
}

impl Known {
    /// Functions that have not succeeded for too long, and for how long; for ever where they never
    /// did.
    fn late(
        &self,
        schedules: Schedules,
        catalog: Schedule,
        now: Timestamp,
    ) -> Vec<(&'static str, Option<SignedDuration>)> {
        let noted = |function| self.successes.get(&function).copied();
        let functions = [
            ("provisioning", noted(FunctionName::Provisioning), schedules.provisioning.patience()),
            ("disruption", noted(FunctionName::Disruption), schedules.disruption.patience()),
            ("catalog", self.catalogue, catalog.patience() + CATALOGUE_NOTICED),
        ];
        functions
            .into_iter()
            .map(|(name, last, patience)| {
                (name, last.map(|last| now.duration_since(last)), patience)
            })
            .filter(|(_, age, patience)| age.is_none_or(|age| age > *patience))
            .map(|(name, age, _)| (name, age))
            .collect()
    }
}

/// What a function adds that has done what its schedule woke it for.
pub(crate) async fn beat(
    name: &'static str,
    invocation: &Invocation<'_>,
    schedules: Option<Schedules>,
) -> Result<(), Failure> {
    let process = invocation.process;
    let now = process.clock().now();
    match (name, schedules) {
        ("provisioning", _) => note(invocation, FunctionName::Provisioning, now).await,
        ("disruption", _) => note(invocation, FunctionName::Disruption, now).await,
        (COUNTS, Some(schedules)) => {
            let adapters = invocation.adapters().await?;
            let known = Known {
                successes: adapters.store().last_successes().await?,
                catalogue: adapters.cloud().catalogue().made,
            };
            let late = known.late(schedules, process.environment().catalog_schedule, now);
            for (function, age) in &late {
                let seconds = age.map(|age| age.as_secs());
                tracing::error!(function, seconds, "has not succeeded for too long");
            }
            #[expect(clippy::cast_precision_loss, reason = "at most three")]
            let count = late.len() as f64;
            let metrics = invocation.telemetry.metrics();
            metrics.gauge("outrigger_functions_late", &[], Unit::Count, count);
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn note(
    invocation: &Invocation<'_>,
    function: FunctionName,
    now: Timestamp,
) -> Result<(), Failure> {
    let adapters = invocation.adapters().await?;
    if !adapters.has_noted_success_since(now - NOTED_FOR) {
        adapters.store().note_success(function, now).await?;
        adapters.set_success_noted(now);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Schedule = Schedule::every(SignedDuration::from_mins(1));
    const HOUR: Schedule = Schedule::every(SignedDuration::from_hours(1));

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    fn late(
        provisioning: Option<i64>,
        disruption: Option<i64>,
        catalogue: Option<i64>,
    ) -> Vec<&'static str> {
        let functions =
            [(FunctionName::Provisioning, provisioning), (FunctionName::Disruption, disruption)];
        let successes = functions
            .into_iter()
            .filter_map(|(function, minute)| Some((function, at(minute?))))
            .collect();
        let known = Known { successes, catalogue: catalogue.map(at) };
        let schedules = Schedules { provisioning: MINUTE, disruption: HOUR };
        let late = known.late(schedules, HOUR, at(10_000));
        late.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_function_is_late_after_five_intervals_of_minutes_or_two_of_hours() {
        assert_eq!(late(Some(9_995), Some(9_880), Some(9_990)), [""; 0]);
        assert_eq!(late(Some(9_994), Some(9_880), Some(9_990)), ["provisioning"]);
        assert_eq!(late(Some(9_999), Some(9_879), Some(9_990)), ["disruption"]);
    }

    #[test]
    fn the_catalogue_has_the_time_that_a_process_uses_it_for_besides() {
        assert_eq!(late(Some(9_999), Some(9_999), Some(9_865)), [""; 0]);
        assert_eq!(late(Some(9_999), Some(9_999), Some(9_864)), ["catalog"]);
    }

    #[test]
    fn who_never_succeeded_is_late() {
        assert_eq!(late(None, None, None), ["provisioning", "disruption", "catalog"]);
    }
}
