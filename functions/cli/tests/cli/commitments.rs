//! Savings Plans and Reserved Instances.

use crate::support::{SHOP, Workspace};

const PLAN: &str = "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f shop.yaml";

fn with(spec: &str) -> Workspace {
    let commitment = format!(
        "---\napiVersion: outrigger.dev/v1alpha1\nkind: Commitment\nmetadata: {{name: own}}\nspec: {spec}\n"
    );
    Workspace::with(&[("shop.yaml", &format!("{SHOP}{commitment}"))])
}

#[test]
fn a_plan_fills_a_commitment_and_says_how_full_it_is() {
    let workspace =
        with("{type: ComputeSavingsPlan, hourlyCommitmentUsd: 10, discountPercent: 30}");
    let run = workspace.run(PLAN);
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    assert!(run.out.contains("of it covered by commitments, $0.0000/h remain"), "{run:?}");
    assert!(run.out.contains("own (ComputeSavingsPlan): "), "{run:?}");
    assert!(run.out.contains(" % of $10.0000/h used"), "{run:?}");
    let json = workspace.run(&format!("{PLAN} -o json")).json();
    let claims = json["nodeClaims"].as_array().unwrap();
    assert!(!claims.is_empty());
    assert!(claims.iter().all(|own| own["offering"]["capacityType"] == "on-demand"), "{json}");
    let after = &json["committed"]["after"];
    assert_eq!(after["remainingHourlyUsd"], 0.0, "{after}");
    assert_eq!(after["commitments"][0]["type"], "ComputeSavingsPlan");
    assert!(after["commitments"][0]["utilization"].as_f64().unwrap() > 0.0, "{after}");
}

#[test]
fn without_a_commitment_nothing_is_said_of_any() {
    let json = Workspace::with(&[("shop.yaml", SHOP)]).run(&format!("{PLAN} -o json")).json();
    assert_eq!(json.get("committed"), None);
}

#[test]
fn a_bad_commitment_is_named_and_the_plan_made_without_it() {
    let run = with("{type: ComputeSavingsPlan, hourlyCommitmentUsd: 10}").run(PLAN);
    assert_eq!(run.status, 2);
    let said = "error: a Savings Plan needs discountPercent, rates, or both (shop.yaml:";
    assert!(run.err.starts_with(said), "{run:?}");
    assert!(run.err.contains("object own, field spec"), "{run:?}");
    assert!(run.out.contains("LAUNCH"), "{run:?}");
    assert!(!run.out.contains("covered by commitments"), "{run:?}");
}

#[test]
fn top_shows_what_commitments_cover() {
    const NODE: &str = "\
---
apiVersion: v1
kind: Node
metadata:
  name: n
  labels:
    node.kubernetes.io/instance-type: small
    topology.kubernetes.io/zone: us-east-1a
    karpenter.sh/capacity-type: on-demand
";
    const COMMITMENT: &str = "\
---
apiVersion: outrigger.dev/v1alpha1
kind: Commitment
metadata: {name: own}
spec: {type: ComputeSavingsPlan, hourlyCommitmentUsd: '0.1', discountPercent: 30}
";
    let workspace = Workspace::with(&[("nodes.yaml", &format!("{NODE}{COMMITMENT}"))]);
    let top = "top --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f nodes.yaml";
    let run = workspace.run(top);
    assert!(run.out.contains("own (ComputeSavingsPlan): 70.0 % of $0.1000/h used"), "{run:?}");
    assert!(run.out.contains("$0.1000/h of it covered by commitments"), "{run:?}");
    let json = workspace.run(&format!("{top} -o json")).json();
    assert_eq!(json["totals"]["hourlyUsd"], 0.1);
    assert_eq!(json["committed"]["coveredHourlyUsd"], 0.1);
    assert_eq!(json["committed"]["commitments"][0]["utilization"], 0.7);
}
