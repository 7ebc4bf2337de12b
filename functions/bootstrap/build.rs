//! Leaves the tables for unwinding the stack out of the Lambda binary: a tenth of its bytes, which
//! Lambda loads at every cold start. There a panic ends the process, so nothing ever unwinds, and a
//! binary without symbols has no backtrace to show. The message and the place of a panic stay.
//!
//! `-C force-unwind-tables=no` does not do it: linked as one with the standard library, which has
//! such tables, everything gets them.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=without-unwind-tables.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|own| own == value);
    // Cargo names no profile; `lambda` alone is optimised for size, and alone aborts at a panic.
    if is("OPT_LEVEL", "z") && is("CARGO_CFG_TARGET_OS", "linux") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/without-unwind-tables.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    }
}
