//! `outrigger simulate`, and the quick start.

use crate::support::{HUGE, SHOP, Workspace};

const SCENARIO: &str = "\
apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {name: shop}
spec:
  about: A shop opens.
  duration: 10m
  seed: 7
  timeline:
  - {at: 0s, apply: [shop.yaml]}
  expect:
  - pods: {workload: web, running: 3, pending: 0}
";

pub(crate) const BUNDLED: [&str; 8] = [
    "consolidation",
    "inflate",
    "notebooks",
    "evening-peak",
    "evening-ahead",
    "quarter-hours",
    "capacity-runs-out",
    "spot-notice",
];

#[test]
fn without_arguments_the_quick_start_runs() {
    let run = Workspace::with(&[]).run("");
    assert_eq!(run.status, 0, "{run:?}");
    for part in ["consolidation", "TIMELINE", "express-test", "NODES", "COST", "✓"] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
    assert!(!run.out.contains('✗'), "{}", run.out);
}

#[test]
fn every_bundled_scenario_is_listed() {
    let list = Workspace::with(&[]).run("simulate --list");
    assert_eq!(list.status, 0, "{list:?}");
    for name in BUNDLED {
        assert!(list.out.lines().any(|line| line.trim().starts_with(name)), "{name}: {list:?}");
    }
}

#[test]
fn a_bundled_scenario_runs_by_its_name() {
    let run = Workspace::with(&[]).run("simulate inflate -o json");
    assert_eq!(run.status, 0, "{}", run.err);
    let report = run.json();
    assert_eq!((&report["kind"], &report["asExpected"]), (&"Simulation".into(), &true.into()));
}

#[test]
fn variants_are_run_side_by_side_or_one_by_one() {
    let variants = "  variants:\n  - name: small\n  - name: large\n    apply: [huge.yaml]\n    \
                    expect: [waiting: {pod: huge, because: cpu}]\n";
    let scenario = format!("{SCENARIO}{variants}");
    let files = [("scenario.yaml", &*scenario), ("shop.yaml", SHOP), ("huge.yaml", HUGE)];
    let workspace = Workspace::with(&files);
    let table = workspace.run("simulate scenario.yaml");
    assert_eq!(table.status, 0, "{table:?}");
    let row = |name: &str| table.out.lines().find(|line| line.trim().starts_with(name)).unwrap();
    assert!(row("small").contains("1 of 1 hold") && row("large").contains("2 of 2 hold"));
    let document = workspace.run("simulate scenario.yaml -o json").json();
    assert_eq!(document["kind"], "SimulationComparison");
    assert_eq!(document["variants"][1]["simulation"]["waiting"]["podsBound"], 3);
    let one = workspace.run("simulate scenario.yaml --variant large -o json").json();
    assert_eq!(one["kind"], "Simulation");
    assert_eq!(one["expectations"].as_array().unwrap().len(), 2);
    let none = workspace.run("simulate scenario.yaml --variant medium");
    assert_eq!(none.status, 2, "{none:?}");
    assert!(none.err.contains("it has \"small\", \"large\""), "{none:?}");
}

/// The variant that buys on demand has nothing that EC2 could take back.
#[test]
fn a_variant_without_anything_to_interrupt_says_so_and_the_others_are_compared() {
    let pool = |capacity_type: &str| {
        format!(
            "[{{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {{name: default}}, \
             spec: {{role: n, amiSelectorTerms: [{{alias: al2023@latest}}], subnetSelectorTerms: \
             [{{tags: {{a: b}}}}], securityGroupSelectorTerms: [{{tags: {{a: b}}}}]}}}}, \
             {{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: default}}, spec: \
             {{template: {{spec: {{nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, \
             name: default}}, requirements: [{{key: karpenter.sh/capacity-type, operator: In, \
             values: [{capacity_type}]}}]}}}}}}}}]"
        )
    };
    let deployment = "    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: \
                      {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: \
                      {labels: {app: web}}, spec: {containers: [{name: c, image: x, resources: \
                      {requests: {cpu: 1}}}]}}}}\n";
    let scenario = format!(
        "apiVersion: outrigger.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: shop}}\nspec:\n  \
         duration: 20m\n  timeline:\n  - apply:\n{deployment}  - at: 10m\n    interrupt: \
         {{count: 1, capacityType: spot}}\n  variants:\n  - name: on spot\n    apply: {}\n  - \
         name: on demand\n    apply: {}\n",
        pool("spot"),
        pool("on-demand"),
    );
    let workspace = Workspace::with(&[("scenario.yaml", &scenario)]);
    let table = workspace.run("simulate scenario.yaml");
    assert_eq!(table.status, 0, "{table:?}");
    let said: Vec<&str> =
        table.out.lines().filter(|line| line.contains("there is no instance")).collect();
    assert!(said.len() == 1 && said[0].contains("on demand, +10m: interrupt"), "{}", table.out);
}

#[test]
fn what_is_not_simulated_is_warned_about_a_line_a_kind() {
    let more = "  - apply: [{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: \
                {name: web}, spec: {}}, {apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, \
                spec: {}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n  - apply: \
                [{apiVersion: batch/v1, kind: CronJob, metadata: {name: b}, spec: {}}]\n  expect:";
    let scenario = SCENARIO.replace("  expect:", more);
    let workspace = Workspace::with(&[("scenario.yaml", &scenario), ("shop.yaml", SHOP)]);
    let run = workspace.run("simulate scenario.yaml -o json");
    assert_eq!(run.status, 0, "{run:?}");
    let warnings: Vec<&str> = run.err.lines().collect();
    let [cron_jobs, autoscalers, others] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(cron_jobs.starts_with("warning: 2 CronJob not simulated: "), "{cron_jobs}");
    assert!(autoscalers.starts_with("warning: 1 HorizontalPodAutoscaler not simulated: "));
    assert!(others.ends_with("not simulated: 1 ConfigMap"), "{others}");
}

#[test]
fn a_scenario_file_finds_its_manifests_beside_it() {
    let workspace = Workspace::with(&[("a/scenario.yaml", SCENARIO), ("a/shop.yaml", SHOP)]);
    let run = workspace.run("simulate a/scenario.yaml");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("A shop opens."), "{run:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let workspace = Workspace::with(&[("scenario.yaml", SCENARIO), ("shop.yaml", SHOP)]);
    let run = |line| workspace.run(line).out;
    let first = run("simulate scenario.yaml --seed 11 -o json");
    assert_eq!(first, run("simulate scenario.yaml --seed 11 -o json"));
    assert!(first.contains("\"seed\": 11"), "{first}");
}

#[test]
fn a_scenario_can_be_run_in_another_region() {
    let workspace = Workspace::with(&[("scenario.yaml", SCENARIO), ("shop.yaml", SHOP)]);
    let report =
        workspace.run("simulate scenario.yaml --region eu-west-1 --cluster shop -o json").json();
    assert_eq!(report["cluster"], "shop");
    let end = report["views"].as_array().unwrap().last().unwrap();
    let zone = end["nodes"][0]["zone"].as_str().unwrap();
    assert!(zone.starts_with("eu-west-1"), "{zone}");
}

#[test]
fn a_scenario_without_a_region_is_in_that_of_its_objects() {
    let node = "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels: \
                {topology.kubernetes.io/zone: ap-northeast-2a}\n";
    let scenario = SCENARIO
        .replace("[shop.yaml]", "[node.yaml]")
        .replace("  expect:\n  - pods: {workload: web, running: 3, pending: 0}\n", "");
    let workspace = Workspace::with(&[("s.yaml", &*scenario), ("node.yaml", node)]);
    let run = workspace.run("simulate s.yaml -o json").json();
    assert_eq!(run["region"], "ap-northeast-2");
    let text = workspace.run("simulate s.yaml");
    assert!(text.out.contains("prices of ap-northeast-2 (1 node says so)"), "{text:?}");
    let text = workspace.run("simulate s.yaml --region eu-west-1");
    assert!(text.out.contains("prices of eu-west-1 (--region)"), "{text:?}");
    assert!(text.err.contains("some of the nodes are elsewhere: 1 in ap-northeast-2"), "{text:?}");
    assert!(text.out.contains("without 1 node that the catalogue does not price: a"), "{text:?}");
}

#[test]
fn what_cannot_be_recorded_is_refused_and_no_file_is_left() {
    let workspace = Workspace::with(&[]);
    for (line, said) in [
        ("simulate evening-ahead --record run.jsonl", "choose one with --variant"),
        ("simulate consolidation --pseudonyms key", "it needs --record"),
        ("simulate --from shop --compare a=x.yaml --compare a=y.yaml", "two runs have this name"),
    ] {
        let run = workspace.run(line);
        assert_eq!((run.status, &*run.out), (2, ""), "{line}: {run:?}");
        assert!(run.err.contains(said), "{line}: {run:?}");
    }
    assert!(!workspace.path("run.jsonl").exists());
}

#[test]
fn scripts_get_the_list_of_what_is_bundled_as_one_document() {
    let workspace = Workspace::with(&[]);
    let list = workspace.run("simulate --list -o json").json();
    let names = |field: &str| -> Vec<String> {
        let all = list[field].as_array().unwrap();
        all.iter().map(|own| own["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("scenarios"), BUNDLED);
    assert_eq!(names("recordings"), ["openb", "shop"]);
    assert_eq!(workspace.run("simulate --list -o html").status, 2);
}

#[test]
fn an_expectation_that_does_not_hold_is_a_failure() {
    let wrong = SCENARIO.replace("running: 3", "running: 4");
    let workspace = Workspace::with(&[("scenario.yaml", &wrong), ("shop.yaml", SHOP)]);
    let run = workspace.run("simulate scenario.yaml");
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.out.contains('✗'), "{run:?}");
}

#[test]
fn a_run_is_one_page() {
    let workspace = Workspace::with(&[("scenario.yaml", SCENARIO), ("shop.yaml", SHOP)]);
    let run = workspace.run("simulate scenario.yaml -o html");
    assert!(run.out.starts_with("<!DOCTYPE html>") && run.out.ends_with("</html>"), "{run:?}");
}

#[test]
fn what_is_wrong_with_a_scenario_is_told_with_its_place() {
    let wrong = SCENARIO.replace("duration: 10m", "duration: long");
    let workspace = Workspace::with(&[("scenario.yaml", &wrong), ("shop.yaml", SHOP)]);
    let run = workspace.run("simulate scenario.yaml");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(
        run.err.lines().any(|line| {
            line.starts_with("error: ")
                && line.contains("scenario.yaml:6")
                && line.contains("field spec.duration")
        }),
        "{run:?}"
    );
}

#[test]
fn a_name_that_is_neither_a_file_nor_bundled_is_bad_usage() {
    let run = Workspace::with(&[]).run("simulate nonsense");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("error: there is no file nonsense"), "{run:?}");
    assert!(run.err.contains("consolidation, inflate"), "{run:?}");
}

#[test]
fn what_would_not_end_is_an_error_within_a_second() {
    let text = |duration: &str, replicas: u32| {
        format!(
            "apiVersion: outrigger.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: long}}\nspec:\n  duration: {duration}\n  \
             timeline:\n  - apply:\n    - {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: {replicas}, \
             selector: {{matchLabels: {{app: a}}}}, template: {{metadata: {{labels: {{app: a}}}}}}}}}}\n"
        )
    };
    let long = text("100000000h", 1);
    let many = text("10m", 100_000_000);
    let workspace = Workspace::with(&[("long.yaml", &long), ("many.yaml", &many)]);
    for (file, limit) in [("long.yaml", "8784h (366 days)"), ("many.yaml", "at most 150000 pods")] {
        let started = std::time::Instant::now();
        let run = workspace.run(&format!("simulate {file}"));
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.err.contains(limit), "{run:?}");
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }
}

#[test]
fn control_characters_of_a_scenario_never_reach_the_terminal() {
    let text = "apiVersion: outrigger.dev/v1alpha1\nkind: Scenario\nmetadata: {name: \"x\\e[31m\"}\n\
                spec: {about: \"\\e]0;owned\\a\", duration: 1m, timeline: [{mark: \"\\e[2J\"}], expect: [{nodes: {zone: \"\\e[31m\", count: 1}}]}\n";
    let workspace = Workspace::with(&[("s.yaml", text)]).environment("CLICOLOR_FORCE", "1");
    for output in ["text", "json", "html"] {
        let run = workspace.run(&format!("simulate s.yaml -o {output}"));
        let is_ours = |rest: &str| {
            let codes = rest.strip_prefix('[').and_then(|rest| rest.split_once('m'));
            codes.is_some_and(|(codes, _)| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'))
        };
        assert!(run.out.split('\x1b').skip(1).all(is_ours), "{output}: {run:?}");
        assert!(!run.out.contains('\x07'), "{output}: {run:?}");
        if output == "text" {
            assert!(run.out.contains("\\u{1b}[31m") && run.out.contains('\x1b'), "{run:?}");
        } else {
            assert!(!run.out.contains('\x1b'), "{output}: {run:?}");
        }
    }
}
