//! A snapshot of the live cluster of a kubeconfig. Nothing in the cluster is changed.
//!
//! Only with the feature `live`, which brings a Kubernetes client.

use controllers::ports::PortError;
use controllers::steps::snapshot::{ClusterState, SpotMemory, snapshot};
use domain::Text;
use domain::instance_type::InstanceTypes;
use domain::snapshot::ClusterSnapshot;
use ec2::catalogue::Catalogue;
use kubernetes::{Connection, KubernetesCluster, ListMode, ListedCluster};

use super::error::{LiveError, SnapshotError};
use super::fetched::{self, Fetched};
use super::instance_types::{catalog_file, take_embedded, take_fetched, take_given};
use super::scheduler_config::use_scheduler_config;
use super::source::{LoadedSnapshot, SnapshotSource};
use super::{region, spot_table};
use crate::clock;
use crate::console::{self, Progress};

/// Lists the objects of the live cluster; warnings about unreadable ones go to standard error.
///
/// Of the table, only what is remembered of spot offerings is read, where `--table` names it:
/// claims are taken from their NodeClaim objects, and offerings that EC2 lately had no capacity for
/// count as available.
pub(super) fn load(source: &SnapshotSource<'_>) -> Result<LoadedSnapshot, SnapshotError> {
    let ListedCluster { listing, problems } = {
        let _progress = Progress::start("listing the objects of the cluster");
        list(source.context)?
    };
    let mut warnings: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let now = source.now.unwrap_or_else(clock::now);
    // Claim records are kept in a table that only the functions read: NodeClaim objects mirror
    // them.
    let node_claims = listing.node_claims.iter().map(|object| object.claim.clone()).collect();
    let state = ClusterState {
        now,
        seed: 0,
        listing,
        claims: Vec::new(),
        commands: Vec::new(),
        unavailable: Vec::new(),
        nominations: Vec::new(),
        spot: SpotMemory::default(),
        instance_types: InstanceTypes::default(),
    };
    let mut snapshot = snapshot(&state, &source.settings);
    snapshot.node_claims = node_claims;
    if let Some(table) = source.table {
        let region = region_of(&snapshot, source);
        let remembered = spot_table::read(table, region.as_deref())?;
        snapshot.spot = remembered.history;
        warnings.extend(remembered.warnings);
    }
    let fetched = fetched_catalogue(&snapshot, source, &mut warnings);
    let is_catalog_fetched = fetched.is_some();
    let chosen = if let Some(path) = source.catalog {
        take_given(&mut snapshot, catalog_file(path)?, source.region)
    } else if let Some(catalogue) = fetched {
        take_fetched(&mut snapshot, &catalogue, source.region)
    } else {
        let catalog = catalog::embedded().map_err(SnapshotError::EmbeddedCatalog)?;
        take_embedded(&mut snapshot, catalog, source.region)?
    };
    warnings.extend(chosen.warnings);
    warnings.extend(use_scheduler_config(&mut snapshot, source.scheduler_config)?);
    for warning in &warnings {
        console::warning(warning);
    }
    let region_said_by = chosen.said_by;
    Ok(LoadedSnapshot {
        snapshot,
        region_said_by,
        is_catalog_fetched,
        warnings,
        errors: Vec::new(),
        has_bad_input: false,
    })
}

/// What AWS says of the cluster's region. `None`, with a warning, where it does not answer; and
/// where another catalogue was given, or nothing says which region it is.
fn fetched_catalogue(
    snapshot: &ClusterSnapshot,
    source: &SnapshotSource<'_>,
    warnings: &mut Vec<String>,
) -> Option<Catalogue> {
    if source.catalog.is_some() {
        return None;
    }
    let region = region_of(snapshot, source)?;
    match fetched::fetch(&region, source.refresh_catalog) {
        Ok(Fetched { catalogue, warnings: own }) => {
            warnings.extend(own);
            Some(catalogue)
        }
        Err(error) => {
            warnings.push(format!(
                "AWS does not say the prices of {region}, those of the embedded catalogue stand \
                 in: {}",
                console::in_full(&error)
            ));
            None
        }
    }
}

/// The region that is asked for, or that the objects say.
fn region_of(snapshot: &ClusterSnapshot, source: &SnapshotSource<'_>) -> Option<Text> {
    let said = || region::of_objects(snapshot).map(|own| own.name);
    source.region.map(Text::from).or_else(said)
}

fn list(context: Option<&str>) -> Result<ListedCluster, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LiveError::Runtime)?;
    let listed: Result<ListedCluster, PortError> = runtime.block_on(async {
        let connection = Connection::from_kubeconfig(context).await?;
        KubernetesCluster::new(connection, ListMode::Poll).list().await
    });
    listed.map_err(LiveError::Cluster)
}
