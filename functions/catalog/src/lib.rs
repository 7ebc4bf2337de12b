//! Function `catalog`: instance types, offerings and prices of the region, gathered once an hour
//! and stored for all clusters, so that other functions start in milliseconds.

use controllers::ports::{Clock as _, ErrorKind, PortError};
use controllers::run::RunOutcome;
use domain::Timestamp;
use ec2::catalogue::{Catalogue, refresh};
use lambda::metrics::Unit;
use lambda::{Failure, Invocation, Telemetry};

/// The function's name.
pub const NAME: &str = "catalog";

/// Refreshes the stored catalogue. One that cannot be loaded is rebuilt from the embedded one.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (process, telemetry) = (invocation.process, invocation.telemetry);
    let region = &process.calls().region;
    let before = match Catalogue::load(process.blobs(), region).await {
        Ok(before) => before,
        Err(error) => {
            tracing::warn!(%error, "failed to load the stored catalogue, rebuilding it");
            Catalogue::embedded(region).map_err(embedded)?
        }
    };
    let now = process.clock().now();
    // Before anything that can fail: whoever watches the age learns of a refresh that did not work.
    record_age(telemetry, before.made, now);
    let refreshed = refresh(process.calls(), &before, now).await?;
    refreshed.catalogue.save(process.blobs()).await?;
    record_age(telemetry, refreshed.catalogue.made, now);
    for error in &refreshed.stale {
        telemetry.record_problem("refresh prices", error);
    }
    let types = refreshed.catalogue.catalog.types().len();
    tracing::info!(types, stale = refreshed.stale.len(), "catalogue refreshed");
    telemetry.record_done("instanceTypes", types);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let count = types as f64;
    telemetry.metrics().gauge("outrigger_catalog_instance_types", &[], Unit::Count, count);
    telemetry.record_run(Ok(RunOutcome::Ran(())), |()| ());
    Ok(())
}

/// Records the age of the stored catalogue. One that was never fetched, such as the embedded one,
/// is as old as time.
fn record_age(telemetry: &Telemetry, made: Option<Timestamp>, now: Timestamp) {
    let age = now.duration_since(made.unwrap_or(Timestamp::UNIX_EPOCH)).as_secs_f64();
    telemetry.metrics().gauge("outrigger_catalog_age_seconds", &[], Unit::Seconds, age);
}

fn embedded(error: impl std::error::Error + Send + Sync + 'static) -> PortError {
    let what = error.to_string();
    PortError::new(ErrorKind::Invalid, "read the embedded catalogue", what).because(error)
}

#[cfg(test)]
mod tests {
    use lambda::metrics::{Detail, Metrics};

    use super::*;

    fn age(made: Option<i64>) -> f64 {
        let telemetry = Telemetry::new(Metrics::new("Outrigger", Detail::All, ""));
        let at = |second| Timestamp::from_second(second).unwrap();
        record_age(&telemetry, made.map(at), at(10_000));
        telemetry.metrics().lines(at(10_000))[0]["outrigger_catalog_age_seconds"].as_f64().unwrap()
    }

    #[test]
    fn a_catalogue_ages_until_it_is_fetched_anew() {
        assert!((age(Some(6_400)) - 3_600.0).abs() < 1e-9);
        assert!(age(Some(10_000)).abs() < 1e-9);
    }

    #[test]
    fn a_catalogue_that_was_never_fetched_is_older_than_any_alarm_allows() {
        assert!((age(None) - 10_000.0).abs() < 1e-9);
    }
}
