//! `outrigger simulate`, and the quick start: the functions driven through simulated time.

use std::path::Path;

use comfy_table::{Cell, Color};
use domain::settings::Settings;
use simulation::report::Report;
use simulation::scenario::{CatalogChoice, Scenario, ScenarioError};

use crate::args::{OutputFormat, SimulateArgs};
use crate::bundled::{self, Bundled};
use crate::commands::{CommandError, json};
use crate::console::{self, Progress};
use crate::input;
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::node_table::plain_table;
use crate::view::comparison::VariantRun;
use crate::wire::comparison::ComparisonDocument;
use crate::wire::simulation::SimulationDocument;
use crate::{html, text};

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScenarioProblem {
    /// Neither a file nor a bundled scenario.
    #[error("there is no file {0}, and no bundled scenario of that name: they are {1}")]
    Unknown(String, String),
    /// It has no variant of that name.
    #[error("the scenario has no variant {0:?}: {known}", known = if .1.is_empty() { "it has none" } else { .1 })]
    UnknownVariant(String, String),
    /// It is not as a scenario has to be.
    #[error("{name} is no usable scenario")]
    Unusable {
        /// The file, or the bundled scenario.
        name: String,
        /// Why not.
        #[source]
        source: ScenarioError,
    },
}

impl ScenarioProblem {
    /// Tells it on standard error, each thing that is wrong with the file on a line of its own.
    pub(crate) fn tell(&self) {
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

/// Runs the scenario asked for, or lists those that come along.
pub(crate) fn run(args: &SimulateArgs) -> Result<Status, CommandError> {
    let Some(wanted) = &args.scenario else {
        console::write(&list()?)?;
        return Ok(Status::Done);
    };
    let (name, text) = scenario_text(wanted)?;
    let mut scenario = read(&name, &text)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    if let Some(region) = &args.settings.region {
        move_to(&mut scenario, region);
    }
    if let Some(wanted) = &args.variant {
        scenario = in_variant(&scenario, wanted)?;
    }
    if !scenario.variants.is_empty() {
        return compare(&scenario, args);
    }
    let report = simulate(scenario, &args.settings.settings())?;
    let cluster = args.settings.cluster.as_deref();
    let output = match args.output {
        OutputFormat::Text => text::simulation::simulation(&report, Canvas::of_stdout()),
        OutputFormat::Html => html::simulation::simulation(&report),
        OutputFormat::Json => json(&SimulationDocument::new(&report, cluster))?,
    };
    console::write(&output)?;
    Ok(status_of(&report))
}

/// The scenario as the variant of a name runs.
fn in_variant(scenario: &Scenario, wanted: &str) -> Result<Scenario, ScenarioProblem> {
    let names = || scenario.variants.iter().map(|own| &*own.name).collect::<Vec<_>>();
    match scenario.variants.iter().find(|own| &*own.name == wanted) {
        Some(variant) => Ok(scenario.in_variant(variant)),
        None => Err(ScenarioProblem::UnknownVariant(wanted.to_owned(), names().join(", "))),
    }
}

/// Runs every variant, and tells what became of each beside the others.
fn compare(scenario: &Scenario, args: &SimulateArgs) -> Result<Status, CommandError> {
    let settings = args.settings.settings();
    let mut runs = Vec::with_capacity(scenario.variants.len());
    for variant in &scenario.variants {
        let report = simulate(scenario.in_variant(variant), &settings)?;
        runs.push(VariantRun { variant: variant.name.clone(), report });
    }
    let cluster = args.settings.cluster.as_deref();
    let output = match args.output {
        OutputFormat::Text => text::comparison::comparison(&runs, Canvas::of_stdout()),
        OutputFormat::Html => html::comparison::comparison(&runs),
        OutputFormat::Json => json(&ComparisonDocument::new(&runs, cluster))?,
    };
    console::write(&output)?;
    let are_as_expected = runs.iter().all(|run| run.report.is_as_expected());
    Ok(if are_as_expected { Status::Done } else { Status::Unmet })
}

/// Runs the bundled scenario that shows most in least time.
pub(crate) fn quick_start() -> Result<Status, CommandError> {
    let Bundled { name, text } = bundled::QUICK_START;
    let report = simulate(read(name, text)?, &Settings::default())?;
    let mut output = text::simulation::simulation(&report, Canvas::of_stdout());
    output.push_str(
        "\nThis was the bundled scenario `consolidation`, on the planning code that the functions run.\n\
         Next: `outrigger simulate --list`, `outrigger plan -f FILE`, `outrigger --help`.\n",
    );
    console::write(&output)?;
    Ok(status_of(&report))
}

fn status_of(report: &Report) -> Status {
    if report.is_as_expected() { Status::Done } else { Status::Unmet }
}

fn read(name: &str, text: &str) -> Result<Scenario, ScenarioProblem> {
    let scenario = Scenario::read(name, text)
        .map_err(|source| ScenarioProblem::Unusable { name: name.to_owned(), source })?;
    for warning in &scenario.warnings {
        console::warning(warning);
    }
    Ok(scenario)
}

/// Runs the scenario in another region, unless it brings a catalogue of its own.
fn move_to(scenario: &mut Scenario, region: &str) {
    match &mut scenario.catalog {
        CatalogChoice::Region(own) => *own = region.into(),
        CatalogChoice::Given(_) => console::warning(&format!(
            "--region {region} has no effect: the scenario brings its own catalogue"
        )),
    }
}

fn simulate(scenario: Scenario, settings: &Settings) -> Result<Report, ScenarioProblem> {
    let name = scenario.name.to_string();
    let _progress = Progress::start(&format!("simulating {name}"));
    simulation::run(scenario, settings).map_err(|source| ScenarioProblem::Unusable { name, source })
}

/// The name and the text of a file, of standard input, or of a bundled scenario.
fn scenario_text(wanted: &str) -> Result<(String, String), CommandError> {
    let path = Path::new(wanted);
    if wanted == "-" || path.exists() {
        return Ok((wanted.to_owned(), input::text(path)?));
    }
    let Some(Bundled { name, text }) = bundled::find(wanted) else {
        let known = bundled::ALL.map(|scenario| scenario.name).join(", ");
        return Err(ScenarioProblem::Unknown(wanted.to_owned(), known).into());
    };
    Ok((name.to_owned(), text.to_owned()))
}

/// One line a bundled scenario.
fn list() -> Result<String, ScenarioProblem> {
    let mut table = plain_table(Canvas::of_stdout());
    for Bundled { name, text } in bundled::ALL {
        let scenario = read(name, text)?;
        table.add_row([Cell::new(name).fg(Color::DarkCyan), Cell::new(&scenario.about)]);
    }
    Ok(format!("{}\n", table.trim_fmt()))
}
