//! What an installation remembers of spot offerings, from its table. Nothing is written there.

use aws::store::{StoredSpotHistory, Table};
use controllers::ports::PortError;
use domain::spot::SpotHistory;

use super::error::{LiveError, SnapshotError};
use crate::console::{self, Progress};

/// What a table remembers.
#[derive(Debug)]
pub(crate) struct SpotTable {
    /// What all clusters have seen together.
    pub(crate) history: SpotHistory,
    /// The region that the table is of, where anything says so.
    pub(crate) region: Option<String>,
    /// What could not be read, and a table that holds nothing.
    pub(crate) warnings: Vec<String>,
}

/// Reads a table of a region; without one, of that of the environment or the profile.
pub(crate) fn read(table: &str, region: Option<&str>) -> Result<SpotTable, SnapshotError> {
    let _progress = Progress::start("reading what is remembered of spot offerings");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LiveError::Runtime)?;
    let (region, stored) = runtime.block_on(async {
        let config = match region {
            Some(region) => aws::sdk::config_in(region).await,
            None => aws::sdk::config().await,
        };
        let region = config.region().map(ToString::to_string);
        (region, Table::new(&config, table).spot_history().await)
    });
    let StoredSpotHistory { history, clusters, unreadable } =
        stored.map_err(|source| SnapshotError::Table { table: table.to_owned(), source })?;
    let left_out =
        |error: &PortError| format!("left out of table {table}: {}", console::in_full(error));
    let mut warnings: Vec<String> = unreadable.iter().map(left_out).collect();
    if clusters == 0 && unreadable.is_empty() {
        let what = "nothing is remembered of spot offerings there yet";
        warnings.push(format!("table {table}: {what}"));
    }
    Ok(SpotTable { history, region, warnings })
}
