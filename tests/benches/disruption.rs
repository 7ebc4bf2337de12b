//! How long planning for a whole fleet takes, and how much memory: every node is considered, and
//! one command is the outcome. The figures stand in `docs/benchmarks.md`.

#![expect(clippy::expect_used, clippy::print_stderr, reason = "a benchmark reports to a terminal")]
#![expect(missing_docs, reason = "what criterion's macros make cannot be documented")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use outrigger_tests::fleet::{FleetSize, fleet};

/// A large fleet and a very large one.
const SIZES: [FleetSize; 2] =
    [FleetSize { nodes: 2_000, pods: 20_000 }, FleetSize { nodes: 5_000, pods: 50_000 }];

const SEED: u64 = 7;

fn one_pass(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("disruption");
    group.sample_size(10).measurement_time(Duration::from_secs(30));
    for size in SIZES {
        let snapshot = fleet(size, SEED).expect("the embedded catalogue is whole");
        let name = format!("{} nodes, {} pods", size.nodes, size.pods);
        group.bench_function(BenchmarkId::new("one pass", name), |bencher| {
            bencher.iter(|| planning::plan(black_box(&snapshot)));
        });
        if let Some(peak) = peak_memory() {
            eprintln!("peak memory so far, the fleet itself included: {peak}");
        }
    }
    group.finish();
}

/// `VmHWM` of this process, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

criterion_group!(benches, one_pass);
criterion_main!(benches);
