//! Function `catalog`: instance types, offerings and prices of the region, gathered once an hour
//! and stored for all clusters, so that other functions start in milliseconds.

use aws::catalogue::{Catalogue, refresh};
use controllers::ports::{Clock as _, ErrorKind, PortError};
use controllers::run::RunOutcome;
use lambda::metrics::Unit;
use lambda::{Failure, Invocation};

/// The function's name.
pub const NAME: &str = "catalog";

/// Refreshes the stored catalogue. One that cannot be loaded is rebuilt from the embedded one.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (process, telemetry) = (invocation.process, invocation.telemetry);
    let region = process.calls().region();
    let before = match Catalogue::load(process.blobs(), region).await {
        Ok(before) => before,
        Err(error) => {
            tracing::warn!(%error, "failed to load the stored catalogue, rebuilding it");
            Catalogue::embedded(region).map_err(embedded)?
        }
    };
    let now = process.clock().now();
    let refreshed = refresh(process.calls(), &before, now).await?;
    refreshed.catalogue.save(process.blobs()).await?;
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

fn embedded(error: impl std::error::Error + Send + Sync + 'static) -> PortError {
    let what = error.to_string();
    PortError::new(ErrorKind::Invalid, "read the embedded catalogue", what).because(error)
}
