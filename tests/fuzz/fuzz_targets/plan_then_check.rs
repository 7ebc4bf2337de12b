//! A cluster drawn from bytes, planned: the checker finds nothing wrong.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| outrigger_tests::fuzzing::plan_then_check(bytes));
