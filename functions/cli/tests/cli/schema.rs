//! `outrigger schema`, and documents of the commands against their schemas: each document that a
//! test of this program reads is valid, or reading it fails.

use crate::simulate::BUNDLED;
use crate::support::{HUGE, SHOP, WRONG_OPERATOR, Workspace, schema};

#[test]
fn every_document_is_listed_with_its_command_and_has_a_schema() {
    let workspace = Workspace::with(&[]);
    let list = workspace.run("schema");
    assert_eq!(list.status, 0, "{list:?}");
    let kinds: Vec<&str> =
        list.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(kinds.len(), 13, "{list:?}");
    for kind in kinds {
        let run = workspace.run(&format!("schema {}", kind.to_lowercase()));
        assert_eq!((run.status, run.out), (0, schema(kind)), "{kind}");
    }
}

#[test]
fn all_schemas_are_written_into_a_folder() {
    let workspace = Workspace::with(&[]);
    let run = workspace.run("schema --write a/b");
    assert_eq!((run.status, &*run.out), (0, ""), "{run:?}");
    let written = std::fs::read_to_string(workspace.path("a/b/Plan.json")).unwrap();
    assert_eq!(written, schema("Plan"));
    let run = workspace.run("schema --write catalog.yaml/b");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.starts_with("error: cannot write catalog.yaml/b: "), "{run:?}");
}

#[test]
fn a_kind_that_no_command_prints_is_bad_usage() {
    let run = Workspace::with(&[]).run("schema Nonsense");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("PodExplanation"), "{run:?}");
}

#[test]
fn codes_are_printed_with_their_meanings() {
    let run = Workspace::with(&[]).run("schema --codes");
    let row = "| `InsufficientResources` | Too little of a resource is free. |";
    assert!(run.out.contains(row), "{run:?}");
}

#[test]
fn documents_carry_what_they_were_worked_out_from() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    let settings =
        "-f shop.yaml huge.yaml --catalog catalog.yaml --now 2026-01-05T09:00:00Z -o json";
    for command in ["plan", "explain pod huge", "explain pod web-0", "top"] {
        let document = workspace.run(&format!("{command} {settings}")).json();
        assert_eq!(document["now"], "2026-01-05T09:00:00Z", "{command}");
        assert_eq!(document["catalog"], "catalog.yaml", "{command}");
        assert_eq!(document["region"], "us-east-1", "{command}");
        assert_eq!(document["pricing"]["source"], "imported", "{command}");
    }
    let plan = workspace.run(&format!("plan {settings}")).json();
    let claim = plan["nodeClaims"][0]["name"].as_str().unwrap();
    let node = workspace.run(&format!("explain node {claim} {settings}")).json();
    assert_eq!(node["catalog"], "catalog.yaml");
    assert_eq!(node["filters"][0]["code"], "Catalog");
}

#[test]
fn documents_name_invalid_objects_that_were_left_out() {
    let files = [("shop.yaml", SHOP), ("broken.yaml", WRONG_OPERATOR)];
    let workspace = Workspace::with(&files);
    for command in ["plan", "explain pod web-0", "top"] {
        let run = workspace.run(&format!("{command} -f shop.yaml broken.yaml -o json"));
        assert_eq!(run.status, 2, "{run:?}");
        let error = run.json()["errors"][0].as_str().unwrap().to_owned();
        assert!(error.contains("broken.yaml:9"), "{command}: {error}");
        assert!(run.err.contains(&format!("error: {error}")), "{run:?}");
    }
}

#[test]
fn a_reason_has_its_code_beside_it() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    let plan = workspace.run("plan -f shop.yaml huge.yaml -o json").json();
    let waiting = &plan["unschedulable"][0];
    assert_eq!(waiting["codes"], serde_json::json!(["InsufficientResources"]));
    assert_eq!(waiting["reasons"].as_array().unwrap().len(), 1);
    let pod = workspace.run("explain pod huge -f shop.yaml huge.yaml -o json").json();
    assert_eq!(pod["nodePools"][0]["code"], "InsufficientResources");
}

#[test]
fn a_catalogue_can_be_printed_and_read_again() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let types = workspace.run("catalog m7i.* c7g.large -o json");
    types.json();
    std::fs::write(workspace.path("types.json"), types.out).unwrap();
    let plan = workspace.run("plan -f shop.yaml --catalog types.json -o json").json();
    assert_eq!(plan["catalog"], "types.json");
}

#[test]
fn runs_of_all_bundled_scenarios_are_valid() {
    std::thread::scope(|scope| {
        for name in BUNDLED {
            scope.spawn(move || {
                let document = Workspace::with(&[]).run(&format!("simulate {name} -o json")).json();
                let runs = match document["variants"].as_array() {
                    Some(variants) => variants.iter().map(|own| &own["simulation"]).collect(),
                    None => vec![&document],
                };
                for run in runs {
                    assert_eq!(run["catalog"], "embedded", "{name}");
                    assert!(!run["timeline"].as_array().unwrap().is_empty(), "{name}");
                }
            });
        }
    });
}
