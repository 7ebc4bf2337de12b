//! How a cluster's scheduler is configured, where a file says it in place of the cluster.

use std::path::Path;

use domain::scheduler::SchedulerConfig;
use domain::snapshot::ClusterSnapshot;
use manifests::{ReadSchedulerConfig, read_scheduler_config};

use super::error::SnapshotError;
use crate::input;

/// The configuration of a file, with what of it has no effect.
pub(crate) fn scheduler_config_file(
    path: &Path,
) -> Result<(SchedulerConfig, Vec<String>), SnapshotError> {
    let name = path.display().to_string();
    let ReadSchedulerConfig { result, warnings } =
        read_scheduler_config(&name, &input::text(path)?);
    let config = result.map_err(|errors| {
        let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
        SnapshotError::SchedulerConfig { path: name, problems: problems.join("; ") }
    })?;
    Ok((config, warnings.iter().map(ToString::to_string).collect()))
}

/// Lets the configuration of a file, where one is given, count instead of the cluster's. Returns
/// what of it has no effect.
pub(super) fn use_scheduler_config(
    snapshot: &mut ClusterSnapshot,
    path: Option<&Path>,
) -> Result<Vec<String>, SnapshotError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let (config, warnings) = scheduler_config_file(path)?;
    snapshot.objects.scheduler = config;
    Ok(warnings)
}
