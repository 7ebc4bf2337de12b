//! `outrigger top`: the nodes of a cluster, what they hold and what they cost.

#[cfg(feature = "live")]
mod live;

#[cfg(feature = "live")]
use std::io::IsTerminal as _;

use domain::plan::Plan;

use crate::args::{TopArgs, TopFormat};
use crate::commands::CommandError;
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::cluster_use::ClusterUse;
use crate::view::cost_split::CostSplit;
use crate::view::node_columns::{NodeColumns, select_nodes};
use crate::wire::basis::{self, BasisDocument, BasisOptions};
use crate::wire::json;
use crate::wire::top::{Remarks, TopDocument};
use crate::{console, html, text};

/// What is looked at.
fn source(args: &TopArgs) -> SnapshotSource<'_> {
    SnapshotSource {
        files: &args.files,
        context: args.context.as_deref(),
        catalog: args.catalog.as_deref(),
        refresh_catalog: args.refresh_catalog,
        table: args.table.as_deref(),
        region: args.region.as_deref(),
        now: args.now,
        scheduler_config: None,
        settings: domain::settings::Settings::default(),
    }
}

/// Loads the snapshot and renders its nodes.
pub(crate) fn run(args: &TopArgs) -> Result<Status, CommandError> {
    #[cfg(feature = "live")]
    if args.live && std::io::stdout().is_terminal() && args.output == TopFormat::Text {
        return live::run(args);
    }
    let loaded = snapshot_source::load(&source(args))?;
    let prices = loaded.price_note();
    let LoadedSnapshot {
        mut snapshot, is_catalog_fetched, warnings, errors, has_bad_input, ..
    } = loaded;
    let before = snapshot.objects.nodes.len();
    if let Some(selector) = &args.node_selector {
        select_nodes(&mut snapshot, &selector.0);
    }
    let not_selected = before.saturating_sub(snapshot.objects.nodes.len());
    let columns = NodeColumns::of(&snapshot, &args.resources, &args.label_columns);
    let cluster_use = ClusterUse::of(&snapshot, &Plan::default());
    let mut cluster_use = ClusterUse { not_selected, ..cluster_use };
    if args.node_selector.is_some() {
        // Commitments are applied to all nodes together: of some, nothing can be said.
        cluster_use.committed = None;
    }
    let split = args.by.clone().map(|by| CostSplit::of(&snapshot, &cluster_use.rows, by));
    let output = match args.output {
        TopFormat::Text => {
            text::top::top(&cluster_use, split.as_ref(), &columns, &prices, Canvas::of_stdout())
        }
        TopFormat::Html => html::top::top(&snapshot, &cluster_use, split.as_ref(), &prices)?,
        TopFormat::Json => {
            let catalog = basis::catalog(args.catalog.as_deref(), is_catalog_fetched);
            let options = BasisOptions { cluster: None, catalog };
            let basis = BasisDocument::new(snapshot.now, &prices, options);
            let remarks = Remarks { basis, warnings, errors };
            json(&TopDocument::new(&cluster_use, split.as_ref(), remarks))?
        }
    };
    console::write(&output)?;
    Ok(if has_bad_input { Status::BadInput } else { Status::Done })
}
