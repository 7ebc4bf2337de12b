//! `outrigger simulate`, and the quick start: the functions driven through simulated time.

use comfy_table::{Cell, Color};
use domain::settings::Settings;
use simulation::report::Report;
use simulation::scenario::{CatalogChoice, Scenario};

use crate::args::{OutputFormat, SimulateArgs};
use crate::bundled::{self, Bundled};
use crate::commands::CommandError;
use crate::commands::scenario::{self, SimulateError};
use crate::console::{self, Progress};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::layout::{table_text, wrapping_table};
use crate::view::comparison::VariantRun;
use crate::wire::comparison::ComparisonDocument;
use crate::wire::json;
use crate::wire::simulation::{RunOptions, SimulationDocument};
use crate::{html, text};

/// Runs the scenario of the arguments, or lists the bundled ones.
pub(crate) fn run(args: &SimulateArgs) -> Result<Status, CommandError> {
    let Some(wanted) = &args.scenario else {
        console::write(&list()?)?;
        return Ok(Status::Done);
    };
    let mut scenario = scenario::load(wanted)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    if let Some(region) = &args.settings.region {
        scenario::set_region(&mut scenario, region)?;
    }
    if let Some(wanted) = &args.variant {
        scenario = scenario::with_variant(&scenario, wanted)?;
    }
    if !scenario.variants.is_empty() {
        return compare(&scenario, args);
    }
    let options = run_options(&scenario, args);
    let report = simulate(scenario, &args.settings.settings())?;
    let output = match args.output {
        OutputFormat::Text => text::simulation::simulation(&report, Canvas::of_stdout()),
        OutputFormat::Html => html::simulation::simulation(&report),
        OutputFormat::Json => json(&SimulationDocument::new(&report, options))?,
    };
    console::write(&output)?;
    Ok(status_of(&report))
}

/// Runs every variant and renders their results side by side.
fn compare(scenario: &Scenario, args: &SimulateArgs) -> Result<Status, CommandError> {
    let settings = args.settings.settings();
    let mut runs = Vec::with_capacity(scenario.variants.len());
    for variant in &scenario.variants {
        let report = simulate(scenario.in_variant(variant), &settings)?;
        runs.push(VariantRun { variant: variant.name.clone(), report });
    }
    let options = run_options(scenario, args);
    let output = match args.output {
        OutputFormat::Text => text::comparison::comparison(&runs, Canvas::of_stdout()),
        OutputFormat::Html => html::comparison::comparison(&runs),
        OutputFormat::Json => json(&ComparisonDocument::new(&runs, options))?,
    };
    console::write(&output)?;
    let are_as_expected = runs.iter().all(|run| run.report.is_as_expected());
    Ok(if are_as_expected { Status::Done } else { Status::Unmet })
}

/// What documents of its runs say beside what happened.
fn run_options<'a>(scenario: &Scenario, args: &'a SimulateArgs) -> RunOptions<'a> {
    RunOptions {
        cluster: args.settings.cluster.as_deref(),
        has_own_catalog: matches!(scenario.catalog, CatalogChoice::Given(_)),
    }
}

/// Runs the bundled scenario that shows most in least time.
pub(crate) fn quick_start() -> Result<Status, CommandError> {
    let Bundled { name, text } = bundled::QUICK_START;
    let report = simulate(scenario::parse(name, text)?, &Settings::default())?;
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

fn simulate(scenario: Scenario, settings: &Settings) -> Result<Report, SimulateError> {
    let (name, length) = (scenario.name.to_string(), scenario.duration);
    let progress = Progress::start(&format!("simulating {name}"));
    let passed = |passed| progress.reached(passed, length);
    simulation::run_watched(scenario, settings, &passed)
        .map_err(|source| SimulateError::Unusable { name, source })
}

/// The bundled scenarios, one line each.
fn list() -> Result<String, SimulateError> {
    let mut table = wrapping_table(Canvas::of_stdout());
    for Bundled { name, text } in bundled::ALL {
        let scenario = scenario::parse(name, text)?;
        table.add_row([Cell::new(name).fg(Color::DarkCyan), Cell::new(&scenario.about)]);
    }
    Ok(format!("{}\n", table_text(&table)))
}
