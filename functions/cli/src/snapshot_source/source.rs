//! What a snapshot is loaded from, and what loading yields.

use std::path::{Path, PathBuf};

use domain::Timestamp;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;

use crate::args::SnapshotArgs;
use crate::view::pricing::{PriceNote, SaidBy};

/// What to load a snapshot from, and with which settings.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotSource<'a> {
    /// Files; none for the live cluster.
    pub(crate) files: &'a [PathBuf],
    /// `--context`.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without a Kubernetes client no context is looked up")
    )]
    pub(crate) context: Option<&'a str>,
    /// `--catalog`.
    pub(crate) catalog: Option<&'a Path>,
    /// `--refresh-catalog`.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without clients of AWS no catalogue is fetched")
    )]
    pub(crate) refresh_catalog: bool,
    /// `--table`.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without clients of AWS no table is read")
    )]
    pub(crate) table: Option<&'a str>,
    /// `--region`.
    pub(crate) region: Option<&'a str>,
    /// `--now`.
    pub(crate) now: Option<Timestamp>,
    /// `--scheduler-config`.
    pub(crate) scheduler_config: Option<&'a Path>,
    /// The settings of the snapshot.
    pub(crate) settings: Settings,
}

impl<'a> From<&'a SnapshotArgs> for SnapshotSource<'a> {
    fn from(args: &'a SnapshotArgs) -> Self {
        let SnapshotArgs {
            files,
            live: _,
            context,
            catalog,
            refresh_catalog,
            table,
            now,
            settings,
        } = args;
        Self {
            files,
            context: context.as_deref(),
            catalog: catalog.as_deref(),
            refresh_catalog: *refresh_catalog,
            table: table.as_deref(),
            region: settings.region.as_deref(),
            now: *now,
            scheduler_config: settings.scheduler_config.as_deref(),
            settings: settings.settings(),
        }
    }
}

/// A snapshot, and what was wrong with its input.
#[derive(Debug)]
pub(crate) struct LoadedSnapshot {
    /// What to plan on.
    pub(crate) snapshot: ClusterSnapshot,
    /// What says which region it is of.
    pub(crate) region_said_by: SaidBy,
    /// Whether its catalogue was fetched from AWS.
    pub(crate) is_catalog_fetched: bool,
    /// What the input left open, as printed on standard error.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects that were left out, each with what is wrong with it, as printed on standard
    /// error.
    pub(crate) errors: Vec<String>,
    /// An invalid object was left out.
    pub(crate) has_bad_input: bool,
}

impl LoadedSnapshot {
    /// Whether objects were left out as invalid, and no pod or node is left.
    pub(crate) fn is_unreadable(&self) -> bool {
        let objects = &self.snapshot.objects;
        self.has_bad_input && objects.pods.is_empty() && objects.nodes.is_empty()
    }

    /// What is to be said beside dollars.
    pub(crate) fn price_note(&self) -> PriceNote {
        PriceNote::of(&self.snapshot.instance_types, self.region_said_by.clone())
    }
}
