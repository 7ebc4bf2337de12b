//! `outrigger plan`: a dry run of one invocation of the functions.

use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;

use crate::args::{OutputFormat, PlanArgs};
use crate::commands::CommandError;
use crate::console::{self, Progress};
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::pod_names::counted;
use crate::wire::json;
use crate::wire::plan::{PlanDocument, Remarks};
use crate::{html, text};

/// Loads the snapshot, plans, checks and renders.
pub(crate) fn run(args: &PlanArgs) -> Result<Status, CommandError> {
    let loaded = snapshot_source::load(&SnapshotSource::from(&args.source))?;
    let plan = {
        let _progress = Progress::start(&format!(
            "planning for {}",
            counted(loaded.snapshot.objects.pods.len(), "pod")
        ));
        planning::plan(&loaded.snapshot)
    };
    let violations = violations(&loaded.snapshot, &plan);
    let is_met = plan.unschedulable.is_empty() && violations.is_empty();
    console::write(&rendered(args, &loaded, &plan, violations)?)?;
    let status = match (loaded.has_bad_input, args.strict && !is_met) {
        (true, _) => Status::BadInput,
        (false, true) => Status::Unmet,
        (false, false) => Status::Done,
    };
    // The process ends next: freeing a thousand pods one by one would only delay it.
    std::mem::forget((loaded, plan));
    Ok(status)
}

/// Rules that the plan breaks, printed to standard error: each is a defect of the planner.
pub(crate) fn violations(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<String> {
    let violations: Vec<String> =
        checker::check(snapshot, plan).iter().map(ToString::to_string).collect();
    for violation in &violations {
        console::error_text(&format!("the plan breaks a rule: {violation}"));
    }
    violations
}

fn rendered(
    args: &PlanArgs,
    loaded: &LoadedSnapshot,
    plan: &Plan,
    violations: Vec<String>,
) -> Result<String, serde_json::Error> {
    let LoadedSnapshot { snapshot, warnings, has_bad_input: _ } = loaded;
    let cluster = args.source.settings.cluster.clone();
    match args.output {
        OutputFormat::Text => Ok(text::plan::plan(snapshot, plan, Canvas::of_stdout())),
        OutputFormat::Html => Ok(html::plan::plan(snapshot, plan, cluster.as_deref())),
        OutputFormat::Json => {
            let remarks = Remarks { cluster, warnings: warnings.clone(), violations };
            json(&PlanDocument::new(plan, remarks))
        }
    }
}
