//! Documents against their schemas, and both against what is committed.

use std::fs;
use std::path::{Path, PathBuf};

use domain::Timestamp;
use domain::instance_type::InstanceTypes;
use domain::money::UsdPerHour;
use domain::plan::Plan;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use jsonschema::Validator;
use manifests::Source;
use planning::explain::{explain_claim, explain_pod, explain_resident};
use serde::Serialize;
use serde_json::json;

use super::*;
use crate::args::split::SplitBy;
use crate::testing;
use crate::view::cluster_use::ClusterUse;
use crate::view::comparison::VariantRun;
use crate::view::cost_split::CostSplit;
use crate::view::pricing::{PriceNote, SaidBy};
use crate::wire::basis::{BasisDocument, BasisOptions};
use crate::wire::explanation;
use crate::wire::plan::Remarks;
use crate::wire::simulation::RunOptions;
use crate::wire::top;

const UPDATE: &str = "run `cargo run -- schema --write docs/schemas`";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator(kind: DocumentKind) -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(of(kind).as_value())
        .unwrap_or_else(|error| panic!("{kind:?}: {error}"))
}

#[track_caller]
fn assert_valid(validator: &Validator, document: impl Serialize, of: &str) {
    let document = serde_json::to_value(document).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{of}:\n{}", errors.join("\n"));
}

#[test]
fn committed_schemas_are_those_of_the_code() {
    let folder = repository().join("docs/schemas");
    for kind in DocumentKind::VARIANTS {
        let path = folder.join(format!("{}.json", kind.as_str()));
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, super::super::json(&of(*kind)).unwrap(), "{kind:?}: {UPDATE}");
    }
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, DocumentKind::VARIANTS.len(), "a schema in docs/schemas is of no document");
}

#[test]
fn every_code_stands_in_the_docs_with_its_meaning() {
    let page = fs::read_to_string(repository().join("docs/json.md")).unwrap();
    let (_, tables) = page.split_once("\n## Codes\n").unwrap();
    let (_, tables) = tables.split_once("\n### ").unwrap();
    let expected = codes();
    assert_eq!(
        format!("### {}", tables.trim_end()),
        expected.trim_end(),
        "end docs/json.md with what `cargo run -- schema --codes` prints"
    );
}

#[test]
fn no_list_has_a_code_twice_and_each_is_one_word() {
    for list in codes().split("### ").skip(1) {
        let mut codes: Vec<&str> =
            list.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        assert!(!codes.is_empty(), "{list}");
        let is_word = |code: &&str| {
            code.starts_with(|first: char| first.is_ascii_uppercase())
                && code.chars().all(|letter| letter.is_ascii_alphanumeric())
        };
        assert!(codes.iter().all(is_word), "{codes:?}");
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count, "{list}");
    }
}

/// Every schema of a property under a schema, with its name.
fn properties(schema: &Value) -> Vec<(String, Value)> {
    let inner: Vec<&Value> = match schema {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let own = own.map(|(name, property)| (name.clone(), property.clone()));
    own.chain(inner.into_iter().flat_map(properties)).collect()
}

#[test]
fn every_field_is_described_and_no_object_takes_other_fields() {
    for kind in DocumentKind::VARIANTS {
        let schema = of(*kind).to_value();
        for (name, property) in properties(&schema) {
            let description = property["description"].as_str().unwrap_or_default();
            assert!(description.ends_with('.'), "{kind:?}: {name}: {description:?}");
        }
        // Of a line that is neither the header nor a fact no schema says what is wrong with it.
        if *kind == DocumentKind::Recording {
            continue;
        }
        let mut document = json!({"apiVersion": "outrigger.dev/v1alpha1", "kind": kind.as_str()});
        let errors = |document: &Value| {
            let all = validator(*kind)
                .iter_errors(document)
                .map(|error| error.to_string())
                .collect::<Vec<_>>();
            all.join("\n")
        };
        assert!(!errors(&document).contains("'unheardOf' was unexpected"));
        document["unheardOf"] = true.into();
        assert!(
            errors(&document).contains("'unheardOf' was unexpected"),
            "{kind:?}: {}",
            errors(&document)
        );
    }
}

#[test]
fn lines_of_a_recording_are_valid() {
    let recording = validator(DocumentKind::Recording);
    let text = include_str!("../../../recordings/openb.jsonl");
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(recording.is_valid(&line), "{line}");
    }
    assert!(!recording.is_valid(&json!({"bound": {"at": 1, "id": 2}})), "it says no node");
}

#[test]
fn what_is_absent_is_not_null() {
    let plan = validator(DocumentKind::Plan);
    let mut document =
        serde_json::to_value(plan_document(&testing::snapshot(), &testing::plan())).unwrap();
    assert_valid(&plan, &document, "a plan");
    document["region"] = Value::Null;
    assert!(!plan.is_valid(&document));
    document["region"] = "us-east-1".into();
    document["now"] = "yesterday".into();
    assert!(!plan.is_valid(&document), "a moment is RFC 3339");
}

#[test]
fn runs_and_comparisons_are_valid() {
    let report = testing::report();
    let options = RunOptions { cluster: Some("prod"), has_own_catalog: true };
    let document = SimulationDocument::new(&report, options);
    assert_valid(&validator(DocumentKind::Simulation), document, "a run");
    let runs = [VariantRun { variant: "as it is".into(), report, history: testing::history() }];
    let document = ComparisonDocument::new(&runs, options);
    assert_valid(&validator(DocumentKind::SimulationComparison), document, "a comparison");
}

#[test]
fn the_embedded_catalogue_is_valid() {
    let catalog = catalog::embedded().unwrap();
    let types = catalog.instance_types(&[], &catalog::CatalogOptions::default());
    let document = InstanceCatalog::new(&types, "default");
    assert_valid(&validator(DocumentKind::InstanceCatalog), document, "the embedded catalogue");
}

#[test]
fn catalogues_written_by_hand_are_valid() {
    let validator = validator(DocumentKind::InstanceCatalog);
    let mut document = json!({
        "apiVersion": "outrigger.dev/v1alpha1",
        "kind": "InstanceCatalog",
        "spec": {"pricing": {"spotSource": "estimated"}, "instanceTypes": [{
            "name": "small",
            "operatingSystems": "linux",
            "labels": {"integer": 4, "size": ["s", "m"]},
            "capacity": {"cpu": 4, "memory": "4Gi"},
            "offerings": [{"zone": "a", "capacityType": "spot", "hourlyUsd": 0.03}],
        }]},
    });
    assert_valid(&validator, &document, "a catalogue");
    catalog::document::read(&document.to_string()).unwrap();
    document["spec"]["instanceTypes"][0]["offerings"][0]["avialable"] = false.into();
    assert!(!validator.is_valid(&document));
    catalog::document::read(&document.to_string()).unwrap_err();
}

fn prices(snapshot: &ClusterSnapshot) -> PriceNote {
    PriceNote::of(&snapshot.instance_types, SaidBy::Catalog)
}

fn plan_document(snapshot: &ClusterSnapshot, plan: &Plan) -> PlanDocument {
    let remarks = Remarks {
        options: BasisOptions::default(),
        prices: prices(snapshot),
        warnings: vec!["a warning".to_owned()],
        errors: vec!["an error".to_owned()],
        violations: checker::check(snapshot, plan),
    };
    PlanDocument::new(snapshot, plan, remarks)
}

fn top_document(snapshot: &ClusterSnapshot, cluster_use: &ClusterUse) -> TopDocument {
    let split = CostSplit::of(snapshot, &cluster_use.rows, SplitBy::NodePool);
    let remarks = top::Remarks { basis: basis(snapshot), warnings: Vec::new(), errors: Vec::new() };
    TopDocument::new(cluster_use, Some(&split), remarks)
}

fn basis(snapshot: &ClusterSnapshot) -> BasisDocument {
    BasisDocument::new(snapshot.now, &prices(snapshot), BasisOptions::default())
}

fn remarks(snapshot: &ClusterSnapshot) -> explanation::Remarks {
    explanation::Remarks { basis: basis(snapshot), warnings: Vec::new(), errors: Vec::new() }
}

/// The only document of a YAML or JSON file.
fn document(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let source = Source::new(path.display().to_string(), text);
    match manifests::documents(&source).as_slice() {
        [Ok(document)] => document.value.to_json(),
        other => panic!("{}: {other:?}", path.display()),
    }
}

/// The cluster of a conformance scenario.
fn snapshot(scenario: &Value, catalogs: &mut BTreeMap<String, InstanceTypes>) -> ClusterSnapshot {
    let types = match &scenario["catalog"] {
        Value::String(name) => catalogs
            .entry(name.clone())
            .or_insert_with(|| {
                let folder = repository().join("tests/conformance/catalogs");
                let text = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
                catalog::document::read(&text).unwrap()
            })
            .clone(),
        own => catalog::document::read(&own.to_string()).unwrap(),
    };
    let now = scenario["now"].as_str().unwrap_or("2026-01-01T12:00:00Z");
    let now: Timestamp = now.parse().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": scenario["objects"]});
    let objects = manifests::read(&[Source::new("objects.json", list.to_string())]);
    manifests::snapshot(objects, now, Settings::default(), types).0
}

#[test]
fn documents_of_every_conformance_scenario_are_valid() {
    let kinds = [
        DocumentKind::Plan,
        DocumentKind::ClusterUse,
        DocumentKind::PodExplanation,
        DocumentKind::NodeExplanation,
        DocumentKind::InstanceCatalog,
    ];
    let [plans, uses, pods, nodes, types] = kinds.map(validator);
    let mut catalogs = BTreeMap::new();
    let mut count = 0;
    for entry in fs::read_dir(repository().join("tests/conformance/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let snapshot = snapshot(&document(&path), &mut catalogs);
        let plan = planning::plan(&snapshot);
        assert_valid(&plans, plan_document(&snapshot, &plan), &name);
        let cluster_use = ClusterUse::of(&snapshot, &Plan::default());
        let split = CostSplit::of(&snapshot, &cluster_use.rows, SplitBy::Namespace);
        let split: UsdPerHour =
            split.shares.iter().map(|share| share.price).sum::<UsdPerHour>() + split.idle;
        assert_eq!(split, cluster_use.price, "{name}");
        assert_valid(&uses, top_document(&snapshot, &cluster_use), &name);
        // Each explanation plans once more: one of each sort is enough.
        let unschedulable = plan.unschedulable.first().map(|waiting| &waiting.pod);
        let pods_explained =
            unschedulable.into_iter().chain(snapshot.objects.pods.first().map(|pod| &pod.key));
        for key in pods_explained {
            let Some(pod) = snapshot.objects.pods.iter().find(|pod| pod.key == *key) else {
                continue;
            };
            let explanation = explain_pod(&snapshot, key);
            let resident = explain_resident(&snapshot, &plan, key);
            let (explanation, resident) = (explanation.as_ref(), resident.as_ref());
            let document = PodDocument::new(pod, &plan, explanation, resident, remarks(&snapshot));
            assert_valid(&pods, document, &name);
        }
        for node in &snapshot.objects.nodes {
            let document =
                NodeDocument::new(&node.name, &snapshot, &plan, None, remarks(&snapshot));
            assert_valid(&nodes, document, &name);
        }
        if let Some(claim) = plan.node_claims.first() {
            let explanation = explain_claim(&snapshot, claim);
            let claim = Some((claim, explanation.as_ref()));
            let document = NodeDocument::new("new", &snapshot, &plan, claim, remarks(&snapshot));
            assert_valid(&nodes, document, &name);
        }
        count += 1;
    }
    assert!(count > 300, "the scenarios were not found");
    for own in catalogs.values() {
        assert_valid(&types, InstanceCatalog::new(own, "default"), "a catalogue");
    }
    let files = fs::read_dir(repository().join("tests/conformance/catalogs")).unwrap();
    for file in files {
        let path = file.unwrap().path();
        assert_valid(&types, document(&path), &path.display().to_string());
    }
}
