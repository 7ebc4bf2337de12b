//! `outrigger top`: the nodes of a cluster, what they hold and what they cost.

use domain::plan::Plan;

use crate::args::{TopArgs, TopFormat};
use crate::commands::{CommandError, json};
use crate::observation::{Observation, Sight, observe};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::cluster_use::ClusterUse;
use crate::wire::top::TopDocument;
use crate::{console, text};

/// Observes and renders.
pub(crate) fn run(args: &TopArgs) -> Result<Status, CommandError> {
    let sight = Sight {
        files: &args.files,
        context: args.context.as_deref(),
        catalog: args.catalog.as_deref(),
        region: args.region.as_deref(),
        now: args.now,
        settings: domain::settings::Settings::default(),
    };
    let Observation { snapshot, warnings, has_bad_input } = observe(&sight)?;
    let seen = ClusterUse::of(&snapshot, &Plan::default());
    let output = match args.output {
        TopFormat::Text => text::top::top(&seen, Canvas::of_stdout()),
        TopFormat::Json => json(&TopDocument::new(&seen, warnings))?,
    };
    console::write(&output)?;
    Ok(if has_bad_input { Status::BadInput } else { Status::Done })
}
