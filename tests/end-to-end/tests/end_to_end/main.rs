//! The cases of the end-to-end rig. One set of servers serves all of them, so they run one after the other; each begins in
//! a clean world.

mod cases;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use end_to_end::process::Workplace;
use end_to_end::world::World;
use futures_util::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// A case: a name that reads as a sentence, and what it does.
type Case = (&'static str, fn(Arc<World>) -> BoxFuture<'static, Result<()>>);

/// Lists cases by the functions that hold them; their names are the functions' names.
#[macro_export]
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub const CASES: &[$crate::Case] =
            &[$((stringify!($name), |world| Box::pin($name(world)))),+];
    };
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    // One world.
    arguments.test_threads = Some(1);
    let runtime = Arc::new(Runtime::new()?);
    let world = if arguments.list { None } else { Some(Arc::new(start(&runtime)?)) };
    let trials = cases::all().map(|(name, case)| {
        let (runtime, world) = (Arc::clone(&runtime), world.clone());
        Trial::test(name, move || {
            let world = world.context("no world to list cases in").map_err(Failed::from)?;
            runtime.block_on(run(world, case)).map_err(|error| Failed::from(format!("{error:?}")))
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    // Servers end here, not with the process.
    drop(world);
    Ok(conclusion.exit_code())
}

fn start(runtime: &Runtime) -> Result<World> {
    let folder = std::env::var_os("OUTRIGGER_END_TO_END_WORKPLACE")
        .map(PathBuf::from)
        .context("OUTRIGGER_END_TO_END_WORKPLACE is not set: use tests/end-to-end/run")?;
    let started = Instant::now();
    let world = runtime.block_on(World::start(Workplace::at(folder)))?;
    println!("servers are up after {:.1} s", started.elapsed().as_secs_f64());
    Ok(world)
}

async fn run(
    world: Arc<World>,
    case: fn(Arc<World>) -> BoxFuture<'static, Result<()>>,
) -> Result<()> {
    let started = Instant::now();
    world.reset().await.context("a clean world")?;
    let cleaned = started.elapsed();
    let result = case(world).await;
    println!(
        "    {:.1} s, {:.1} s of it to clean up before",
        started.elapsed().as_secs_f64(),
        cleaned.as_secs_f64()
    );
    result
}
