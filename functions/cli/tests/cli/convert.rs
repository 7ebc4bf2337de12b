//! `outrigger convert`.

use crate::support::Workspace;

const PROVISIONER: &str = "\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
spec:
  requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  limits: {resources: {cpu: '1000'}}
  ttlSecondsAfterEmpty: 30
  providerRef: {name: old}
";

#[test]
fn an_older_manifest_becomes_one_that_plan_reads() {
    let workspace = Workspace::with(&[("old.yaml", PROVISIONER)]);

    let converted = workspace.run("convert -f old.yaml");

    assert_eq!(converted.status, 0, "{converted:?}");
    assert!(converted.out.contains("apiVersion: karpenter.sh/v1\n"), "{converted:?}");
    assert!(converted.out.contains("kind: NodePool\n"), "{converted:?}");
    assert!(converted.out.contains("consolidateAfter: 30s"), "{converted:?}");
    let plan = workspace.run_with_input("plan --catalog catalog.yaml -f -", &converted.out);
    assert_eq!(plan.status, 0, "{plan:?}");
}

#[test]
fn what_cannot_be_read_is_bad_input() {
    let run = Workspace::with(&[("bad.yaml", "kind: [\n")]).run("convert -f bad.yaml");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("error: "), "{run:?}");
}
