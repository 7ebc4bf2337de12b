//! Plans one made-up workload and says how long that took and the most memory the process ever had.
//!
//! `cargo run --release -p outrigger-tests --example peak_memory -- micro ec2 50000`. A process of
//! its own for each figure, as the most memory is of the whole process (`VmHWM` of
//! `/proc/self/status`, so on Linux only).

#![expect(clippy::print_stdout, reason = "what it measures is its output")]

use std::error::Error;
use std::time::Instant;

use outrigger_tests::workload::{Market, Workload, snapshot};

/// As the binaries have it: planning makes many small vectors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: peak_memory micro|diverse ec2|fake-400 PODS";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, market, pods] = arguments.as_slice() else { return Err(USAGE.into()) };
    let workload = match workload.as_str() {
        "micro" => Workload::Micro,
        "diverse" => Workload::Diverse,
        _ => return Err(USAGE.into()),
    };
    let market = match market.as_str() {
        "ec2" => Market::Ec2,
        "fake-400" => Market::Fake400,
        _ => return Err(USAGE.into()),
    };
    let cluster = snapshot(workload, market, pods.parse()?, 1)?;
    let before = peak_memory()?;
    let start = Instant::now();
    let plan = planning::scheduling::schedule(&cluster);
    let took = start.elapsed();
    println!(
        "{} claims, {} without a place, {} of at least {}, {took:.0?}; peak memory {}, {before} before planning",
        plan.node_claims.len(),
        plan.unschedulable.len(),
        plan.totals.hourly_after,
        plan.totals.lower_bound.unwrap_or_default(),
        peak_memory()?,
    );
    Ok(())
}

fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 =
        line.and_then(|line| line.split_whitespace().next()).ok_or("no VmHWM")?.parse()?;
    Ok(format!("{} MiB", kib / 1024))
}
