//! `outrigger plan`: a dry run of one invocation of the functions.

use checker::Violation;
use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;

use crate::args::{OutputFormat, PlanArgs};
use crate::commands::CommandError;
use crate::console::{self, Progress};
use crate::snapshot_source::{self, LoadedSnapshot, SnapshotSource};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::pod_names::counted;
use crate::wire::basis::BasisOptions;
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
    let status = if loaded.has_bad_input {
        Status::BadInput
    } else {
        status(args.strict, &plan, &violations)
    };
    console::write(&rendered(args, &loaded, &plan, violations)?)?;
    // The process ends next: freeing a thousand pods one by one would only delay it.
    std::mem::forget((loaded, plan));
    Ok(status)
}

/// A plan that breaks a rule must not be carried out, whoever asked for it; that a pod has no place
/// is wrong only where somebody says so.
fn status(strict: bool, plan: &Plan, violations: &[Violation]) -> Status {
    if !violations.is_empty()
        || (strict && plan.unschedulable.iter().any(|own| !own.is_expendable()))
    {
        Status::Unmet
    } else {
        Status::Done
    }
}

/// Rules that the plan breaks, printed to standard error: each is a defect of the planner.
pub(crate) fn violations(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<Violation> {
    let violations = checker::check(snapshot, plan);
    for violation in &violations {
        console::error_text(&format!("the plan breaks a rule: {violation}"));
    }
    violations
}

fn rendered(
    args: &PlanArgs,
    loaded: &LoadedSnapshot,
    plan: &Plan,
    violations: Vec<Violation>,
) -> Result<String, serde_json::Error> {
    let LoadedSnapshot { snapshot, warnings, errors, .. } = loaded;
    let prices = loaded.price_note();
    match args.output {
        // The errors say what is wrong; that there is nothing to do would be a guess.
        OutputFormat::Text if loaded.is_unreadable() => Ok(String::new()),
        OutputFormat::Text => Ok(text::plan::plan(snapshot, plan, &prices, Canvas::of_stdout())),
        OutputFormat::Html => {
            let cluster = args.source.settings.cluster.as_deref();
            let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
            html::plan::plan(snapshot, plan, &prices, cluster, &violations)
        }
        OutputFormat::Json => {
            let options = BasisOptions::new(&args.source, loaded.is_catalog_fetched);
            let (warnings, errors) = (warnings.clone(), errors.clone());
            let remarks = Remarks { options, prices, warnings, errors, violations };
            json(&PlanDocument::new(snapshot, plan, remarks))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_plan_that_breaks_a_rule_is_never_done() {
        let mut plan = testing::plan();
        assert!(!plan.unschedulable.is_empty());
        assert_eq!(status(false, &plan, &[]), Status::Done);
        assert_eq!(status(true, &plan, &[]), Status::Unmet);
        plan.unschedulable.clear();
        assert_eq!(status(true, &plan, &[]), Status::Done);
        let broken = Violation {
            rule: checker::Rule::Limits,
            subject: "default".to_owned(),
            message: "too many nodes".to_owned(),
        };
        assert_eq!(status(false, &plan, &[broken]), Status::Unmet);
    }
}
