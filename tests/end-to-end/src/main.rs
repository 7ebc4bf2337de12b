//! The cases of the end-to-end rig. Each begins in a clean world that it has to itself, and several
//! run side by side, each in another world; those that measure run alone, after all others.
//! Arguments are those of libtest: filters, `--list`, `--exact`, `--skip`, `--test-threads` (how
//! many worlds).

mod case;
mod cases;
mod figures;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use end_to_end::process::Workplace;
use end_to_end::world::World;
use end_to_end::worlds::Worlds;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use case::{Case, Steps};
use figures::{report, say};

/// The default number of worlds. Cases mostly wait, for machines to boot and for time to pass.
const WORLDS: usize = 3;

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(worlds_at_once());
    let runtime = Arc::new(Runtime::new()?);
    let folder = std::env::var_os("OUTRIGGER_END_TO_END_WORKPLACE").map(PathBuf::from);
    let folder = folder
        .filter(|_| !arguments.list)
        .or_else(|| arguments.list.then(PathBuf::new))
        .context("OUTRIGGER_END_TO_END_WORKPLACE is not set: use tests/end-to-end/run")?;
    let worlds = Arc::new(Worlds::new(Workplace::at(folder)));
    let trials = cases::all().into_iter().map(|(name, case)| {
        let (runtime, worlds) = (Arc::clone(&runtime), Arc::clone(&worlds));
        // What is not tried does not count as passed.
        let lacks_version =
            name.starts_with("upgrade::") && std::env::var_os(cases::OTHER_VERSION).is_none();
        Trial::test(name.clone(), move || {
            runtime.block_on(attempt(&worlds, &name, case)).map_err(|error| failed(&error))
        })
        .with_ignored_flag(lacks_version)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    report();
    // Servers end here, not with the process.
    runtime.block_on(worlds.end_all_but(0))?;
    if !arguments.list {
        write_usage(&worlds, conclusion.num_filtered_out == 0 && !conclusion.has_failed())?;
    }
    Ok(conclusion.exit_code())
}

/// Writes what functions called to the file that `OUTRIGGER_END_TO_END_CALLS` names. It is
/// `complete` when every case had its part in it.
fn write_usage(worlds: &Worlds, is_complete: bool) -> Result<()> {
    let Some(path) = std::env::var_os("OUTRIGGER_END_TO_END_CALLS").map(PathBuf::from) else {
        return Ok(());
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut usage = worlds.document()?;
    usage["complete"] = is_complete.into();
    std::fs::write(&path, serde_json::to_string_pretty(&usage)?)
        .with_context(|| path.display().to_string())
}

fn failed(error: &anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

/// Runs a case, and again where it fails and may.
async fn attempt(worlds: &Worlds, name: &str, case: Case) -> Result<()> {
    let company = worlds.company(case.is_alone).await?;
    let world = worlds.take().await.context("a world")?;
    let mut result = run(&world, name, case.steps).await;
    for attempt in 2..=attempts() {
        let Err(error) = &result else { break };
        say(format!("UNSTEADY {name}: attempt {attempt} after: {error:#}"));
        result = run(&world, name, case.steps).await;
    }
    worlds.give_back(world);
    drop(company);
    result
}

async fn run(world: &Arc<World>, name: &str, steps: Steps) -> Result<()> {
    let started = Instant::now();
    world.reset().await.context("a clean world")?;
    let cleaned = started.elapsed().as_secs_f64();
    let result = steps(Arc::clone(world)).await;
    // Until the next case comes, whose reset does the rest.
    world.rest();
    say(format!(
        "{name}: {:.1} s, {cleaned:.1} s of it to clean up before",
        started.elapsed().as_secs_f64()
    ));
    result
}

/// How many cases run side by side, in a world each.
fn worlds_at_once() -> usize {
    let worlds = std::env::var("OUTRIGGER_END_TO_END_WORLDS").ok();
    worlds.and_then(|worlds| worlds.parse().ok()).unwrap_or(WORLDS)
}

/// How often a case may begin before it counts as failed. Real servers on a busy machine now and
/// then miss a moment that a case waits for; what needed another attempt is reported as unsteady.
fn attempts() -> u32 {
    let attempts = std::env::var("OUTRIGGER_END_TO_END_ATTEMPTS").ok();
    attempts.and_then(|attempts| attempts.parse().ok()).unwrap_or(1)
}
