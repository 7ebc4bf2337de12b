//! `outrigger simulate`, and the quick start: the functions driven through simulated time.

use std::collections::BTreeSet;

use domain::Text;
use domain::settings::Settings;
use simulation::history::History;
use simulation::report::Report;
use simulation::scenario::{CatalogChoice, Scenario};
use simulation::{Recorded, RecordingTerms, Traced};

use crate::args::recording::{NamedFile, ReplayArgs};
use crate::args::{OutputFormat, SimulateArgs};
use crate::bundled::{self, Bundled};
use crate::commands::CommandError;
use crate::commands::record;
use crate::commands::replay::{self, Replays};
use crate::commands::replay_error::ReplayError;
use crate::commands::scenario::{self, SimulateError};
use crate::commands::series;
use crate::console::{self, Progress};
use crate::status::Status;
use crate::terminal::Canvas;
use crate::view::comparison::VariantRun;
use crate::view::series::Series;
use crate::wire::bundled::{BundledDocument, BundledListDocument};
use crate::wire::comparison::ComparisonDocument;
use crate::wire::json;
use crate::wire::series::SeriesDocument;
use crate::wire::simulation::{RunOptions, SimulationDocument};
use crate::{html, text};

/// Runs the scenario or replays the recording of the arguments, or lists the bundled ones.
pub(crate) fn run(args: &SimulateArgs) -> Result<Status, CommandError> {
    check_together(&args.replay)?;
    let Replays { mut cases, has_problems } = match (&args.replay.from, &args.scenario) {
        (Some(recording), _) => replay::scenarios(recording, args)?,
        (None, Some(wanted)) => {
            let scenario = scenario::load(wanted)?;
            let name = scenario.name.clone();
            Replays { cases: vec![(name, scenario)], has_problems: false }
        }
        (None, None) => {
            console::write(&list(args.output)?)?;
            return Ok(Status::Done);
        }
    };
    let scheduler = scenario::scheduler_config(args.settings.scheduler_config.as_deref())?;
    let mut warnings = BTreeSet::new();
    for (_, scenario) in &mut cases {
        if let Some(config) = &scheduler {
            *scenario = scenario::with_scheduler_config(scenario.clone(), config);
        }
        if let Some(seed) = args.seed {
            scenario.seed = seed;
        }
        warnings.extend(scenario::set_region(scenario, args.settings.region.as_deref())?);
        if let Some(wanted) = &args.variant {
            *scenario = scenario::with_variant(scenario, wanted)?;
        }
    }
    for warning in &warnings {
        console::warning(warning);
    }
    let status = if args.replay.seeds.is_some() {
        estimate(&cases, args)?
    } else {
        match cases.as_slice() {
            [(_, only)] if only.variants.is_empty() => single(only.clone(), args)?,
            _ if args.replay.record.is_some() => return Err(several_to_record(&cases)),
            _ => compare(&in_variants(&cases), args)?,
        }
    };
    Ok(if has_problems { Status::BadInput } else { status })
}

/// Refuses arguments that say nothing together.
fn check_together(args: &ReplayArgs) -> Result<(), CommandError> {
    let ReplayArgs { compare, record, pseudonyms, .. } = args;
    if pseudonyms.pseudonyms.is_some() && record.is_none() {
        let why = "--pseudonyms is of recordings: it needs --record FILE";
        return Err(CommandError::Usage(why.to_owned()));
    }
    let mut names = BTreeSet::new();
    match compare.iter().find(|own| !names.insert(&own.name)) {
        Some(NamedFile { name, .. }) => {
            Err(CommandError::Usage(format!("--compare {name}=…: two runs have this name")))
        }
        None => Ok(()),
    }
}

fn several_to_record(cases: &[(Text, Scenario)]) -> CommandError {
    let variants = cases.iter().flat_map(|(_, scenario)| &scenario.variants);
    let names: Vec<&str> = variants.map(|own| &*own.name).collect();
    CommandError::Usage(format!(
        "--record is of one run, and the scenario has variants: choose one with --variant, of {}",
        names.join(", ")
    ))
}

/// Every variant of every case, under the name of both where there are several of both.
fn in_variants(cases: &[(Text, Scenario)]) -> Vec<(Text, Scenario)> {
    let mut all = Vec::new();
    for (name, scenario) in cases {
        if scenario.variants.is_empty() {
            all.push((name.clone(), scenario.clone()));
        }
        for variant in &scenario.variants {
            let name = match cases {
                [_] => variant.name.clone(),
                _ => format!("{name}, {}", variant.name).into(),
            };
            all.push((name, scenario.in_variant(variant)));
        }
    }
    all
}

/// Runs one scenario and renders all of it.
fn single(scenario: Scenario, args: &SimulateArgs) -> Result<Status, CommandError> {
    let options = run_options(&scenario, args);
    let settings = args.settings.settings_of_functions();
    let terms = match &args.replay.record {
        None => None,
        Some(_) => Some(RecordingTerms {
            cluster: args.settings.cluster.clone(),
            pseudonyms: record::pseudonyms(&args.replay.pseudonyms)?,
        }),
    };
    // A history takes plans of its own: it is kept for pages only.
    let (report, history, lines) = match (args.output, terms) {
        (OutputFormat::Html, terms) => {
            let Traced { report, history, lines } = trace(scenario, &settings, terms)?;
            (report, history, lines)
        }
        (_, Some(terms)) => {
            let Recorded { report, lines } = simulate_recorded(scenario, &settings, terms)?;
            (report, History::default(), Some(lines))
        }
        (_, None) => (simulate(scenario, &settings)?, History::default(), None),
    };
    if let (Some(path), Some(lines)) = (&args.replay.record, lines) {
        let failed = |source| CommandError::File { path: path.display().to_string(), source };
        std::fs::write(path, lines).map_err(failed)?;
    }
    let output = match args.output {
        OutputFormat::Text => text::simulation::simulation(&report, Canvas::of_stdout()),
        OutputFormat::Html => html::simulation::simulation(&report, &history)?,
        OutputFormat::Json => json(&SimulationDocument::new(&report, options))?,
    };
    console::write(&output)?;
    Ok(status_of(&report))
}

/// Runs every case with several seeds and renders means.
fn estimate(cases: &[(Text, Scenario)], args: &SimulateArgs) -> Result<Status, CommandError> {
    let cases = in_variants(cases);
    let first = cases.first().map_or(0, |(_, scenario)| scenario.seed);
    let count = u64::from(args.replay.seeds.unwrap_or(1));
    let seeds: Vec<u64> = (0..count).map(|own| first.wrapping_add(own)).collect();
    let settings = args.settings.settings_of_functions();
    let series = series::run(&cases, &seeds, &settings)?;
    let output = match args.output {
        OutputFormat::Json => json(&SeriesDocument::new(&series))?,
        OutputFormat::Text => text::series::series(&series, Canvas::of_stdout()),
        OutputFormat::Html => html::series::series(&series, &traced(&cases, &settings)?)?,
    };
    console::write(&output)?;
    let are_as_expected = series.iter().all(Series::is_as_expected);
    Ok(if are_as_expected { Status::Done } else { Status::Unmet })
}

/// Runs every case and renders their results side by side.
fn compare(cases: &[(Text, Scenario)], args: &SimulateArgs) -> Result<Status, CommandError> {
    let settings = args.settings.settings_of_functions();
    let runs = if args.output == OutputFormat::Html {
        traced(cases, &settings)?
    } else {
        let run = |(name, scenario): &(Text, Scenario)| {
            let report = simulate(scenario.clone(), &settings)?;
            Ok(VariantRun { variant: name.clone(), report, history: History::default() })
        };
        cases.iter().map(run).collect::<Result<_, SimulateError>>()?
    };
    let options =
        cases.first().map(|(_, scenario)| run_options(scenario, args)).unwrap_or_default();
    let output = match args.output {
        OutputFormat::Text => text::comparison::comparison(&runs, Canvas::of_stdout()),
        OutputFormat::Html => html::comparison::comparison(&runs)?,
        OutputFormat::Json => json(&ComparisonDocument::new(&runs, options))?,
    };
    console::write(&output)?;
    let are_as_expected = runs.iter().all(|run| run.report.is_as_expected());
    Ok(if are_as_expected { Status::Done } else { Status::Unmet })
}

/// Every case with the history that pages draw.
fn traced(
    cases: &[(Text, Scenario)],
    settings: &Settings,
) -> Result<Vec<VariantRun>, SimulateError> {
    let run = |(name, scenario): &(Text, Scenario)| {
        let Traced { report, history, .. } = trace(scenario.clone(), settings, None)?;
        Ok(VariantRun { variant: name.clone(), report, history })
    };
    cases.iter().map(run).collect()
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

fn simulate_recorded(
    scenario: Scenario,
    settings: &Settings,
    terms: RecordingTerms,
) -> Result<Recorded, SimulateError> {
    let (name, length) = (scenario.name.to_string(), scenario.duration);
    let progress = Progress::start(&format!("simulating {name}"));
    let passed = |passed| progress.reached(passed, length);
    simulation::run_recorded(scenario, settings, terms, &passed)
        .map_err(|source| SimulateError::Unusable { name, source })
}

/// Like [`simulate`], with the history and, where there are terms for it, a recording.
fn trace(
    scenario: Scenario,
    settings: &Settings,
    terms: Option<RecordingTerms>,
) -> Result<Traced, SimulateError> {
    let (name, length) = (scenario.name.to_string(), scenario.duration);
    let progress = Progress::start(&format!("simulating {name}"));
    let passed = |passed| progress.reached(passed, length);
    simulation::run_traced(scenario, settings, terms, &passed)
        .map_err(|source| SimulateError::Unusable { name, source })
}

/// The bundled scenarios and recordings.
fn list(output: OutputFormat) -> Result<String, CommandError> {
    let mut scenarios = Vec::new();
    for Bundled { name, text } in bundled::ALL {
        let about = scenario::parse(name, text)?.about;
        scenarios.push(BundledDocument { name, about });
    }
    let mut recordings = Vec::new();
    for Bundled { name, text } in bundled::RECORDINGS {
        let recording = recording::read(name, text).map_err(ReplayError::from);
        let recording = recording.map_err(SimulateError::from)?.recording;
        let about = recording.header.about.unwrap_or_default().into();
        recordings.push(BundledDocument { name, about });
    }
    match output {
        OutputFormat::Text => {
            Ok(text::bundled::bundled(&scenarios, &recordings, Canvas::of_stdout()))
        }
        OutputFormat::Json => Ok(json(&BundledListDocument::new(scenarios, recordings))?),
        OutputFormat::Html => {
            Err(CommandError::Usage("--list has no page: -o text or -o json".to_owned()))
        }
    }
}
