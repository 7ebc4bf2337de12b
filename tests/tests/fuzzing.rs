//! The fuzz targets over a bounded number of inputs: drawn from a seed, and those that once failed.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::path::{Path, PathBuf};

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
