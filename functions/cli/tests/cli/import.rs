//! `outrigger catalog import` over what the AWS CLI prints.

use crate::support::{SHOP, Workspace};

const TYPES: &str = include_str!("import/types.json");
const OFFERINGS: &str = include_str!("import/offerings.json");
const SPOT: &str = include_str!("import/spot.json");
const PRICES: &str = include_str!("import/prices.json");

const IMPORT: &str = "catalog import -f types.json offerings.json spot.json prices.json";

fn lists() -> Workspace {
    Workspace::with(&[
        ("types.json", TYPES),
        ("offerings.json", OFFERINGS),
        ("spot.json", SPOT),
        ("prices.json", PRICES),
        ("shop.yaml", SHOP),
    ])
}

#[test]
fn what_aws_prints_becomes_a_catalogue_that_plan_reads() {
    let workspace = lists();
    let run = workspace.run(IMPORT);
    assert_eq!(run.status, 0, "{run:?}");
    let catalog = run.json();
    assert_eq!(catalog["kind"], "InstanceCatalog");
    assert_eq!(catalog["spec"]["region"], "eu-west-1");
    let pricing = &catalog["spec"]["pricing"];
    assert_eq!((&pricing["source"], &pricing["asOf"]), (&"imported".into(), &"2026-11-24".into()));
    let names: Vec<_> = catalog["spec"]["instanceTypes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c7g.large", "m7i.large", "m7i.xlarge"]);
    std::fs::write(workspace.path("catalog.json"), &run.out).unwrap();

    let plan = workspace.run("plan -f shop.yaml --catalog catalog.json -o json").json();

    let offering = &plan["nodeClaims"][0]["offering"];
    assert_eq!(offering["instanceType"], "c7g.large");
    assert_eq!((&offering["zone"], &offering["hourlyUsd"]), (&"eu-west-1b".into(), &0.0287.into()));
    assert_eq!(plan["pricing"]["source"], "imported");
    assert_eq!(plan["pricing"]["spotSource"], "imported");
    let text = workspace.run("plan -f shop.yaml --catalog catalog.json").out;
    let note =
        "prices of eu-west-1 (the catalogue says so), as the catalogue gives them of 2026-11-24\n";
    assert!(text.ends_with(note), "{text}");
}

#[test]
fn what_is_left_out_and_what_is_wrong_goes_to_standard_error() {
    let run = lists().run(IMPORT);
    for line in [
        "note: left out 1 spot price: 1 of another operating system",
        "note: left out 4 products: 1 not on demand, 1 of another operating system, 1 of another tenancy, 1 with preinstalled software",
    ] {
        assert!(run.err.lines().any(|own| own == line), "{line} in:\n{}", run.err);
    }

    let workspace = lists();
    let broken = TYPES.replace("\"DefaultVCpus\": 4", "\"DefaultVCpus\": \"four\"");
    std::fs::write(workspace.path("types.json"), broken).unwrap();
    let run = workspace.run(IMPORT);
    assert_eq!(run.status, 2, "{run:?}");
    let error = run.err.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(error.contains("types.json:"), "{error}");
    assert!(
        error.ends_with(", object m7i.xlarge, field InstanceTypes[1].VCpuInfo.DefaultVCpus)"),
        "{error}"
    );
    assert_eq!(run.json()["spec"]["instanceTypes"].as_array().unwrap().len(), 2);
}

#[test]
fn all_lists_may_come_one_after_another_on_standard_input() {
    let all = [PRICES, SPOT, OFFERINGS, TYPES].concat();
    let run = lists().run_with_input("catalog import -f -", &all);
    assert_eq!((run.status, run.out), (0, lists().run(IMPORT).out));
}

#[test]
fn prices_of_another_region_are_refused() {
    let run = lists().run(&format!("{IMPORT} --region us-west-2"));
    assert_eq!((run.status, run.out.as_str()), (2, ""), "{run:?}");
    let expected =
        "error: 3 products not of region us-west-2 left out: 3 of eu-west-1 (prices.json:1)\n";
    assert!(run.err.contains(expected), "{run:?}");
    assert!(
        run.err.contains("error: there is no on-demand price of region us-west-2: "),
        "{run:?}"
    );
}

#[test]
fn what_is_missing_is_said_and_marked() {
    let run = lists().run("catalog import -f prices.json");
    assert_eq!(run.status, 0, "{run:?}");
    for missing in ["no InstanceTypes: ", "no InstanceTypeOfferings: ", "no SpotPriceHistory: "] {
        assert!(run.err.contains(&format!("warning: {missing}")), "{missing} in {}", run.err);
    }
    assert_eq!(run.json()["spec"]["pricing"]["spotSource"], "estimated");
    let run = lists().run("catalog import -f types.json offerings.json spot.json");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("`aws pricing get-products --service-code AmazonEC2`"), "{run:?}");
}

#[test]
fn the_nodes_class_decides_what_pods_can_use() {
    let class = SHOP.replace("  role: nodes\n", "  role: nodes\n  kubelet: {maxPods: 7}\n");
    let workspace = lists();
    std::fs::write(workspace.path("class.yaml"), class).unwrap();
    let catalog = workspace.run(&format!("{IMPORT} --nodeclass class.yaml")).json();
    assert_eq!(catalog["spec"]["instanceTypes"][0]["capacity"]["pods"], "7");
}

#[test]
fn the_help_has_the_commands_to_copy() {
    let run = lists().run("catalog import --help");
    for command in [
        "aws ec2 describe-instance-types --region $region > types.json",
        "--location-type availability-zone > offerings.json",
        "--start-time $(date -u +%FT%TZ) > spot.json",
        "Type=TERM_MATCH,Field=regionCode,Value=$region \\",
    ] {
        assert!(run.out.contains(command), "{command} in {}", run.out);
    }
}

#[test]
fn types_are_listed_beside_the_command() {
    let run = lists().run("catalog m7i.large");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("m7i.large"), "{run:?}");
}
