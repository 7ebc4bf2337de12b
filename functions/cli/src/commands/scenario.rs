//! The scenario to simulate: a file, standard input, or one of the bundled scenarios.

use std::path::Path;

use domain::scheduler::SchedulerConfig;
use domain::snapshot::ClusterSnapshot;
use manifests::Object;
use simulation::region::SaidBy;
use simulation::scenario::{CatalogChoice, Scenario, ScenarioError};

use crate::bundled::{self, Bundled};
use crate::commands::replay_error::ReplayError;
use crate::console;
use crate::input::{self, InputError};
use crate::snapshot_source::{SnapshotError, region_for, scheduler_config_file};

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SimulateError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The region cannot be had.
    #[error(transparent)]
    Region(Box<SnapshotError>),
    /// The file of `--scheduler-config` cannot be used.
    #[error(transparent)]
    SchedulerConfig(Box<SnapshotError>),
    /// Neither a file nor a bundled scenario.
    #[error("there is no file {0}, and no bundled scenario of that name: they are {1}")]
    Unknown(String, String),
    /// A bundled recording, which is no scenario.
    #[error(
        "there is no file {0}, and no bundled scenario of that name: it is a recording, which \
         `outrigger simulate --from {0}` replays"
    )]
    Recording(String),
    /// The recording cannot be replayed.
    #[error(transparent)]
    Replay(Box<ReplayError>),
    /// It has no variant of that name.
    #[error(
        "the scenario has no variant {0:?}: it has {known}",
        known = if .1.is_empty() { "none" } else { .1 }
    )]
    UnknownVariant(String, String),
    /// It is not valid, or cannot be run.
    #[error("{name} is no usable scenario")]
    Unusable {
        /// The file, or the bundled scenario.
        name: String,
        /// Why not.
        #[source]
        source: ScenarioError,
    },
}

impl From<ReplayError> for SimulateError {
    fn from(error: ReplayError) -> Self {
        Self::Replay(Box::new(error))
    }
}

impl SimulateError {
    /// Prints it to standard error, with one line for each error of the file.
    pub(crate) fn print(&self) {
        match self {
            Self::Unusable { name: _, source: ScenarioError::Invalid(errors) } => {
                for error in errors {
                    console::error_text(error);
                }
            }
            other => console::error(other),
        }
    }
}

/// Loads a scenario: a file, standard input for `-`, or a bundled scenario.
pub(crate) fn load(wanted: &str) -> Result<Scenario, SimulateError> {
    let path = Path::new(wanted);
    if wanted == "-" || path.exists() {
        return parse(wanted, &input::text(path)?);
    }
    let Some(Bundled { name, text }) = bundled::find(wanted) else {
        if bundled::find_recording(wanted).is_some() {
            return Err(SimulateError::Recording(wanted.to_owned()));
        }
        let known = bundled::ALL.map(|scenario| scenario.name).join(", ");
        return Err(SimulateError::Unknown(wanted.to_owned(), known));
    };
    parse(name, text)
}

/// Parses a scenario; its warnings go to standard error.
pub(crate) fn parse(name: &str, text: &str) -> Result<Scenario, SimulateError> {
    let scenario = Scenario::read(name, text)
        .map_err(|source| SimulateError::Unusable { name: name.to_owned(), source })?;
    for warning in &scenario.warnings {
        console::warning(warning);
    }
    Ok(scenario)
}

/// The scenario with the variant of a name applied.
pub(crate) fn with_variant(scenario: &Scenario, wanted: &str) -> Result<Scenario, SimulateError> {
    let names =
        || scenario.variants.iter().map(|own| format!("{:?}", own.name)).collect::<Vec<_>>();
    match scenario.variants.iter().find(|own| &*own.name == wanted) {
        Some(variant) => Ok(scenario.in_variant(variant)),
        None => Err(SimulateError::UnknownVariant(wanted.to_owned(), names().join(", "))),
    }
}

/// The configuration of the file of `--scheduler-config`; what of it has no effect goes to standard
/// error.
pub(crate) fn scheduler_config(
    path: Option<&Path>,
) -> Result<Option<SchedulerConfig>, SimulateError> {
    let Some(path) = path else { return Ok(None) };
    let (config, warnings) = scheduler_config_file(path)
        .map_err(|error| SimulateError::SchedulerConfig(Box::new(error)))?;
    for warning in &warnings {
        console::warning(warning);
    }
    Ok(Some(config))
}

/// The scenario in a cluster whose scheduler is configured so from the start.
pub(crate) fn with_scheduler_config(scenario: Scenario, config: &SchedulerConfig) -> Scenario {
    scenario.with_objects(vec![Object::SchedulerConfig(config.clone())])
}

/// Sets the region of the scenario: the one that is wanted, or, where neither is wanted nor the
/// scenario says any, the one that its objects say. One with a catalogue of its own keeps that.
/// Returns warnings.
pub(crate) fn set_region(
    scenario: &mut Scenario,
    wanted: Option<&str>,
) -> Result<Vec<String>, SimulateError> {
    let objects = objects_of(scenario);
    match (&mut scenario.catalog, wanted) {
        (CatalogChoice::Given(_), Some(wanted)) => Ok(vec![format!(
            "--region {wanted} has no effect: the scenario brings its own catalogue"
        )]),
        (CatalogChoice::Given(_), None) => Ok(Vec::new()),
        (CatalogChoice::Region(_, said_by), None) if *said_by != SaidBy::Nothing => Ok(Vec::new()),
        (CatalogChoice::Region(region, said_by), wanted) => {
            let (own, chosen) = region_for(&objects, wanted)
                .map_err(|error| SimulateError::Region(Box::new(error)))?;
            (*region, *said_by) = (own, chosen.said_by);
            Ok(chosen.warnings)
        }
    }
}

/// The objects of a scenario that may say its region.
fn objects_of(scenario: &Scenario) -> ClusterSnapshot {
    let mut own = ClusterSnapshot::empty(scenario.start);
    let of_variants = scenario.variants.iter().flat_map(|variant| &variant.objects);
    for object in scenario.applied().chain(of_variants) {
        match object {
            Object::Node(node) => own.objects.nodes.push(node.clone()),
            Object::NodeClaim(claim) => own.node_claims.push(claim.clone()),
            Object::NodePool(pool) => own.objects.node_pools.push(pool.clone()),
            Object::Ec2NodeClass(class) => own.objects.node_classes.push((**class).clone()),
            _ => {}
        }
    }
    own
}
