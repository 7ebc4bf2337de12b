//! The cases of the end-to-end rig. One set of servers serves all of them, so they run one after the other; each begins in
//! a clean world. Arguments are those of libtest: filters, `--list`, `--exact`, `--skip`.

mod cases;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use end_to_end::process::Workplace;
use end_to_end::world::World;
use futures_util::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// What a case does.
type Steps = fn(Arc<World>) -> LocalBoxFuture<'static, Result<()>>;

/// A case: a name that reads as a sentence, and what it does.
type Case = (&'static str, Steps);

/// Lists cases by the functions that hold them; their names are the functions' names.
#[macro_export]
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[$crate::Case] =
            &[$((stringify!($name), |world| Box::pin($name(world)))),+];
    };
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    // One world.
    arguments.test_threads = Some(1);
    let runtime = Arc::new(Runtime::new()?);
    let world = if arguments.list { None } else { Some(Arc::new(start(&runtime)?)) };
    let trials = cases::all().map(|(name, steps)| {
        let (runtime, world) = (Arc::clone(&runtime), world.clone());
        Trial::test(name.clone(), move || {
            let world =
                world.context("no world to list cases in").map_err(|error| failed(&error))?;
            let mut result = runtime.block_on(run(Arc::clone(&world), &name, steps));
            for attempt in 2..=attempts() {
                let Err(error) = &result else { break };
                say(format!("UNSTEADY {name}: attempt {attempt} after: {error:#}"));
                result = runtime.block_on(run(Arc::clone(&world), &name, steps));
            }
            result.map_err(|error| failed(&error))
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    report();
    if let Some(world) = &world {
        runtime.block_on(write_usage(
            world,
            conclusion.num_filtered_out == 0 && !conclusion.has_failed(),
        ))?;
    }
    // Servers end here, not with the process.
    drop(world);
    Ok(conclusion.exit_code())
}

/// Writes what functions called to the file that `OUTRIGGER_END_TO_END_CALLS` names. It is `complete` when every case
/// had its part in it.
async fn write_usage(world: &World, is_complete: bool) -> Result<()> {
    let Some(path) = std::env::var_os("OUTRIGGER_END_TO_END_CALLS").map(PathBuf::from) else {
        return Ok(());
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut usage = world.usage().await?;
    usage["complete"] = is_complete.into();
    std::fs::write(&path, serde_json::to_string_pretty(&usage)?)
        .with_context(|| path.display().to_string())
}

fn failed(error: &anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

fn start(runtime: &Runtime) -> Result<World> {
    let folder = std::env::var_os("OUTRIGGER_END_TO_END_WORKPLACE")
        .map(PathBuf::from)
        .context("OUTRIGGER_END_TO_END_WORKPLACE is not set: use tests/end-to-end/run")?;
    let started = Instant::now();
    let world = runtime.block_on(World::start(Workplace::at(folder)))?;
    say(format!("servers are up after {:.1} s", started.elapsed().as_secs_f64()));
    Ok(world)
}

async fn run(world: Arc<World>, name: &str, steps: Steps) -> Result<()> {
    let started = Instant::now();
    world.reset().await.context("a clean world")?;
    let cleaned = started.elapsed().as_secs_f64();
    let result = steps(world).await;
    say(format!(
        "{name}: {:.1} s, {cleaned:.1} s of it to clean up before",
        started.elapsed().as_secs_f64()
    ));
    result
}

/// How often a case may begin before it counts as failed. Real servers on a busy machine now and then miss a moment that a
/// case waits for; what needed another attempt is reported as unsteady.
fn attempts() -> u32 {
    let attempts = std::env::var("OUTRIGGER_END_TO_END_ATTEMPTS").ok();
    attempts.and_then(|attempts| attempts.parse().ok()).unwrap_or(1)
}

/// How long something may take that is promised: a machine that does other things as well gets three times as long,
/// unless `OUTRIGGER_END_TO_END_IDLE` says that it does not.
fn promised(limit: Duration) -> Duration {
    if std::env::var_os("OUTRIGGER_END_TO_END_IDLE").is_some() { limit } else { limit * 3 }
}

/// Figures that cases found, in the order in which they did.
static FIGURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps a figure for the end of the report.
fn say(text: String) {
    FIGURES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

#[expect(clippy::print_stdout, reason = "who runs the rig reads the figures where the report is")]
fn report() {
    for figure in FIGURES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{figure}");
    }
}
