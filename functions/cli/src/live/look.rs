//! One look, and the snapshot of it.

use controllers::ports::PortError;
use controllers::ports::cluster::ClusterView;
use controllers::steps::snapshot::{Observation as Seen, snapshot};
use domain::instance_type::InstanceTypes;
use domain::label;
use domain::{Text, Timestamp};
use kubernetes::{Connection, KubernetesCluster, Look, Reading};

use super::LiveError;
use crate::console::{self, Progress};
use crate::observation::{
    Observation, ObservationError, Sight, catalog_file, embedded, settle_region,
};

/// Looks at the live cluster; tells what could not be read on standard error.
///
/// Only what stands in the cluster is seen: claims as the NodeClaims that show them, and offerings that were sold out a
/// moment ago as sold.
pub(crate) fn observe(sight: &Sight<'_>) -> Result<Observation, ObservationError> {
    let Look { view, problems } = {
        let _progress = Progress::start("looking at the cluster");
        look(sight.context)?
    };
    let mut warnings: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let (instance_types, warning) = instance_types(sight, &view)?;
    warnings.extend(warning);
    for warning in &warnings {
        console::warning(warning);
    }
    let now = sight.now.unwrap_or_else(Timestamp::now);
    // Claims are recorded where only the functions look: their mirrors stand in for them.
    let node_claims = view.node_claims.iter().map(|object| object.claim.clone()).collect();
    let seen = Seen {
        now,
        seed: 0,
        view,
        claims: Vec::new(),
        commands: Vec::new(),
        unavailable: Vec::new(),
        nominations: Vec::new(),
        instance_types,
    };
    let mut snapshot = snapshot(&seen, &sight.settings);
    snapshot.node_claims = node_claims;
    Ok(Observation { snapshot, warnings, has_bad_input: false })
}

fn look(context: Option<&str>) -> Result<Look, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LiveError::Runtime)?;
    let seen: Result<Look, PortError> = runtime.block_on(async {
        let connection = Connection::from_kubeconfig(context).await?;
        KubernetesCluster::new(connection, Reading::Poll).look().await
    });
    seen.map_err(LiveError::Cluster)
}

/// The catalogue asked for, or the embedded one of the region that is named, or that the nodes are in.
fn instance_types(
    sight: &Sight<'_>,
    view: &ClusterView,
) -> Result<(InstanceTypes, Option<String>), ObservationError> {
    let region = sight.region.or_else(|| region_of(view).map(|region| &**region));
    let Some(path) = sight.catalog else {
        return Ok((embedded(&view.node_classes, region)?, None));
    };
    let mut types = catalog_file(path)?;
    let warning = sight.region.and_then(|region| settle_region(&mut types, region));
    Ok((types, warning))
}

fn region_of(view: &ClusterView) -> Option<&Text> {
    view.nodes.iter().find_map(|node| node.labels.get(label::REGION))
}
