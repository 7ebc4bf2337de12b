//! Planning time alone, over snapshots that are there: pods a second.
//!
//! `cargo bench -p outrigger-tests --bench scheduling`; figures and what they mean stand in
//! docs/benchmarks.md.

#![expect(clippy::expect_used, reason = "a benchmark reports to a terminal")]
#![expect(missing_docs, reason = "what criterion's macros make cannot be documented")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use outrigger_tests::workload::{Market, Workload, snapshot};

fn scheduling(criterion: &mut Criterion) {
    for (name, workload, market) in [
        ("diverse on fake-400", Workload::Diverse, Market::Fake400),
        ("diverse on EC2", Workload::Diverse, Market::Ec2),
        ("micro on fake-400", Workload::Micro, Market::Fake400),
        ("micro on EC2", Workload::Micro, Market::Ec2),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).warm_up_time(Duration::from_secs(1));
        for pods in [1_000_usize, 10_000, 50_000] {
            let cluster = snapshot(workload, market, pods, 1).expect("both catalogues are whole");
            group.throughput(Throughput::Elements(u64::try_from(pods).unwrap_or(u64::MAX)));
            group.bench_with_input(
                BenchmarkId::from_parameter(pods),
                &cluster,
                |bencher, cluster| {
                    bencher.iter(|| planning::scheduling::schedule(black_box(cluster)));
                },
            );
        }
        group.finish();
    }
}

criterion_group!(benches, scheduling);
criterion_main!(benches);
