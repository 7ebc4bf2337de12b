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

const TEMPLATE: &str = "\
# Reviewed by the platform team.
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: old}
spec:
  instanceProfile: nodes   # shared
  subnetSelector: {tier: private}
---
apiVersion:   v1   # untouched
kind: ConfigMap
metadata: {name: x}
";

#[test]
fn what_an_api_server_would_refuse_is_marked_and_ends_with_status_1() {
    let workspace = Workspace::with(&[("old.yaml", TEMPLATE)]);

    let run = workspace.run("convert -f old.yaml");

    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.out.contains("  # FILL IN: spec.securityGroupSelectorTerms: "), "{run:?}");
    let error = "error: the field is missing: it takes the security groups of nodes";
    assert!(run.err.contains(error), "{run:?}");
    assert!(
        run.err.contains("(old.yaml:5, object old, field spec.securityGroupSelectorTerms)"),
        "{run:?}"
    );
    assert!(run.err.contains("note: 1 place to fill in"), "{run:?}");
}

#[test]
fn in_place_writes_what_changes_and_leaves_the_rest() {
    let workspace = Workspace::with(&[
        ("folder/pool.yaml", PROVISIONER),
        ("folder/class.yaml", TEMPLATE),
        ("folder/other.yaml", "kind:   ConfigMap\n"),
    ]);

    let run = workspace.run("convert -f folder --in-place");

    assert_eq!((run.status, run.out.as_str()), (1, ""), "{run:?}");
    let text = |name: &str| std::fs::read_to_string(workspace.path(name)).unwrap();
    assert!(
        run.err.contains("note: 2 files written: folder/class.yaml, folder/pool.yaml"),
        "{run:?}"
    );
    assert_eq!(text("folder/other.yaml"), "kind:   ConfigMap\n");
    let class = text("folder/class.yaml");
    assert!(
        class.starts_with("# Reviewed by the platform team.\napiVersion: karpenter.k8s.aws/v1\n"),
        "{class}"
    );
    assert!(class.contains("  instanceProfile: nodes # shared\n"), "{class}");
    assert!(
        class.ends_with(
            "---\napiVersion:   v1   # untouched\nkind: ConfigMap\nmetadata: {name: x}\n"
        ),
        "{class}"
    );
    let again = workspace.run("convert -f folder --in-place");
    assert!(again.err.contains("note: nothing to convert: no file is written"), "{again:?}");
    assert_eq!(text("folder/class.yaml"), class);
}

#[test]
fn in_place_writes_nothing_where_something_is_wrong() {
    let workspace = Workspace::with(&[
        ("a.yaml", PROVISIONER),
        (
            "b.yaml",
            "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {nonsense: 1}\n",
        ),
        (
            "c.json",
            "{\"apiVersion\": \"karpenter.sh/v1beta1\", \"kind\": \"NodePool\", \"metadata\": {\"name\": \"a\"}, \"spec\": {\"template\": {\"spec\": {}}}}\n",
        ),
    ]);
    let run = workspace.run("convert -f a.yaml b.yaml --in-place");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("note: no file is written"), "{run:?}");
    let run = workspace.run("convert -f a.yaml c.json --in-place");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("c.json is JSON, which --in-place does not write"), "{run:?}");
    assert_eq!(std::fs::read_to_string(workspace.path("a.yaml")).unwrap(), PROVISIONER);
    let run = workspace.run_with_input("convert -f - --in-place", PROVISIONER);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("--in-place has no file to write to"), "{run:?}");
}

#[test]
fn what_cannot_be_converted_stays_as_it_is_and_is_marked() {
    let both = "  ttlSecondsAfterEmpty: 30\n  consolidation: {enabled: true}   # both\n";
    let provisioner = PROVISIONER.replace("  ttlSecondsAfterEmpty: 30\n", both);
    let config = "apiVersion:   v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    let workspace =
        Workspace::with(&[("old.yaml", &*format!("# ours\n{provisioner}---\n{config}"))]);

    let run = workspace.run("convert -f old.yaml");

    assert_eq!(run.status, 2, "{run:?}");
    let marks = |line: &&str| !line.trim_start().starts_with("# FILL IN: ");
    let kept: Vec<&str> = run.out.lines().filter(marks).collect();
    let expected = format!("# ours\n{provisioner}---\n{config}");
    assert_eq!(kept, expected.lines().collect::<Vec<_>>(), "{run:?}");
    assert!(run.out.contains("# FILL IN: spec.ttlSecondsAfterEmpty: "), "{run:?}");
    let diff = workspace.run("convert -f old.yaml --diff");
    assert!(
        !diff.out.lines().any(|line| line.starts_with('-') && !line.starts_with("---")),
        "{diff:?}"
    );
}

#[test]
fn a_diff_shows_what_would_change() {
    let workload = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector:\n    karpenter.sh/provisioner-name: x\n";
    let workspace = Workspace::with(&[("pod.yaml", workload), ("same.yaml", "kind: ConfigMap\n")]);

    let run = workspace.run("convert -f pod.yaml same.yaml --diff");

    assert_eq!(run.status, 0, "{run:?}");
    let expected = "\
--- pod.yaml
+++ pod.yaml
@@ -3,4 +3,4 @@
 metadata: {name: a}
 spec:
   nodeSelector:
-    karpenter.sh/provisioner-name: x
+    karpenter.sh/nodepool: x
";
    assert_eq!(run.out, expected);
    assert!(
        run.err.contains("warning: no node has label karpenter.sh/provisioner-name"),
        "{run:?}"
    );
    assert_eq!(std::fs::read_to_string(workspace.path("pod.yaml")).unwrap(), workload);
}
