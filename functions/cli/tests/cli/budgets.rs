//! Budgets in time zones, and manifests of a newer API.

use crate::support::{Workspace, launched_in_october};

/// A NodePool with a budget for eight o'clock.
const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption:
    budgets: [{nodes: '0', schedule: 0 8 * * *, duration: 1h, timeZone: Europe/Berlin}]
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
";

/// The NodePool with an empty node that has been there for days.
fn empty() -> String {
    POOL.to_owned() + &launched_in_october("idle")
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

#[test]
fn a_budget_keeps_the_hours_of_its_time_zone() {
    let workspace = Workspace::with(&[("empty.yaml", &empty())]);
    // Clocks are put back in the night before the 25th.
    for (now, word) in [
        ("2026-10-24T06:30:00Z", "KEEP"),
        ("2026-10-25T06:30:00Z", "DISRUPT"),
        ("2026-10-25T07:30:00Z", "KEEP"),
    ] {
        let run = workspace.run(&format!("plan --catalog catalog.yaml --now {now} -f empty.yaml"));
        let heads = run.out.lines().filter(|line| ["KEEP", "DISRUPT"].contains(&first_word(line)));
        let shown: Vec<&str> = heads.map(first_word).collect();
        assert_eq!(shown, [word], "{now}: {run:?}");
    }
}

#[test]
fn an_unknown_time_zone_is_said_and_holds_every_node() {
    let wrong = empty().replace("Europe/Berlin", "Europe/Berlim");
    let workspace = Workspace::with(&[("empty.yaml", &wrong)]);
    let run = workspace.run("plan --catalog catalog.yaml --now 2026-10-25T15:00:00Z -f empty.yaml");
    assert!(run.out.contains("its schedule or timeZone is none"), "{run:?}");
    assert!(run.err.contains("\"Europe/Berlim\" is not an IANA time zone"), "{run:?}");
    assert!(!run.out.contains("DISRUPT"), "{run:?}");
}

#[test]
fn a_field_of_a_newer_api_leaves_the_plan_as_it_is() {
    let newer = empty()
        .replace("      requirements: []\n", "      requirements: []\n      somethingNew: 1\n");
    let workspace = Workspace::with(&[("empty.yaml", &empty()), ("newer.yaml", &newer)]);
    let plan = |file: &str| {
        workspace.run(&format!(
            "plan --catalog catalog.yaml --now 2026-10-25T06:30:00Z -o json -f {file}"
        ))
    };
    let (old, new) = (plan("empty.yaml"), plan("newer.yaml"));
    assert_eq!(new.json()["disruptions"], old.json()["disruptions"]);
    assert_eq!(new.json()["disruptions"][0]["reason"], "Empty");
    let said = "the field is not known to this version";
    assert_eq!((old.err.matches(said).count(), new.err.matches(said).count()), (0, 1), "{new:?}");
}
