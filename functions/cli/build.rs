//! Gives the program its version, with the commit that it is built from.
//!
//! The commit is that of `OUTRIGGER_COMMIT` where the environment has it: for builds from an
//! archive, which has no repository. Without it, a release build takes the commit that is checked
//! out here; any other build has none, so that a commit makes no test compile anew. Nothing but
//! this package depends on it, and the same sources give the same version.

#[path = "build/head.rs"]
mod head;

use std::path::Path;

/// Letters of a commit that are shown.
const COMMIT_SHOWN: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/head.rs");
    println!("cargo::rerun-if-env-changed=OUTRIGGER_COMMIT");
    let version = variable("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = variable("OUTRIGGER_COMMIT").or_else(checked_out);
    let commit = commit.map(|commit| {
        let shown: String = commit.chars().take(COMMIT_SHOWN).collect();
        format!(" ({shown})")
    });
    println!("cargo::rustc-env=OUTRIGGER_VERSION={version}{}", commit.unwrap_or_default());
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The commit of the repository that this package stands in, in a release build.
fn checked_out() -> Option<String> {
    if variable("PROFILE")? != "release" {
        return None;
    }
    let package = variable("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&package).join("../..");
    let found = head::of(&root)?;
    for path in found.depends_on {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Some(found.commit)
}
