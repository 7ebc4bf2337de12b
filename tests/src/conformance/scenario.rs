//! A scenario's file, read into a snapshot and what is expected of a plan over it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use domain::instance_type::InstanceTypes;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use domain::{Text, Timestamp};
use manifests::Source;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ScenarioError;
use super::expectation::Expect;

/// The moment of a scenario that names none.
const DEFAULT_NOW: &str = "2026-01-01T12:00:00Z";

/// A scenario that was read and found sound.
#[derive(Debug)]
pub struct Scenario {
    /// Its name, which is the file's.
    pub name: String,
    /// The area of behaviour it belongs to.
    pub area: String,
    /// The file.
    pub path: PathBuf,
    /// What plans are made from.
    pub snapshot: ClusterSnapshot,
    /// What a plan must show.
    pub expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    area: String,
    about: String,
    catalog: Value,
    now: Option<String>,
    objects: Vec<Value>,
    expect: Expect,
}

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let file: File = serde_json::from_value(document(path)?)
            .map_err(|source| ScenarioError::Form { path: path.display().to_string(), source })?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if stem.as_deref() != Some(&*file.name) || file.area.is_empty() || file.about.is_empty() {
            let problem = "name, area and about must be given, and name is the file's";
            return Err(ScenarioError::Senseless(problem.to_owned()));
        }
        let now = file.now.unwrap_or_else(|| DEFAULT_NOW.to_owned());
        let now: Timestamp = now.parse().map_err(|_| ScenarioError::Now(now))?;
        let snapshot = snapshot(&file.objects, now, instance_types(&file.catalog)?)?;
        Ok(Self {
            name: file.name,
            area: file.area,
            path: path.into(),
            snapshot,
            expect: file.expect,
        })
    }
}

/// The only document of a YAML file.
fn document(path: &Path) -> Result<Value, ScenarioError> {
    let name = path.display().to_string();
    let source = Source::new(name.clone(), text(path)?);
    match manifests::documents(&source).as_mut_slice() {
        [Ok(document)] => Ok(document.value.to_json()),
        [Err(error)] => Err(ScenarioError::Object(Box::new(error.clone().into()))),
        _ => Err(ScenarioError::Documents { path: name }),
    }
}

fn text(path: &Path) -> Result<String, ScenarioError> {
    std::fs::read_to_string(path)
        .map_err(|source| ScenarioError::File { path: path.display().to_string(), source })
}

/// The catalogue that a scenario names or holds.
fn instance_types(catalog: &Value) -> Result<InstanceTypes, ScenarioError> {
    match catalog {
        Value::String(name) => named_catalog(name),
        inline => catalog::document::from_value(&manifests::Value::from_json(inline))
            .map_err(ScenarioError::Catalog),
    }
}

/// A catalogue of the `catalogs` folder.
pub fn named_catalog(name: &str) -> Result<InstanceTypes, ScenarioError> {
    // Each is read once a process: some hold hundreds of types, and hundreds of scenarios share
    // them.
    static READ: OnceLock<Mutex<BTreeMap<String, InstanceTypes>>> = OnceLock::new();
    let read = READ.get_or_init(Mutex::default);
    let known = |read: &BTreeMap<String, InstanceTypes>| read.get(name).cloned();
    if let Some(types) = read.lock().ok().and_then(|read| known(&read)) {
        return Ok(types);
    }
    let path = super::folder().join("catalogs").join(format!("{name}.json"));
    let types = catalog::document::read(&text(&path)?).map_err(ScenarioError::Catalog)?;
    if let Ok(mut read) = read.lock() {
        read.insert(name.to_owned(), types.clone());
    }
    Ok(types)
}

/// The snapshot that `outrigger plan` would plan from, given the objects as a JSON list.
fn snapshot(
    objects: &[Value],
    now: Timestamp,
    instance_types: InstanceTypes,
) -> Result<ClusterSnapshot, ScenarioError> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut objects = manifests::read(&[Source::new("objects.json", list.to_string())]);
    if let Some(error) = objects.errors.pop() {
        return Err(ScenarioError::Object(Box::new(error)));
    }
    let (mut snapshot, _) = manifests::snapshot(objects, now, Settings::default(), instance_types);
    add_missing_node_classes(&mut snapshot);
    Ok(snapshot)
}

/// A default EC2NodeClass for each name that a NodePool refers to and nobody defines, as the
/// command line does with `--catalog`: scenarios leave them out where they play no part.
fn add_missing_node_classes(snapshot: &mut ClusterSnapshot) {
    let known: BTreeSet<Text> =
        snapshot.objects.node_classes.iter().map(|class| class.name.clone()).collect();
    let wanted: BTreeSet<Text> = snapshot
        .objects
        .node_pools
        .iter()
        .map(|pool| pool.template.node_class_ref.name.clone())
        .filter(|name| !known.contains(name))
        .collect();
    snapshot.objects.node_classes.extend(wanted.iter().map(|name| testkit::node_class(name)));
}
