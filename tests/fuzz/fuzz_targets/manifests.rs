//! Any bytes as manifests: read, put together, planned. Nothing may panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| outrigger_tests::fuzzing::manifests(bytes));
