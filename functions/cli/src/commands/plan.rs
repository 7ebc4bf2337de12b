//! `outrigger plan`: a dry run of one tick.

use domain::plan::Plan;

use crate::args::{OutputFormat, PlanArgs};
use crate::commands::{CommandError, json};
use crate::console::{self, Progress};
use crate::observation::{Observation, Sight, observe};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::pod_names::counted;
use crate::wire::plan::{PlanDocument, Remarks};
use crate::{html, text};

/// Observes, plans, checks and renders.
pub(crate) fn run(args: &PlanArgs) -> Result<Status, CommandError> {
    let observation = observe(&Sight::from(&args.observation))?;
    let plan = {
        let _progress = Progress::start(&format!(
            "planning for {}",
            counted(observation.snapshot.pods.len(), "pod")
        ));
        planning::plan(&observation.snapshot)
    };
    let violations = violations(&observation, &plan);
    let is_met = plan.unschedulable.is_empty() && violations.is_empty();
    console::write(&rendered(args, &observation, &plan, violations)?)?;
    let status = match (observation.has_bad_input, args.strict && !is_met) {
        (true, _) => Status::BadInput,
        (false, true) => Status::Unmet,
        (false, false) => Status::Done,
    };
    // The process ends next: freeing a thousand pods one by one would only delay it.
    std::mem::forget((observation, plan));
    Ok(status)
}

/// Rules that the plan breaks: a defect of the planner, told and never hidden.
pub(crate) fn violations(observation: &Observation, plan: &Plan) -> Vec<String> {
    let violations: Vec<String> =
        checker::check(&observation.snapshot, plan).iter().map(ToString::to_string).collect();
    for violation in &violations {
        console::error_text(&format!("the plan breaks a rule: {violation}"));
    }
    violations
}

fn rendered(
    args: &PlanArgs,
    observation: &Observation,
    plan: &Plan,
    violations: Vec<String>,
) -> Result<String, serde_json::Error> {
    let Observation { snapshot, warnings, has_bad_input: _ } = observation;
    let cluster = args.observation.settings.cluster.clone();
    match args.output {
        OutputFormat::Text => Ok(text::plan::plan(snapshot, plan, Canvas::of_stdout())),
        OutputFormat::Html => Ok(html::plan::plan(snapshot, plan, cluster.as_deref())),
        OutputFormat::Json => {
            let remarks = Remarks { cluster, warnings: warnings.clone(), violations };
            json(&PlanDocument::new(plan, remarks))
        }
    }
}
