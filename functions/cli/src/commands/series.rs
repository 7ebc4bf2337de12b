//! Several runs of several scenarios, at once on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use domain::settings::Settings;
use domain::{SignedDuration, Text};
use simulation::report::Report;
use simulation::scenario::Scenario;

use crate::commands::scenario::SimulateError;
use crate::console::Progress;
use crate::view::series::{Run, Series};

/// Runs each scenario with each seed. The order of the results is that of the arguments, however
/// many processors there are.
pub(crate) fn run(
    cases: &[(Text, Scenario)],
    seeds: &[u64],
    settings: &Settings,
) -> Result<Vec<Series>, SimulateError> {
    let jobs: Vec<(usize, u64)> =
        (0..cases.len()).flat_map(|case| seeds.iter().map(move |seed| (case, *seed))).collect();
    let name = cases.first().map_or("", |(_, scenario)| &*scenario.name);
    let progress = Progress::start(&format!("simulating {name}"));
    let threads = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<(usize, Result<Report, SimulateError>)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, seed)) = jobs.get(index).copied() else { return };
                    let result = one(&cases[case].1, seed, settings);
                    if let Ok(mut results) = results.lock() {
                        results.push((index, result));
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    progress.reached(seconds(done), seconds(jobs.len()));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    let mut series: Vec<Series> =
        cases.iter().map(|(name, _)| Series { name: name.clone(), runs: Vec::new() }).collect();
    for (index, result) in results {
        let (case, seed) = jobs[index];
        series[case].runs.push(Run::of(seed, &result?));
    }
    Ok(series)
}

/// Progress is shown in parts of a whole.
fn seconds(count: usize) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(count).unwrap_or(i64::MAX))
}

fn one(scenario: &Scenario, seed: u64, settings: &Settings) -> Result<Report, SimulateError> {
    let scenario = Scenario { seed, ..scenario.clone() };
    let name = scenario.name.to_string();
    simulation::run(scenario, settings).map_err(|source| SimulateError::Unusable { name, source })
}
