//! Records the reports of invocations in the timeline, and broken rules as violations.

use controllers::disruption::{CommandEvent, DisruptionReport};
use controllers::interruption::{ClusterReport, HealthReport, InterruptionReport};
use controllers::lifecycle::LifecycleReport;
use controllers::node_classes::NodeClassReport;
use controllers::ports::PortError;
use controllers::provisioning::ProvisioningReport;
use controllers::run::RunOutcome;
use domain::Text;

use crate::invariant::Violation;
use crate::ports::SharedWorld;
use crate::report::Happening;

type RunResult<R> = Result<RunOutcome<R>, PortError>;

pub(super) fn provisioning(world: &SharedWorld, result: RunResult<ProvisioningReport>) {
    if let Some(report) = ran(world, "provisioning", result) {
        refused(world, &report.refused);
    }
}

pub(super) fn lifecycle(world: &SharedWorld, result: RunResult<LifecycleReport>) {
    ran(world, "lifecycle", result);
}

pub(super) fn disruption(world: &SharedWorld, result: RunResult<DisruptionReport>) {
    let Some(report) = ran(world, "disruption", result) else { return };
    refused(world, &report.refused);
    for change in &report.changes {
        if let CommandEvent::Refused(violations) = &change.what {
            refused(world, violations);
        }
    }
}

pub(super) fn interruption(world: &SharedWorld, report: &InterruptionReport) {
    for error in report.outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        failed(world, "interruption", error);
    }
    for report in &report.clusters {
        acted(world, report);
    }
}

pub(super) fn health(world: &SharedWorld, result: &Result<HealthReport, PortError>) {
    match result {
        Ok(report) => acted(world, &report.acted),
        Err(error) => failed(world, "lifecycle", error),
    }
}

/// Whether nothing is left to do about node classes.
pub(super) fn node_classes(
    world: &SharedWorld,
    result: &Result<NodeClassReport, PortError>,
) -> bool {
    match result {
        Ok(report) => report.problems.0.is_empty() && report.left == 0,
        Err(error) => {
            failed(world, "lifecycle", error);
            false
        }
    }
}

fn acted(world: &SharedWorld, report: &ClusterReport) {
    if let Some(provisioning) = &report.provisioning {
        refused(world, &provisioning.refused);
    }
}

fn failed(world: &SharedWorld, controller: &'static str, error: &PortError) {
    let mut world = world.change();
    let now = world.now();
    let failed = Happening::ControllerFailed { controller: controller.into() };
    world.journal.add_because(now, failed, Some(error.to_string().into()));
}

/// The report of a run that took place.
fn ran<R>(world: &SharedWorld, controller: &'static str, result: RunResult<R>) -> Option<R> {
    match result {
        Ok(outcome) => outcome.ran(),
        Err(error) => {
            failed(world, controller, &error);
            None
        }
    }
}

fn refused(world: &SharedWorld, violations: &[Text]) {
    for violation in violations {
        world.change().violate(Violation::InvalidPlan(violation.clone()));
    }
}
