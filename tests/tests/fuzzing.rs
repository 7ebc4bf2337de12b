//! The fuzz targets over a bounded number of inputs: drawn from a seed, and those that once failed.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outrigger_tests::fuzzing;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Inputs of so many bytes at most, each from a generator of its own seed.
fn inputs(count: u8, longest: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..count).flat_map(move |number| {
        let mut seed = [0; 32];
        seed[0] = number;
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        (0..16).map(move |_| {
            let length = usize::try_from(rng.next_u32()).unwrap() % longest;
            let mut bytes = vec![0; length];
            rng.fill_bytes(&mut bytes);
            bytes
        })
    })
}

/// Files of a folder beside the fuzz targets, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{} holds nothing", path.display());
    files.sort();
    files
}

#[test]
fn clusters_drawn_from_any_bytes_are_planned_within_the_rules() {
    for bytes in inputs(128, 400) {
        fuzzing::plan_then_check(&bytes);
    }
}

#[test]
fn clusters_that_once_broke_a_rule_no_longer_do() {
    for file in files("seeds/plan_then_check") {
        fuzzing::plan_then_check(&std::fs::read(file).unwrap());
    }
}

#[test]
fn bytes_that_are_no_manifests_are_survived() {
    for bytes in inputs(16, 200) {
        fuzzing::manifests(&bytes);
    }
}

#[test]
fn seeds_cut_short_or_changed_anywhere_are_survived() {
    for file in files("seeds/manifests") {
        let seed = std::fs::read(file).unwrap();
        fuzzing::manifests(&seed);
        for (number, noise) in inputs(2, 8).enumerate() {
            let at = number * 7_919 % seed.len();
            fuzzing::manifests(&seed[..at]);
            let mut changed = seed.clone();
            for (offset, byte) in noise.iter().enumerate() {
                if let Some(own) = changed.get_mut(at + offset) {
                    *own = *byte;
                }
            }
            fuzzing::manifests(&changed);
        }
    }
}

/// What nobody writes on purpose, in place of some value.
const ODD_VALUES: [&str; 34] = [
    "",
    "null",
    "true",
    "-1",
    "0",
    "100000000",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "1e309",
    ".nan",
    "9999999999Ei",
    "-5Ki",
    "0.0000000000001",
    "100000000h",
    "9223372036854775807h",
    "292y",
    "Never",
    "9999-12-30T22:00:00Z",
    "-009999-01-02T01:59:59Z",
    "1970-01-01T00:00:00Z",
    "\"\\e[31m\\0\\u009b\"",
    "'* * * * *'",
    "0 0 31 2 *",
    "101%",
    "-100%",
    "+99999999999999999999",
    "[]",
    "{}",
    "[[[[]]]]",
    "{a: {b: {c: 1}}}",
    "*nothing",
    "{{ .Values.x }}",
];

/// The text with values replaced by odd ones, keys changed, and lines repeated or left out.
fn distorted(text: &str, rng: &mut TestRng) -> String {
    let mut draw = |below: usize| usize::try_from(rng.next_u32()).unwrap() % below.max(1);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw(3) {
        let at = draw(lines.len());
        let Some(line) = lines.get(at).cloned() else { continue };
        let odd = match draw(12) {
            0 => "a".repeat(100_000),
            1 => format!("[{}]", "1, ".repeat(10_000)),
            _ => ODD_VALUES[draw(ODD_VALUES.len())].to_owned(),
        };
        match (draw(10), line.split_once(": ").or_else(|| line.split_once(':'))) {
            (0, _) => lines.insert(at, line),
            (1, _) => drop(lines.remove(at)),
            (2, Some((key, value))) => lines[at] = format!("{key}x: {value}"),
            (_, Some((key, _))) => lines[at] = format!("{key}: {odd}"),
            (_, None) => lines[at] = format!("- {odd}"),
        }
    }
    lines.join("\n")
}

/// Manifests of ours: seeds of the fuzzer, older manifests, scenarios and examples.
fn own_manifests() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "tests/fuzz/seeds/manifests",
        "shared/manifests/tests/older",
        "functions/cli/scenarios",
        "functions/cli/examples",
        "infra/kubernetes/crds",
    ];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let bytes = files.iter().map(|file| std::fs::read(file).unwrap());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// How long one input may take: a second, and more where nothing is optimised.
const INPUT_TAKES_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

/// How much memory all of it may take: 1 GiB.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

#[test]
fn manifests_with_odd_values_take_neither_long_nor_much_memory() {
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    for text in own_manifests() {
        for _ in 0..8 {
            let input = distorted(&text, &mut rng);
            let started = Instant::now();
            fuzzing::manifests(input.as_bytes());
            let took = started.elapsed();
            assert!(took < INPUT_TAKES_MAX, "{took:?}: {}", input.get(..2_000).unwrap_or(&input));
        }
    }
    // The most that the process has had at once, other tests of this file included.
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kibibytes << 10 < MEMORY_BYTES_MAX, "{kibibytes} KiB");
}
