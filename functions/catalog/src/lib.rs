//! Function `catalog`: what EC2 sells in the region and what it costs, gathered once an hour and stored for
//! all clusters, so that other functions start in milliseconds.

use aws::catalogue::{Catalogue, refresh};
use controllers::ports::{Clock as _, ErrorKind, PortError};
use controllers::run::RunOutcome;
use lambda::metrics::Unit;
use lambda::{Failure, Tick};

/// The function's name.
pub const NAME: &str = "catalog";

/// One invocation. A catalogue that cannot be read is made anew from the embedded one.
pub async fn run(tick: &Tick<'_>) -> Result<(), Failure> {
    let process = tick.process;
    let region = process.calls().region();
    let before = match Catalogue::load(process.blobs(), region).await {
        Ok(before) => before,
        Err(error) => {
            tracing::warn!(%error, "the stored catalogue is not usable: a new one is made");
            Catalogue::embedded(region).map_err(embedded)?
        }
    };
    let now = process.clock().now();
    let refreshed = refresh(process.calls(), &before, now).await?;
    refreshed.catalogue.save(process.blobs()).await?;
    for error in &refreshed.stale {
        tick.problem("renew prices", error);
    }
    let types = refreshed.catalogue.catalog.types().len();
    tracing::info!(types, stale = refreshed.stale.len(), "the catalogue was renewed");
    tick.done("instanceTypes", types);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    tick.metrics.gauge("outrigger_catalog_instance_types", &[], Unit::Count, types as f64);
    tick.round(Ok(RunOutcome::Ran(())), |()| ());
    Ok(())
}

fn embedded(error: impl std::error::Error + Send + Sync + 'static) -> PortError {
    let what = error.to_string();
    PortError::new(ErrorKind::Invalid, "read the embedded catalogue", what).because(error)
}
