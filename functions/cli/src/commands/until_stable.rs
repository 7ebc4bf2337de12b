//! `outrigger plan --until-stable` and `outrigger audit`: what comes of a cluster that is left to
//! the functions until nothing changes, and what holds more back.

use simulation::stable::{self, BOUND, blocker};

use crate::args::audit::AuditArgs;
use crate::args::{OutputFormat, SnapshotArgs};
use crate::commands::CommandError;
use crate::commands::scenario::SimulateError;
use crate::console::{self, Progress};
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource, adopt};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::until_stable::UntilStable;
use crate::wire::basis::{BasisDocument, BasisOptions};
use crate::wire::json;
use crate::wire::until_stable::{Remarks, UntilStableDocument};
use crate::{html, text};

/// Runs the cluster as it is.
pub(crate) fn plan(source: &SnapshotArgs, output: OutputFormat) -> Result<Status, CommandError> {
    let loaded = snapshot_source::load(&source_of_functions(source))?;
    answer("plan", &loaded, Vec::new(), source, output)
}

/// Runs the cluster as if its nodes were NodePools'.
pub(crate) fn audit(args: &AuditArgs) -> Result<Status, CommandError> {
    let mut loaded = snapshot_source::load(&source_of_functions(&args.source))?;
    let assumptions = adopt(&mut loaded.snapshot);
    answer("audit", &loaded, assumptions, &args.source, args.output)
}

/// The input as the functions would plan it, which are what runs.
fn source_of_functions(args: &SnapshotArgs) -> SnapshotSource<'_> {
    SnapshotSource { settings: args.settings.settings_of_functions(), ..SnapshotSource::from(args) }
}

fn answer(
    command: &'static str,
    loaded: &LoadedSnapshot,
    assumptions: Vec<String>,
    source: &SnapshotArgs,
    output: OutputFormat,
) -> Result<Status, CommandError> {
    if loaded.is_unreadable() && output == OutputFormat::Text {
        return Ok(Status::BadInput);
    }
    let snapshot = &loaded.snapshot;
    let run = {
        let progress = Progress::start("running until nothing changes");
        let passed = |passed| progress.reached(passed, BOUND);
        let run = if output == OutputFormat::Html {
            stable::until_stable_traced(snapshot, &passed)
        } else {
            stable::until_stable(snapshot, &passed)
        };
        run.map_err(|source| SimulateError::Unusable { name: "the input".to_owned(), source })?
    };
    let costs = {
        let _progress = Progress::start("planning without what holds savings back");
        blocker::costs(&run.end, &run.owners)
    };
    let own = UntilStable::of(snapshot, &run, costs, assumptions);
    let prices = loaded.price_note();
    let rendered = match output {
        OutputFormat::Text => text::until_stable::until_stable(&own, &prices, Canvas::of_stdout()),
        OutputFormat::Html => {
            let cluster = source.settings.cluster.as_deref();
            html::until_stable::until_stable(command, &own, &run, &prices, cluster)?
        }
        OutputFormat::Json => {
            let options = BasisOptions::new(source, loaded.is_catalog_fetched);
            let basis = BasisDocument::new(snapshot.now, &prices, options);
            let (warnings, errors) = (loaded.warnings.clone(), loaded.errors.clone());
            json(&UntilStableDocument::new(&own, Remarks { basis, warnings, errors }))?
        }
    };
    console::write(&rendered)?;
    let status = match (loaded.has_bad_input, own.violations.is_empty()) {
        (true, _) => Status::BadInput,
        (false, false) => Status::Unmet,
        (false, true) => Status::Done,
    };
    // The process ends next: freeing a thousand pods one by one would only delay it.
    std::mem::forget((run, own));
    Ok(status)
}
