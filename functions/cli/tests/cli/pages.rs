//! `-o html`: one file that stands by itself, with the result first and the data that its charts
//! are drawn from.

use serde_json::Value;

use crate::support::{HUGE, Run, SHOP, Workspace};

const NOW: &str = "--catalog catalog.yaml --now 2026-01-05T00:00:00Z";

/// The data block of a page, after what holds for every page.
#[track_caller]
fn data(run: &Run) -> Value {
    let page = &run.out;
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{run:?}");
    assert_eq!(page.matches("<h1>").count(), 1);
    assert!(page.contains("default-src 'none'"), "browsers may load nothing");
    for outside in ["http:", "https:", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    block(page)
}

/// The data block of a page.
#[track_caller]
pub(crate) fn block(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let (block, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(block).unwrap()
}

/// Texts that columns of a table mean.
#[track_caller]
fn texts<'a>(data: &'a Value, column: &Value) -> Vec<&'a str> {
    let places = column.as_array().unwrap().iter().map(|place| place.as_i64().unwrap());
    places.map(|place| data["texts"][usize::try_from(place).unwrap()].as_str().unwrap()).collect()
}

fn workspace() -> Workspace {
    Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)])
}

#[test]
fn a_plan_has_its_nodes_before_and_after_and_where_each_pod_goes() {
    let run = workspace().run(&format!("plan {NOW} -f shop.yaml huge.yaml -o html"));
    let data = data(&run);
    assert_eq!(data["kind"], "plan");
    let side = &data["sides"][0];
    assert_eq!(texts(&data, &side["labels"]), ["before", "after"]);
    assert_eq!(texts(&data, &side["nodes"]["state"]), ["new"]);
    assert_eq!(side["nodes"]["useCpu"], serde_json::json!([[-1], [1500]]));
    assert_eq!(side["nodes"]["price"], serde_json::json!([31_000_000]));
    let states = texts(&data, &data["pods"]["state"]);
    assert_eq!(states.iter().filter(|state| **state == "gets a place").count(), 3, "{states:?}");
    assert_eq!(states.iter().filter(|state| **state == "no place").count(), 1, "{states:?}");
    assert!(run.out.contains("1 node launched, 1 pod without a place</h1>"), "{}", run.out);
}

#[test]
fn one_thing_is_counted_as_one() {
    let run = workspace().run(&format!("plan {NOW} -f huge.yaml -o html"));
    for figure in ["<b>1</b><span>pod waited</span>", "<b>1</b><span>has no place</span>"] {
        assert!(run.out.contains(figure), "{figure} in {}", run.out);
    }
}

#[test]
fn an_explanation_is_on_the_page_and_its_pod_in_focus() {
    let run = workspace().run(&format!("explain pod huge {NOW} -f shop.yaml huge.yaml -o html"));
    let data = data(&run);
    assert_eq!((&data["kind"], &data["focus"]), (&"explain".into(), &"default/huge".into()));
    assert!(run.out.contains("<h1>default/huge: It has no place</h1>"), "{}", run.out);
}

#[test]
fn nodes_of_a_cluster_stand_by_themselves() {
    let run = workspace().run(&format!("top {NOW} -f shop.yaml huge.yaml -o html"));
    let data = data(&run);
    assert_eq!(data["kind"], "top");
    assert_eq!(texts(&data, &data["sides"][0]["labels"]), ["now"]);
    assert!(run.out.contains("<h1>0 nodes cost $0.00 a month"), "{}", run.out);
}

#[test]
fn a_change_has_the_nodes_of_both_sides() {
    let dearer = SHOP.replace("values: [spot, on-demand]", "values: [on-demand]");
    let workspace = Workspace::with(&[("old.yaml", SHOP), ("new.yaml", &dearer)]);
    let run = workspace.run(&format!("diff old.yaml new.yaml {NOW} -o html"));
    let data = data(&run);
    let side = &data["sides"][0];
    assert_eq!(texts(&data, &side["labels"]), ["old", "new"]);
    assert_eq!(texts(&data, &side["nodes"]["capacity"]), ["spot", "on-demand"]);
    assert_eq!(texts(&data, &side["nodes"]["state"]), ["goes", "new"]);
    assert!(run.out.contains("<h1>Costs $50.37 (222.6%) a month more</h1>"), "{}", run.out);
}

#[test]
fn a_run_has_the_life_of_every_node_with_its_reasons() {
    let run = workspace().run("simulate consolidation -o html");
    let data = data(&run);
    let own = &data["runs"][0];
    assert_eq!(own["nodes"]["name"].as_array().unwrap().len(), 3);
    let gone: Vec<i64> =
        own["nodes"]["gone"].as_array().unwrap().iter().map(|at| at.as_i64().unwrap()).collect();
    assert_eq!(gone.iter().filter(|at| **at > 0).count(), 1, "{gone:?}");
    let came = texts(&data, &own["nodes"]["came"]);
    assert!(came.iter().all(|why| why.starts_with("for ")), "{came:?}");
    let reasons = data["texts"].as_array().unwrap();
    assert!(reasons.iter().any(|why| why.as_str().unwrap().starts_with("Underutilized: it saves")));
    for curve in ["cost", "least", "pending", "bound"] {
        assert!(own[curve].as_array().unwrap().len() > 2, "{curve}");
    }
    assert_eq!(own["pods"]["stem"].as_array().unwrap().len(), 22);
}

#[test]
fn variants_lie_over_each_other() {
    let run = workspace().run("simulate evening-ahead -o html");
    let data = data(&run);
    let names: Vec<Value> =
        data["runs"].as_array().unwrap().iter().map(|own| own["name"].clone()).collect();
    assert_eq!(texts(&data, &Value::from(names)), ["as pods come", "pre-warmed"]);
}

#[test]
fn a_page_and_a_recording_can_be_had_from_one_run() {
    let workspace = workspace();
    let run = workspace.run("simulate inflate --record run.jsonl -o html");
    assert_eq!(data(&run)["kind"], "simulate");
    let again = workspace.run("simulate --from run.jsonl -o html");
    assert!(data(&again)["runs"][0]["nodes"]["name"].as_array().unwrap().len() > 1);
}
