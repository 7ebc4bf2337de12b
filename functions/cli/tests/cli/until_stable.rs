//! `outrigger plan --until-stable` and `outrigger audit`, over the dumps among the examples.

use crate::support::{Run, SHOP, WRONG_OPERATOR, Workspace, nanos};

const KARPENTER: &str = include_str!("../../examples/karpenter.yaml");
const NODE_GROUPS: &str = include_str!("../../examples/node-groups.yaml");
const NOW: &str = "--now 2026-01-05T09:00:00Z";

fn workspace() -> Workspace {
    let files = [("karpenter.yaml", KARPENTER), ("node-groups.yaml", NODE_GROUPS)];
    Workspace::with(&files).environment("COLUMNS", "80")
}

#[track_caller]
fn page(line: &str) -> String {
    let Run { status, out, err } = workspace().run(&format!("{line} {NOW}"));
    assert_eq!((status, &*err), (0, ""), "{out}");
    let is_prices = |line: &&str| line.trim_start().starts_with("prices of ");
    let wide: Vec<&str> =
        out.lines().filter(|line| !is_prices(line) && line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
    out
}

#[test]
fn a_plan_until_nothing_changes_says_what_it_saves_how_and_what_holds_more_back() {
    insta::assert_snapshot!(page("plan --until-stable -f karpenter.yaml"));
}

#[test]
fn an_audit_of_node_groups_says_what_it_assumes() {
    insta::assert_snapshot!(page("audit -f node-groups.yaml"));
}

#[test]
fn an_audit_of_karpenters_nodes_is_the_plan_until_nothing_changes() {
    assert_eq!(page("audit -f karpenter.yaml"), page("plan --until-stable -f karpenter.yaml"));
}

#[test]
fn scripts_get_the_same_figures_and_they_add_up() {
    let line = format!("plan --until-stable -f karpenter.yaml {NOW} -o json");
    let document = workspace().run(&line).json();
    assert_eq!(document["kind"], "PlanUntilStable");
    assert_eq!(document["isStable"], true);
    let saved = nanos(&document["savingsHourlyUsd"]);
    let [from, to] = ["from", "to"].map(|side| nanos(&document[side]["hourlyUsd"]));
    assert!(saved > 0);
    assert_eq!(from - to, saved);
    let steps = document["steps"].as_array().unwrap();
    let of_steps: i64 = steps.iter().map(|step| nanos(&step["savingsHourlyUsd"])).sum();
    assert_eq!(of_steps, saved, "{steps:#?}");
    let goes = steps.iter().filter(|step| step.get("reason").is_some());
    let evicted: u64 = goes.map(|step| step["pods"].as_u64().unwrap()).sum();
    assert_eq!(document["evictions"], evicted);
    let blockers = document["blockers"].as_array().unwrap();
    let amounts: Vec<i64> = blockers.iter().map(|own| nanos(&own["savingsHourlyUsd"])).collect();
    assert!(!amounts.is_empty() && amounts.is_sorted_by(|a, b| a >= b), "{blockers:#?}");
    assert_eq!(blockers[0]["code"], "PodDisruptionBudget");
}

#[test]
fn nodes_of_a_pool_that_is_off_are_a_step_that_says_so() {
    let off = "outrigger.dev/off-schedule: 0 8 * * *, outrigger.dev/off-duration: 24h, \
               outrigger.dev/off-grace: 10m";
    let dump = ["default", "steady", "search"].iter().fold(KARPENTER.to_owned(), |dump, name| {
        let metadata = format!("kind: NodePool\nmetadata: {{name: {name}");
        assert!(dump.contains(&metadata), "{name}");
        dump.replace(&metadata, &format!("{metadata}, annotations: {{{off}}}"))
    });
    let workspace = Workspace::with(&[("off.yaml", &*dump)]);
    let line = format!("plan --until-stable -f off.yaml {NOW} -o json");
    let document = workspace.run(&line).json();
    assert_eq!(document["to"]["nodes"], 0, "{document}");
    let saved = nanos(&document["savingsHourlyUsd"]);
    let steps = document["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["reason"] == "OffHours"), "{steps:#?}");
    let of_steps: i64 = steps.iter().map(|step| nanos(&step["savingsHourlyUsd"])).sum();
    assert!(saved > 0 && of_steps == saved, "{steps:#?}");
}

#[test]
fn a_node_pool_that_is_given_beside_node_groups_is_the_one_that_counts() {
    let pool = SHOP.split("---\napiVersion: apps/v1").next().unwrap();
    let workspace = Workspace::with(&[("node-groups.yaml", NODE_GROUPS), ("nodepool.yaml", pool)]);
    let run = workspace.run(&format!("audit -f node-groups.yaml nodepool.yaml {NOW} -o json"));
    let document = run.json();
    let assumed = document["assumptions"].as_array().unwrap();
    assert_eq!(assumed.len(), 1, "{assumed:?}");
    assert!(assumed[0].as_str().unwrap().contains("NodePool default of the input"), "{assumed:?}");
}

#[test]
fn it_is_a_page_too() {
    let run = workspace().run(&format!("plan --until-stable -f karpenter.yaml {NOW} -o html"));
    let page = run.out;
    for part in ["<!DOCTYPE html>", "What holds more back", "data/orders"] {
        assert!(page.contains(part), "{part}");
    }
    let data = crate::pages::block(&page);
    let nodes = &data["runs"][0]["nodes"];
    let gone = nodes["gone"].as_array().unwrap().iter().filter(|at| at.as_i64() > Some(0)).count();
    assert!(gone > 0 && nodes["name"].as_array().unwrap().len() > gone, "{nodes}");
    let bounds = data["runs"][0]["least"].as_array().unwrap().len();
    assert_eq!(bounds, 2, "pods stay the same: one bound is enough");
}

#[test]
fn nothing_is_guessed_of_input_that_cannot_be_read() {
    let run =
        workspace().run_with_input(&format!("plan --until-stable -f - {NOW}"), WRONG_OPERATOR);
    assert_eq!((run.status, &*run.out), (2, ""), "{run:?}");
}
