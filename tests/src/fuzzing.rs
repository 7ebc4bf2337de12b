//! What a fuzzer feeds: any bytes at all, and clusters drawn from bytes.
//!
//! The targets under `tests/fuzz` are these two functions and nothing else, so that `cargo test`
//! can run them too, over inputs drawn from a seed and over those that once failed
//! (`tests/tests/fuzzing.rs`).

mod cluster;
mod draw;
mod workload;

use domain::Timestamp;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use manifests::{Object, Source};
use simulation::scenario::Scenario;

pub use cluster::cluster;

use crate::generator::Catalog;

/// With more pods than this a snapshot is made but not planned: a fuzzer finds more in many small
/// ones.
const PODS_PLANNED_MAX: usize = 64;

/// Reads bytes as manifests, puts them together and plans; converts them, and reads them as a
/// scenario: whatever they are, nothing may panic.
///
/// Bytes that are no UTF-8 are read with replacement characters, as nothing would be learnt from
/// turning them down.
///
/// # Panics
/// Where what was converted would change if it were converted again.
pub fn manifests(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    convert_twice(&text);
    if let Err(error) = Scenario::read("fuzz.yaml", &text) {
        let _ = error.to_string();
    }
    let objects = manifests::read(&[Source::new("fuzz.yaml", text)]);
    for error in &objects.errors {
        // Errors are printed with their place: that must work for all of them.
        let _ = error.to_string();
    }
    for located in &objects.objects {
        if let Object::InstanceCatalog(document) = &located.value {
            let _ = catalog::document::from_value(document);
        }
    }
    let Ok(instance_types) = Catalog::Five.instance_types() else { return };
    let now = Timestamp::from_second(1_767_268_800).unwrap_or_default();
    let (snapshot, _) = manifests::snapshot(objects, now, Settings::default(), instance_types);
    if snapshot.objects.pods.len() <= PODS_PLANNED_MAX {
        let plan = planning::plan(&snapshot);
        let _ = checker::check(&snapshot, &plan);
    }
}

/// Converts manifests, and what comes of it.
fn convert_twice(text: &str) {
    let once = manifests::convert(&[Source::new("fuzz.yaml", text)]);
    let Some(file) = once.files.first().filter(|_| once.errors.is_empty()) else { return };
    let twice = manifests::convert(&[Source::new("fuzz.yaml", file.text.as_str())]);
    let is_settled = twice.files.first().is_some_and(|file| !file.is_changed);
    assert!(is_settled, "{text}\nbecomes\n{}\nbecomes\n{:?}", file.text, twice.files);
}

/// Draws a cluster from bytes and plans: the checker must find nothing wrong, and a second plan
/// must be equal.
///
/// # Panics
/// Where a rule is broken, with the rules and the plan: that is how a fuzzer learns of it.
pub fn plan_then_check(bytes: &[u8]) {
    let Some(snapshot) = cluster(bytes) else { return };
    let plan = planning::plan(&snapshot);
    let violations = checker::check(&snapshot, &plan);
    let shown = Shown(&snapshot);
    assert!(violations.is_empty(), "{violations:#?}\n{plan:#?}\n{shown:#?}");
    let is_same = planning::plan(&snapshot) == plan;
    assert!(is_same, "two plans of one snapshot differ\n{shown:#?}");
}

/// A snapshot without its catalogue, which is always one of two.
struct Shown<'a>(&'a ClusterSnapshot);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let without = ClusterSnapshot {
            instance_types: domain::instance_type::InstanceTypes::default(),
            ..self.0.clone()
        };
        without.fmt(f)
    }
}
