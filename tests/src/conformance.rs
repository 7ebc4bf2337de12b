//! Conformance scenarios: a cluster, a catalogue, and what a plan over them must show.
//!
//! The files under `conformance/` are data that the outside judge uses as well; they are taken in
//! as they are and read with the same meaning: an unknown key anywhere is an error, and so is an
//! expectation about an object that the scenario does not have.

mod error;
mod evaluation;
mod expectation;
mod outcome;
mod scenario;

pub use error::ScenarioError;
pub use evaluation::unmet_expectations;
pub use expectation::Expect;
pub use scenario::{Scenario, named_catalog};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::plan::Plan;

/// The folder of scenarios, catalogues and the list of expected failures.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// The files of all scenarios, by name.
pub fn files() -> Vec<PathBuf> {
    let listing = std::fs::read_dir(folder().join("scenarios")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = listing
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

/// Names of scenarios that do not hold yet.
pub fn expected_failures() -> BTreeSet<String> {
    // A list that cannot be read lists nothing: every failure then counts.
    let text = std::fs::read_to_string(folder().join("expected-failures.txt")).unwrap_or_default();
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Plans a scenario and says why the plan does not hold: unmet expectations and broken rules.
///
/// An error is a defect of the scenario, not of the plan.
pub fn judge(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let plan: Plan = planning::plan(&scenario.snapshot);
    let mut reasons = unmet_expectations(&scenario.snapshot, &plan, &scenario.expect)?;
    let violations = checker::check(&scenario.snapshot, &plan);
    reasons.extend(violations.iter().map(|violation| format!("broken rule: {violation}")));
    Ok(reasons)
}
